"""Server-sent events: the same events from every framing and every way to cut the bytes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eagle3_core.generation.sse import Decoder, Event, events, plain_data

BOM = b"\xef\xbb\xbf"


def decode(*pieces: bytes) -> list[Event]:
    decoder = Decoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.close()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]


def by_the_standard(data: bytes) -> list[Event]:
    """Line by line, as the standard has it, with the whole stream in hand."""
    events: list[Event] = []
    lines: list[bytes] = []
    name = b"message"
    for line in [*re.split(rb"\r\n|\r|\n", data.removeprefix(BOM)), b""]:
        if not line:
            payload = b"\n".join(lines)
            if payload:
                events.append(Event(payload, name))
            lines, name = [], b"message"
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            lines.append(value)
        elif field == b"event":
            name = value or b"message"
    return events


ONE = [Event(b'{"a":1}'), Event(b"[DONE]")]
FRAMINGS = {
    "plain": (b'data: {"a":1}\n\ndata: [DONE]\n\n', ONE),
    "no space after the colon": (b'data:{"a":1}\n\ndata:[DONE]\n\n', ONE),
    "CRLF": (b'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n', ONE),
    "CR": (b'data: {"a":1}\r\rdata: [DONE]\r\r', ONE),
    "all three mixed": (b'data: {"a":1}\r\n\ndata: [DONE]\r\r\n', ONE),
    "comments": (b': ping 2031\n\ndata: {"a":1}\n:\n\n:\n\ndata: [DONE]\n\n', ONE),
    "byte order mark": (BOM + b'data: {"a":1}\n\ndata: [DONE]\n\n', ONE),
    "block with retry alone": (b'retry: 3000\n\ndata: {"a":1}\n\ndata: [DONE]\n\n', ONE),
    "block with event alone": (b'event: ping\n\ndata: {"a":1}\n\ndata: [DONE]\n\n', ONE),
    "empty data": (b'data:\n\ndata: {"a":1}\n\ndata: [DONE]\n\n', ONE),
    "data of one space": (b'data: \n\ndata: {"a":1}\n\ndata: [DONE]\n\n', ONE),
    "data without a colon": (b'data\n\ndata: {"a":1}\n\ndata: [DONE]\n\n', ONE),
    "ping after an id": (b'id: 1\ndata: {"a":1}\n\n: ping\n\ndata: [DONE]\n\n', ONE),
    "more blank lines than needed": (b'\n\ndata: {"a":1}\n\n\n\n\ndata: [DONE]\n\n\n', ONE),
    "data in two lines": (b'data: {"a":\ndata: 1}\n\n', [Event(b'{"a":\n1}')]),
    "a name": (b'event: error\ndata: {"a":1}\n\n', [Event(b'{"a":1}', b"error")]),
    "a name does not last": (
        b'event: error\n\ndata: {"a":1}\n\ndata: [DONE]\n\n',
        ONE,
    ),
    "last blank line missing": (b'data: {"a":1}\n\ndata: [DONE]\n', ONE),
    "last line end missing": (b'data: {"a":1}\n\ndata: [DONE]', ONE),
    "a colon in the value": (b"data: :x: \n\n", [Event(b":x: ")]),
    "line separators of Unicode": (
        'data: "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"\n\n'.encode(),
        [Event('"a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"'.encode())],
    ),
}


@pytest.mark.parametrize("name", FRAMINGS)
def test_framings(name: str) -> None:
    data, events = FRAMINGS[name]
    assert decode(data) == events
    assert decode(*(data[at : at + 1] for at in range(len(data)))) == events
    for place in range(len(data)):
        assert decode(data[:place], data[place:]) == events, data[:place]


_LINES = st.sampled_from(
    [
        b"data: x",
        b"data:y",
        b"data:",
        b"data: ",
        b"data",
        b"data: caf\xc3\xa9",
        b"event: error",
        b"event:",
        b": ping",
        b":",
        b"id: 1",
        b"retry: 9",
        b"",
        b"",
        b"",
        b"DATA: n",
        b"\xe2\x80\xa8",
    ]
)
_STREAMS = st.lists(st.tuples(_LINES, st.sampled_from([b"\n", b"\r", b"\r\n"]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@given(st.sampled_from([b"", BOM]), _STREAMS, st.lists(st.integers(0, 10_000)))
@example(b"", b"data: x\r\n\r\ndata:y\n\n", [8, 9, 10])
def test_any_stream_cut_anywhere(mark: bytes, stream: bytes, places: list[int]) -> None:
    data = mark + stream
    assert decode(*cut(data, places)) == by_the_standard(data)


@given(st.binary(), st.lists(st.integers(0, 10_000)))
def test_no_bytes_break_it(data: bytes, places: list[int]) -> None:
    assert decode(*cut(data, places)) == by_the_standard(data)


def test_events_come_as_soon_as_they_are_complete() -> None:
    decoder = Decoder()
    assert decoder.feed(b"data: one\n") == []
    assert decoder.feed(b"\ndata: tw") == [Event(b"one")]
    assert decoder.feed(b"o\r\n\r") == []
    assert decoder.feed(b"\n") == [Event(b"two")]


@given(_STREAMS)
@example(b"data: x\n\ndata: y\n\n")
@example(b"data: x\ndata: y\n\n")
@example(b"data: x\n\n\ndata: y\n\n")
@example(b"data: x\n\n: ping\n\ndata: y\n\n")
def test_plain_blocks_are_told_from_others(stream: bytes) -> None:
    blocks = Decoder().blocks(stream)
    joined = plain_data(blocks)
    lines = blocks.split(b"\n\n")
    if joined is None:
        assert not all(re.fullmatch(rb"data: [^\n]*", line) for line in lines)
    else:
        assert joined == b",".join(line.removeprefix(b"data: ") for line in lines)
        assert [event.data for event in events(blocks)] == [
            line[6:] for line in lines if len(line) > 6
        ]
