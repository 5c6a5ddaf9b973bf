"""Why an attempt failed, told from what real sockets do."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import eagle3_core
from eagle3_core.generation.assemble import MalformedAnswerError, ServerSaidError
from eagle3_core.generation.client import Client
from eagle3_core.generation.failure import Cause, body_message, explain
from eagle3_core.records import AnswerState
from eagle3_core.settings import RunSettings

S = AnswerState


async def cause_at(url: str) -> Cause:
    """Ask a server as an attempt does; the cause of the failure."""
    settings = RunSettings(prompts="-", output="-", model="m", connect_timeout=0.3)
    client = Client(url, settings)
    answering = False
    try:
        response = await client.chat({"model": "m", "stream": True})
        answering = True
        async for _ in response.aiter_raw():
            pass
    except Exception as error:
        return explain(error, answering=answering)
    finally:
        await client.close()
    raise AssertionError("it ended in order")


Serve = Callable[..., Awaitable[str]]


@pytest.fixture
async def raw() -> AsyncIterator[Serve]:
    """``await raw(bytes, reset=False)``: the URL of a socket that says just these bytes."""
    servers: list[asyncio.Server] = []

    async def begin(said: bytes, *, reset: bool = False) -> str:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(said)
            await writer.drain()
            if reset:
                linger = struct.pack("ii", 1, 0)
                peer = writer.get_extra_info("socket")
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
            writer.close()

        servers.append(await asyncio.start_server(serve, "127.0.0.1", 0))
        return f"http://127.0.0.1:{servers[-1].sockets[0].getsockname()[1]}/v1"

    yield begin
    for server in servers:
        server.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
SOCKETS: dict[str, tuple[bytes, bool, S, str]] = {
    "closed before a word": (b"", False, S.CONNECTION,
                             "the connection broke before an answer: the server closed it"),
    "reset before a word": (b"", True, S.CONNECTION,
                            "the connection broke before an answer: Connection reset by peer"),
    "closed between two chunks": (
        CHUNKED + b"5\r\nhello\r\n", False, S.CUT,
        "the connection broke in mid-answer: the server closed it before the end"),
    "closed in a chunk": (
        CHUNKED + b"50\r\nhello", False, S.CUT,
        "the connection broke in mid-answer: the server closed it before the end"),
    "closed before its length": (
        HEAD + b"content-length: 99\r\n\r\nhello", False, S.CUT,
        "the connection broke in mid-answer: the server closed it before the end"),
    "an error that is cut": (
        b"HTTP/1.1 503 No\r\ncontent-length: 99\r\n\r\n{", False, S.CONNECTION,
        "the connection broke before an answer: the server closed it before the end"),
    "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n", False, S.CONNECTION,
                         "the connection broke before an answer: what came is no HTTP"),
}  # fmt: skip


@pytest.mark.parametrize("name", SOCKETS)
async def test_sockets_that_break(raw: Serve, name: str) -> None:
    said, reset, state, message = SOCKETS[name]
    assert await cause_at(await raw(said, reset=reset)) == Cause(state, message)


async def test_a_reset_in_mid_answer(raw: Serve) -> None:
    found = await cause_at(await raw(CHUNKED + b"5\r\nhello\r\n", reset=True))
    # The kernel may drop the bytes that were on their way: then there was no answer yet.
    assert found.state in (S.CUT, S.CONNECTION)
    assert found.message.startswith("the connection broke ")
    assert found.reached


async def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found = await cause_at(f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    assert found == Cause(S.CONNECTION, "no connection: Connection refused", reached=False)


async def test_a_server_that_accepts_nobody() -> None:
    """A listening socket whose queue is full drops the handshake: only a clock ends that."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        waiting = []
        for _ in range(4):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(deaf.getsockname())
        found = await cause_at(f"http://127.0.0.1:{deaf.getsockname()[1]}/v1")
        for each in waiting:
            each.close()
    message = "Request timed out: no connection"
    assert found == Cause(S.TIMEOUT, message, clock="connect", reached=False)


OUT_OF_FILES = """
import asyncio, os, resource, sys
from eagle3_core.generation.client import Client
from eagle3_core.generation.failure import explain
from eagle3_core.settings import RunSettings
async def main():
    client = Client(sys.argv[1], RunSettings(prompts="-", output="-", model="m"))
    used = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(used, 3), used + 400))
    held = []
    try:
        while True:
            held.append(os.dup(0))
    except OSError:
        pass
    try:
        await client.chat({"model": "m"})
    except Exception as error:
        cause = explain(error, answering=False)
        os.close(held.pop()) if held else None
        print(cause.state.value, cause.reached, cause.message, sep="|")
asyncio.run(main())
"""


