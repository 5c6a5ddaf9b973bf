"""A progress bar of one line, drawn only on a terminal."""

from __future__ import annotations

import shutil
import sys

from eagle3_core.generation.progress import Progress
from eagle3_core.text import printable

_WIDTH = 24


class Bar:
    """Redraws one line of standard error; silent where that is no terminal."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()

    def draw(self, progress: Progress, now: float, note: str) -> None:
        """Show where the run is."""
        if not self._on:
            return
        share = progress.ended / progress.samples if progress.samples else 1.0
        filled = round(share * _WIDTH)
        rates = progress.rates(now)
        parts = [
            f"{'█' * filled}{'░' * (_WIDTH - filled)} {progress.ended:,}/{progress.samples:,}",
            f"{rates['requests_s'] or 0:.1f} req/s",
            f"{rates['tokens_s'] or 0:,.0f} tok/s",
            f"{progress.in_flight} in flight",
        ]
        if progress.failed:
            parts.append(f"{progress.failed} errors")
        eta = progress.eta_s(now)
        parts.append(note or (f"ETA {clock(eta)}" if eta is not None else "ETA –"))
        line = printable(" ".join(" · ".join(parts).split()))
        line = line[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the last picture standing."""
        if self._on:
            sys.stderr.write("\n")


def clock(seconds: float) -> str:
    """``2:05`` or ``13:07:09``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
