"""Following a file: every line once, an exact count, a word at every break."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagle3_core.host.agent import follow as agent_follow
from eagle3_core.host.agent.follow import Follow


class Reader:
    """A follow with what it told, turned by hand."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.events: list[tuple[dict[str, Any], bytes]] = []
        self.follow = Follow(
            {"path": str(path), **options}, lambda h, b: self.events.append((h, b))
        )

    def turn(self) -> list[tuple[dict[str, Any], bytes]]:
        """What one look tells, looks that are due at once included."""
        before = len(self.events)
        for _ in range(1000):
            self.follow.turn(1.0)
            if self.follow.due > 1.0:
                break
        return self.events[before:]

    def text(self) -> bytes:
        return b"".join(body for _, body in self.events)

    def words(self) -> list[str]:
        return [header["ev"] for header, _ in self.events]

    @property
    def data(self) -> dict[str, Any]:
        return [header for header, _ in self.events if header["ev"] == "data"][-1]

    def close(self) -> None:
        self.follow.close()


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


def test_every_line_once_through_every_break(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.touch()
    reader = Reader(log)
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


def test_the_end_of_a_rotated_file_is_not_lost(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n")
    reader = Reader(log)
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


def test_atomic_replacement_by_a_longer_file_is_seen(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n")
    reader = Reader(log)
    reader.turn()
    other = tmp_path / "other"
    other.write_text("a longer file\nwith two lines\n")
    other.rename(log)
    reader.turn()
    assert reader.data["lines"] == 2
    assert reader.text() == b"one\na longer file\nwith two lines\n"
    reader.close()


def test_a_file_that_does_not_exist_yet_is_awaited(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    log = folder / "log"
    reader = Reader(log, lines_back=0)
    assert [h["reason"] for h, _ in reader.turn()] == [f"no such directory {folder}"]
    assert reader.turn() == []
    folder.mkdir()
    assert [h["reason"] for h, _ in reader.turn()] == ["no log yet"]
    log.write_text("first\n")
    reader.turn()
    assert reader.words() == ["missing", "missing", "opened", "data"]
    assert reader.text() == b"first\n"
    reader.close()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"lines_back": 2}, b"line 98\nline 99\ntail"),
        ({"lines_back": 0}, b"tail"),
        ({"bytes_back": 25}, b"line 98\nline 99\ntail"),
        ({"bytes_back": 1 << 20}, None),
    ],
)
def test_history_starts_at_a_line_and_all_is_counted(
    tmp_path: Path, options: dict[str, int], expected: bytes | None
) -> None:
    log = tmp_path / "log"
    whole = b"".join(b"line %02d\n" % number for number in range(100)) + b"tail"
    log.write_bytes(whole)
    reader = Reader(log, **options)
    reader.turn()
    assert reader.text() == (expected or whole)
    assert reader.data["lines"] == 100
    assert reader.data["skipped"] == 0
    reader.close()


def test_count_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a\n" * 1000)
    reader = Reader(log, text=False)
    reader.turn()
    assert (reader.text(), reader.data["lines"], reader.data["skipped"]) == (b"", 1000, 0)
    reader.close()


def test_a_burst_is_cut_but_counted_and_text_starts_with_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    reader = Reader(log, cap=100)
    reader.turn()
    burst = b"".join(b"line %06d\n" % number for number in range(1000))
    log.write_bytes(burst)
    reader.turn()
    text = reader.text()
    assert len(text) <= 100
    assert burst.endswith(text)
    assert text.startswith(b"line ")
    assert reader.data["skipped"] == len(burst) - len(text)
    assert reader.data["lines"] == reader.data["new"] == 1000
    reader.close()


def test_a_line_longer_than_the_cap_is_skipped_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    reader = Reader(log, cap=100)
    reader.turn()
    with log.open("ab") as file:
        for piece in (b"x" * 500, b"x" * 50, b"end\nshort\n"):
            file.write(piece)
            file.flush()
            reader.turn()
    assert reader.text() == b"short\n"
    assert sum(h.get("skipped", 0) for h, _ in reader.events) == 554
    reader.close()


def test_resume_from_a_checkpoint(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\nth")
    first = Reader(log)
    first.turn()
    first.close()
    with log.open("a") as file:
        file.write("ree\nfour\n")
    second = Reader(log, checkpoint=first.data["checkpoint"])
    second.turn()
    assert second.events[0][0]["resumed"] is True
    assert second.text() == b"ree\nfour\n"
    assert (second.data["lines"], second.data["new"]) == (4, 2)
    second.close()


@pytest.mark.parametrize("how", ["rewritten", "replaced", "shorter"])
def test_a_checkpoint_of_another_file_is_refused(tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\n")
    first = Reader(log)
    first.turn()
    if how == "rewritten":
        log.write_text("six\nsix\nsix\n")
    elif how == "shorter":
        log.write_text("x\n")
    else:
        other = tmp_path / "other"
        other.write_text("one\ntwo\n")
        other.rename(log)
    second = Reader(log, checkpoint=first.data["checkpoint"])
    second.turn()
    assert (second.events[0][0]["resumed"], second.events[0][0]["why"]) == (False, "replaced")
    assert second.text() == log.read_bytes()
    first.close()
    second.close()


def test_a_directory_or_a_pipe_under_the_name_blocks_nothing(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    assert [h["ev"] for h, _ in reader.turn()][-1] == "missing"
    reader.close()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = Reader(pipe)
    reader.turn()  # must come back
    assert reader.text() == b""
    reader.close()


def test_a_huge_file_is_counted_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_follow, "SLICE", 1000)
    log = tmp_path / "log"
    log.write_bytes(b"0123456789\n" * 1000)
    reader = Reader(log, bytes_back=22)
    reader.follow.turn(1.0)
    assert reader.data["behind"] == 10000
    assert reader.follow.due == 1.0  # more at once
    reader.turn()
    assert (reader.data["lines"], reader.data["behind"]) == (1000, 0)
    assert reader.text() == b"0123456789\n" * 2
    reader.close()


@settings(max_examples=60, deadline=None)
@given(
    pieces=st.lists(st.binary(max_size=40), max_size=12),
    cuts=st.sets(st.integers(0, 11)),
    cap=st.sampled_from([8, 1000]),
)
def test_sent_and_skipped_add_up(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], cuts: set[int], cap: int
) -> None:
    """However a file grows, and wherever the reader is replaced, nothing is lost or doubled."""
    log = tmp_path_factory.mktemp("f") / "log"
    log.touch()
    reader = Reader(log, cap=cap)
    reader.turn()
    whole, text, skipped, new = b"", b"", 0, 0
    saved: dict[str, Any] | None = None
    for number, piece in enumerate(pieces):
        with log.open("ab") as file:
            file.write(piece)
        whole += piece
        for header, body in reader.turn():
            if header["ev"] == "data":
                text += body
                skipped += header["skipped"]
                new += header["new"]
                assert whole[: header["offset"]].endswith(body)
                assert header["lines"] == whole[: header["offset"]].count(b"\n")
                saved = header["checkpoint"]
        if number in cuts and saved and cap == 1000:
            reader.close()
            reader = Reader(log, cap=cap, checkpoint=saved)
            reader.turn()
    reader.close()
    assert len(text) + skipped == len(whole)
    assert new == whole.count(b"\n")
    if cap == 1000:
        assert text == whole


def test_a_line_written_just_before_the_rotation_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes between our last look at the old file and our look at the name."""
    log = tmp_path / "log"
    log.write_text("one\n")
    reader = Reader(log)
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
