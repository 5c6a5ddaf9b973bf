"""What became of an answer: every state decided here, in one pure function."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from eagle3_core import codec
from eagle3_core.generation.split import Split, split, unopened_close
from eagle3_core.records import Answer, AnswerState

_STOPPED = frozenset({"stop", "eos_token", "stop_sequence", "end_turn"})
SPECIAL = re.compile(r"<\|[A-Za-z0-9_]{2,40}\|>|<｜[^｜<>]{2,40}｜>|\[(?:BOS|EOS)\]")
"""A control token spelled out in text."""
STUMP = re.compile(r"(?:<\|[a-z_]{0,40}|</?th(?:i(?:nk?)?)?)\Z|\A\s*(?:/?think>|[a-z_]{0,40}\|>)")
"""Half a marker at the end or the beginning of a text."""
_LONGEST_STUMP = 42
"""Characters at the end."""


@dataclass(frozen=True)
class Judgement:
    """The state, the two texts as they should be stored, and what else was seen."""

    state: AnswerState
    reasoning: str | None
    content: str | None
    flags: dict[str, Any] = field(default_factory=dict)


def judge(
    answer: Answer,
    *,
    thinking: bool,
    max_tokens: int | None = None,
    prompt_opened: bool | None = None,
) -> Judgement:
    """Decide what became of an answer.

    Args:
        answer: what the server said.
        thinking: whether thinking was asked for.
        max_tokens: the limit that was asked for, in tokens; unmasks tool calls that were cut.
        prompt_opened: whether the prompt ended inside a think block; ``None``: not known.
    """
    flags: dict[str, Any] = {"sanitised": True} if answer.sanitised else {}
    fields = [
        text for text in (answer.reasoning, answer.reasoning_content) if text and text.strip()
    ]
    if len(fields) == 2 and fields[0] != fields[1]:
        flags |= {"reasoning": fields[0], "reasoning_content": fields[1]}
        state = _incomplete(answer) or AnswerState.CONFLICT
        return Judgement(state, None, _text(answer.content), flags)

    parted = bool(fields)
    if parted:
        pieces = Split(fields[0], answer.content)
    elif answer.content:
        pieces = split(answer.content, prompt_opened=prompt_opened)
    else:
        pieces = Split(None, None)
    reasoning, content = _text(pieces.reasoning), _text(pieces.content)

    unfinished = _incomplete(answer)
    if unfinished is not None:
        return Judgement(unfinished, reasoning, content, flags)
    if _cut_by_length(answer, max_tokens):
        if (
            thinking
            and not reasoning
            and content
            and pieces.fault is None
            and not _tagged(answer.content)
        ):
            # The server's parser saw no closing tag, so all of it is thought (vLLM PR 35296).
            reasoning, content = content, None
        flags["cut_in"] = "content" if content else "reasoning"
        spent = (answer.usage or {}).get("completion_tokens")
        if answer.finish_reason == "length" and max_tokens and 0 < (spent or 0) < max_tokens:
            # vLLM shortens max_tokens silently to what fits the context beside the prompt.
            flags["shortened_to"] = spent
        return Judgement(AnswerState.TRUNCATED, reasoning, content, flags)
    if answer.finish_reason not in _STOPPED and answer.finish_reason != "tool_calls":
        if answer.finish_reason == "content_filter":
            return Judgement(AnswerState.REFUSAL, reasoning, content, flags)
        flags["cut_in"] = "content" if content else "reasoning"
        return Judgement(AnswerState.TRUNCATED, reasoning, content, flags)
    if answer.refusal:
        return Judgement(AnswerState.REFUSAL, reasoning, content or answer.refusal, flags)
    if answer.tool_calls or answer.finish_reason == "tool_calls":
        return Judgement(AnswerState.TOOL_CALL, reasoning, content, flags)

    special = {
        name: sorted(set(SPECIAL.findall(text)))
        for name, text in (("reasoning", reasoning), ("content", content))
        if text and SPECIAL.search(text)
    }
    if special:
        flags["special_text"] = special
        return Judgement(AnswerState.SPECIAL_TEXT, reasoning, content, flags)
    fault = pieces.fault
    if fault is None and parted and content and unopened_close(content):
        fault = AnswerState.AMBIGUOUS
    if fault is not None:
        return Judgement(fault, reasoning, content, flags)
    if any(text and stump(text) for text in (reasoning, content)):
        return Judgement(AnswerState.DAMAGED, reasoning, content, flags)
    return Judgement(_whole(reasoning, content, thinking, flags), reasoning, content, flags)


def stump(text: str) -> bool:
    """Whether ``text`` begins or ends with half a marker; its middle, which is long, is not searched."""
    return bool(STUMP.match(text) or STUMP.search(text, max(0, len(text) - _LONGEST_STUMP)))


def _text(text: str | None) -> str | None:
    return text if text and text.strip() else None


def _tagged(text: str | None) -> bool:
    return bool(text) and "think>" in (text or "").lower()


def _incomplete(answer: Answer) -> AnswerState | None:
    if not answer.finish_reason:
        return AnswerState.CUT
    if answer.finish_reason == "abort":
        return AnswerState.ABORTED
    if answer.finish_reason == "error":
        return AnswerState.SERVER_ERROR
    return None


def _cut_by_length(answer: Answer, max_tokens: int | None) -> bool:
    if answer.finish_reason == "length":
        return True
    spent = (answer.usage or {}).get("completion_tokens")
    # vLLM says tool_calls for a call that the limit cut in half (vllm issue 58228).
    return (
        answer.finish_reason == "tool_calls"
        and max_tokens is not None
        and spent == max_tokens
        and not all(_parses(call) for call in answer.tool_calls or [])
    )


def _parses(call: Any) -> bool:
    try:
        codec.loads(call["function"]["arguments"].encode())
    except (KeyError, TypeError, AttributeError, ValueError):
        return False
    return True


def _whole(
    reasoning: str | None, content: str | None, thinking: bool, flags: dict[str, Any]
) -> AnswerState:
    if content is None:
        return AnswerState.ANSWER_IN_REASONING if reasoning else AnswerState.EMPTY
    if reasoning is None:
        return AnswerState.NO_REASONING if thinking else AnswerState.OK_NON_THINKING
    if not thinking:
        flags["unasked_reasoning"] = True
    return AnswerState.OK
