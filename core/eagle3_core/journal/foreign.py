"""Answers that another script wrote: names are guessed, states are judged by what is there.

Read are flat rows (``id``, ``reasoning``, ``content`` under the names of :data:`NAMES`), rows
whose last message is the answer (``messages``, ``conversations``), whole chat completions, and
the output of batch jobs (``response.body``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from eagle3_core.generation.state import judge
from eagle3_core.records import Answer, AnswerState
from eagle3_core.samples.conversation import last_answer, question
from eagle3_core.samples.keys import ID_COLUMNS, key_of
from eagle3_core.samples.skips import Skipped

NAMES = {
    "key": ("key", "custom_id", *ID_COLUMNS, "idx", "index"),
    "reasoning": ("reasoning", "reasoning_content", "thinking", "thoughts"),
    "content": (
        "content",
        "answer",
        "response",
        "generation",
        "output",
        "completion",
        "generated_text",
    ),
    "turns": ("messages", "conversations", "conversation"),
    "status": ("status", "state"),
    "error": ("error", "error_message", "exception"),
    "model": ("model", "model_name"),
    "started": ("started_at", "created_at", "timestamp", "created"),
}
"""What is looked for, and the names it may have; the first that is there counts."""

_FAILED = re.compile(r"err|fail|exception|time[d_ -]*out|abort|cancel", re.IGNORECASE)
_SKIPPED = re.compile(r"skip|reject|invalid", re.IGNORECASE)
_TIMEOUT = re.compile(r"time[d_ -]*out|deadline", re.IGNORECASE)
_RATE = re.compile(r"\b429\b|rate[ _-]?limit", re.IGNORECASE)
_CONNECTION = re.compile(r"connect|refused|reset by peer|disconnect", re.IGNORECASE)
_REJECTED = re.compile(r"\b(?:400|401|403|404|413|422)\b")
_ERROR_TEXT = re.compile(
    r"\s*(?:error code: \d{3}\b|error: |http(?: error)? [45]\d\d\b|request timed out\.?\s*\Z"
    r"|connection error\.?\s*\Z|internal server error|traceback \(most recent"
    r"|(?:openai\.)?\w+error\(|\{['\"]error['\"]:)",
    re.IGNORECASE,
)
_LONGEST_ERROR = 2_000


@dataclass(frozen=True)
class Found:
    """What a row of another script says."""

    form: str
    key: str | None
    state: AnswerState
    reasoning: str | None
    content: str | None
    has_reasoning_field: bool
    answer: Answer
    model: str | None
    started: Any
    error_text: bool


def read(row: dict[str, Any]) -> Found | None:
    """Read one row; ``None`` when it has neither an answer nor a word on why there is none."""
    completion = _completion(row)
    names = {what: _name(row, what) for what in NAMES}
    said, where = (row, names) if completion is None else _message(completion)
    content_name, reasoning_name = where["content"], where["reasoning"]
    if content_name is None and where["turns"] is not None:
        said, content_name, reasoning_name = _last(row, where["turns"])
    if content_name is None and reasoning_name is None and names["error"] is None:
        return None
    source = completion or row
    choice = (completion or {}).get("choices", [row])[0]
    answer = Answer(
        reasoning=text(said.get(reasoning_name or "")),
        content=_content(said.get(content_name or "")),
        finish_reason=text(choice.get("finish_reason")) or text(row.get("finish_reason")),
        usage=table(source.get("usage")),
        token_ids=ids(choice.get("token_ids")),
        prompt_token_ids=ids(source.get("prompt_token_ids")),
    )
    if reasoning_name == "reasoning":
        answer = replace(answer, reasoning_content=text(said.get("reasoning_content")))
    state, reasoning, content = _judge(row, names, answer, reasoning_name is not None)
    error_text = state in (AnswerState.OK, AnswerState.OK_NON_THINKING, AnswerState.NO_REASONING)
    error_text = error_text and is_error_text(content)
    return Found(
        form=_form(names, content_name, reasoning_name),
        key=_key(row, names["key"]),
        state=AnswerState.SERVER_ERROR if error_text else state,
        reasoning=reasoning,
        content=content,
        has_reasoning_field=reasoning_name is not None or bool(reasoning),
        answer=answer,
        model=text(row.get(names["model"] or "")) or text(source.get("model")),
        started=row.get(names["started"] or ""),
        error_text=error_text,
    )


def is_error_text(content: Any) -> bool:
    """Whether an answer reads like an error that a script wrote in its place."""
    if not isinstance(content, str) or len(content) > _LONGEST_ERROR:
        return False
    return _ERROR_TEXT.match(content) is not None


def text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def table(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def ids(value: Any) -> list[int] | None:
    return value if isinstance(value, list) else None


def _judge(
    row: dict[str, Any], names: dict[str, str | None], answer: Answer, thinking: bool
) -> tuple[AnswerState, str | None, str | None]:
    status = str(row.get(names["status"] or "") or "")
    error = row.get(names["error"] or "")
    if _SKIPPED.search(status):
        return AnswerState.REJECTED, None, None
    if _FAILED.search(status) or (error and not answer.content):
        return _failure(f"{status} {error}"), answer.reasoning, answer.content
    # A script that keeps no finish reason does not tell cut answers from whole ones.
    complete = replace(answer, finish_reason=answer.finish_reason or "stop")
    judged = judge(complete, thinking=thinking)
    return judged.state, judged.reasoning, judged.content


def _failure(message: str) -> AnswerState:
    for pattern, state in (
        (_TIMEOUT, AnswerState.TIMEOUT),
        (_RATE, AnswerState.RATE_LIMITED),
        (_CONNECTION, AnswerState.CONNECTION),
        (_REJECTED, AnswerState.REJECTED),
    ):
        if pattern.search(message):
            return state
    return AnswerState.SERVER_ERROR


def _name(row: dict[str, Any], what: str) -> str | None:
    """The name under which ``row`` keeps it: one with something in it, else one that is there."""
    there = [name for name in NAMES[what] if name in row]
    return next(
        (name for name in there if row[name] not in (None, "")), there[0] if there else None
    )


def _completion(row: dict[str, Any]) -> dict[str, Any] | None:
    """The chat completion that a row is or holds."""
    response = row.get("response")
    inner = response.get("body") if isinstance(response, dict) else None
    for place in (row, response, inner, row.get("body")):
        if isinstance(place, dict) and isinstance(place.get("choices"), list):
            choices = place["choices"]
            if choices and isinstance(choices[0], dict):
                return place
    return None


def _message(completion: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str | None]]:
    message = table(completion["choices"][0].get("message")) or {}
    return message, {what: _name(message, what) for what in NAMES}


def _last(row: dict[str, Any], turns: str) -> tuple[dict[str, Any], str | None, str | None]:
    """The answer as the last turn; a reasoning beside the turns is taken too."""
    turn = last_answer(row[turns])
    if turn is None:
        return row, None, _name(row, "reasoning")
    name = "content" if "content" in turn else "value"
    reasoning = _name(turn, "reasoning")
    beside = _name(row, "reasoning")
    if reasoning is None and beside is not None:
        return {**turn, beside: row[beside]}, name, beside
    return turn, name, reasoning


def _content(value: Any) -> str | None:
    """Text, or the text parts of a list of parts."""
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return text(value)


def _key(row: dict[str, Any], name: str | None) -> str | None:
    """The row's own id as text, else the hash of its question, as for a prompt set."""
    value = row.get(name or "")
    if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
        return str(value)
    messages = question(row)
    return None if isinstance(messages, Skipped) else key_of(messages)


def _form(names: dict[str, str | None], content: str | None, reasoning: str | None) -> str:
    answer = f"{names['turns']}[-1]" if content and names["content"] is None else content
    parts = {"key": names["key"], "reasoning": reasoning, "answer": answer}
    return "another script's: " + ", ".join(
        f"{what} in {name!r}" if name else f"no {what}" for what, name in parts.items()
    )
