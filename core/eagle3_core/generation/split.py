"""Reasoning and content told apart where the server's parser did not do it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from eagle3_core.records import AnswerState

OPEN = "<think>"
CLOSE = "</think>"
TAG = re.compile(r"</?think>", re.IGNORECASE)
"""A think tag in any case; only lower case is a real one."""


@dataclass(frozen=True)
class Split:
    """The two texts, and what is wrong with them (``None``: nothing)."""

    reasoning: str | None
    content: str | None
    fault: AnswerState | None = None
    closed: bool = True
    """The reasoning block was ended; ``False``: the text stops inside it."""


def split(text: str, *, prompt_opened: bool | None = None) -> Split:
    """Split an answer that holds its think tags as text.

    Only a block at the very start is reasoning. Balanced tags inside it belong to it, balanced
    tags behind it are quoted by the answer; anything else left over is ``ambiguous``, since text
    alone cannot tell a real tag from a quoted one (inspect_ai PR 4385).

    Args:
        text: the whole completion as text.
        prompt_opened: whether the prompt ended with an open tag, as Kimi-K2.5's does; ``None``
            when that is not known, in which case a closing tag that comes first speaks for it.
    """
    tags = [(match.group(), match.start(), match.end()) for match in TAG.finditer(text)]
    if not tags:
        # Also after a prompt that opened the block: a server whose parser drops the reasoning
        # sends just that, and a thought that never ended is cut by length, which is judged apart.
        return Split(None, text)
    if any(tag not in (OPEN, CLOSE) for tag, _, _ in tags):
        return Split(None, text, AnswerState.AMBIGUOUS)

    opens_itself = tags[0][0] == OPEN and not text[: tags[0][1]].strip()
    fault: AnswerState | None = None
    if opens_itself:
        depth, start, rest = 1, tags[0][2], tags[1:]
        if prompt_opened:
            fault = AnswerState.DOUBLE_OPEN
    elif tags[0][0] == CLOSE or prompt_opened:
        depth, start, rest = 1, 0, tags
        if prompt_opened is False:
            fault = AnswerState.PROMPT_MISMATCH
    else:
        return Split(None, text, AnswerState.AMBIGUOUS)

    end = None
    for index, (tag, begin, after) in enumerate(rest):
        depth += 1 if tag == OPEN else -1
        if depth == 0:
            end, content_start, rest = begin, after, rest[index + 1 :]
            break
    reasoning = text[start:end]
    if opens_itself:
        reasoning = reasoning.removeprefix("\n")
    if end is None:
        return Split(reasoning, None, fault, closed=False)
    if not _balanced(rest):
        return Split(None, text, AnswerState.AMBIGUOUS)
    return Split(reasoning, text[content_start:].lstrip("\r\n \t"), fault)


def unopened_close(text: str) -> bool:
    """Whether a closing tag in ``text`` has no opening one: the mark of a split in the wrong place."""
    depth = 0
    for match in TAG.finditer(text):
        depth += 1 if match.group().lower() == OPEN else -1
        if depth < 0:
            return True
    return False


def _balanced(tags: list[tuple[str, int, int]]) -> bool:
    depth = 0
    for tag, _, _ in tags:
        depth += 1 if tag == OPEN else -1
        if depth < 0:
            return False
    return depth == 0
