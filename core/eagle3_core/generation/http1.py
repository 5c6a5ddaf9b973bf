"""One kept-alive HTTP/1.1 connection: a request out, the head of the answer in, its body as it comes.

No more of RFC 9112 than a client of model servers meets, and nothing between the socket and us: a
chunk of a stream costs a tenth of what it costs in a general client (see ``benchmarks/``).
"""

from __future__ import annotations

import asyncio
import re
from typing import NoReturn, cast

_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,12})[ \t]*(?:;[^\r\n]*)?\r\n")
_LONGEST_HEAD = 1 << 16
"""Bytes; for chunk heads and trailers too."""

Headers = list[tuple[bytes, bytes]]


class NotHTTPError(Exception):
    """What came breaks the protocol."""


class ClosedError(Exception):
    """The other side closed the connection before it had said all."""


class Connection(asyncio.Protocol):
    """Carries one request at a time.

    There is no flow control: whoever asks reads all the time, so that no more than what the socket
    gives at once is ever held.
    """

    def __init__(self) -> None:
        self.idle = True
        """Whether the next request can go out."""
        self.idle_since = 0.0
        """Of the loop's clock."""
        self._loop = asyncio.get_running_loop()
        self._rest = b""
        """Bytes that do not make a whole head or chunk yet."""
        self._head: asyncio.Future[tuple[int, Headers]] | None = None
        self._parts: list[bytes] = []
        self._more: asyncio.Future[None] | None = None
        self._error: BaseException | None = None
        self._body: str = ""
        """How the end of the body shows: ``length``, ``chunked`` or ``close``; empty outside one."""
        self._left = 0
        self._keep = False

    # Asking

    async def ask(self, request: bytes) -> tuple[int, Headers]:
        """Send a request; status and headers of its answer.

        Raises:
            NotHTTPError, ClosedError, OSError: what came instead.
        """
        self.idle = False
        self._head = self._loop.create_future()
        self._transport.write(request)
        return await self._head

    async def read(self) -> bytes:
        """More of the body, as soon as there is some; empty at its end. Raises as :meth:`ask`."""
        while not self._parts:
            if self._error is not None:
                raise self._error
            if not self._body:
                return b""
            self._more = self._loop.create_future()
            await self._more
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        return data

    def finish(self) -> bool:
        """Whether the answer has been read whole and the connection can carry another; if not, drop it."""
        self.idle = self._keep and not (
            self._body or self._rest or self._parts or self._transport.is_closing()
        )
        if self.idle:
            self.idle_since = self._loop.time()
        else:
            self.close()
        return self.idle

    def close(self) -> None:
        """Drop the connection, whatever is on its way: a server frees its slot at once."""
        self.idle = False
        self._transport.abort()

    # What the socket says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.idle = False
        if self._body == "close" and exc is None:
            self._end()
        elif self._body:
            self._fail(exc or ClosedError("the server closed it before the end"))
        else:
            self._fail(exc or ClosedError("the server closed it"))

    def data_received(self, data: bytes) -> None:
        try:
            if self._rest:
                data, self._rest = self._rest + data, b""
            if self._body:
                self._take_body(data)
            elif self._head is not None and not self._head.done():
                self._take_head(data)
            else:
                _refuse()
        except NotHTTPError as error:
            self._fail(error)
            self.close()

    def _take_head(self, data: bytes) -> None:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            if len(data) > _LONGEST_HEAD or not b"HTTP/1.".startswith(data[:7]):
                _refuse()
            self._rest = data
            return
        status, headers = self._read_head(data[:end])
        rest = data[end + 4 :]
        if status < 200:  # "still at work": the answer itself follows
            self._body = ""
            self._take_head(rest)
            return
        assert self._head is not None
        if self._head.done():  # nobody waits any more
            return
        self._head.set_result((status, headers))
        if rest:
            self._take_body(rest)

    def _read_head(self, head: bytes) -> tuple[int, Headers]:
        first, *lines = head.split(b"\r\n")
        said = _STATUS.fullmatch(first)
        if said is None:
            _refuse()
        headers = []
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon or not name or name.strip() != name:
                _refuse()
            headers.append((name, value.strip(b" \t")))
        status = int(said[2])
        named = {name.lower(): value.lower() for name, value in headers}
        self._keep = said[1] == b"1" and named.get(b"connection") != b"close"
        length = named.get(b"content-length")
        if status in (204, 304):
            self._body = ""
        elif named.get(b"transfer-encoding", b"").endswith(b"chunked"):
            self._body = "chunked"
        elif length is None:
            self._body, self._keep = "close", False
        elif length.isdigit():
            self._left = int(length)
            self._body = "length" if self._left else ""
        else:
            _refuse()
        return status, headers

    def _take_body(self, data: bytes) -> None:
        if self._body == "chunked":
            self._take_chunks(data)
        elif self._body == "close":
            self._parts.append(data)
        else:
            self._parts.append(data[: self._left])
            self._rest = data[self._left :]
            self._left -= len(self._parts[-1])
            if self._left <= 0:
                self._end()
        self._wake()

    def _take_chunks(self, data: bytes) -> None:
        """Whole chunks only: half an event is of no use."""
        at, whole = 0, self._parts
        while (head := _CHUNK.match(data, at)) is not None:
            start = head.end()
            size = int(head[1], 16)
            if size == 0:
                end = data.find(b"\r\n\r\n", start - 2)  # behind trailers, if there are any
                if end >= 0:
                    self._rest = data[end + 4 :]
                    self._end()
                    return
                break
            stop = start + size
            if len(data) < stop + 2:
                self._rest = data[at:]
                return
            if data[stop : stop + 2] != b"\r\n":
                _refuse()
            whole.append(data[start:stop])
            at = stop + 2
        self._rest = data[at:]
        if head is None and self._rest and not _could_be_chunk(self._rest):
            _refuse()
        if len(self._rest) > _LONGEST_HEAD:
            _refuse()

    def _end(self) -> None:
        self._body = ""
        self._wake()

    def _fail(self, error: BaseException) -> None:
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)
        elif self._body and self._error is None:
            self._error = error
            self._wake()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)


def _could_be_chunk(rest: bytes) -> bool:
    """Whether the head of a chunk may be on its way."""
    return b"\n" not in rest and rest[:1] in b"0123456789abcdefABCDEF"


def _refuse() -> NoReturn:
    raise NotHTTPError("what came is no HTTP")
