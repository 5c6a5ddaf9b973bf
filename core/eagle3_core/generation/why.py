"""Why a request timed out: it was queued, slow, looping or silent; a pure verdict on its numbers."""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_core.journal.loops import find_loop

QUEUED, SLOW, LOOPING, SILENT = "queued", "slow", "looping", "silent"


@dataclass(frozen=True)
class Pace:
    """How far a request had come when its clock rang."""

    clock: str
    streamed: bool
    elapsed_s: float
    first_token_s: float | None
    tokens: int
    """Chunks with text, about one a token."""
    needed_s: float
    """Tokens/s that a full answer needs to end in time."""
    text: str
    """What had come, reasoning and content."""

    @property
    def rate(self) -> float:
        """Tokens/s since the first one."""
        return self.tokens / max(self.elapsed_s - (self.first_token_s or 0.0), 1e-3)


def why(pace: Pace) -> str:
    """One word for the cause; empty where a whole answer hides it."""
    if not pace.streamed:
        return SILENT if pace.clock == "idle" else ""
    if pace.first_token_s is None:
        return QUEUED
    if find_loop(pace.text):
        return LOOPING
    if pace.clock == "idle":
        return SILENT
    return SLOW


def words(pace: Pace) -> str:
    """The numbers behind the word, for a line of the log."""
    parts = [f"{pace.elapsed_s:.0f} s"]
    if pace.streamed:
        if pace.first_token_s is None:
            parts.append("no token: still queued at the server, or it is stuck")
        else:
            parts.append(f"{pace.tokens} tokens at {pace.rate:.1f}/s")
            if why(pace) == LOOPING:
                parts.append("the text repeats itself")
            elif pace.clock == "total" and pace.rate < pace.needed_s:
                parts.append(f"a full answer needs {pace.needed_s:.1f}/s")
    return ", ".join(parts)
