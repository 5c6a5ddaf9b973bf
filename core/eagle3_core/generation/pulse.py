"""What a run does four times a second: look at its load, sync, write its status, say how it goes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from eagle3_core.generation.bar import Bar
from eagle3_core.generation.concurrency import Concurrency, Load
from eagle3_core.generation.control import Control
from eagle3_core.generation.endpoints import Endpoints
from eagle3_core.generation.generator import Generator
from eagle3_core.generation.log import RunLog
from eagle3_core.generation.progress import Progress
from eagle3_core.generation.runfile import write_atomically
from eagle3_core.generation.server_load import ServerLoad
from eagle3_core.generation.stream_choice import StreamChoice
from eagle3_core.journal.append import Journal
from eagle3_core.rundir import RunDir

TICK_S = 0.25
STATUS_EVERY = 4
"""Ticks between two status files: one second."""
LOG_EVERY = 40
"""Ticks between two progress lines: ten seconds."""


class Pulse:
    """Keeps the outside informed of one run.

    Args:
        run: its files.
        run_id: its identity.
        progress: its numbers.
        endpoints: its servers.
        journal: to be synced.
        log: for people.
        concurrency: turned here, by ``control.json`` and by load.
        choice: streams or whole answers, chosen here by rate.
        load: what the servers say.
    """

    def __init__(
        self,
        run: RunDir,
        run_id: str,
        progress: Progress,
        endpoints: Endpoints,
        journal: Journal,
        log: RunLog,
        *,
        concurrency: Concurrency,
        choice: StreamChoice,
        load: ServerLoad,
    ) -> None:
        self._run = run
        self._run_id = run_id
        self._progress = progress
        self._endpoints = endpoints
        self._journal = journal
        self._log = log
        self._bar = Bar()
        self._concurrency = concurrency
        self._choice = choice
        self._load = load
        self._control = Control(str(run.control))

    async def beat(self, generator: Generator) -> None:
        """Go on until cancelled."""
        ticks = 0
        while True:
            await asyncio.sleep(TICK_S)
            ticks += 1
            now = asyncio.get_running_loop().time()
            note = generator.pause or ("draining" if generator.draining else "")
            self._bar.draw(self._progress, now, note)
            if ticks % STATUS_EVERY == 0:
                self._turn(generator, now)
                phase = "paused" if generator.pause else "running"
                self.status("draining" if generator.draining else phase, generator.pause, generator)
                await asyncio.to_thread(self.sync)
            if ticks % LOG_EVERY == 0:
                self._log.progress(self._progress.line(now))

    def _turn(self, generator: Generator, now: float) -> None:
        setting, trouble = self._control.look()
        said = [trouble]
        if setting is not None:
            said.append(self._concurrency.turn(setting))
        if not generator.pause and not generator.draining:
            said.append(self._concurrency.look(self._facts(generator, now)))
        said.append(self._choice.look(self._progress.rates(now)["tokens_s"]))
        for line in filter(None, said):
            self._log.info(line)

    def _facts(self, generator: Generator, now: float) -> Load:
        numbers = self._load.numbers
        ours = self._progress.completion_tokens + generator.streamed_tokens()
        return Load(
            now=now,
            in_flight=self._progress.in_flight,
            tokens=ours if numbers.generation_tokens is None else numbers.generation_tokens,
            sent_away=self._progress.sent_away,
            running=numbers.running,
            waiting=numbers.waiting,
            preemptions=numbers.preemptions,
            first_token_s=self._progress.first_token_s,
        )

    def sync(self) -> None:
        """Force the journal to disk; a failure is logged, the answers are in the file anyway."""
        try:
            self._journal.sync()
        except OSError as error:
            self._log.error(f"fsync of {self._run.journal} failed ({error.strerror})")

    def status(self, phase: str, message: str = "", generator: Generator | None = None) -> None:
        """Replace ``status.json``."""
        now = asyncio.get_running_loop().time()
        value: dict[str, Any] = {
            "run_id": self._run_id,
            "updated_at": time.time(),
            "phase": phase,
            "message": message,
            **self._progress.to_json(now),
            "concurrency": self._concurrency.limit,
            "concurrency_word": self._concurrency.word,
            "stream": self._choice.word,
            "endpoints": [endpoint.to_json() for endpoint in self._endpoints.all],
            "oldest_s": generator.oldest_s(now) if generator else None,
            "streamed_tokens": generator.streamed_tokens() if generator else 0,
        }
        try:
            write_atomically(str(self._run.status), value)
        except OSError as error:
            self._log.error(f"{self._run.status} cannot be written ({error.strerror})")

    def last_picture(self) -> None:
        """Leave the bar standing."""
        self._bar.draw(self._progress, asyncio.get_running_loop().time(), "")
        self._bar.close()


@contextlib.asynccontextmanager
async def background(*jobs: Any) -> Any:
    """Coroutines that run beside the block and end with it."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
