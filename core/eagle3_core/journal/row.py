"""One JSON object of a journal, ours or another script's -> what an audit wants to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from eagle3_core.journal import foreign
from eagle3_core.records import DONE, AnswerState

OURS = "records of eagle3-core"
_STATES = {state.value: state for state in AnswerState}


@dataclass
class Row:
    """A record, whoever wrote it. What it does not say is ``None``."""

    form: str
    """``OURS``, or the names under which another script keeps what is read here."""
    key: str | None
    state: AnswerState
    reasoning: str | None
    content: str | None
    has_reasoning_field: bool = True
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    token_ids: list[int] | None = None
    prompt_token_ids: list[int] | None = None
    model: str | None = None
    endpoint: str | None = None
    started: float | None = None
    """Seconds since 1970."""
    total_s: float = 0.0
    sanitised: bool = False
    error_text: bool = False
    """The answer reads like the message of an error."""

    @property
    def done(self) -> bool:
        """Whether a resume would leave this answer alone."""
        return self.state in DONE

    @property
    def assumed(self) -> bool:
        """Done only because nothing in the row speaks of thinking: the script may have left an
        empty reasoning out, which only the other rows can tell."""
        return self.state is AnswerState.OK_NON_THINKING and not self.has_reasoning_field


def look(value: Any) -> Row | None:
    """Read one JSON value; ``None`` when nothing in it looks like an answer."""
    if not isinstance(value, dict):
        return None
    key, state = value.get("key"), _STATES.get(str(value.get("state")))
    if not isinstance(key, str) or state is None:
        return _foreign(value)
    flags = value.get("flags")
    return Row(
        OURS,
        key,
        state,
        foreign.text(value.get("reasoning")),
        foreign.text(value.get("content")),
        True,
        foreign.text(value.get("finish_reason")),
        foreign.table(value.get("usage")),
        foreign.ids(value.get("token_ids")),
        foreign.ids(value.get("prompt_token_ids")),
        foreign.text(value.get("model")),
        foreign.text(value.get("endpoint")),
        _seconds(value.get("started_at")),
        _number(value.get("total_s")),
        isinstance(flags, dict) and flags.get("sanitised") is True,
        foreign.is_error_text(value.get("content")),
    )


def _foreign(value: dict[str, Any]) -> Row | None:
    found = foreign.read(value)
    if found is None:
        return None
    answer = found.answer
    return Row(
        found.form,
        found.key,
        found.state,
        found.reasoning,
        found.content,
        found.has_reasoning_field,
        answer.finish_reason,
        answer.usage,
        answer.token_ids,
        answer.prompt_token_ids,
        found.model,
        None,
        _seconds(found.started),
        0.0,
        False,
        found.error_text,
    )


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _seconds(value: Any) -> float | None:
    """Seconds since 1970 of an ISO 8601 text (UTC where it names no zone) or of a number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if 0 < value < 1e11 else None
    if not isinstance(value, str):
        return None
    try:
        # Python 3.10 does not know the Z.
        time = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
