"""The HTTP transport under the ``openai`` client: a connection for every request in flight.

``openai``'s own transports scan their pool for every request and cap it silently; on this one a
streamed answer costs a fiftieth (see ``benchmarks/``). Only public parts are used: an httpx
transport, of whichever httpx the installed ``openai`` is built on.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
import ssl
import types
from collections.abc import AsyncIterator
from typing import Any

import openai

from eagle3_core.generation.http1 import ClosedError, Connection, NotHTTPError

OPENING = 256
"""Connections that are opened at a time: 4,096 at once would ring the connect clock falsely."""
REUSE_WITHIN_S = 2.0
"""Servers close idle connections after some seconds (uvicorn: 5); a request must not meet that."""


def httpx_module() -> types.ModuleType:
    """The httpx that this ``openai`` builds on: ``httpx``, or ``httpx2`` from openai 3 on."""
    for base in openai.DefaultAsyncHttpxClient.__mro__:
        root = base.__module__.partition(".")[0]
        if root.startswith("httpx"):
            return importlib.import_module(root)
    raise ImportError("this openai is built on no httpx")


httpx = httpx_module()


class _Body(httpx.AsyncByteStream):  # type: ignore[misc, name-defined]
    def __init__(self, connection: Connection, idle: list[Connection]) -> None:
        self._connection = connection
        self._idle = idle

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while data := await self._connection.read():
                yield data
        except NotHTTPError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        except (ClosedError, OSError) as error:
            raise httpx.ReadError(str(error)) from error

    async def aclose(self) -> None:
        if self._connection.finish():
            self._idle.append(self._connection)


class Transport(httpx.AsyncBaseTransport):  # type: ignore[misc, name-defined]
    """httpx requests over HTTP/1.1 to one server.

    Args:
        connect_timeout: seconds for name look-up, connection and TLS together. There is no other
            clock here: waiting for an answer is judged by whoever asked.
    """

    def __init__(self, *, connect_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._opening = asyncio.Semaphore(OPENING)
        self._idle: list[Connection] = []
        self._tls: ssl.SSLContext | None = None

    async def handle_async_request(self, request: Any) -> Any:
        message = _message(request)
        connection = self._take_idle() or await self._open(request.url)
        try:
            status, headers = await connection.ask(message)
        except NotHTTPError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        except (ClosedError, OSError) as error:
            raise httpx.ReadError(str(error)) from error
        except asyncio.CancelledError:
            connection.close()
            raise
        body = _Body(connection, self._idle)
        return httpx.Response(status, headers=headers, stream=body, request=request)

    def _take_idle(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - REUSE_WITHIN_S
        while self._idle:
            connection = self._idle.pop()
            if connection.idle and connection.idle_since >= oldest:
                return connection
            connection.close()
        return None

    async def _open(self, url: Any) -> Connection:
        async with self._opening:
            if (freed := self._take_idle()) is not None:
                return freed
            try:
                return await asyncio.wait_for(self._connect(url), self._connect_timeout)
            except asyncio.TimeoutError as error:
                raise httpx.ConnectTimeout("no connection") from error
            except OSError as error:
                raise httpx.ConnectError(str(error)) from error

    async def _connect(self, url: Any) -> Connection:
        loop = asyncio.get_running_loop()
        host = url.raw_host.decode("ascii")
        tls: dict[str, Any] = {}
        if url.scheme == "https":
            self._tls = self._tls or ssl.create_default_context()
            tls = {"ssl": self._tls, "server_hostname": host}
        port = url.port or (443 if tls else 80)
        trouble: OSError | None = None
        for *_, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            try:
                _, connection = await loop.create_connection(
                    Connection, str(address[0]), port, **tls
                )
            except OSError as error:
                trouble = error
                continue
            return connection
        raise trouble or OSError(f"{host} has no address")

    async def aclose(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()


def _message(request: Any) -> bytes:
    lines = [b"%b %b HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%b: %b" % header for header in request.headers.raw]
    head = b"\r\n".join(lines)
    if head.count(b"\n") != len(lines) - 1 or head.count(b"\r") != len(lines) - 1:
        raise httpx.LocalProtocolError("a header holds a line end")
    return head + b"\r\n\r\n" + bytes(request.content)
