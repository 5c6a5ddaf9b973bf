"""The records that the console has seen, and which of them is shown; no terminal in here."""

from __future__ import annotations

from collections.abc import Iterable

from eagle3_core.records import Record

KEEP_RECORDS = 500


def is_flagged(record: Record) -> bool:
    """Whether someone should look at a record: not done, or with a finding of its own."""
    return record.state.group != "done" or bool(record.flags)


class SampleStore:
    """The newest records in the order they landed, and a place among them."""

    def __init__(self) -> None:
        self.shown: Record | None = None
        self.following = True
        """The newest record is shown as it lands."""
        self.flagged_only = False
        self.is_random = False
        """The shown record was drawn from the whole journal."""
        self._records: list[Record] = []
        self._seen: set[tuple[str, int, str]] = set()

    def add(self, records: Iterable[Record], *, older: bool = False) -> None:
        """Take records in, oldest first; ``older`` ones go before those that are there."""
        new = [record for record in records if _identity(record) not in self._seen]
        self._seen.update(map(_identity, new))
        self._records = [*new, *self._records] if older else [*self._records, *new]
        for gone in self._records[:-KEEP_RECORDS]:
            self._seen.discard(_identity(gone))
        del self._records[:-KEEP_RECORDS]

    def advance(self) -> bool:
        """Show the newest record if it is to be followed; returns whether that changed anything."""
        listed = self.listed()
        if self.shown is None and listed:
            self.following = True
        if not self.following or not listed or listed[-1] is self.shown:
            return False
        self.shown, self.is_random = listed[-1], False
        return True

    def step(self, direction: int) -> None:
        """Show the next (1) or the previous (-1) record, and stay there."""
        listed = self.listed()
        if not listed:
            return
        at = self._index(listed)
        at = len(listed) - 1 if at is None else min(len(listed) - 1, max(0, at + direction))
        self.shown, self.following, self.is_random = listed[at], False, False

    def latest(self) -> None:
        """Show the newest record and follow from there."""
        self.following = True
        self.advance()

    def show_random(self, record: Record) -> None:
        """Show a record from anywhere in the journal, and stay there."""
        self.shown, self.following, self.is_random = record, False, True

    def toggle_flagged(self) -> bool:
        """List flagged records only, or all again; returns whether only flagged ones are listed."""
        self.flagged_only = not self.flagged_only
        listed = self.listed()
        if listed and self._index(listed) is None:
            self.shown, self.is_random = listed[-1], False
        elif not listed:
            self.shown = None
        return self.flagged_only

    def listed(self) -> list[Record]:
        """The records that ``[`` and ``]`` walk through."""
        if not self.flagged_only:
            return self._records
        return [record for record in self._records if is_flagged(record)]

    @property
    def place(self) -> str:
        """Where the shown record stands: ``latest``, ``3 of 50`` or ``random``."""
        listed = self.listed()
        if self.is_random:
            return "random"
        at = self._index(listed)
        if at is None:
            return ""
        if self.following:
            return "latest"
        return f"{at + 1} of {len(listed)}"

    def _index(self, listed: list[Record]) -> int | None:
        return next((n for n, record in enumerate(listed) if record is self.shown), None)


def _identity(record: Record) -> tuple[str, int, str]:
    return record.key, record.attempt, record.started_at
