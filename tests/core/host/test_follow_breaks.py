"""Every break in a followed file has a word, and no line is lost or told twice over it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

STEPS: list[tuple[str, str]] = [
    ("append", "one\ntwo\nthr"),
    ("poll", ""),
    ("append", "ee\n"),
    ("poll", ""),
    ("rename_and_create", "four\n"),
    ("poll", ""),
    ("truncate_in_place", ""),
    ("append", "five\n"),
    ("poll", ""),
    ("truncate_in_place", ""),
    ("append", "six six six six\nseven\n"),
    ("poll", ""),
    ("delete", ""),
    ("poll", ""),
    ("create", "eight\n"),
    ("poll", ""),
]
"""A log's life: growth in mid-line, rotation, truncation, regrowth past the old end, removal."""


def test_every_line_once_through_every_break(tmp_path: Path, follow_by_hand: Any) -> None:
    log = tmp_path / "run.log"
    log.touch()
    reader = follow_by_hand(log)
    lines: list[str] = []
    breaks: list[str] = []
    partial = b""
    for op, text in STEPS:
        if op == "append":
            with log.open("a") as file:
                file.write(text)
        elif op == "rename_and_create":
            log.rename(tmp_path / "run.log.1")
            log.write_text(text)
        elif op == "truncate_in_place":
            os.truncate(log, 0)
        elif op == "delete":
            log.unlink()
        elif op == "create":
            log.write_text(text)
        else:
            for header, body in reader.turn():
                if header["ev"] != "data":
                    if lines and not (header["ev"] == "opened" and breaks[-1:] == [lines[-1]]):
                        breaks.append(lines[-1])
                    continue
                partial += body
                *whole, partial = partial.split(b"\n")
                lines += [line.decode() for line in whole]
                in_file = log.read_bytes()
                assert header["lines"] == in_file[: header["offset"]].count(b"\n")
    assert lines == ["one", "two", "three", "four", "five", "six six six six", "seven", "eight"]
    assert breaks == ["three", "four", "five", "seven"]
    reader.close()


def test_the_end_of_a_rotated_file_is_not_lost(tmp_path: Path, follow_by_hand: Any) -> None:
    log = tmp_path / "log"
    log.write_text("one\n")
    reader = follow_by_hand(log)
    reader.turn()
    with log.open("a") as writer:
        log.rename(tmp_path / "log.1")
        writer.write("late\n")
        writer.flush()
        log.write_text("new\n")
        reader.turn()
    assert reader.text() == b"one\nlate\nnew\n"
    assert [h.get("why") for h, _ in reader.events if h["ev"] == "opened"] == [
        "started",
        "replaced",
    ]
    reader.close()


def test_a_line_written_just_before_the_rotation_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follow_by_hand: Any
) -> None:
    """It comes between our last look at the old file and our look at the name."""
    log = tmp_path / "log"
    log.write_text("one\n")
    reader = follow_by_hand(log)
    reader.turn()
    real = os.stat

    def rotate_first(path: str) -> os.stat_result:
        monkeypatch.setattr(os, "stat", real)
        with log.open("a") as file:
            file.write("late\n")
        log.rename(tmp_path / "log.1")
        log.write_text("new\n")
        return real(path)

    monkeypatch.setattr(os, "stat", rotate_first)
    reader.turn()
    assert reader.text() == b"one\nlate\nnew\n"
    reader.close()


def test_atomic_replacement_by_a_longer_file_is_seen(tmp_path: Path, follow_by_hand: Any) -> None:
    log = tmp_path / "log"
    log.write_text("one\n")
    reader = follow_by_hand(log)
    reader.turn()
    other = tmp_path / "other"
    other.write_text("a longer file\nwith two lines\n")
    other.rename(log)
    reader.turn()
    assert reader.data["lines"] == 2
    assert reader.text() == b"one\na longer file\nwith two lines\n"
    reader.close()


def test_a_file_that_does_not_exist_yet_is_awaited(tmp_path: Path, follow_by_hand: Any) -> None:
    folder = tmp_path / "run"
    log = folder / "log"
    reader = follow_by_hand(log, lines_back=0)
    assert [h["reason"] for h, _ in reader.turn()] == [f"no such directory {folder}"]
    assert reader.turn() == []
    folder.mkdir()
    assert [h["reason"] for h, _ in reader.turn()] == ["no log yet"]
    log.write_text("first\n")
    reader.turn()
    assert reader.words() == ["missing", "missing", "opened", "data"]
    assert reader.text() == b"first\n"
    reader.close()


def test_resume_from_a_checkpoint(tmp_path: Path, follow_by_hand: Any) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\nth")
    first = follow_by_hand(log)
    first.turn()
    first.close()
    with log.open("a") as file:
        file.write("ree\nfour\n")
    second = follow_by_hand(log, checkpoint=first.data["checkpoint"])
    second.turn()
    assert second.events[0][0]["resumed"] is True
    assert second.text() == b"ree\nfour\n"
    assert (second.data["lines"], second.data["new"]) == (4, 2)
    second.close()


@pytest.mark.parametrize("how", ["rewritten", "replaced", "shorter"])
def test_a_checkpoint_of_another_file_is_refused(
    tmp_path: Path, how: str, follow_by_hand: Any
) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\n")
    first = follow_by_hand(log)
    first.turn()
    if how == "rewritten":
        log.write_text("six\nsix\nsix\n")
    elif how == "shorter":
        log.write_text("x\n")
    else:
        other = tmp_path / "other"
        other.write_text("one\ntwo\n")
        other.rename(log)
    second = follow_by_hand(log, checkpoint=first.data["checkpoint"])
    second.turn()
    assert (second.events[0][0]["resumed"], second.events[0][0]["why"]) == (False, "replaced")
    assert second.text() == log.read_bytes()
    first.close()
    second.close()


def test_a_directory_or_a_pipe_under_the_name_blocks_nothing(
    tmp_path: Path, follow_by_hand: Any
) -> None:
    reader = follow_by_hand(tmp_path)
    assert [h["ev"] for h, _ in reader.turn()][-1] == "missing"
    reader.close()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = follow_by_hand(pipe)
    reader.turn()  # must come back
    assert reader.text() == b""
    reader.close()
