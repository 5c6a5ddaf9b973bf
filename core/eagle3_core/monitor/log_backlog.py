"""Log lines that wait for a screen: bounded, the newest kept, what was dropped told in bytes."""

from __future__ import annotations

from dataclasses import replace

from eagle3_core.monitor.events import LogLines


class LogBacklog:
    """Takes what a tail brings and hands it on in as few pieces as tell the same.

    Args:
        most: lines to hold.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[LogLines] = []
        self._lines = 0

    def add(self, part: LogLines) -> None:
        """What came last; without a break before it, it goes on where the last part ended."""
        self._lines += len(part.lines)
        if self._parts and not part.note and not part.skipped_bytes:
            last = self._parts[-1]
            part = replace(last, lines=last.lines + part.lines, partial=part.partial)
            self._parts.pop()
        self._parts.append(part)
        # Halved at a time: cutting line by line would copy the rest for each.
        if self._lines > 2 * self._most:
            self._shorten()

    def take(self) -> list[LogLines]:
        """All that waits, oldest first; nothing waits then."""
        self._shorten()
        parts, self._parts, self._lines = self._parts, [], 0
        return parts

    def _shorten(self) -> None:
        over = self._lines - self._most
        if over <= 0:
            return
        dropped = 0
        while len(self._parts) > 1 and over >= max(1, len(self._parts[0].lines)):
            part = self._parts.pop(0)
            over -= len(part.lines)
            dropped += part.skipped_bytes + _size(part.lines)
        first = self._parts[0]
        dropped += first.skipped_bytes + _size(first.lines[:over])
        self._parts[0] = replace(first, lines=first.lines[over:], skipped_bytes=dropped)
        self._lines = self._most


def _size(lines: tuple[str, ...]) -> int:
    return sum(len(line.encode(errors="replace")) + 1 for line in lines)
