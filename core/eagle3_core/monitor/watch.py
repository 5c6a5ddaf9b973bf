"""A run, watched over a link that may come and go."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from eagle3_core.errors import UserError
from eagle3_core.host import run as host_run
from eagle3_core.host.commands import Commands, Note
from eagle3_core.host.foreign_run import ForeignRun
from eagle3_core.host.link import AgentError, Link, LinkLost
from eagle3_core.host.prompts import Prompts
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor import snapshot as shown
from eagle3_core.monitor.events import LogLines, NewRecords, Outcome, Picture, WatchEvent
from eagle3_core.monitor.keeper import LinkKeeper
from eagle3_core.monitor.log_backlog import LogBacklog
from eagle3_core.monitor.records import parse_lines
from eagle3_core.monitor.server import ask_servers
from eagle3_core.monitor.state import RunView
from eagle3_core.monitor.tail import Tail
from eagle3_core.records import Record

STATE_EVERY_S = 1.0
METRICS_EVERY_S = 2.0
WRITERS_EVERY_S = 30.0
"""Looking into every process of a host costs it some milliseconds each."""
EVENTS_EVERY_S = 0.25
"""Four pictures a second at most: more is wasted over SSH."""
LOG_BACK = 2 << 20
"""Bytes of a foreign log that are read back: its numbers stand in no other file."""
_KEPT_LOG_LINES = 20_000
_KEPT_PARTIAL = 65_536
_KEPT_RECORDS = 200


class RunWatch:
    """Implements ``monitor.events.Watch`` over a host.

    Args:
        target: where the run lives.
        run_dir: its directory there.
        settings: what a start uses; ``None``: the run's own.
        python: the generator's Python on the host.
        foreign: what is run in place of the generator, and its files.
        env: names of environment variables that a start passes on.
        read_only: refuse every command.
        note: is told of every command that was sent; see ``host.commands``.
        link: to that host, already there; ``None``: connect.
        prompts: whom to ask while connecting.
        clock: epoch seconds of this machine.
    """

    def __init__(
        self,
        target: HostTarget,
        run_dir: str,
        *,
        settings: Mapping[str, Any] | None = None,
        python: str | None = None,
        foreign: ForeignRun | None = None,
        env: Sequence[str] = (),
        read_only: bool = False,
        note: Note | None = None,
        link: Link | None = None,
        prompts: Prompts | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._target = target
        self._run_dir = run_dir
        foreign_run = foreign or ForeignRun()
        self._commands = Commands(
            run_dir, settings, python, foreign_run, tuple(env), read_only, note
        )
        files = self._commands.files
        self._view = RunView(target.name, run_dir, clock, files, foreign_run.patterns)
        self._files: dict[str, str] = host_run.own_files(files)
        self._journal = str(files.journal)
        self._journal_tail = Tail(self._journal, count=True)
        self._log_tail = Tail(
            str(files.log), count=False, bytes_back=LOG_BACK if foreign else 65536
        )
        self._log = LogBacklog(_KEPT_LOG_LINES)
        self._records: deque[Record] = deque(maxlen=_KEPT_RECORDS)
        self._bad_lines = 0
        self._changed = asyncio.Event()
        self._closed = False
        self._keeper = LinkKeeper(target, prompts, link, self._connected, self._take_link, clock)
        self._keeping: asyncio.Task[None] | None = None

    async def events(self) -> AsyncIterator[WatchEvent]:
        """All that happens, coalesced to four times a second, until :meth:`close`."""
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keeper.run())
            self._keeping.add_done_callback(lambda _: self._changed.set())
        self._changed.set()
        while not self._closed:
            await self._changed.wait()
            self._changed.clear()
            if self._keeping.done() and not self._closed:
                self._keeping.result()  # an error of ours ends the watch; it must not end in silence
            for part in self._log.take():
                yield part
            if self._records or self._bad_lines:
                records, bad = tuple(self._records), self._bad_lines
                self._records.clear()
                self._bad_lines = 0
                yield NewRecords(records, bad)
            yield Picture(self._view.snapshot())
            await asyncio.sleep(EVENTS_EVERY_S)

    async def close(self) -> None:
        """Leave; the run goes on."""
        self._closed = True
        self._changed.set()
        if self._keeping:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._keeper.close()

    def reconnect(self) -> None:
        """Connect anew at once; a link that is there is dropped."""
        self._keeper.drop("dropped, to connect anew")

    async def start(self) -> Outcome:
        """Launch the generator; what is done already is not asked again."""
        return await self._sent(self._commands.start)

    async def restart(self) -> Outcome:
        """Kill what runs, then start."""
        return await self._sent(self._commands.restart)

    async def drain(self) -> Outcome:
        """Nothing new is asked; the run ends when what is in flight is in."""
        return await self._sent(self._commands.drain)

    async def kill(self) -> Outcome:
        """SIGTERM: flushes and ends, nothing finished is lost."""
        return await self._sent(self._commands.kill)

    async def kill_hard(self) -> Outcome:
        """SIGKILL."""
        return await self._sent(self._commands.kill_hard)

    async def set_concurrency(self, setting: int | str) -> Outcome:
        """Change the requests in flight of the run while it goes."""
        return await self._sent(lambda link: self._commands.set_concurrency(link, setting))

    async def last_records(self, count: int) -> list[Record]:
        """The newest records, oldest first."""
        async with self._link_for_commands() as link:
            return parse_lines(await host_run.last(link, self._journal, count))[0]

    async def random_records(self, count: int) -> list[Record]:
        """Records at random, each equally likely."""
        async with self._link_for_commands() as link:
            return parse_lines(await host_run.sample(link, self._journal, count))[0]

    async def _sent(self, command: Callable[[Link], Awaitable[Outcome]]) -> Outcome:
        async with self._link_for_commands() as link:
            outcome = await command(link)
            await self._ask_state(link)
        return outcome

    @contextlib.asynccontextmanager
    async def _link_for_commands(self) -> AsyncIterator[Link]:
        """The link; what goes wrong on it, or at its other end, is told as a ``UserError``."""
        name = self._target.name
        if self._keeper.link is None:
            raise UserError(f"{name} is not connected", "wait until the link is back")
        try:
            yield self._keeper.link
        except LinkLost as error:
            raise UserError(
                f"the link to {name} broke ({error.reason})", "look at the run when it is back"
            ) from None
        except AgentError as error:
            raise UserError(error.message, error.mend or "see the log of the run") from None

    def _take_link(self, link: shown.Link) -> None:
        self._view.link = link
        if link.state is shown.LinkState.LOST:
            self._view.lost()
        self._changed.set()

    async def _connected(self, link: Link) -> str:
        """Watch until the link is lost; why it was."""
        watchers = (self._poll_state, self._poll_metrics, self._read_log, self._read_journal)
        jobs = [asyncio.create_task(watcher(link)) for watcher in watchers]
        try:
            done, _ = await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
            error = next(iter(done)).exception()
            return error.reason if isinstance(error, LinkLost) else str(error)
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)

    async def _poll_state(self, link: Link) -> None:
        looked = float("-inf")
        while True:
            now = time.monotonic()
            due = now - looked >= WRITERS_EVERY_S
            looked = now if due else looked
            await self._ask_state(link, writers=due)
            await asyncio.sleep(STATE_EVERY_S)

    async def _ask_state(self, link: Link, *, writers: bool = False) -> host_run.RunState:
        state = await host_run.state(link, self._run_dir, **self._files, writers=writers)
        self._view.take_state(state)
        self._changed.set()
        return state

    async def _poll_metrics(self, link: Link) -> None:
        while True:
            await ask_servers(link, self._view)
            self._changed.set()
            await asyncio.sleep(METRICS_EVERY_S)

    async def _read_log(self, link: Link) -> None:
        async for piece in self._log_tail.follow(link):
            lines = tuple(line.decode(errors="replace") for line in piece.lines)
            partial = self._log_tail.partial[-_KEPT_PARTIAL:].decode(errors="replace")
            if piece.note and not piece.note.startswith("missing"):
                self._view.log.forget()
            self._view.log.take(lines, partial)
            self._log.add(LogLines(lines, partial, piece.skipped, piece.note))
            self._changed.set()

    async def _read_journal(self, link: Link) -> None:
        async for piece in self._journal_tail.follow(link):
            records, bad = parse_lines(piece.lines)
            self._view.take_records(records, piece.count, piece.note if not piece.count else "")
            self._records.extend(records)
            self._bad_lines += bad
            self._changed.set()
