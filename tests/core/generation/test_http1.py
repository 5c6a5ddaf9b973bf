"""HTTP/1.1 from a socket that says just what a test wants, cut anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web
from hypothesis import example, given
from hypothesis import strategies as st

from eagle3_core.generation.client import Client
from eagle3_core.generation.http1 import ClosedError, Connection, NotHTTPError
from eagle3_core.settings import RunSettings


class Wire(asyncio.Transport):
    """A transport that goes nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


async def exchange(pieces: list[bytes], *, close: bool = False) -> tuple[int, bytes, bool]:
    """Status, body and whether the connection can be used again."""
    connection, wire = Connection(), Wire()
    connection.connection_made(wire)
    asked = asyncio.ensure_future(connection.ask(b"GET / HTTP/1.1\r\n\r\n"))
    await asyncio.sleep(0)
    assert wire.sent == b"GET / HTTP/1.1\r\n\r\n"
    for piece in pieces:
        connection.data_received(piece)
    if close:
        connection.connection_lost(None)
    status, _ = await asked
    body = b""
    while data := await asyncio.wait_for(connection.read(), 1):
        body += data
    return status, body, connection.finish()


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = {
    "a length": OK + b"content-length: 5\r\n\r\nhello",
    "odd spacing": OK + b"Content-Length:5  \r\nx:\r\n\r\nhello",
    "no reason phrase": b"HTTP/1.1 200 \r\ncontent-length: 5\r\n\r\nhello",
    "no space behind the status": b"HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhello",
    "chunks": CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    "chunks with extensions": CHUNKED + b"2;a=b\r\nhe\r\n003 \r\nllo\r\n0;last\r\n\r\n",
    "chunks and trailers": CHUNKED + b"5\r\nhello\r\n0\r\nDigest: x\r\nB: y\r\n\r\n",
    "chunks that look like heads": CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",
    "still at work": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\n"
    + OK
    + b"content-length: 5\r\n\r\nhello",
}


@pytest.mark.parametrize("name", WHOLE)
async def test_answers_cut_anywhere(name: str) -> None:
    data = WHOLE[name]
    assert await exchange([data]) == (200, b"hello", True)
    assert await exchange([data[at : at + 1] for at in range(len(data))]) == (200, b"hello", True)
    for place in range(1, len(data)):
        assert await exchange([data[:place], data[place:]]) == (200, b"hello", True), data[:place]


@given(st.lists(st.binary(min_size=1, max_size=300)), st.lists(st.integers(0, 10_000)))
@example([b"\r\n0\r\n\r\n", b"0"], [])
def test_any_chunks_cut_anywhere(chunks: list[bytes], places: list[int]) -> None:
    data = CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks) + b"0\r\n\r\n"
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    pieces = [data[start:end] for start, end in pairwise(ends)]
    assert asyncio.run(exchange(pieces)) == (200, b"".join(chunks), True)


async def test_a_body_that_ends_with_the_connection() -> None:
    assert await exchange([OK + b"\r\nhel", b"lo"], close=True) == (200, b"hello", False)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (OK + b"content-length: 0\r\n\r\n", 200),
        (CHUNKED + b"0\r\n\r\n", 200),
    ],
)
async def test_no_body(data: bytes, status: int) -> None:
    assert await exchange([data]) == (status, b"", True)


@pytest.mark.parametrize(
    "data",
    [
        OK + b"connection: Close\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        OK + b"content-length: 5\r\n\r\nhello, and more",
        CHUNKED + b"5\r\nhello\r\n0\r\n\r\nmore",
    ],
)
async def test_connections_that_carry_no_second_request(data: bytes) -> None:
    assert await exchange([data]) == (200, b"hello", False)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"name : x\r\n\r\n",
        OK + b" folded: x\r\n\r\n",
        OK + b"content-length: -1\r\n\r\n",
        OK + b"content-length: 1_0\r\n\r\n",
        b"HTTP/1.1 200 " + b"x" * 70_000,
        CHUNKED + b"-1\r\nhello\r\n",
        CHUNKED + b"0x5\r\nhello\r\n",
        CHUNKED + b"5\r\nhello!\r\n",
        CHUNKED + b"\r\n",
        CHUNKED + b"5;" + b"x" * 70_000,
    ],
)
async def test_what_is_no_http_is_refused(data: bytes) -> None:
    with pytest.raises(NotHTTPError):
        await exchange([data])
    with pytest.raises(NotHTTPError):
        await exchange([data[at : at + 999] for at in range(0, len(data), 999)])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        OK,
        OK + b"content-length: 9\r\n\r\nhello",
        CHUNKED + b"5\r\nhello\r\n",
        CHUNKED + b"5\r\nhe",
    ],
)
async def test_closed_too_early(data: bytes) -> None:
    with pytest.raises(ClosedError):
        await exchange([data] if data else [], close=True)


async def test_words_that_nobody_asked_for_end_an_idle_connection() -> None:
    connection, wire = Connection(), Wire()
    connection.connection_made(wire)
    connection.data_received(OK)
    assert wire.closed
    assert not connection.idle


async def test_a_connection_is_used_again_and_a_left_one_is_not(
    scripted: Callable[..., Awaitable[Any]],
) -> None:
    ports: list[int] = []

    async def slow(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"data: {}\n\n")
        if len(ports) == 3:
            await asyncio.sleep(60)
        return response

    server = await scripted(slow)
    client = Client(server.url, RunSettings(prompts="-", output="-", model="m"))
    for _ in range(2):
        response = await client.chat({"stream": True})
        assert await response.aread() == b"data: {}\n\n"
        await response.aclose()
    response = await client.chat({"stream": True})
    async for _ in response.aiter_raw():
        break
    await response.aclose()
    response = await client.chat({"stream": True})
    await response.aread()
    await client.close()
    first, second, third, fourth = ports
    assert first == second == third != fourth
