"""The generator's own numbers: counted once, written to ``status.json``, said in the log."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from eagle3_core.generation.failure import Cause
from eagle3_core.records import AnswerState, Record

WINDOW_S = 60.0


class Progress:
    """Counts of one run: done + kept + failed + in flight + pending = samples.

    Args:
        samples: how many samples the run has.
        started: the loop's time.
    """

    def __init__(self, samples: int, started: float) -> None:
        self.samples = samples
        self.started = started
        self.states: Counter[AnswerState] = Counter()
        """Samples by their final state in the journal, earlier runs included."""
        self.failed = 0
        """Samples given up in this run; asked again on resume."""
        self.in_flight = 0
        self.attempts: Counter[AnswerState] = Counter()
        """Failed attempts, retried ones included."""
        self.clocks: Counter[str] = Counter()
        self.whys: Counter[str] = Counter()
        """Time-outs by what they came from."""
        self.retries = 0
        self.sent_away = 0
        """Requests that a full server did not take (429, 503)."""
        self.first_token_s: float | None = None
        """Typical time to the first token of late: a moving average over streamed answers."""
        self.completions = 0
        """Answers with a usage, in this run."""
        self.completion_tokens = 0
        self.lines = 0
        self._ended: deque[tuple[float, int, int, int]] = deque()
        self._sums = [0, 0, 0]

    @property
    def done(self) -> int:
        return sum(count for state, count in self.states.items() if state.group == "done")

    @property
    def kept(self) -> int:
        return sum(count for state, count in self.states.items() if state.group == "kept")

    @property
    def pending(self) -> int:
        return self.samples - self.done - self.kept - self.failed - self.in_flight

    @property
    def ended(self) -> int:
        """Samples that will not be asked again in this run."""
        return self.done + self.kept + self.failed

    def stored(self, record: Record, now: float) -> None:
        """Count an answer that is on disk."""
        self.states[record.state] += 1
        self.lines += 1
        tokens = (record.usage or {}).get("completion_tokens")
        if isinstance(tokens, int):
            self.completions += 1
            self.completion_tokens += tokens
        if record.first_token_s is not None:
            before = self.first_token_s
            self.first_token_s = (
                record.first_token_s
                if before is None
                else 0.9 * before + 0.1 * record.first_token_s
            )
        self._window(now, 1, tokens if isinstance(tokens, int) else 0, 0)

    def attempt_failed(self, cause: Cause, *, again: bool, now: float) -> None:
        """Count a failed attempt; the sample's last one when it is not asked again."""
        self.attempts[cause.state] += 1
        if cause.clock:
            self.clocks[cause.clock] += 1
        if cause.why:
            self.whys[cause.why] += 1
        if cause.sent_away:
            self.sent_away += 1
        if again:
            self.retries += 1
        else:
            self.failed += 1
        self._window(now, 0, 0, 1)

    def rates(self, now: float) -> dict[str, float | None]:
        """Requests/s, tokens/s and the share of failed attempts over the last minute."""
        self._window(now, 0, 0, 0)
        span = min(WINDOW_S, now - self.started)
        answers, tokens, errors = self._sums
        if span <= 0:
            return {"requests_s": None, "tokens_s": None, "error_share": None}
        return {
            "requests_s": answers / span,
            "tokens_s": tokens / span,
            "error_share": errors / (answers + errors) if answers + errors else None,
        }

    def eta_s(self, now: float) -> float | None:
        """Seconds until the last sample, at the pace of the last minute; ``None``: no pace yet."""
        left = self.samples - self.ended
        pace = self.rates(now)["requests_s"]
        if left == 0:
            return 0.0
        return left / pace if pace else None

    def line(self, now: float) -> str:
        """The progress line of the log, in the form that other scripts' logs have."""
        elapsed = now - self.started
        pace = self.completions / elapsed if elapsed > 0 else 0.0
        average = self.completion_tokens / self.completions if self.completions else 0
        return (
            f"Progress: {self.ended}/{self.samples} ({self.failed} errors), {pace:.1f} req/s, "
            f"avg completion: {average:.0f} tokens, elapsed: {elapsed:.0f}s"
        )

    def to_json(self, now: float) -> dict[str, Any]:
        """The part of ``status.json`` that is counted here."""
        return {
            "samples": self.samples,
            "done": self.done,
            "kept": self.kept,
            "failed": self.failed,
            "in_flight": self.in_flight,
            "pending": self.pending,
            "kept_by_state": {s.value: n for s, n in self.states.items() if s.group == "kept"},
            "attempts_by_state": {s.value: n for s, n in self.attempts.items()},
            "timeouts_by_clock": dict(self.clocks),
            "timeouts_by_why": dict(self.whys),
            "retries": self.retries,
            "completions": self.completions,
            "completion_tokens": self.completion_tokens,
            "lines": self.lines,
            "elapsed_s": round(now - self.started, 3),
            "eta_s": self.eta_s(now),
            "rates": self.rates(now),
        }

    def _window(self, now: float, answers: int, tokens: int, errors: int) -> None:
        if answers or errors:
            self._ended.append((now, answers, tokens, errors))
            for index, value in enumerate((answers, tokens, errors)):
                self._sums[index] += value
        while self._ended and self._ended[0][0] < now - WINDOW_S:
            _, *old = self._ended.popleft()
            for index, value in enumerate(old):
                self._sums[index] -= value
