"""The one place where a watch meets the app: takes events at any rate, hands on four times a second."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from textual.message import Message

from eagle3_console import format as fmt
from eagle3_console.messages import (
    LogArrived,
    LogEntry,
    PictureArrived,
    RecordsArrived,
    WatchEnded,
)
from eagle3_core.errors import UserError
from eagle3_core.monitor.events import LogLines, NewRecords, Picture, Watch, WatchEvent
from eagle3_core.monitor.snapshot import Snapshot
from eagle3_core.records import Record

FLUSH_S = 0.25
"""Redrawing costs, not the number of lines: four times a second is all that an eye can use."""
LOG_BOUND = 50_000
RECORD_BOUND = 500


class Bridge:
    """Gathers what happened since the last flush; holds it back while the picture is frozen.

    Args:
        deliver: takes each message; the app's ``post_message``.
    """

    def __init__(self, watch: Watch, deliver: Callable[[Message], object]) -> None:
        self._watch = watch
        self._deliver = deliver
        self._picture: Snapshot | None = None
        self._log: deque[LogEntry] = deque()
        self._partial: str | None = None
        self._dropped = 0
        self._records: deque[Record] = deque(maxlen=RECORD_BOUND)
        self._bad_lines = 0
        self._last_flush = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._frozen = False

    async def run(self) -> None:
        """Consume the watch until it ends; its end is told, never taken for success."""
        reason = "the watch ended"
        try:
            async for event in self._watch.events():
                self.feed(event)
        except UserError as error:
            reason = str(error)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        finally:
            self._flush()
        self._deliver(WatchEnded(reason))

    def feed(self, event: WatchEvent) -> None:
        """Take one event in; it is handed on within ``FLUSH_S``."""
        match event:
            case Picture(snapshot):
                self._picture = snapshot
            case LogLines():
                self._feed_log(event)
            case NewRecords(records, bad_lines):
                self._records.extend(records)
                self._bad_lines += bad_lines
        self._schedule()

    @property
    def frozen(self) -> bool:
        return self._frozen

    def freeze(self, frozen: bool) -> None:
        """Hold everything back, or hand on what has gathered since."""
        self._frozen = frozen
        if not frozen:
            self._flush()

    def _feed_log(self, event: LogLines) -> None:
        if event.note:
            self._log.append(LogEntry(event.note, is_note=True))
        if event.skipped_bytes:
            skipped = f"{fmt.size(event.skipped_bytes)} of older log not read"
            self._log.append(LogEntry(skipped, is_note=True))
        self._log.extend(LogEntry(line) for line in event.lines)
        self._partial = event.partial
        while len(self._log) > LOG_BOUND:
            self._log.popleft()
            self._dropped += 1

    def _schedule(self) -> None:
        if self._timer is not None or self._frozen:
            return
        loop = asyncio.get_running_loop()
        at = max(loop.time(), self._last_flush + FLUSH_S)
        self._timer = loop.call_at(at, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._frozen:
            return
        self._last_flush = asyncio.get_running_loop().time()
        if self._picture is not None:
            self._deliver(PictureArrived(self._picture))
            self._picture = None
        if self._log or self._partial is not None:
            self._deliver(LogArrived(list(self._log), self._partial or "", self._dropped))
            self._log.clear()
            self._partial, self._dropped = None, 0
        if self._records or self._bad_lines:
            self._deliver(RecordsArrived(list(self._records), self._bad_lines))
            self._records.clear()
            self._bad_lines = 0
