"""``control.json``: taken once when it is new, refused in words when it makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_core.generation.control import Control


@pytest.mark.parametrize("value", ["64", '"auto"', "1", "4096"])
def test_a_new_file_is_taken_once(tmp_path: Path, value: str) -> None:
    path = tmp_path / "control.json"
    control = Control(str(path))
    assert control.look() == (None, "")
    path.write_text(f'{{"concurrency": {value}}}')
    expected = "auto" if "auto" in value else int(value)
    assert control.look() == (expected, "")
    assert control.look() == (None, "")


def test_an_old_file_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "control.json"
    path.write_text('{"concurrency": 3}')
    assert Control(str(path)).look() == (None, "")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"concurrency": 0}', '{"concurrency": 4097}', '{"concurrency": "x"}',
             '{"concurrency": true, "x": 1}', '{"concurrency": null}', '{"concurrency": 1.5}']
)  # fmt: skip
def test_nonsense_is_said_and_left(tmp_path: Path, text: str) -> None:
    path = tmp_path / "control.json"
    control = Control(str(path))
    path.write_text(text)
    value, said = control.look()
    assert value is None
    assert str(path) in said
    assert control.look() == (None, "")
