"""Log lines that wait: bounded, newest kept, nothing dropped in silence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.monitor.events import LogLines
from eagle3_core.monitor.log_backlog import LogBacklog


def held(most: int, *parts: LogLines) -> list[LogLines]:
    backlog = LogBacklog(most)
    for part in parts:
        backlog.add(part)
    return backlog.take()


def test_what_follows_without_a_break_is_one_piece() -> None:
    parts = held(10, LogLines(("a",), "b"), LogLines(("bc",), ""), LogLines((), "d"))
    assert parts == [LogLines(("a", "bc"), "d")]


def test_a_break_begins_a_new_piece() -> None:
    gap = LogLines(("x",), skipped_bytes=9)
    note = LogLines((), note="the file was cut")
    assert held(10, LogLines(("a",)), gap, note, LogLines(("b",))) == [
        LogLines(("a",)),
        gap,
        LogLines(("b",), note="the file was cut"),
    ]


def test_nothing_waits_after_a_take() -> None:
    backlog = LogBacklog(10)
    backlog.add(LogLines(("a",)))
    assert backlog.take() == [LogLines(("a",))]
    assert backlog.take() == []


def test_one_piece_larger_than_the_bound_keeps_its_end() -> None:
    (part,) = held(3, LogLines(tuple("abcdefgh"), "half"))
    assert part == LogLines(tuple("fgh"), "half", skipped_bytes=10)


def test_a_burst_does_not_fill_the_memory() -> None:
    backlog = LogBacklog(100)
    for n in range(0, 100_000, 10):
        backlog.add(LogLines(tuple(f"line {n + i}" for i in range(10))))
        assert sum(len(part.lines) for part in backlog._parts) <= 210
    (part,) = backlog.take()
    assert part.lines == tuple(f"line {n}" for n in range(99_900, 100_000))
    assert part.skipped_bytes == sum(len(f"line {n}") + 1 for n in range(99_900))


texts = st.lists(st.text(st.sampled_from("aé"), max_size=3), max_size=8).map(tuple)
pieces = st.builds(
    LogLines, texts, st.just(""), st.sampled_from([0, 0, 7]), st.sampled_from(["", "", "cut"])
)


@given(st.integers(1, 10), st.lists(pieces, max_size=10))
def test_every_byte_is_shown_or_told(most: int, parts: list[LogLines]) -> None:
    lines = [line for part in parts for line in part.lines]
    out = held(most, *parts)
    shown = [line for part in out for line in part.lines]
    assert shown == lines[max(0, len(lines) - most) :]
    dropped = lines[: len(lines) - len(shown)]
    assert sum(part.skipped_bytes for part in out) == sum(
        part.skipped_bytes for part in parts
    ) + sum(len(line.encode()) + 1 for line in dropped)
