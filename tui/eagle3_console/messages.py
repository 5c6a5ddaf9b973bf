"""What the bridge tells the app; queued pictures give way to newer ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual.message import Message

from eagle3_core.monitor.snapshot import Snapshot
from eagle3_core.records import Record


@dataclass
class PictureArrived(Message):
    """A new snapshot to draw."""

    snapshot: Snapshot

    def can_replace(self, message: Message) -> bool:
        """Only the newest picture is worth drawing."""
        return isinstance(message, PictureArrived)


@dataclass
class LogArrived(Message):
    """Log lines since the last flush, oldest first; a note is a break before what follows it."""

    entries: list[LogEntry]
    partial: str = ""
    dropped: int = 0
    """Lines that came faster than anyone could read and were let go, oldest first."""


@dataclass(frozen=True)
class LogEntry:
    """One raw line of the log, or a note of ours about the file."""

    text: str
    is_note: bool = False


@dataclass
class RecordsArrived(Message):
    """Records since the last flush, oldest first."""

    records: list[Record] = field(default_factory=list)
    bad_lines: int = 0


@dataclass
class WatchEnded(Message):
    """The watch gave up; nothing new will come."""

    reason: str
