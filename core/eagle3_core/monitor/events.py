"""What a watch tells its screens, and what screens may ask of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from eagle3_core.monitor.snapshot import Snapshot
from eagle3_core.records import Record


@dataclass(frozen=True)
class Picture:
    """A new snapshot; only the newest matters."""

    snapshot: Snapshot


@dataclass(frozen=True)
class LogLines:
    """New lines of ``inference.log``, decoded, without their newlines, escapes still in them."""

    lines: tuple[str, ...]
    partial: str = ""
    """Text after the last newline; replaces the previous partial line."""
    skipped_bytes: int = 0
    note: str = ""
    """A break to show: the file was cut, replaced, rewritten, or is not there."""


@dataclass(frozen=True)
class NewRecords:
    """Records as they land, oldest first; in a burst only the newest are sent."""

    records: tuple[Record, ...]
    bad_lines: int = 0


WatchEvent = Picture | LogLines | NewRecords


@dataclass(frozen=True)
class Outcome:
    """How a command went, for people: what was done, or why not and what to do."""

    ok: bool
    message: str
    command: str = ""
    """The exact command line or signal that was sent."""


class Watch(Protocol):
    """A run as the console sees it. Every method may raise ``UserError``."""

    def events(self) -> AsyncIterator[WatchEvent]:
        """All that happens, until :meth:`close`; survives lost links by itself."""
        ...

    def reconnect(self) -> None:
        """Connect anew at once; a link that is there is dropped."""
        ...

    async def start(self) -> Outcome: ...
    async def drain(self) -> Outcome: ...
    async def kill(self) -> Outcome: ...
    async def kill_hard(self) -> Outcome: ...
    async def restart(self) -> Outcome: ...
    async def set_concurrency(self, setting: int | str) -> Outcome:
        """Change the requests in flight: a number, or ``auto``."""
        ...

    async def last_records(self, count: int) -> list[Record]: ...
    async def random_records(self, count: int) -> list[Record]: ...
    async def close(self) -> None: ...
