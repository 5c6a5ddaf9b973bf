"""The resume index: the same as reading every line as JSON, without doing it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.journal.index import Index, scan
from eagle3_core.records import DONE, AnswerState, Record

S = AnswerState


def record(key: str, state: AnswerState = S.OK, content: str = "Four.", **more: Any) -> bytes:
    values: dict[str, Any] = {
        "sample_id": key,
        "messages": ({"role": "user", "content": "2+2?"},),
        "reasoning": "Sum.",
        "finish_reason": "stop",
        "usage": None,
        "model": "toy",
        "endpoint": "http://127.0.0.1:1/v1",
        "attempt": 1,
        "started_at": "2031-04-02T10:00:00+00:00",
        "first_token_s": None,
        "total_s": 1.5,
    } | more
    return Record(key=key, state=state, content=content, **values).to_line()


def scan_of(tmp_path: Path, data: bytes) -> Index:
    path = tmp_path / "raw_responses.jsonl"
    path.write_bytes(data)
    return scan(str(path))


def naive(data: bytes) -> Index:
    """What the index must be: every line parsed."""
    index = Index()
    lines = data.split(b"\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], 1):
        index.lines += 1
        try:
            row = json.loads(line)
            key, state = row["key"], S(row["state"])
            assert isinstance(key, str)
        except (ValueError, KeyError, TypeError, AssertionError):
            index.bad_lines.append(number)
            continue
        known = index.states.get(key)
        index.duplicates += known is not None
        if known not in DONE:
            index.states[key] = state
    return index


def test_no_file_and_an_empty_one(tmp_path: Path) -> None:
    assert scan(str(tmp_path / "none.jsonl")) == Index()
    assert scan_of(tmp_path, b"") == Index()


def test_resume_is_by_key_whatever_the_order(tmp_path: Path) -> None:
    answered = ["q00", "q03", "q01", "q05", "q08", "q02", "q09"]
    index = scan_of(tmp_path, b"".join(map(record, answered)))
    assert index.done == set(answered)
    pending = [key for key in (f"q{n:02}" for n in range(12)) if key not in index.done]
    assert pending == ["q04", "q06", "q07", "q10", "q11"]
    assert (index.lines, index.duplicates, index.bad_lines) == (7, 0, [])


def test_only_done_states_count_as_done(tmp_path: Path) -> None:
    states = [S.OK, S.EMPTY, S.TRUNCATED, S.NO_REASONING, S.OK_NON_THINKING, S.SPECIAL_TEXT]
    lines = [record(f"e{number}", state) for number, state in enumerate(states)]
    index = scan_of(tmp_path, b"".join(lines))
    assert index.done == {"e0", "e4"}
    assert index.states == {f"e{number}": state for number, state in enumerate(states)}


def test_a_done_answer_stays_done_in_either_order(tmp_path: Path) -> None:
    data = (
        record("e1", S.OK)
        + record("e2", S.EMPTY)
        + record("e2", S.OK)
        + record("e1", S.TRUNCATED)
        + record("e3", S.EMPTY)
        + record("e3", S.TRUNCATED)
    )
    index = scan_of(tmp_path, data)
    assert index.states == {"e1": S.OK, "e2": S.OK, "e3": S.TRUNCATED}
    assert (index.lines, index.duplicates) == (6, 3)


HALF = record("c")[:60]
ODD = {
    "glued": (record("a") + HALF + record("d") + record("b"), ["a", "b"], [2]),
    "glued early": (record("a") + b'{"ke' + record("d") + record("b"), ["a", "b"], [2]),
    "torn at the end": (record("a") + record("b") + HALF, ["a", "b"], [3]),
    "torn behind a brace": (record("a", content="x}")[:-1].partition(b"}")[0] + b"}", [], [1]),
    "last newline missing": (record("a") + record("b")[:-1], ["a", "b"], []),
    "NULs at the end": (record("a") + record("b") + bytes(50), ["a", "b"], [3]),
    "NULs within a line": (
        record("a") + record("x")[:70] + bytes(40) + record("y")[90:] + record("b"),
        ["a", "b"],
        [2],
    ),
    "CRLF": (record("a").replace(b"\n", b"\r\n") + record("b"), ["a", "b"], []),
    "blank lines": (record("a") + b"\n" + record("b"), ["a", "b"], [2]),
    "line separators of Unicode": (
        record("a", content="x\u2028y\u2029z\u0085 \x0b\x0c\x1c") + record("b"),
        ["a", "b"],
        [],
    ),
    "another tool's line": (b'{"id":7,"answer":"x"}\n' + record("b"), ["b"], [1]),
    "another order of fields": (b'{"state":"ok","key":"a"}\n' + record("b"), ["a", "b"], []),
    "spaces": (b'{ "key" : "a", "state" : "ok" }\n' + record("b"), ["a", "b"], []),
    "escapes in the key": (b'{"key":"a\\u0062","state":"ok"}\n', ["ab"], []),
    "a state nobody knows": (b'{"key":"a","state":"fine"}\n' + record("b"), ["b"], [1]),
    "a key that is a number": (b'{"key":7,"state":"ok"}\n' + record("b"), ["b"], [1]),
    "a key that is a list": (b'{"state":"ok","key":[7]}\n' + record("b"), ["b"], [1]),
    "a list": (b'["key","state"]\n' + record("b"), ["b"], [1]),
    "a record quoted in a text": (
        record("a", content='{"key":"z","state":"ok"}') + record("b"),
        ["a", "b"],
        [],
    ),
    "a record within a record": (
        record("a", usage={"x": {"key": "z", "state": "ok"}}) + record("b"),
        ["a", "b"],
        [],
    ),
    "not UTF-8": (b'{"key":"a","state":"ok","x":"\xff\n' + record("b"), ["b"], [1]),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files(name: str, tmp_path: Path) -> None:
    data, done, bad = ODD[name]
    index = scan_of(tmp_path, data)
    assert sorted(index.done) == done
    assert index.bad_lines == bad
    assert index == naive(data)


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['{"key":"q","state":"ok"}', "}", '"', "\\", "\n", "\r", "\x00", "\u2028"]
)
_LINES = st.builds(
    record, st.sampled_from("abcde") | _TEXTS, st.sampled_from(list(S)), _TEXTS, reasoning=_TEXTS
)


@given(
    st.lists(_LINES, min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from(["torn", "hole"]), st.integers(0, 9999)), max_size=3),
    st.integers(0, 400),
)
def test_the_same_as_parsing_every_line(
    lines: list[bytes], damage: list[tuple[str, int]], missing: int
) -> None:
    """Of whole files, and of what crashes leave: torn lines with the next one glued on, holes of
    NULs, and an end that is missing."""
    for kind, place in damage:
        number = place % len(lines)
        line = lines[number]
        at = place % (len(line) + 1)
        lines[number] = line[:at] if kind == "torn" else line[:at] + bytes(5) + line[at + 5 :]
    data = b"".join(lines)
    data = data[: max(0, len(data) - missing)]
    with tempfile.TemporaryDirectory() as folder:
        assert scan_of(Path(folder), data) == naive(data)
