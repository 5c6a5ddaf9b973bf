"""The README tells the truth about keys and commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from eagle3_console.actions import markdown_table

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_key_table_is_the_one_in_code() -> None:
    found = re.search(r"<!-- keys:.*?-->\n(.*?)<!-- /keys -->", README, re.DOTALL)
    assert found
    assert found[1].strip() == markdown_table().strip()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    found = re.search(r"^\.venv/bin/pip install .*pytest$", README, re.MULTILINE)
    assert found
    assert found[0] in (ROOT / ".ci" / "run").read_text()


def test_the_pictures_can_be_redrawn(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "docs" / "pictures.py"), str(tmp_path)], check=True)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (ROOT / "docs").glob("*.svg")}


def test_pictures_that_are_shown_exist() -> None:
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert shown
    assert all((ROOT / path).is_file() for path in shown)
