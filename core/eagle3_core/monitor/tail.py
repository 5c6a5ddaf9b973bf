"""A followed file as lines, over links that come and go: no line twice, none lost, none in halves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from eagle3_core.host.follow import (
    Checkpoint,
    Data,
    FollowEvent,
    Missing,
    Opened,
    Rewritten,
    Truncated,
)
from eagle3_core.host.link import Link

LONGEST_LINE = 16 << 20
"""Bytes kept of a line that does not end: a file without newlines must not fill the memory."""

_CAP = 262144
"""Bytes of text in one event at most; more of a burst is skipped."""


@dataclass(frozen=True)
class Piece:
    """What one event brought."""

    lines: list[bytes]
    """Whole lines, without their newlines; cut at newlines only, not decoded."""
    count: int
    """Lines in the file so far."""
    skipped: int = 0
    """Bytes before ``lines`` that were counted but not sent."""
    note: str = ""
    """A break to show: the file is missing, was cut, rewritten or replaced."""


class Tail:
    """One file; keeps its checkpoint and its half line between two links.

    Args:
        path: on the host.
        count: count its lines from the start.
        lines_back: how many lines of what is there already come as text.
        bytes_back: the same in bytes, when ``lines_back`` is ``None``.
    """

    def __init__(
        self,
        path: str,
        *,
        count: bool,
        lines_back: int | None = None,
        bytes_back: int = 65536,
    ) -> None:
        self._path = path
        self._count = count
        self._lines_back = lines_back
        self._bytes_back = bytes_back
        self._checkpoint: Checkpoint | None = None
        self._rest = b""
        self._lines = 0

    @property
    def partial(self) -> bytes:
        """What stands after the last newline."""
        return self._rest

    async def follow(self, link: Link) -> AsyncIterator[Piece]:
        """The file from where we stood, until the link ends. Raises ``LinkLost``."""
        options: dict[str, Any] = {
            "checkpoint": self._checkpoint,
            "count": self._count,
            "lines_back": self._lines_back,
            "bytes_back": self._bytes_back,
            "cap": max(self._bytes_back, _CAP),
        }
        async for event in link.follow(self._path, **options):
            if isinstance(event, Data):
                self._checkpoint, self._lines = event.checkpoint, event.lines
                rest = b"" if event.skipped else self._rest
                *lines, self._rest = (rest + event.text).split(b"\n")
                self._rest = self._rest[-LONGEST_LINE:]
                yield Piece(lines, event.lines, event.skipped)
            elif isinstance(event, Missing):
                yield Piece([], 0, note=_note(event))
            else:
                if not (isinstance(event, Opened) and event.resumed):
                    self._rest, self._lines = b"", 0
                yield Piece([], self._lines, note=_note(event))


def _note(event: FollowEvent) -> str:
    if isinstance(event, Missing):
        return f"missing: {event.reason}"
    if isinstance(event, Truncated):
        return "the file was cut"
    if isinstance(event, Rewritten):
        return "the file was rewritten"
    return "the file was replaced" if isinstance(event, Opened) and event.why == "replaced" else ""
