"""A run from start to end: read, lock, resume, ask, and say how it went."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Collection

from eagle3_core.errors import UserError
from eagle3_core.generation import provenance
from eagle3_core.generation.concurrency import Concurrency
from eagle3_core.generation.endpoints import Endpoints
from eagle3_core.generation.generator import Generator
from eagle3_core.generation.log import RunLog
from eagle3_core.generation.preflight import preflight
from eagle3_core.generation.progress import Progress
from eagle3_core.generation.pulse import Pulse, background
from eagle3_core.generation.runfile import RunFile
from eagle3_core.generation.server_load import ServerLoad
from eagle3_core.generation.stream_choice import StreamChoice
from eagle3_core.journal.append import Journal
from eagle3_core.journal.index import Index, scan
from eagle3_core.records import AnswerState, Sample
from eagle3_core.rundir import RunDir
from eagle3_core.samples.read import PromptSet, read
from eagle3_core.settings import RunSettings


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
        self._exit_code = 0

    async def whole(self) -> int:
        loop = asyncio.get_running_loop()
        settings = self._settings
        self._progress = Progress(len(self._prompts.samples), loop.time())
        self._progress.lines = self._index.lines
        todo = self._todo()
        endpoints = Endpoints(settings, self._log.info)
        concurrency = Concurrency(settings.concurrency)
        choice = StreamChoice(settings.stream)
        load = ServerLoad(endpoints)
        self._pulse = Pulse(
            self._paths,
            self._run_id,
            self._progress,
            endpoints,
            self._journal,
            self._log,
            concurrency=concurrency,
            choice=choice,
            load=load,
        )
        self._say_start(len(todo))
        try:
            self._pulse.status("starting")
            checked = await preflight(settings, endpoints, load, self._paths, todo=len(todo))
            for check in checked.checks:
                self._log.info(f"preflight {check.verdict}: {check}")
            if refusal := checked.refusal():
                raise refusal
            provenance.write(self._paths, settings, checked.servers, self._prompts.fingerprint)
            self._generator = Generator(
                settings,
                todo,
                self._journal,
                self._progress,
                endpoints,
                self._log,
                concurrency=concurrency,
                choice=choice,
                load=load,
                token_ids=checked.token_ids,
                opening_id=checked.opening_id,
            )
            async with background(self._pulse.beat(self._generator), load.keep_reading()):
                await self._ask()
            return self._end()
        except UserError as error:
            self._pulse.status("failed", str(error))
            raise
        finally:
            await endpoints.close()

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

    async def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signal, number)
        # What is there now lasts as long as the run: the collector need not walk it again and again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        try:
            await self._generator.run()
        finally:
            gc.unfreeze()

    def _signal(self, number: int) -> None:
        if number == signal.SIGINT and not self._generator.draining:
            waiting = self._progress.in_flight
            self._log.info(f"drain: nothing new is asked, waiting for {waiting} in flight")
            self._generator.drain()
            return
        self._log.info(f"{signal.Signals(number).name}: ending now")
        self._exit_code = 128 + number
        self._generator.stop()

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

    def _end(self) -> int:
        progress = self._progress
        self._pulse.sync()
        self._pulse.last_picture()
        left = progress.pending + progress.in_flight
        progress.in_flight = 0
        phase = "finished" if not left else "stopped"
        if self._generator.fatal:
            phase, self._exit_code = "failed", 1
            self._log.error(self._generator.fatal)
        self._log.progress(progress.line(asyncio.get_running_loop().time()))
        summary = (
            f"{phase}: {progress.done} done, {progress.kept} kept, {progress.failed} failed, "
            f"{left} not asked, of {progress.samples}"
        )
        self._log.info(summary)
        self._pulse.status(phase, self._generator.fatal)
        if sys.stderr.isatty():
            sys.stderr.write(f"{summary}\n{self._paths.journal}\n")
        return self._exit_code
