"""A watch whose events and answers a test decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from scenarios import SCENARIOS, record

from eagle3_core.errors import UserError
from eagle3_core.monitor.events import Outcome, WatchEvent
from eagle3_core.records import Record


class FakeWatch:
    """Tells the events of a scenario, then whatever the test puts in; remembers commands.

    ``fails`` is what every command raises, ``gate`` holds commands back until it is set.
    """

    def __init__(self, scenario: str = "healthy") -> None:
        self.queue: asyncio.Queue[WatchEvent | None] = asyncio.Queue()
        for event in SCENARIOS[scenario]:
            self.queue.put_nowait(event)
        self.sent: list[str] = []
        self.closed = False
        self.fails: Exception | None = None
        self.gate: asyncio.Event | None = None
        self.older: list[Record] = []
        self.journal: list[Record] = [record(900)]

    def tell(self, *events: WatchEvent) -> None:
        """Let something happen."""
        for event in events:
            self.queue.put_nowait(event)

    def end(self) -> None:
        """Let the watch end by itself."""
        self.queue.put_nowait(None)

    async def events(self) -> AsyncIterator[WatchEvent]:
        while (event := await self.queue.get()) is not None:
            yield event

    async def _command(self, name: str) -> Outcome:
        self.sent.append(name)
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return Outcome(True, f"{name} done", f"kill -TERM -41233 # {name}")

    def reconnect(self) -> None:
        self.sent.append("reconnect")

    async def start(self) -> Outcome:
        return await self._command("start")

    async def drain(self) -> Outcome:
        return await self._command("drain")

    async def kill(self) -> Outcome:
        return await self._command("kill")

    async def kill_hard(self) -> Outcome:
        return await self._command("kill_hard")

    async def restart(self) -> Outcome:
        return await self._command("restart")

    async def set_concurrency(self, setting: int | str) -> Outcome:
        return await self._command(f"concurrency {setting}")

    async def last_records(self, count: int) -> list[Record]:
        if self.fails is not None:
            raise UserError("the journal cannot be read", "look at its permissions")
        return self.older[-count:]

    async def random_records(self, count: int) -> list[Record]:
        return self.journal[:count]

    async def close(self) -> None:
        self.closed = True
