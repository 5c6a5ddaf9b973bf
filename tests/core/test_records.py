"""Records: what is written can be read, and a scan finds key and state without parsing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core import codec
from eagle3_core.records import DONE, KEPT, RETRYABLE, AnswerState, Failure, Record

_TEXT = st.text(st.characters() | st.sampled_from("\ud83d\u2028\x85\x00"))
_IDS = st.none() | st.lists(st.integers(0, 200_000))
_RECORDS = st.builds(
    Record,
    key=_TEXT,
    state=st.sampled_from(AnswerState),
    sample_id=st.none() | _TEXT,
    messages=st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": _TEXT})).map(
        tuple
    ),
    reasoning=st.none() | _TEXT,
    content=st.none() | _TEXT,
    finish_reason=st.none() | _TEXT,
    usage=st.none() | st.dictionaries(_TEXT, st.integers(0, 9)),
    model=_TEXT,
    endpoint=_TEXT,
    attempt=st.integers(1, 9),
    started_at=_TEXT,
    first_token_s=st.none() | st.just(0.25),
    total_s=st.just(1.5),
    prompt_token_ids=_IDS,
    token_ids=_IDS,
    flags=st.dictionaries(_TEXT, _TEXT),
)


@given(_RECORDS)
def test_a_record_comes_back(record: Record) -> None:
    line = record.to_line()
    assert line.count(b"\n") == 1
    assert line.endswith(b"}\n")
    assert line.startswith(b'{"key":' + codec.dumps(record.key) + b',"state":"')
    back = Record.from_line(line)
    assert codec.sanitise(vars(record) | {"messages": list(record.messages)}) == vars(back) | {
        "messages": list(back.messages)
    }
    assert json.loads(line)["content"] == back.content


FULL: dict[str, Any] = {
    "key": "7:ab",
    "state": "ok",
    "sample_id": "7",
    "messages": [],
    "reasoning": "r",
    "content": "c",
    "finish_reason": "stop",
    "usage": None,
    "model": "m",
    "endpoint": "e",
    "attempt": 1,
    "started_at": "t",
    "first_token_s": None,
    "total_s": 1.0,
    "flags": {},
}


@pytest.mark.parametrize("name", FULL)
def test_a_line_that_lacks_a_field_is_no_record(name: str) -> None:
    assert Record.from_line(codec.dumps(FULL)).key == "7:ab"
    with pytest.raises(ValueError, match=name):
        Record.from_line(codec.dumps({key: value for key, value in FULL.items() if key != name}))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"7",
        b"[]",
        b"{",
        b"null",
        codec.dumps(FULL | {"state": "fine"}),
        codec.dumps(FULL | {"messages": None}),
    ],
)
def test_what_is_no_record(line: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Record.from_line(line)


def test_every_state_is_in_one_group() -> None:
    assert sorted(DONE | KEPT | RETRYABLE | {AnswerState.REJECTED}) == sorted(AnswerState)
    assert len(DONE) + len(KEPT) + len(RETRYABLE) + 1 == len(AnswerState)
    for state in AnswerState:
        groups = {"done": DONE, "kept": KEPT, "retryable": RETRYABLE}
        assert state in groups.get(state.group, {AnswerState.REJECTED})


def test_a_failure_has_key_and_state_first_and_all_fields_once() -> None:
    failure = Failure(
        key="k", state=AnswerState.TIMEOUT, sample_id=None, attempt=2, clock="idle", why="silent",
        message="two\nlines", endpoint="e", started_at="t", elapsed_s=1.0, queue_s=0.0,
        first_token_s=None, tokens=3, will_retry=True, reasoning="half", content=None,
    )  # fmt: skip
    line = failure.to_line()
    assert line.startswith(b'{"key":"k","state":"timeout",')
    assert line.count(b"\n") == 1
    assert json.loads(line) == vars(failure) | {"state": "timeout"}
