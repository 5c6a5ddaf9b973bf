"""What is installed is what is here: from a wheel and from an editable install alike."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


def test_the_wheel_holds_both_packages_and_the_themes(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    themes = {f"eagle3_console/themes/{path.name}" for path in (ROOT / "themes").glob("*.toml")}
    assert themes
    assert themes <= names
    assert {
        "eagle3_core/__main__.py",
        "eagle3_console/cli.py",
        "eagle3_console/console.tcss",
    } <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_themes_load_from_the_wheel_and_from_here(wheel: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(unpacked)
    code = (
        "from eagle3_console.themes import theme_dir;"
        "print(*sorted(path.name for path in theme_dir().iterdir()))"
    )
    expected = " ".join(sorted(path.name for path in (ROOT / "themes").iterdir()))
    for path in (unpacked, f"{ROOT / 'core'}{os.pathsep}{ROOT / 'tui'}"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": str(path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == expected


def test_the_core_is_the_same_zip_from_the_wheel_and_from_here(wheel: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(unpacked)
    code = "from eagle3_core.host.deploy import core_zip; print(core_zip().name)"
    names = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": str(path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for path in (unpacked, ROOT / "core")
    }
    assert len(names) == 1
