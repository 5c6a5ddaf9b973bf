"""A line to a TCP port of this machine that can be slow, stall and break, as lines do."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

BLOCK = 1 << 16


class Line:
    """``async with Line(22) as line: … line.port``.

    Args:
        target: port behind it.
        delay: seconds that each byte is under way, one way.
    """

    def __init__(self, target: int, *, delay: float = 0.0) -> None:
        self._target = target
        self.delay = delay
        self.port = 0
        self.carried = 0
        """Bytes so far, both ways."""
        self.connections = 0
        """How many were made so far."""
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._jobs: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Line:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.shut()
        self.reset()
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    async def open(self) -> None:
        """Take connections; at the same port as before."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Take no more connections: they are refused. Those that are there stay."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def lead_to(self, target: int) -> None:
        """New connections go to another port."""
        self._target = target

    def stall(self) -> None:
        """Carry nothing more, and say nothing: as when a cable is pulled."""
        self._flowing.clear()

    def flow(self) -> None:
        """Carry again, what was held back first."""
        self._flowing.set()

    def reset(self) -> None:
        """End every connection with RST."""
        for writer in list(self._writers):
            peer = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def hang_up(self) -> None:
        """End every connection with FIN."""
        for writer in list(self._writers):
            writer.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._start(self._carry(reader, far_writer))
        self._start(self._carry(far_reader, writer))

    def _start(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One direction, until either side ends."""
        self._writers.add(writer)
        way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivering = asyncio.get_running_loop().create_task(self._deliver(way, writer))
        try:
            while block := await reader.read(BLOCK):
                way.put_nowait((asyncio.get_running_loop().time() + self.delay, block))
            way.put_nowait((0.0, b""))
            await delivering
        except OSError:
            pass
        finally:
            delivering.cancel()
            self._writers.discard(writer)
            writer.close()

    async def _deliver(
        self, way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter
    ) -> None:
        while True:
            due, block = await way.get()
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            await self._flowing.wait()
            if not block:
                return
            self.carried += len(block)
            try:
                writer.write(block)
                await writer.drain()
            except OSError:
                return
