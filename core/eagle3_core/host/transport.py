"""The two ways to an agent's stdin and stdout: a process here, or a channel of an SSH connection."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncssh

STDERR_KEPT = 8192
"""Bytes of the agent's stderr that are kept to explain its end."""

NEXT_TIMEOUT = 5.0
"""Seconds."""


class Transport(Protocol):
    """A stream of bytes both ways. Nothing here raises for a lost link: it ends."""

    async def read(self) -> bytes:
        """Some bytes; none at the end."""
        ...

    def write(self, data: bytes) -> None: ...

    async def why(self) -> str:
        """After the end: why, in words."""
        ...

    async def close(self) -> None: ...


class _Stderr:
    """Keeps the tail of what the agent's side says beside the wire."""

    def __init__(self, read: Callable[[int], Awaitable[bytes]]) -> None:
        self.tail = b""
        self._task = asyncio.create_task(self._collect(read))

    async def _collect(self, read: Callable[[int], Awaitable[bytes]]) -> None:
        while block := await read(65536):
            self.tail = (self.tail + block)[-STDERR_KEPT:]

    async def last_line(self) -> str:
        """The last line said, once all was said."""
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._task, 1.0)
        lines = self.tail.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _ended(status: int | None, said: str) -> str:
    code = "" if status is None else f" (exit {status})"
    return f"the agent ended{code}" + (f": {said}" if said else "")


class LocalTransport:
    """The agent as a child of this process, in a session of its own: no Ctrl+C reaches it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stderr is not None
        self._process = process
        self._stdout, self._stdin = process.stdout, process.stdin
        self._stderr = _Stderr(process.stderr.read)

    @classmethod
    async def start(cls, argv: Sequence[str]) -> LocalTransport:
        """Run ``argv``. Raises ``OSError``."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        return cls(process)

    async def read(self) -> bytes:
        try:
            return await self._stdout.read(1 << 18)
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        if not self._stdin.is_closing():
            self._stdin.write(data)

    async def why(self) -> str:
        said = await self._stderr.last_line()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), 1.0)
        return _ended(self._process.returncode, said)

    async def close(self) -> None:
        self._stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 2.0)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._process.wait()


class SshTransport:
    """The agent behind one channel of one SSH connection, which ends with it."""

    def __init__(
        self,
        connection: asyncssh.SSHClientConnection,
        process: asyncssh.SSHClientProcess[bytes],
    ) -> None:
        self.connection = connection
        self._process = process
        self._lost = ""
        self._stderr = _Stderr(self._read_stderr)

    @classmethod
    async def start(cls, connection: asyncssh.SSHClientConnection, command: str) -> SshTransport:
        """Run ``command``. Raises ``asyncssh.Error`` and ``OSError``."""
        process = await connection.create_process(
            command, encoding=None, request_pty=False, window=4 << 20
        )
        return cls(connection, process)

    async def next(self, command: str) -> SshTransport:
        """Another command in place of this one. Raises ``asyncssh.Error`` and ``OSError``."""
        import asyncssh

        self._process.close()
        deadline = time.monotonic() + NEXT_TIMEOUT
        while True:
            try:
                return await SshTransport.start(self.connection, command)
            except asyncssh.ChannelOpenError:
                # A host that allows one session frees it some time after the channel's end.
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.05)

    async def _read_stderr(self, size: int) -> bytes:
        return await self._process.stderr.read(size)

    async def read(self) -> bytes:
        import asyncssh

        try:
            return await self._process.stdout.read(1 << 18)
        except (asyncssh.Error, OSError) as error:
            self._lost = f"the connection was lost ({str(error) or type(error).__name__})"
            return b""

    def write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._process.stdin.write(data)

    async def why(self) -> str:
        if self._lost:
            return self._lost
        said = await self._stderr.last_line()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait_closed(), 1.0)
        if self._process.exit_status is None:
            return "the host closed the connection" + (f": {said}" if said else "")
        return _ended(self._process.exit_status, said)

    async def close(self) -> None:
        # End of input ends the agent; closing the channel alone would leave that to sshd.
        with contextlib.suppress(OSError):
            self._process.stdin.write_eof()
        self._process.close()
        self.connection.close()
        try:
            await asyncio.wait_for(self.connection.wait_closed(), 2.0)
        except asyncio.TimeoutError:
            self.connection.abort()  # what is still to be sent reaches nobody
