"""Kimi's chat template: messages to prompt tokens."""

from __future__ import annotations

from typing import Any

from eagle3_core.simulator.tokens import SPECIAL, THINK, THINK_END, encode

_ROLE_TOKENS = {"user": "<|im_user|>", "assistant": "<|im_assistant|>"}


def text_of(content: Any) -> str:
    """The text of a message's ``content``: a string, a list of parts, or nothing."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def question_of(messages: list[dict[str, Any]]) -> str:
    """The text of the last message of the user."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def prompt_tokens(
    messages: list[dict[str, Any]], *, thinking: bool, generation: bool = True
) -> list[int]:
    """Tokens of the whole prompt.

    With ``generation`` they end where the assistant begins: after ``<think>``, or after
    ``<think></think>`` where thinking is off. Earlier answers keep an empty pair.
    """
    tokens: list[int] = []
    for message in messages:
        role = str(message.get("role"))
        tokens.append(SPECIAL[_ROLE_TOKENS.get(role, "<|im_system|>")])
        tokens += encode(role)
        tokens.append(SPECIAL["<|im_middle|>"])
        if role == "assistant":
            tokens += [THINK, THINK_END]
        tokens += encode(text_of(message.get("content")))
        tokens.append(SPECIAL["<|im_end|>"])
    if generation:
        tokens.append(SPECIAL["<|im_assistant|>"])
        tokens += encode("assistant")
        tokens += [SPECIAL["<|im_middle|>"], THINK]
        if not thinking:
            tokens.append(THINK_END)
    return tokens
