"""The loop: samples to servers, finished answers to the journal, every slot refilled at once."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import deque
from collections.abc import Iterable

from eagle3_core.generation.attempt import Attempt
from eagle3_core.generation.client import request_body
from eagle3_core.generation.concurrency import Concurrency
from eagle3_core.generation.endpoints import Endpoints
from eagle3_core.generation.failure import Cause
from eagle3_core.generation.log import RunLog
from eagle3_core.generation.outcome import failure_of, record_of
from eagle3_core.generation.progress import Progress
from eagle3_core.generation.retry import Tries
from eagle3_core.generation.server_load import ServerLoad
from eagle3_core.generation.state import judge
from eagle3_core.generation.stream_choice import StreamChoice
from eagle3_core.journal.append import Journal
from eagle3_core.records import Answer, AnswerState, Record, Sample
from eagle3_core.settings import RunSettings

LOOK_S = 0.25
"""How often the clocks are looked at."""


class Generator:
    """Asks every sample it is given, ``settings.concurrency`` at a time.

    An answer is written to the journal before it is counted. When the journal cannot be written,
    nothing new is asked, finished answers wait in memory, and writing is tried again.

    Args:
        settings: the run.
        samples: what is still to be asked, in order.
        journal: open, locked.
        progress: where everything is counted.
        endpoints: where to ask.
        log: for people.
        concurrency: how many requests may be in flight.
        choice: whether to ask for streams or for whole answers.
        load: what the servers say: the life of answers that come whole.
        token_ids: ask for token ids.
        opening_id: id of ``<think>``, where it is known.
    """

    def __init__(
        self,
        settings: RunSettings,
        samples: Iterable[Sample],
        journal: Journal,
        progress: Progress,
        endpoints: Endpoints,
        log: RunLog,
        *,
        concurrency: Concurrency,
        choice: StreamChoice,
        load: ServerLoad,
        token_ids: bool,
        opening_id: int | None = None,
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._progress = progress
        self._endpoints = endpoints
        self._log = log
        self._concurrency = concurrency
        self._choice = choice
        self._load = load
        self._token_ids = token_ids
        self._opening_id = opening_id
        self._queue = deque(samples)
        self._turn = asyncio.get_running_loop().time()
        self._tries: dict[str, Tries] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._attempts: set[Attempt] = set()
        self._unsaved: deque[Record] = deque()
        self._rejected_in_row = 0
        self._finished = asyncio.Event()
        self.draining = False
        self.fatal = ""
        """Why the run ended early; empty when it did not."""
        self.unwritable = ""
        """Why the journal cannot be written now; empty when it can."""

    @property
    def pause(self) -> str:
        """Why nothing is asked now; empty while something is."""
        return self.unwritable or self._endpoints.pause

    async def run(self) -> None:
        """Ask until nothing is left, :meth:`drain` or :meth:`stop`."""
        keeper = asyncio.create_task(self._keep_clocks())
        keeper.add_done_callback(lambda _: self._finished.set())
        try:
            self._fill()
            await self._finished.wait()
        finally:
            keeper.cancel()
            for attempt in self._attempts:
                attempt.task.cancel()
            await asyncio.gather(*(a.task for a in self._attempts), return_exceptions=True)
            if self._unsaved:
                self._retry_unsaved()
            if self._unsaved:
                self._log.error(f"{len(self._unsaved)} finished answers could not be written")
        with contextlib.suppress(asyncio.CancelledError):
            await keeper

    def drain(self) -> None:
        """Ask nothing new; end when the answers in flight are in."""
        self.draining = True
        for handle in self._waiting.values():
            handle.cancel()
        self._waiting.clear()
        self._check_end()

    def stop(self) -> None:
        """End now; what is in flight is asked again on resume."""
        self._finished.set()

    def oldest_s(self, now: float) -> float | None:
        """Seconds the oldest request has been in flight."""
        return max((now - attempt.started for attempt in self._attempts), default=None)

    def streamed_tokens(self) -> int:
        """Text chunks of the answers in flight."""
        return sum(attempt.texts for attempt in self._attempts)

    def _fill(self) -> None:
        loop = asyncio.get_running_loop()
        while (
            self._queue
            and len(self._attempts) < self._concurrency.limit
            and not (self.draining or self.unwritable or self._finished.is_set())
        ):
            endpoint = self._endpoints.choose()
            if endpoint is None:
                return
            sample = self._queue.popleft()
            tries = self._tries.setdefault(sample.key, Tries(self._settings.attempts))
            tries.number += 1
            body = request_body(
                self._settings, sample, stream=self._choice.streamed, token_ids=self._token_ids
            )
            waited = loop.time() - self._turn
            attempt = Attempt(sample, tries.number, endpoint, body, waited, self._settings.timeout)
            endpoint.in_flight += 1
            self._attempts.add(attempt)
            self._progress.in_flight += 1
            attempt.task.add_done_callback(functools.partial(self._ended, attempt))
        self._turn = loop.time()
        self._check_end()

    def _check_end(self) -> None:
        left = 0 if self.draining or self.fatal else len(self._queue) + len(self._waiting)
        if not (left or self._attempts or self._unsaved):
            self._finished.set()

    def _ended(self, attempt: Attempt, task: asyncio.Task[Answer]) -> None:
        self._attempts.discard(attempt)
        attempt.endpoint.in_flight -= 1
        self._progress.in_flight -= 1
        if self._finished.is_set() and (task.cancelled() or task.exception()):
            return
        try:
            self._take(attempt)
        except Exception as error:
            self.fatal = f"{type(error).__name__}: {error}"
            self._log.error(f"this should not happen: {self.fatal}")
            self._finished.set()
        self._fill()

    def _take(self, attempt: Attempt) -> None:
        task = attempt.task
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self._failed(attempt, attempt.cause(error), attempt.partial())
            return
        answer = task.result()
        judgement = judge(
            answer,
            thinking=self._settings.thinking,
            max_tokens=self._settings.max_tokens,
            prompt_opened=self._prompt_opened(answer),
        )
        if judgement.state.group in ("retryable", "final"):
            self._failed(attempt, Cause(judgement.state, _WORDS[judgement.state]), answer)
            return
        self._rejected_in_row = 0
        self._endpoints.succeeded(attempt.endpoint)
        self._tries.pop(attempt.sample.key, None)
        self._store(record_of(attempt, answer, judgement, self._settings.model))

    def _prompt_opened(self, answer: Answer) -> bool | None:
        if self._opening_id is None or not answer.prompt_token_ids:
            return None
        # Some templates put a line end behind the tag.
        return self._opening_id in answer.prompt_token_ids[-2:]

    def _store(self, record: Record) -> None:
        if self._unsaved or not self._write(record):  # behind others that wait: order is kept
            self._unsaved.append(record)

    def _write(self, record: Record) -> bool:
        try:
            self._journal.records.append(record.to_line())
        except OSError as error:
            why = f"{self._journal.records.path} cannot be written ({error.strerror})"
            if not self.unwritable:
                self._log.error(f"{why}; finished answers wait in memory, trying again")
            self.unwritable = why
            return False
        self._progress.stored(record, asyncio.get_running_loop().time())
        return True

    def _retry_unsaved(self) -> None:
        while self._unsaved and self._write(self._unsaved[0]):
            self._unsaved.popleft()
        if not self._unsaved:
            self.unwritable = ""
            self._log.info(f"{self._journal.records.path} can be written again")

    def _failed(self, attempt: Attempt, cause: Cause, partial: Answer) -> None:
        loop = asyncio.get_running_loop()
        sample = attempt.sample
        delay = self._tries[sample.key].delay_after(cause)
        self._endpoints.failed(attempt.endpoint, cause)
        self._progress.attempt_failed(cause, again=delay is not None, now=loop.time())
        self._log.sample_failed(sample, cause.message, again_in=delay)
        try:
            failure = failure_of(attempt, cause, partial, will_retry=delay is not None)
            self._journal.failures.append(failure.to_line())
        except OSError as error:
            self._log.error(f"{self._journal.failures.path} cannot be written ({error.strerror})")
        self._rejected_in_row = (
            self._rejected_in_row + 1 if cause.state is AnswerState.REJECTED else 0
        )
        if self._rejected_in_row >= self._settings.stop_after and not self.fatal:
            self.fatal = (
                f"the server rejected {self._rejected_in_row} requests in a row: {cause.message}"
            )
            self.draining = True
        if delay is None:
            self._tries.pop(sample.key, None)
        elif not self.draining:
            self._waiting[sample.key] = loop.call_later(delay, self._again, sample)

    def _again(self, sample: Sample) -> None:
        del self._waiting[sample.key]
        self._queue.append(sample)
        self._fill()

    async def _keep_clocks(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_S)
            now = loop.time()
            for attempt in list(self._attempts):
                attempt.look(now, self._settings, self._load.grew_at)
            if self._unsaved:
                self._retry_unsaved()
            self._fill()


_WORDS = {
    AnswerState.CUT: "the stream ended without a finish reason",
    AnswerState.ABORTED: "the server aborted the answer",
    AnswerState.SERVER_ERROR: "the server ended the answer with an error",
}
