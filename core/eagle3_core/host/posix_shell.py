"""One ``/bin/sh`` on a host, asked one thing after another: sizes, lines and bytes of files."""

from __future__ import annotations

import asyncio
import secrets
from shlex import quote
from typing import Any

from eagle3_core.host.frames import EndOfStreamError
from eagle3_core.host.transport import Transport

TOOLS = "ls tail head wc cat df id uname"


class PosixShell:
    """Every method may raise ``EndOfStreamError``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._buffer = bytearray()
        self._turn = asyncio.Lock()
        self._mark = secrets.token_hex(8)

    async def run(self, script: str) -> bytes:
        """What ``script`` writes to its standard output."""
        # The shell adds up the mark itself: a terminal's echo of the question is no answer.
        half = len(self._mark) // 2
        say = f"printf '\\n%s%s\\n' {self._mark[:half]} {self._mark[half:]}"
        end = f"\n{self._mark}\n".encode()
        async with self._turn:
            self._transport.write(f"{{ {script}\n}} 2>/dev/null </dev/null\n{say}\n".encode())
            seen = 0
            while (at := self._buffer.find(end, max(0, seen - len(end)))) < 0:
                seen = len(self._buffer)
                block = await self._transport.read()
                if not block:
                    raise EndOfStreamError
                self._buffer += block
            answer = bytes(self._buffer[:at])
            del self._buffer[: at + len(end)]
            return answer

    async def each(self, *scripts: str) -> list[bytes]:
        """What each writes, without its last newlines, in one exchange."""
        between = f"-{self._mark}-"
        answer = await self.run(f"\nprintf '%s' {between}\n".join(scripts))
        return [part.rstrip(b"\n") for part in answer.split(between.encode())]

    async def who(self) -> tuple[str, str, str] | None:
        """Host name, user and home; ``None`` where a tool is missing."""
        # The first answer also holds whatever the start-up files of the shell had to say.
        await self.run("export LC_ALL=C")
        lacks = f"for t in {TOOLS}; do command -v $t >/dev/null || echo lacks $t; done"
        if await self.run(lacks):
            return None
        name, user, home = await self.each("uname -n", "id -un", 'echo "$HOME"')
        return name.decode(), user.decode(), home.decode()

    async def file(self, path: str) -> tuple[int, int] | None:
        """Inode and size; ``None`` when there is no such file."""
        words = (await self.run(f"ls -Ldin {quote(path)}")).split()
        return (int(words[0]), int(words[5])) if len(words) > 5 and words[1][:1] == b"-" else None

    async def lines(self, path: str, begin: int, end: int) -> int:
        """Newlines between two offsets."""
        if begin >= end:
            return 0
        return int(await self.run(f"{_piece(path, begin, end - begin)} | wc -l") or 0)

    async def read(self, path: str, begin: int, size: int) -> bytes:
        """Bytes from an offset on."""
        return await self.run(_piece(path, begin, size)) if size else b""

    async def last(self, path: str, lines: int) -> bytes:
        """The last whole lines."""
        text = await self.run(f"tail -n {int(lines)} {quote(path)}")
        return text[: text.rfind(b"\n") + 1]

    async def back(self, path: str, size: int, options: dict[str, Any]) -> int:
        """How many bytes before the end the text begins that was asked for."""
        if options.get("lines_back") is None:
            return min(size, int(options.get("bytes_back", 65536)))
        counted = await self.run(f"tail -n {int(options['lines_back'])} {quote(path)} | wc -c")
        return min(size, int(counted or 0))


def _piece(path: str, begin: int, size: int) -> str:
    return f"tail -c +{begin + 1} {quote(path)} | head -c {size}"
