"""A run that is watched while its link breaks: what is written to it, and what was told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.events import LogLines, NewRecords, Picture
from eagle3_core.monitor.snapshot import LinkState, Snapshot
from eagle3_core.monitor.watch import RunWatch
from eagle3_core.records import AnswerState, Record
from eagle3_core.simulator.line import Line

Until = Callable[..., Awaitable[None]]


class Console:
    """Takes what a watch tells, as the console would."""

    def __init__(self, watch: RunWatch) -> None:
        self.watch = watch
        self.pictures: list[Snapshot] = []
        self.lines: list[str] = []
        self.records: list[Record] = []
        self._job = asyncio.create_task(self._look())

    async def _look(self) -> None:
        async for event in self.watch.events():
            match event:
                case Picture(snapshot):
                    self.pictures.append(snapshot)
                case LogLines():
                    self.lines += event.lines
                case NewRecords(records):
                    self.records += records

    @property
    def now(self) -> Snapshot:
        return self.pictures[-1]

    def connected(self) -> bool:
        return bool(self.pictures) and self.now.link.state is LinkState.CONNECTED

    def lost(self) -> list[str]:
        """Why the link was lost, each reason once."""
        states = (LinkState.LOST, LinkState.FAILED)
        found = [p.link.detail for p in self.pictures if p.link.state in states]
        return list(dict.fromkeys(found))

    def agent(self) -> int:
        link = self.watch._keeper.link
        assert link is not None
        return link.hello.pid

    async def close(self) -> None:
        await self.watch.close()
        await asyncio.wait_for(self._job, 5)


class Place:
    """A run directory that a test writes to."""

    def __init__(self, folder: Path) -> None:
        self.dir = folder
        (folder / "prepared").mkdir(parents=True)
        self.journal = folder / "prepared" / "raw_responses.jsonl"
        self.log = folder / "inference.log"
        self._owed = b""

    def begin(self) -> None:
        """Two records and two lines, and the first half of the third of each."""
        self._write(self.journal, record(0).to_line() + record(1).to_line())
        line = record(2).to_line()
        self._write(self.journal, line[:50])
        self._owed = line[50:]
        self._write(self.log, b"one\ntwo\nthr")

    def go_on(self) -> None:
        """The other halves, and one more of each."""
        self._write(self.journal, self._owed + record(3).to_line())
        self._write(self.log, b"ee\nfour\n")

    @staticmethod
    def _write(path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)


def record(number: int) -> Record:
    return Record(
        key=f"q{number}:{number:08x}",
        state=AnswerState.OK,
        sample_id=f"q{number}",
        messages=({"role": "user", "content": f"What is {number}?"},),
        reasoning="It is a number.",
        content=str(number),
        finish_reason="stop",
        usage=None,
        model="m",
        endpoint="http://127.0.0.1:8000/v1",
        attempt=1,
        started_at="2025-10-09T08:00:00Z",
        first_token_s=0.1,
        total_s=1.0,
    )


def first_half(console: Console) -> bool:
    """All is there that was written before the fault."""
    seen = console.connected() and console.now.lines == 2
    return seen and console.lines == ["one", "two"] and len(console.records) == 2


def whole(console: Console) -> bool:
    """All is there that was written before, during and after."""
    return console.connected() and console.now.lines == 4 and len(console.lines) >= 4


async def caught_up(console: Console, until: Until) -> None:
    """Everything once: no line twice, none lost, none in halves."""
    await until(lambda: whole(console) and len(console.records) >= 4, 30)
    await asyncio.sleep(1.0)  # what comes twice comes late
    assert console.lines == ["one", "two", "three", "four"]
    assert console.records == [record(n) for n in range(4)]
    assert console.now.lines == 4


class Scene:
    """One run on a host behind a line, and the consoles that look at it."""

    def __init__(self, line: Line, target: HostTarget, place: Place, until: Until) -> None:
        self.line = line
        self.target = target
        self.place = place
        self._until = until
        self._consoles: list[Console] = []

    async def look(self, target: HostTarget | None = None, **options: Any) -> Console:
        """Look at the run, up to where all is there that was written at first."""
        self.place.begin()
        shown = Console(RunWatch(target or self.target, str(self.place.dir), **options))
        self._consoles.append(shown)
        await self._until(lambda: first_half(shown), 30)
        return shown

    async def close(self) -> None:
        for console in self._consoles:
            await console.close()
