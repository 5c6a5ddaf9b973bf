"""Lines and counted bodies out of a stream of bytes, whatever their size."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any


class EndOfStreamError(Exception):
    """The other side is gone."""


class Frames:
    """Takes bytes from ``read`` until it gives none."""

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        self._read = read
        self._buffer = bytearray()

    async def line(self) -> bytes:
        """One line without its newline. Raises ``EndOfStreamError``."""
        seen = 0
        while (at := self._buffer.find(b"\n", seen)) < 0:
            seen = len(self._buffer)
            await self._more()
        return self._cut(at + 1)[:-1]

    async def exactly(self, size: int) -> bytes:
        """``size`` bytes. Raises ``EndOfStreamError``."""
        while len(self._buffer) < size:
            await self._more()
        return self._cut(size)

    async def message(self) -> tuple[dict[str, Any], bytes]:
        """One header and its body. Raises ``EndOfStreamError``."""
        header = json.loads(await self.line())
        size = header.get("n", 0)
        return header, await self.exactly(size) if size else b""

    async def _more(self) -> None:
        block = await self._read()
        if not block:
            raise EndOfStreamError
        self._buffer += block

    def _cut(self, size: int) -> bytes:
        taken = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return taken
