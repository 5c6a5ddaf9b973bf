"""Answers put together from bodies and streams, ours and those of real servers."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.generation.assemble import (
    BATCH_BYTES,
    Assembler,
    ServerSaidError,
    whole,
)
from eagle3_core.generation.state import judge
from eagle3_core.records import Answer, AnswerState

DONE = b"data: [DONE]\n\n"


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


def body(message: dict[str, Any], **more: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice | more], "usage": None}).encode()


USAGE = {"prompt_tokens": 3, "completion_tokens": 7, "total_tokens": 10}
OPENING = chunk(role="assistant", content="")
HELLO = chunk(content="Good ") + chunk("stop", content="day")

GOOD_STREAMS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "reasoning under the new name": (
        OPENING
        + chunk(reasoning="Two plus ")
        + chunk(reasoning="three.")
        + chunk(content="Fi", reasoning_content=None)
        + chunk(content="ve.")
        + chunk("stop")
        + DONE,
        {"reasoning": "Two plus three.", "content": "Five."},
    ),
    "reasoning under the old name": (
        chunk(reasoning_content="Two.") + chunk("stop", content="Five.") + DONE,
        {"reasoning_content": "Two.", "content": "Five."},
    ),
    "usage in a last chunk without choices": (
        HELLO + b'data: {"choices":[],"usage":' + json.dumps(USAGE).encode() + b"}\n\n" + DONE,
        {"content": "Good day", "usage": USAGE},
    ),
    "usage in every chunk: the last one counts": (
        chunk(content="Good ", usage={"completion_tokens": 1})
        + chunk("stop", content="day", usage=USAGE)
        + DONE,
        {"content": "Good day", "usage": USAGE},
    ),
    "no usage: not known, not zero": (HELLO + DONE, {"content": "Good day", "usage": None}),
    "no choices and no usage in between": (
        chunk(content="Good ") + b'data: {"choices":[]}\n\n' + chunk("stop", content="day") + DONE,
        {"content": "Good day"},
    ),
    "content null in the last chunk": (
        chunk(content="Good ") + chunk(content="day") + chunk("stop", content=None) + DONE,
        {"content": "Good day"},
    ),
    "odd framing": (
        b"\xef\xbb\xbf: ping\n\nretry: 9\n\nevent: ping\n\nid: 1\n"
        + chunk(content="Good ").replace(b"\n", b"\r\n")
        + b":\n\n"
        + chunk("stop", content="day").replace(b"data: ", b"data:")
        + b"data:[DONE]\n\n",
        {"content": "Good day"},
    ),
    "no [DONE], nor the last blank line": (HELLO[:-1], {"content": "Good day"}),
    "line separators of Unicode, unescaped": (
        'data: {"choices":[{"delta":{"content":"a\u2028b\u0085c\u2029"},"finish_reason":"stop"}]}'.encode()
        + b"\n\n"
        + DONE,
        {"content": "a\u2028b\u0085c\u2029"},
    ),
    "a pair of surrogates in two chunks": (
        chunk(content="half \ud83d") + chunk("stop", content="\ude00 end") + DONE,
        {"content": "half \U0001f600 end", "sanitised": False},
    ),
    "a lone surrogate": (
        chunk(reasoning="r \ude00") + chunk(content="half \ud83d") + chunk("stop", content="!"),
        {"reasoning": "r \ufffd", "content": "half \ufffd!", "sanitised": True},
    ),
    "a pair of surrogates is not made of reasoning and content": (
        chunk(reasoning="\ud83d") + chunk("stop", content="\ude00") + DONE,
        {"reasoning": "\ufffd", "content": "\ufffd", "sanitised": True},
    ),
    "token ids": (
        chunk(content="Good ", ids=[5, 6]) + chunk("stop", content="day", ids=[7]) + DONE,
        {"content": "Good day", "token_ids": [5, 6, 7]},
    ),
    "tool calls in pieces": (
        chunk(tool_calls=[{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}])
        + chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}])
        + chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"x":'}}])
        + chunk("tool_calls", tool_calls=[{"index": 0, "function": {"arguments": "1}"}}])
        + DONE,
        {
            "finish_reason": "tool_calls",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
    ),
    "a refusal": (
        chunk(refusal="I ") + chunk("stop", refusal="won't.") + DONE,
        {"refusal": "I won't."},
    ),
    "more than a batch": (
        b"".join(chunk(content=f"{number} ") for number in range(400)) + chunk("stop") + DONE,
        {"content": "".join(f"{number} " for number in range(400))},
    ),
}

ENGINE_DIED = b'data: {"error":{"message":"engine died","code":500}}\n\n'
PARTS = OPENING + chunk(reasoning="Plan.") + chunk(content="Half a wo")
BAD_STREAMS: dict[str, tuple[bytes, str]] = {
    "an orderly end in the middle": (PARTS, "cut"),
    "an end within an event": (PARTS + chunk(content="rd")[:30], "cut"),
    "[DONE] without a finish reason": (PARTS + DONE, "cut"),
    "an error event": (PARTS + ENGINE_DIED, "engine died"),
    "an error event before [DONE]": (PARTS + ENGINE_DIED + DONE, "engine died"),
    "an error event by name": (
        PARTS + b'event: error\ndata: {"message":"engine died"}\n\n',
        "engine died",
    ),
    "an error event by name, wrapped": (
        PARTS + b'event: error\ndata: {"error":{"message":"engine died","code":500}}\n\n',
        "engine died",
    ),
    "an error event by name, plain text": (
        PARTS + b"event: error\ndata: engine died\n\n",
        "engine died",
    ),
    "an error that is a text": (PARTS + b'data: {"error":"engine died"}\n\n', "engine died"),
}


@pytest.mark.parametrize("name", GOOD_STREAMS)
@given(places=st.lists(st.integers(0, 40_000), max_size=12))
def test_streams_cut_anywhere(name: str, places: list[int]) -> None:
    stream, expected = GOOD_STREAMS[name]
    answer = read(*_cut(stream, places))
    assert answer.finish_reason == expected.get("finish_reason", "stop")
    for field, value in expected.items():
        assert getattr(answer, field) == value, field


@pytest.mark.parametrize("name", BAD_STREAMS)
@given(places=st.lists(st.integers(0, 40_000), max_size=12))
def test_broken_streams_keep_what_came(name: str, places: list[int]) -> None:
    stream, word = BAD_STREAMS[name]
    assembler = Assembler()

    def take() -> None:
        for piece in _cut(stream, places):
            assembler.feed(piece)
        assembler.end()

    if word == "cut":
        take()
    else:
        with pytest.raises(ServerSaidError, match=word):
            take()
    answer = assembler.answer()
    assert (answer.reasoning, answer.content) == ("Plan.", "Half a wo")
    assert answer.finish_reason is None
    assert judge(answer, thinking=True).state is AnswerState.CUT


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]


def test_text_is_counted_at_once_and_then_in_batches() -> None:
    assembler = Assembler()
    assembler.feed(OPENING)
    assert assembler.texts == 0, "a role is no progress"
    assembler.feed(chunk(content="a"))
    assert assembler.texts == 1, "the first text stops a clock"
    piece = chunk(content="b")
    for _ in range(BATCH_BYTES // len(piece)):
        assembler.feed(piece)
    assert assembler.texts == 1
    assembler.feed(piece)
    assert assembler.texts == 2 + BATCH_BYTES // len(piece)
    assembler.feed(piece)
    assembler.flush()
    assert assembler.texts == 3 + BATCH_BYTES // len(piece)
    assembler.feed(b": ping\n\n" * 2000)
    assert assembler.texts == 3 + BATCH_BYTES // len(piece), "a ping is no progress"


@pytest.mark.parametrize(
    ("data", "message", "code"),
    [
        (b'{"error":{"message":"no room","code":400}}', "no room", 400),
        (b'{"error":{"message":"no room","code":"full"}}', "no room", None),
        (b'{"error":"Unauthorized"}', "Unauthorized", None),
    ],
)
def test_an_error_in_a_body_with_status_200(data: bytes, message: str, code: int | None) -> None:
    with pytest.raises(ServerSaidError, match=message) as caught:
        whole(data)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "expected", "sanitised"),
    [
        (rb"half \ud83d end", "half \ufffd end", True),
        (rb"pair \ud83d\ude00 end", "pair \U0001f600 end", False),
        (rb"nul \u0000 end", "nul \x00 end", False),
        (rb"low \ude00 first", "low \ufffd first", True),
        (rb"swapped \ude00\ud83d", "swapped \ufffd\ufffd", True),
    ],
)
def test_lone_surrogates_of_a_whole_answer(text: bytes, expected: str, sanitised: bool) -> None:
    answer = whole(body({"content": "TEXT"}).replace(b"TEXT", text))
    assert (answer.content, answer.sanitised) == (expected, sanitised)


def test_a_server_that_is_told_to_stop_aborts_its_answers() -> None:
    """vLLM 0.32 on SIGTERM: HTTP 200, half a text, and ``abort`` for a reason."""
    streamed = read(OPENING + chunk(reasoning="Fi") + chunk("abort", reasoning=" l") + DONE)
    plain = whole(body({"content": None, "reasoning": "Fi l"}, finish_reason="abort"))
    for answer in (streamed, plain):
        assert answer.reasoning == "Fi l"
        assert judge(answer, thinking=True).state is AnswerState.ABORTED


def test_a_full_server_refuses_within_a_stream() -> None:
    """vLLM 0.32 with a full queue: HTTP 200, and 503 in the first event."""
    stream = b'data: {"error": {"message": "The engine is currently busy", "code": 503}}\n\n' + DONE
    with pytest.raises(ServerSaidError, match="busy") as caught:
        read(stream)
    assert caught.value.code == 503
