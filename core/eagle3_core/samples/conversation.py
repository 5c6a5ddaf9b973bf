"""One row of any known form -> the messages to send, or why there are none."""

from __future__ import annotations

from typing import Any

from eagle3_core.samples.columns import turns_of
from eagle3_core.samples.skips import Reason, Skipped, found

Messages = tuple[dict[str, str], ...]

_ROLES = {
    "user": ("user", "human", "prompter"),
    "assistant": ("assistant", "gpt", "chatgpt", "bing", "bard", "model"),
    "system": ("system",),
    "tool": ("tool", "function", "function_call", "tool_call", "tool_response", "observation"),
}
_ROLE_OF = {spelling: role for role, spellings in _ROLES.items() for spelling in spellings}


def question(row: Any, turns: str = "first") -> Messages | Skipped:
    """The question of a row.

    Args:
        row: one row of a prompt set.
        turns: ``first`` sends everything up to and including the last user turn before the
            first assistant answer; several user turns in a row stay separate messages.
            ``all-user`` sends everything up to and including the last user turn of the
            conversation, with the set's own assistant answers between them as context: one
            sample is one request, so the model's own earlier answers do not exist, and what is
            generated is the answer to the last question after a foreign history.

    Only what would be sent is judged: a tool turn after the question does no harm. System
    messages stay where they are, blank ones are dropped.
    """
    found_turns = turns_of(row)
    if isinstance(found_turns, Skipped):
        return found_turns
    roles = [_role(turn) for turn in found_turns]
    if next((role for role in roles if role != "system"), None) == "assistant":
        return Skipped(Reason.ASSISTANT_FIRST)
    end = roles.index("assistant") if turns == "first" and "assistant" in roles else len(roles)
    if "user" not in roles[:end]:
        return _problem(found_turns[:end], roles) or Skipped(Reason.NO_USER)
    end -= roles[:end][::-1].index("user")
    return _problem(found_turns[:end], roles) or _messages(found_turns[:end], roles)


def last_answer(turns: Any) -> dict[str, Any] | None:
    """The last turn of a conversation where the assistant has it; ``None`` otherwise."""
    turn = turns[-1] if isinstance(turns, list) and turns else None
    return turn if isinstance(turn, dict) and _role(turn) == "assistant" else None


def _role(turn: Any) -> str | None:
    name = _either(turn, "role", "from")
    return _ROLE_OF.get(name.strip().lower()) if isinstance(name, str) else None


def _either(turn: Any, name: str, other: str) -> Any:
    """``messages`` says role and content, ShareGPT says from and value."""
    if not isinstance(turn, dict):
        return None
    value = turn.get(name)
    return turn.get(other) if value is None else value


def _problem(turns: list[Any], roles: list[str | None]) -> Skipped | None:
    for turn, role in zip(turns, roles, strict=False):
        if not isinstance(turn, dict):
            return Skipped(Reason.WRONG_TYPE, f"turn is {found(turn)}")
        if role is None:
            return Skipped(Reason.UNKNOWN_ROLE, found(_either(turn, "role", "from")))
        if role == "tool" or turn.get("tool_calls"):
            return Skipped(Reason.TOOL_TURNS)
    return None


def _messages(turns: list[Any], roles: list[str | None]) -> Messages | Skipped:
    messages, text = [], ""
    for turn, role in zip(turns, roles, strict=False):
        content = _text(_either(turn, "content", "value"))
        if isinstance(content, Skipped):
            return content
        text = content
        if role != "system" or text.strip():
            messages.append({"role": str(role), "content": text})
    return tuple(messages) if text.strip() else Skipped(Reason.EMPTY_QUESTION)


def _text(content: Any) -> str | Skipped:
    """Text, or text parts joined by newlines, as vLLM joins them."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return Skipped(Reason.WRONG_TYPE, f"content is {found(content)}")
    texts = []
    for part in content:
        if not isinstance(part, dict):
            return Skipped(Reason.WRONG_TYPE, f"part is {found(part)}")
        if part.get("type") != "text":
            return Skipped(Reason.MEDIA, found(part.get("type")))
        if not isinstance(part.get("text"), str):
            return Skipped(Reason.WRONG_TYPE, f"text is {found(part.get('text'))}")
        texts.append(part["text"])
    return "\n".join(texts)
