"""Following a file: its new text, its history, its bursts, and an exact count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagle3_core.host.agent import follow as agent_follow


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
    tmp_path: Path, options: dict[str, int], expected: bytes | None, follow_by_hand: Any
) -> None:
    log = tmp_path / "log"
    whole = b"".join(b"line %02d\n" % number for number in range(100)) + b"tail"
    log.write_bytes(whole)
    reader = follow_by_hand(log, **options)
    reader.turn()
    assert reader.text() == (expected or whole)
    assert reader.data["lines"] == 100
    assert reader.data["skipped"] == 0
    reader.close()


def test_count_alone(tmp_path: Path, follow_by_hand: Any) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a\n" * 1000)
    reader = follow_by_hand(log, text=False)
    reader.turn()
    assert (reader.text(), reader.data["lines"], reader.data["skipped"]) == (b"", 1000, 0)
    reader.close()


def test_a_burst_is_cut_but_counted_and_text_starts_with_a_line(
    tmp_path: Path, follow_by_hand: Any
) -> None:
    log = tmp_path / "log"
    log.touch()
    reader = follow_by_hand(log, cap=100)
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


def test_a_line_longer_than_the_cap_is_skipped_whole(tmp_path: Path, follow_by_hand: Any) -> None:
    log = tmp_path / "log"
    log.touch()
    reader = follow_by_hand(log, cap=100)
    reader.turn()
    with log.open("ab") as file:
        for piece in (b"x" * 500, b"x" * 50, b"end\nshort\n"):
            file.write(piece)
            file.flush()
            reader.turn()
    assert reader.text() == b"short\n"
    assert sum(h.get("skipped", 0) for h, _ in reader.events) == 554
    reader.close()


def test_a_huge_file_is_counted_in_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follow_by_hand: Any
) -> None:
    monkeypatch.setattr(agent_follow, "SLICE", 1000)
    log = tmp_path / "log"
    log.write_bytes(b"0123456789\n" * 1000)
    reader = follow_by_hand(log, bytes_back=22)
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
    tmp_path_factory: pytest.TempPathFactory,
    pieces: list[bytes],
    cuts: set[int],
    cap: int,
    follow_by_hand: Any,
) -> None:
    """However a file grows, and wherever the reader is replaced, nothing is lost or doubled."""
    log = tmp_path_factory.mktemp("f") / "log"
    log.touch()
    reader = follow_by_hand(log, cap=cap)
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
            reader = follow_by_hand(log, cap=cap, checkpoint=saved)
            reader.turn()
    reader.close()
    assert len(text) + skipped == len(whole)
    assert new == whole.count(b"\n")
    if cap == 1000:
        assert text == whole
