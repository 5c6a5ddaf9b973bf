"""What will happen to one request, decided when it arrives: its tokens, its pace, its end."""

from __future__ import annotations

import hashlib
import math
import random
from dataclasses import dataclass
from typing import Any

from eagle3_core import codec
from eagle3_core.simulator import text
from eagle3_core.simulator.faults import Fault
from eagle3_core.simulator.settings import SimSettings
from eagle3_core.simulator.template import question_of
from eagle3_core.simulator.tokens import IM_END, THINK_END

_SPREAD = 0.8
"""Sigma of the log-normal lengths: one answer in twenty is about 2.7 times the mean or longer."""

_ENDINGS = {"cut": "cut", "reset": "reset", "error_event": "error", "abort": "abort"}


@dataclass(frozen=True)
class Script:
    """What the engine plays for one request."""

    tokens: list[int]
    """All tokens it will say, at least one: reasoning, ``</think>``, answer, ``<|im_end|>``."""
    finish: str
    """``stop``, ``length`` or ``abort``; ``error``, ``cut`` and ``reset`` have no finish reason
    on the wire."""
    first_token_delay: float = 0.0
    """Seconds of silence after the prompt is read."""
    token_rate: float = math.inf
    """Tokens/s it never exceeds."""
    silent_after: float = math.inf
    """Tokens after which nothing more comes, though the request runs on."""


def write(
    settings: SimSettings,
    messages: list[dict[str, Any]],
    *,
    thinking: bool,
    max_tokens: int,
    fault: Fault | None,
) -> Script:
    """The script of one request; the same messages get the same answer every time."""
    kind = fault.kind if fault else ""
    if fault and kind == "truncate":
        max_tokens = max(1, min(max_tokens, int(fault.parameter)))
    luck = random.Random(_digest(settings.seed, messages))
    subject = text.Subject(question_of(messages), luck)
    if kind == "loop":
        tokens = text.loop(subject, max_tokens + 1)
    else:
        tokens = _answer(settings.mean_tokens, subject, luck, thinking=thinking)
    finish = "stop" if len(tokens) <= max_tokens else "length"
    tokens = tokens[:max_tokens]
    if fault is None:
        return Script(tokens, finish)
    if kind in _ENDINGS:
        return Script(tokens[: max(1, fault.tokens_before(len(tokens)))], _ENDINGS[kind])
    if kind == "hang":
        return Script(tokens, finish, silent_after=fault.parameter)
    if kind == "slow":
        return Script(tokens, finish, token_rate=fault.parameter)
    if kind == "slow_first_token":
        return Script(tokens, finish, first_token_delay=fault.parameter)
    return Script(tokens, finish)


def _digest(seed: int, messages: list[dict[str, Any]]) -> bytes:
    return hashlib.sha256(b"%d %s" % (seed, codec.dumps(messages))).digest()


def _answer(
    mean: float, subject: text.Subject, luck: random.Random, *, thinking: bool
) -> list[int]:
    length = luck.lognormvariate(math.log(mean) - _SPREAD**2 / 2, _SPREAD)
    thought = length * luck.uniform(0.5, 0.85)
    reasoning = text.thoughts(subject, thought)
    content = text.answer(subject, length - thought)
    return [*reasoning, THINK_END, *content, IM_END] if thinking else [*content, IM_END]
