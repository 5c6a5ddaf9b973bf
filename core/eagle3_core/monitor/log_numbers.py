"""Numbers of a run from the lines of its log, where nothing better tells them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from eagle3_core.monitor.snapshot import Progress

PROGRESS = (
    r"Progress: (?P<done>\d+)/(?P<total>\d+)(?: \((?P<errors>\d+) errors?\))?"
    r"(?:, (?P<rate>[\d.]+) req/s)?(?:, avg completion: (?P<tokens>[\d.]+) tokens)?"
    r"(?:, elapsed: (?P<elapsed>[\d.]+)s)?"
)
"""``Progress: 2680/25000 (222 errors), 0.5 req/s, avg completion: 1263 tokens, elapsed: 5945s``"""

ERROR = r"(?<![A-Za-z_])ERROR\b(?P<message>.*)"
"""``ERROR sample 17004: Request timed out.``, also glued behind a progress bar."""

GROUPS = ("done", "total", "errors", "rate", "tokens", "elapsed")

_TIMEOUT = re.compile(r"time[d_ -]*out|deadline exceeded", re.IGNORECASE)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[@-~]")
_LONGEST = 8192
"""Characters of one piece of a line that are looked at."""
_MOST_DIGITS = 12


@dataclass(frozen=True)
class Patterns:
    """Regular expressions for what a log says.

    Args:
        progress: with the group ``done``, the samples that ended, failed ones among them; and where
            the log has them ``total``, ``errors``, ``rate`` (requests/s), ``tokens`` (mean of an
            answer) and ``elapsed`` (seconds).
        error: one failed request; the group ``message``, or the whole match, says whether a
            time-out ended it.
    """

    progress: str = PROGRESS
    error: str = ERROR


class LogNumbers:
    """Takes the lines of a log in order; ``progress`` is what they come to."""

    def __init__(self, patterns: Patterns | None = None) -> None:
        chosen = patterns or Patterns()
        self._progress = re.compile(chosen.progress)
        self._error = re.compile(chosen.error)
        self.forget()

    def forget(self) -> None:
        """The log began anew."""
        self._said: dict[str, float] = {}
        self._errors = self._timeouts = 0
        self._new_errors = self._new_timeouts = 0

    def take(self, lines: Iterable[str], partial: str = "") -> None:
        """The next whole lines, and what stands after them: a bar is drawn over in place."""
        for line in lines:
            for piece in _pieces(line):
                self._take_progress(piece)
                self._take_error(piece)
        if partial:
            for piece in _pieces(partial):
                self._take_progress(piece)

    @property
    def rate(self) -> float | None:
        """Requests per second, as the log says."""
        return self._said.get("rate")

    @property
    def mean_tokens(self) -> float | None:
        """Tokens of a mean answer, as the log says."""
        return self._said.get("tokens")

    def progress(self) -> Progress | None:
        """What the log comes to; ``None`` while it says nothing of the kind."""
        if not self._said and not self._errors:
            return None
        ended = round(self._said.get("done", 0))
        total = round(self._said.get("total", 0))
        errors = max(self._errors, round(self._said.get("errors", 0)))
        done = max(0, ended - errors)
        left = max(0, total - ended)
        by_state = {
            "timeout": self._timeouts,
            "other": self._errors - self._timeouts,
            # The log counts errors whose own lines lie before what was read of it.
            "of_unknown_cause": errors - self._errors,
        }
        return Progress(
            samples=total,
            done=done,
            failed=errors,
            pending=left,
            attempts_by_state={state: count for state, count in by_state.items() if count},
            timeouts_by_clock={"request": self._timeouts} if self._timeouts else {},
            completion_tokens=round((self.mean_tokens or 0) * done),
            elapsed_s=self._said.get("elapsed", 0.0),
            eta_s=left / self.rate if self.rate and total else None,
        )

    def _take_progress(self, piece: str) -> None:
        found = list(self._progress.finditer(piece))
        if not found:
            return
        groups = found[-1].groupdict()
        said = {
            name: number for name in GROUPS if (number := _number(groups.get(name))) is not None
        }
        if "done" not in said:
            return
        if self._is_another_run(said):
            self._errors, self._timeouts = self._new_errors, self._new_timeouts
        self._new_errors = self._new_timeouts = 0
        self._said = said

    def _is_another_run(self, said: dict[str, float]) -> bool:
        """Whether the counts began anew: a log is appended to by the run after."""
        key = "elapsed" if "elapsed" in said and "elapsed" in self._said else "done"
        return said[key] < self._said.get(key, 0)

    def _take_error(self, piece: str) -> None:
        found = self._error.search(piece)
        if found is None:
            return
        message = found.groupdict().get("message") or found[0]
        is_timeout = bool(_TIMEOUT.search(message))
        self._errors += 1
        self._new_errors += 1
        self._timeouts += is_timeout
        self._new_timeouts += is_timeout


def _pieces(line: str) -> Iterable[str]:
    """What stood on the line one after the other: a carriage return begins it again."""
    for piece in line.split("\r"):
        if piece:
            yield _ESCAPE.sub("", piece[:_LONGEST])


def _number(text: str | None) -> float | None:
    if not text or len(text) > _MOST_DIGITS:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
