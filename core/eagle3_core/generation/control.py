"""``control.json``: what may be turned while the run goes, written by whoever watches it."""

from __future__ import annotations

import os

from eagle3_core import codec
from eagle3_core.generation.concurrency import AUTO, HIGHEST


class Control:
    """Looks at the file when it has changed.

    The file is ``{"concurrency": N}`` or ``{"concurrency": "auto"}``. One that was there before
    the run is old: it is not taken.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen = self._stamp()

    def look(self) -> tuple[int | str | None, str]:
        """The new concurrency, if any, and what to log about a file that makes no sense."""
        stamp = self._stamp()
        if stamp == self._seen or stamp is None:
            return None, ""
        self._seen = stamp
        try:
            with open(self._path, "rb") as file:
                value = codec.loads(file.read())["concurrency"]
        except (OSError, ValueError, KeyError, TypeError):
            return None, f'{self._path} makes no sense: write {{"concurrency": 64}} or "auto"'
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value == AUTO or (whole and 1 <= value <= HIGHEST):
            return value, ""
        return (
            None,
            f"{self._path}: concurrency = {value!r} is out of range: 1 to {HIGHEST}, or auto",
        )

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            facts = os.stat(self._path)
        except OSError:
            return None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino
