"""What a followed file tells, as typed events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Checkpoint = dict[str, Any]
"""Where a follow stood: ``{dev, ino, offset, lines, print}``; give it to the next one as it is."""


@dataclass(frozen=True)
class Opened:
    """The file is there."""

    why: str
    """``started``, ``created`` (it was missing at first), ``replaced`` (another file has the name
    now) or ``back`` (the same file, after it was missing)."""
    resumed: bool
    """Whether the file goes on where the checkpoint stood; if not, its text comes from the start."""
    size: int


@dataclass(frozen=True)
class Data:
    """The file has grown."""

    text: bytes
    """New text; after a gap it begins with a whole line."""
    offset: int
    """Where ``text`` ends in the file."""
    lines: int
    """Newlines in the file before ``offset``, exactly."""
    new_lines: int
    """Newlines since the event before, those of skipped text included."""
    skipped: int
    """Bytes before ``text`` that were counted but not sent."""
    behind: int
    """Bytes that the file holds beyond ``offset``."""
    checkpoint: Checkpoint = field(repr=False)


@dataclass(frozen=True)
class Truncated:
    """The file was cut in place; it is read again from its start."""


@dataclass(frozen=True)
class Rewritten:
    """The file has other bytes than those that were read; it is read again from its start."""


@dataclass(frozen=True)
class Missing:
    """There is no such file (any more); it is awaited."""

    reason: str


FollowEvent = Opened | Data | Truncated | Rewritten | Missing


def event_of(header: dict[str, Any], text: bytes) -> FollowEvent:
    """The event that one message of an agent carries."""
    kind = header["ev"]
    if kind == "data":
        return Data(
            text=text,
            offset=header["offset"],
            lines=header["lines"],
            new_lines=header["new"],
            skipped=header["skipped"],
            behind=header["behind"],
            checkpoint=header["checkpoint"],
        )
    if kind == "opened":
        return Opened(header["why"], header["resumed"], header["size"])
    if kind == "truncated":
        return Truncated()
    if kind == "rewritten":
        return Rewritten()
    return Missing(header["reason"])
