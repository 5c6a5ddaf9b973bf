"""What every reader of a prompt set yields: rows, rows that cannot be read, and the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One row of the set, whatever its form."""

    number: int
    """From 1: the line in JSON Lines, the place in the list or table elsewhere."""
    value: Any


@dataclass(frozen=True)
class Malformed:
    """Bytes that stand where a row should be, and are not JSON."""

    number: int
    problem: str


@dataclass(frozen=True)
class Cut:
    """The file ends before its list does, or in the middle of a line."""

    at: int
    """Byte offset where the data breaks off (of the unpacked data, for ``.gz``)."""
    row_at: int
    """Byte offset where the first incomplete row begins; ``at`` when the cut is between rows."""
    number: int
    """The number the incomplete row would have had."""


Item = Row | Malformed | Cut
