"""One attempt at one sample: the request, its clocks, and what has come so far."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import Any

from eagle3_core.generation.assemble import Assembler, whole
from eagle3_core.generation.endpoints import Endpoint
from eagle3_core.generation.failure import Cause, explain
from eagle3_core.generation.why import Pace, why, words
from eagle3_core.records import Answer, AnswerState, Sample
from eagle3_core.settings import RunSettings

END_GRACE_S = 1.0
"""How long a stream that gave its finish reason may still bring usage and ``[DONE]``."""

_WORDS = {
    "connect": "Request timed out: no connection",
    "first_token": "Request timed out: no first token",
    "idle": "Request timed out: no more tokens came",
    "total": "Request timed out",
}


class Attempt:
    """A request in flight.

    Times are of the loop's clock. :meth:`look` is called a few times a second by the one who
    keeps the clocks; it cancels ``task`` when one of them has run out.
    """

    def __init__(
        self,
        sample: Sample,
        number: int,
        endpoint: Endpoint,
        body: dict[str, Any],
        waited_s: float,
        timeout_s: float,
    ) -> None:
        self.sample = sample
        self.number = number
        self.endpoint = endpoint
        self.waited_s = waited_s
        """Seconds the sample waited in our own queue since its turn came."""
        self.streamed: bool = body["stream"]
        self.started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self.started = asyncio.get_running_loop().time()
        self.first_text: float | None = None
        self.rang: str | None = None
        self._trouble: Exception | None = None
        self._body = body
        self._timeout_s = timeout_s
        self._answering = False
        self._assembler = Assembler()
        self._texts_seen = 0
        self._last_text = self.started
        self._ended_at: float | None = None
        self.task: asyncio.Task[Answer] = asyncio.create_task(self._run())

    @property
    def texts(self) -> int:
        """Chunks with text so far, about one a token; 0 for whole answers."""
        return self._assembler.texts

    async def _run(self) -> Answer:
        response = await self.endpoint.client.chat(self._body)
        self._answering = True
        try:
            if not self.streamed:
                return whole(await response.aread())
            try:
                async for chunk in response.aiter_raw():
                    self._assembler.feed(chunk)
                    if self.first_text is None and self._assembler.texts:
                        self.first_text = self._last_text = asyncio.get_running_loop().time()
            except asyncio.CancelledError:
                if self._trouble:
                    raise self._trouble from None
                if self.rang != "grace":
                    raise
        finally:
            await response.aclose()
        self._assembler.end()
        return self._assembler.answer()

    def look(self, now: float, settings: RunSettings, server_grew_at: float | None) -> None:
        """Check the clocks; the one that has run out ends the attempt.

        Args:
            now: the loop's time.
            settings: the clocks.
            server_grew_at: when the server's own count of tokens last moved: a whole answer shows
                no life of its own before it is there. ``None``: the server does not say.
        """
        if self.task.done() or self.rang:
            return
        try:
            self._assembler.flush()
        except Exception as error:
            self._trouble = error  # what was parsed is gone from the stream: kept for the task
            self._ring("grace")
            return
        if self._assembler.texts > self._texts_seen:
            self._texts_seen, self._last_text = self._assembler.texts, now
        if self._assembler.finish_reason or self._assembler.done:
            self._ended_at = self._ended_at or now
            if now - self._ended_at > END_GRACE_S:
                self._ring("grace")
        elif now - self.started > settings.timeout:
            self._ring("total")
        elif self.streamed and self.first_text is None:
            if now - self.started > settings.first_token_timeout:
                self._ring("first_token")
        elif now - self._last_life(server_grew_at, now) > settings.idle_timeout:
            self._ring("idle")

    def _last_life(self, server_grew_at: float | None, now: float) -> float:
        if self.streamed:
            return self._last_text
        return now if server_grew_at is None else max(server_grew_at, self.started)

    def _ring(self, clock: str) -> None:
        self.rang = clock
        self.task.cancel()

    def cause(self, error: BaseException) -> Cause:
        """Why the ended task failed."""
        if self.rang and isinstance(error, asyncio.CancelledError):
            state = AnswerState.STALLED if self.rang == "idle" else AnswerState.TIMEOUT
            pace = self._pace(self.rang)
            said = words(pace)
            if self.waited_s >= 1:
                said += f", {self.waited_s:.0f} s in our own queue before"
            return Cause(state, f"{_WORDS[self.rang]} ({said})", clock=self.rang, why=why(pace))
        return explain(error, answering=self._answering)

    def partial(self) -> Answer:
        """The text that had come."""
        return self._assembler.answer()

    def _pace(self, clock: str) -> Pace:
        answer = self.partial()
        text = (answer.reasoning or answer.reasoning_content or "") + (answer.content or "")
        first = self.first_text
        return Pace(
            clock=clock,
            streamed=self.streamed,
            elapsed_s=asyncio.get_running_loop().time() - self.started,
            first_token_s=None if first is None else first - self.started,
            tokens=self.texts,
            needed_s=self._body["max_tokens"] / self._timeout_s,
            text=text,
        )
