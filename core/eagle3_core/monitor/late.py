"""Answers that the generator has counted and the journal does not hold: for how long now?"""

from __future__ import annotations


class Late:
    """Tells lines that are on their way from lines that do not come."""

    def __init__(self) -> None:
        self._awaited: tuple[float, int] | None = None
        """When a count was first ahead of the file, and that count."""

    def look(self, now: float, counted: int | None, lines: int | None) -> None:
        """Compare the generator's count with the file's; ``None`` where either is not known."""
        if counted is None or lines is None or lines >= counted:
            self._awaited = None
        elif self._awaited is None or lines >= self._awaited[1]:
            # A running journal is always a little behind: each count gets its own time to arrive.
            self._awaited = (now, counted)

    def seconds(self, now: float) -> float:
        """How long the count that is awaited has not arrived."""
        return 0.0 if self._awaited is None else now - self._awaited[0]
