"""A run from start to end: read, lock, resume, ask, and say how it went."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection
from typing import Any

from eagle3_core.errors import UserError
from eagle3_core.generation import provenance
from eagle3_core.generation.bar import Bar
from eagle3_core.generation.endpoints import Endpoints
from eagle3_core.generation.generator import Generator
from eagle3_core.generation.log import RunLog
from eagle3_core.generation.preflight import ServerFacts, look_at
from eagle3_core.generation.progress import Progress
from eagle3_core.generation.runfile import RunFile, write_atomically
from eagle3_core.generation.stream_choice import StreamChoice
from eagle3_core.journal.append import Journal
from eagle3_core.journal.index import Index, scan
from eagle3_core.records import AnswerState, Sample
from eagle3_core.rundir import RunDir
from eagle3_core.samples.read import PromptSet, read
from eagle3_core.settings import RunSettings

TICK_S = 0.25
STATUS_EVERY = 4
"""Ticks between two status files: one second."""
LOG_EVERY = 40
"""Ticks between two progress lines: ten seconds."""


def generate(settings: RunSettings, force: Collection[str] = ()) -> int:
    """Run the generation that ``settings`` describe; the exit code of the process.

    0: nothing is left to ask, or the run was drained. 1: it ended early. 130 and 143: ended at
    once by SIGINT or SIGTERM; nothing that was finished is lost.

    Raises:
        UserError: what the user must mend before the first request.
    """
    prompts = read(settings.prompts, turns=settings.turns, limit=settings.samples)
    run = RunDir.of_output(os.path.abspath(settings.output))
    if os.path.basename(settings.output) != run.journal.name:
        raise UserError(
            f"output = {settings.output!r} is no journal",
            "write it like DIR/prepared/raw_responses.jsonl",
        )
    with Journal(run) as journal:
        provenance.refuse_a_mix(run, settings, force)
        index = scan(str(run.journal))
        try:
            runfile = RunFile(run)
            log = RunLog(str(run.log))
        except OSError as error:
            raise UserError(
                f"{error.filename} cannot be written ({error.strerror})",
                "mend its permissions, or choose another --output",
            ) from None
        exit_code = 1
        try:
            exit_code = asyncio.run(
                _Run(settings, prompts, run, journal, index, log, runfile.run_id).whole()
            )
        except UserError as error:
            exit_code = error.exit_code
            raise
        finally:
            log.close()
            runfile.ended(exit_code)
    return exit_code


class _Run:
    def __init__(
        self,
        settings: RunSettings,
        prompts: PromptSet,
        run: RunDir,
        journal: Journal,
        index: Index,
        log: RunLog,
        run_id: str,
    ) -> None:
        self._settings = settings
        self._prompts = prompts
        self._paths = run
        self._journal = journal
        self._index = index
        self._run_id = run_id
        self._log = log
        self._bar = Bar()
        self._exit_code = 0
        self._phase = "starting"
        self._choice = StreamChoice(settings.stream)

    async def whole(self) -> int:
        loop = asyncio.get_running_loop()
        self._progress = Progress(len(self._prompts.samples), loop.time())
        self._progress.lines = self._index.lines
        todo = self._todo()
        self._endpoints = Endpoints(self._settings, self._log.info)
        self._say_start(len(todo))
        try:
            self._status("starting")
            servers = [
                await look_at(endpoint.client, self._settings) for endpoint in self._endpoints.all
            ]
            provenance.write(self._paths, self._settings, servers, self._prompts.fingerprint)
            self._say_servers(servers)
            generator = Generator(
                self._settings,
                todo,
                self._journal,
                self._progress,
                self._endpoints,
                self._log,
                choice=self._choice,
                token_ids=all(server.version for server in servers),
            )
            return await self._ask(generator)
        except UserError as error:
            self._status("failed", str(error))
            raise
        finally:
            await self._endpoints.close()

    def _todo(self) -> list[Sample]:
        """Samples without a done answer; kept ones only where ``redo`` names their state."""
        redo = {AnswerState(state) for state in self._settings.redo}
        todo = []
        for sample in self._prompts.samples:
            state = self._index.states.get(sample.key)
            if state is None or state in redo or state.group in ("retryable", "final"):
                todo.append(sample)
            else:
                self._progress.states[state] += 1
        return todo

    async def _ask(self, generator: Generator) -> int:
        self._generator = generator
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signal, number)
        ticker = asyncio.create_task(self._tick())
        try:
            await generator.run()
        finally:
            ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticker
            self._sync()
            self._end()
        return self._exit_code

    def _signal(self, number: int) -> None:
        if number == signal.SIGINT and not self._generator.draining:
            waiting = self._progress.in_flight
            self._log.info(f"drain: nothing new is asked, waiting for {waiting} in flight")
            self._generator.drain()
            return
        self._log.info(f"{signal.Signals(number).name}: ending now")
        self._exit_code = 128 + number
        self._generator.stop()

    async def _tick(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK_S)
            ticks += 1
            now = asyncio.get_running_loop().time()
            note = self._generator.pause or ("draining" if self._generator.draining else "")
            self._bar.draw(self._progress, now, note)
            if ticks % STATUS_EVERY == 0:
                self._phase = "paused" if self._generator.pause else "running"
                self._status(
                    "draining" if self._generator.draining else self._phase, self._generator.pause
                )
                if said := self._choice.look(self._progress.rates(now)["tokens_s"]):
                    self._log.info(said)
                await asyncio.to_thread(self._sync)
            if ticks % LOG_EVERY == 0:
                self._log.progress(self._progress.line(now))

    def _sync(self) -> None:
        try:
            self._journal.sync()
        except OSError as error:
            self._log.error(f"fsync of {self._paths.journal} failed ({error.strerror})")

    def _status(self, phase: str, message: str = "") -> None:
        now = asyncio.get_running_loop().time()
        generator = getattr(self, "_generator", None)
        value: dict[str, Any] = {
            "run_id": self._run_id,
            "updated_at": time.time(),
            "phase": phase,
            "message": message,
            **self._progress.to_json(now),
            "concurrency": self._settings.concurrency,
            "stream": self._choice.word,
            "endpoints": [endpoint.to_json() for endpoint in self._endpoints.all],
            "oldest_s": generator.oldest_s(now) if generator else None,
            "streamed_tokens": generator.streamed_tokens() if generator else 0,
        }
        try:
            write_atomically(str(self._paths.status), value)
        except OSError as error:
            self._log.error(f"{self._paths.status} cannot be written ({error.strerror})")

    def _say_start(self, todo: int) -> None:
        mended = self._journal.records.mended
        for line in self._prompts.report.summary().splitlines():
            self._log.info(line)
        if mended.verdict == "torn":
            self._log.info(
                f"torn last line ({mended.moved_bytes} bytes) moved to {mended.moved_to}"
            )
        if self._index.bad_lines:
            self._log.info(f"{len(self._index.bad_lines)} lines of the journal hold no record")
        self._log.info(
            f"start {time.strftime('%Y-%m-%d %H:%M:%S %z')}: {todo} to ask of {self._progress.samples}, "
            f"{self._progress.done} done and {self._progress.kept} kept before, "
            f"concurrency {self._settings.concurrency}, max_tokens {self._settings.max_tokens}, "
            f"timeout {self._settings.timeout:.0f} s, thinking {'on' if self._settings.thinking else 'off'}"
        )

    def _say_servers(self, servers: list[ServerFacts]) -> None:
        for server in servers:
            version = f" {server.version}" if server.version else ""
            self._log.info(
                f"{server.url}{version}: {server.model}, context {server.max_model_len or 'unknown'}"
            )

    def _end(self) -> None:
        now = asyncio.get_running_loop().time()
        progress = self._progress
        self._bar.draw(progress, now, "")
        self._bar.close()
        left = progress.pending + progress.in_flight
        phase = "finished" if not left else "stopped"
        if self._generator.fatal:
            phase, self._exit_code = "failed", 1
            self._log.error(self._generator.fatal)
        self._log.progress(progress.line(now))
        summary = (
            f"{phase}: {progress.done} done, {progress.kept} kept, {progress.failed} failed, "
            f"{left} not asked, of {progress.samples}"
        )
        self._log.info(summary)
        progress.in_flight = 0
        self._status(phase, self._generator.fatal)
        if sys.stderr.isatty():
            sys.stderr.write(f"{summary}\n{self._paths.journal}\n")
