"""Why a row gives no question."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reason(str, Enum):
    """In the words of the report."""

    NO_COLUMN = "no question column"
    WRONG_TYPE = "wrong type"
    EMPTY = "empty conversation"
    ASSISTANT_FIRST = "starts with the assistant"
    NO_USER = "no user turn"
    EMPTY_QUESTION = "empty question"
    UNKNOWN_ROLE = "unknown role"
    TOOL_TURNS = "tool turns"
    MEDIA = "image or other media"


@dataclass(frozen=True)
class Skipped:
    """A row that gives no question."""

    reason: Reason
    detail: str = ""
    """What was found there, escaped and short."""


def found(value: object) -> str:
    """What stands in the place of the right thing, short and safe to print."""
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
