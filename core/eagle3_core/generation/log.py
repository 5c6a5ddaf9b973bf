"""``inference.log``: lines for people, two of them in the form that other scripts' logs have."""

from __future__ import annotations

import contextlib
import os

from eagle3_core.records import Sample
from eagle3_core.text import printable


class RunLog:
    """Appends whole lines; a log that cannot be written never stops a run."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def info(self, text: str) -> None:
        self._line(f"INFO {text}")

    def error(self, text: str) -> None:
        self._line(f"ERROR {text}")

    def progress(self, line: str) -> None:
        """The progress line, as ``Progress.line`` has it."""
        self._line(line)

    def sample_failed(self, sample: Sample, message: str, *, again_in: float | None) -> None:
        """``ERROR sample 17004: Request timed out.``, or a warning while it is asked again."""
        name = sample.sample_id or sample.key
        if again_in is None:
            self._line(f"ERROR sample {name}: {message}")
        else:
            self._line(f"WARNING sample {name}: {message}; asked again in {again_in:.1f} s")

    def close(self) -> None:
        os.close(self._fd)

    def _line(self, text: str) -> None:
        # A server's words may hold line ends, and escapes that would command the reader's terminal.
        flat = printable(" ".join(text.splitlines()))
        with contextlib.suppress(OSError):
            os.write(self._fd, flat.encode(errors="replace") + b"\n")