async def test_too_many_open_files_here(raw: Serve) -> None:
    url = await raw(b"")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", OUT_OF_FILES, url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(eagle3_core.__file__).parents[1])},
    )
    said, _ = await asyncio.wait_for(process.communicate(), 30)
    assert said.decode() == "connection|False|too many open files here: raise ulimit -n\n"


STATUSES: list[tuple[int, bytes, bytes, S, str, float | None]] = [
    (400, b'{"error":{"message":"too long","code":400}}', b"", S.REJECTED, "too long", None),
    (401, b'{"error":"Unauthorized"}', b"", S.REJECTED, "Unauthorized", None),
    (404, b'{"error":{"message":"The model `x` does not exist."}}', b"",
     S.REJECTED, "The model `x` does not exist.", None),
    (405, b'{"detail":"Method Not Allowed"}', b"", S.REJECTED, "Method Not Allowed", None),
    (422, b'{"detail":[{"msg":"bad"}]}', b"", S.REJECTED, '[{"msg":"bad"}]', None),
    (302, b"moved", b"", S.REJECTED, "moved", None),
    (408, b"slow", b"", S.SERVER_ERROR, "slow", None),
    (429, b'{"message":"full"}', b"retry-after: 7\r\n", S.RATE_LIMITED, "full", 7.0),
    (429, b"full", b"retry-after: 0.5\r\n", S.RATE_LIMITED, "full", 0.5),
    (429, b"full", b"retry-after: -3\r\n", S.RATE_LIMITED, "full", 0.0),
    (429, b"full", b"retry-after: Wed, 21 Oct 2031 07:28:00 GMT\r\n",
     S.RATE_LIMITED, "full", None),
    (429, b"full", b"retry-after: nan\r\n", S.RATE_LIMITED, "full", 0.0),
    (500, b"", b"", S.SERVER_ERROR, "no further word", None),
    (502, b"<html>\n<b>bad gateway</b>", b"", S.SERVER_ERROR, "<html> <b>bad gateway</b>", None),
    (503, b"busy", b"retry-after: 2\r\n", S.SERVER_ERROR, "busy", 2.0),
]  # fmt: skip


@pytest.mark.parametrize("row", STATUSES, ids=lambda row: f"{row[0]} {row[4][:12]}")
async def test_statuses(raw: Serve, row: tuple[int, bytes, bytes, S, str, float | None]) -> None:
    status, body, headers, state, word, after = row
    head = b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n%s\r\n" % (status, len(body), headers)
    found = await cause_at(await raw(head + body))
    full = status in (429, 503)
    assert found == Cause(state, f"HTTP {status}: {word}", retry_after_s=after, sent_away=full)


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (ServerSaidError("died", 500), S.SERVER_ERROR, "the server said: died"),
        (ServerSaidError("died"), S.SERVER_ERROR, "the server said: died"),
        (ServerSaidError("full", 429), S.SERVER_ERROR, "the server said: full"),
        (ServerSaidError("too long", 400), S.REJECTED, "the server said: too long"),
        (MalformedAnswerError("a chunk is not JSON"), S.SERVER_ERROR, "a chunk is not JSON"),
    ],
)
def test_what_was_said_within_an_answer(error: Exception, state: S, message: str) -> None:
    assert explain(error, answering=True) == Cause(state, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"plain\n words", "plain words"),
        (b'"quoted"', "quoted"),
        (b"[1]", "[1]"),
        (b"null", "null"),
        (b'{"error":{"error":1}}', '{"error":1}'),
        (b"\xff\x1b[31m", "\ufffd\u241b[31m"),
        (b'{"error":"\\u001b[31m red"}', "\u241b[31m red"),
        (b"x" * 9999, "x" * 500),
    ],
)
def test_the_message_of_a_body(body: bytes, message: str) -> None:
    assert body_message(body) == message


def test_causes_go_round() -> None:
    """An exception that names itself for a cause must not be followed for ever."""
    error: Any = ValueError("x")
    error.__context__ = other = OSError("y")
    other.__context__ = error
    assert explain(error, answering=True).message == "the connection broke in mid-answer: y"
