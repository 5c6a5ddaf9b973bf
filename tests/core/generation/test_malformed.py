"""What is no answer is refused by name, and never breaks the loop."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.generation.assemble import (
    BATCH_BYTES,
    Assembler,
    MalformedAnswerError,
    ServerSaidError,
    whole,
)
from eagle3_core.generation.state import judge
from eagle3_core.records import Answer


def chunk(finish: str | None = None, usage: Any = None, ids: Any = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "token_ids": ids}
    body = {"id": "cc", "object": "chat.completion.chunk", "choices": [choice], "usage": usage}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def read(*pieces: bytes) -> Answer:
    assembler = Assembler()
    for piece in pieces:
        assembler.feed(piece)
    assembler.end()
    return assembler.answer()


MALFORMED: dict[str, Any] = {
    "not JSON": b"<html>",
    "a list": [],
    "a text": "hello",
    "choices no list": {"choices": {"a": 1}},
    "a choice no object": {"choices": [7]},
    "content a list": {"choices": [{"MESSAGE": {"content": [{"type": "text", "text": "x"}]}}]},
    "reasoning an object": {"choices": [{"MESSAGE": {"reasoning": {"text": "x"}}}]},
    "reasoning_content a number": {"choices": [{"MESSAGE": {"reasoning_content": 7}}]},
    "finish_reason a list": {"choices": [{"MESSAGE": {}, "finish_reason": ["stop"]}]},
    "usage a list": {"choices": [{"MESSAGE": {}}], "usage": [1]},
    "token_ids a text": {"choices": [{"MESSAGE": {}, "token_ids": "1,2"}]},
    "refusal a number": {"choices": [{"MESSAGE": {"refusal": 1}}]},
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("streamed", [True, False])
def test_what_is_no_answer_is_refused(name: str, streamed: bool) -> None:
    value = MALFORMED[name]
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    if streamed:
        stream = chunk(content="so far") + b"data: " + data.replace(b"MESSAGE", b"delta") + b"\n\n"
        assembler = Assembler()
        assembler.feed(stream[:-1])
        with pytest.raises(MalformedAnswerError):
            assembler.feed(b"\n" + b":" * BATCH_BYTES)
        assert assembler.answer().content == "so far"
    else:
        with pytest.raises(MalformedAnswerError):
            whole(data.replace(b"MESSAGE", b"message"))


def test_tool_calls_of_odd_shapes_are_refused() -> None:
    for call in (7, {"index": "x"}, {"index": 0, "function": {"name": 7}}, {"function": 7}):
        with pytest.raises(MalformedAnswerError):
            read(chunk(tool_calls=[call]))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "choices",
                        "delta",
                        "message",
                        "content",
                        "reasoning",
                        "usage",
                        "error",
                        "token_ids",
                        "tool_calls",
                        "function",
                        "index",
                        "finish_reason",
                        "code",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_an_answer_or_refused_by_name(value: Any) -> None:
    data = json.dumps(value).encode()
    for take in (lambda: whole(data), lambda: read(b"data: " + data + b"\n\n")):
        try:
            answer = take()
        except (MalformedAnswerError, ServerSaidError):
            continue
        judge(answer, thinking=True, max_tokens=8)
