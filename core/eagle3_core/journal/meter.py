"""How far a long read is: one line on a terminal, nothing elsewhere or for small files."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_WIDTH = 24
_SMALL = 64 << 20
_PAUSE_S = 0.2


class Meter:
    """Counts bytes and redraws one line of standard error, a few times a second.

    Args:
        what: what is being done, for the reader.
        total: bytes in all.
    """

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._on = total >= _SMALL and sys.stderr.isatty()
        self._next = 0.0

    def __enter__(self) -> Meter:
        return self

    def add(self, size: int) -> None:
        """So many bytes more are done."""
        self._done += size
        if self._on and time.monotonic() >= self._next:
            self._next = time.monotonic() + _PAUSE_S
            filled = min(_WIDTH, self._done * _WIDTH // self._total)
            sys.stderr.write(
                f"\r\x1b[K{'█' * filled}{'░' * (_WIDTH - filled)} {self._what} "
                f"{self._done / 1e6:,.0f} of {self._total / 1e6:,.0f} MB"
            )
            sys.stderr.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
