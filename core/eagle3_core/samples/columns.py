"""One row of any known form -> its turns.

Known forms: ``messages`` (UltraChat), ``conversations`` (ShareGPT, open-perfectblend, Magpie),
``conversation``, ``instruction`` with an optional ``input`` text (Alpaca), ``prompt`` (text or
turns), ``question``, and ``input`` (turns, as in Llama-Nemotron, or text).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eagle3_core.errors import UserError
from eagle3_core.samples.skips import Reason, Skipped, found

QUESTION_COLUMNS = (
    "messages",
    "conversations",
    "conversation",
    "instruction",
    "prompt",
    "question",
    "input",
)
"""Columns that may hold the question; the first that is not null counts."""

_TURNS_ONLY = ("messages", "conversations", "conversation")
_SYSTEM_COLUMNS = ("system", "system_prompt")
_MEDIA_COLUMNS = ("image", "images", "audio", "audios", "video", "videos")

USED_COLUMNS = (*QUESTION_COLUMNS, *_SYSTEM_COLUMNS, *_MEDIA_COLUMNS)
"""All columns that this module looks at."""


def turns_of(row: Any) -> list[Any] | Skipped:
    """The turns of a row as the set spells them, a system column as the first of them."""
    if not isinstance(row, dict):
        return Skipped(Reason.WRONG_TYPE, f"row is {found(row)}")
    if any(row.get(name) for name in _MEDIA_COLUMNS):
        return Skipped(Reason.MEDIA)
    name = next((name for name in QUESTION_COLUMNS if row.get(name) is not None), None)
    if name is None:
        return _no_question(row)
    value = row[name]
    if isinstance(value, str) and name not in _TURNS_ONLY:
        value = [{"role": "user", "content": _with_input(row, name, value)}]
    if not isinstance(value, list):
        return Skipped(Reason.WRONG_TYPE, f"{name} is {found(value)}")
    return [*_system_turn(row), *value] if value else Skipped(Reason.EMPTY)


def _no_question(row: dict[str, Any]) -> Skipped:
    if any(name in row for name in QUESTION_COLUMNS):
        return Skipped(Reason.EMPTY)
    return Skipped(Reason.NO_COLUMN)


def _with_input(row: dict[str, Any], name: str, text: str) -> str:
    """Alpaca keeps the material of an instruction in a column of its own."""
    material = row.get("input") if name == "instruction" else None
    return f"{text}\n\n{material}" if isinstance(material, str) and material.strip() else text


def _system_turn(row: dict[str, Any]) -> list[dict[str, str]]:
    for name in _SYSTEM_COLUMNS:
        if isinstance(row.get(name), str):
            return [{"role": "system", "content": row[name]}]
    return []


def no_question_column(source: str, names: Iterable[object]) -> UserError:
    """The error for a set none of whose columns holds a question, with the names it has."""
    has = ", ".join(found(str(name)) for name in names) or "no columns at all"
    return UserError(
        f"{source} has no question column (it has {has[:300]})",
        "name the column " + ", ".join(QUESTION_COLUMNS[:-1]) + f" or {QUESTION_COLUMNS[-1]}",
    )
