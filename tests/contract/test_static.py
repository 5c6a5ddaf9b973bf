"""Style, types and the oldest Pythons, checked by the tools that know them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BIN = Path(sys.executable).parent
PYTHON = str(BIN / "python")
VERMIN = [str(BIN / "vermin"), "-q", "--no-tips", "--violations"]
CHECKS = {
    "ruff check": [PYTHON, "-m", "ruff", "check", "."],
    "ruff format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "mypy": [PYTHON, "-m", "mypy"],
    # A settings file in TOML falls back to tomli; the host is sent JSON.
    "core on 3.10": [*VERMIN, "-t=3.10-", "--exclude", "tomllib", "core"],
    "console on 3.11": [*VERMIN, "-t=3.11-", "tui"],
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str) -> None:
    run = subprocess.run(CHECKS[name], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_one_idea_a_file() -> None:
    sources = [*ROOT.glob("core/**/*.py"), *ROOT.glob("tui/**/*.py")]
    long = {
        str(path.relative_to(ROOT)): length
        for path in sources
        if (length := len(path.read_text().splitlines())) > 300
    }
    assert sources
    assert not long
