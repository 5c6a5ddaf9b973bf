"""Preflight verdicts, one table a check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eagle3_core.generation import checks
from eagle3_core.generation.checks import PASS, REFUSE, WARN, Proof
from eagle3_core.records import Answer, AnswerState

OPENING, CLOSING = 163606, 163607
ANSWER = Answer(
    reasoning="17 and 25 make 42.",
    content="42",
    finish_reason="stop",
    usage={"completion_tokens": 10},
    prompt_token_ids=[1, 2, OPENING],
    token_ids=[5, 6, 7, 8, CLOSING, 9, 9, 9, 9, 163586],
)
PROOF = Proof(ANSWER, AnswerState.OK, ANSWER.reasoning, ANSWER.content, 0.5, 1.5, 10)


@pytest.mark.parametrize(
    ("length", "max_tokens", "verdict"),
    [
        (262144, 8000, PASS),
        (8000, 8000, REFUSE),
        (8192, 8000, WARN),
        (None, 8000, WARN),
        (9000, 8000, PASS),
    ],
)
def test_context(length: int | None, max_tokens: int, verdict: str) -> None:
    assert checks.context(length, max_tokens).verdict == verdict


@pytest.mark.parametrize(
    ("thinking", "reasoning", "verdict", "word"),
    [
        (True, "because", PASS, "in reasoning"),
        (True, None, REFUSE, "--reasoning-parser kimi_k2"),
        (False, None, PASS, "as asked"),
        (False, "because", REFUSE, "chat_template_kwargs"),
    ],
)
def test_reasoning(thinking: bool, reasoning: str | None, verdict: str, word: str) -> None:
    found = checks.reasoning(replace(PROOF, reasoning=reasoning), thinking=thinking)
    assert found.verdict == verdict
    assert word in str(found)


def test_the_field_that_the_server_uses_is_named() -> None:
    other = replace(PROOF, answer=Answer(reasoning_content="because", content="42"))
    assert "in reasoning_content" in str(checks.reasoning(other, thinking=True))


@pytest.mark.parametrize(
    ("ids", "asked", "verdict"),
    [
        (list(range(10)), True, PASS),
        (list(range(9)), True, WARN),
        (None, True, WARN),
        (None, False, WARN),
    ],
)
def test_token_ids(ids: list[int] | None, asked: bool, verdict: str) -> None:
    proof = replace(PROOF, answer=replace(ANSWER, token_ids=ids))
    assert checks.token_ids(proof, asked=asked).verdict == verdict


@pytest.mark.parametrize(
    ("name", "prompt", "said", "reason", "thinking", "verdict"),
    [
        ("kimi-k2.5", [1, OPENING], [5, CLOSING, 6], "stop", True, PASS),
        ("kimi-k2-thinking", [1, 2], [OPENING, 5, CLOSING, 6], "stop", True, PASS),
        ("a line end behind the tag", [1, OPENING, 198], [5, CLOSING, 6], "stop", True, PASS),
        ("cut in the reasoning", [1, OPENING], [5, 6], "length", True, PASS),
        ("never closed", [1, OPENING], [5, 6], "stop", True, WARN),
        ("closed twice", [1, OPENING], [5, CLOSING, 6, CLOSING], "stop", True, WARN),
        ("never opened", [1, 2], [5, CLOSING, 6], "stop", True, WARN),
        ("off and off", [1, OPENING, CLOSING], [5, 6], "stop", False, PASS),
        ("off and on", [1, OPENING], [5, CLOSING, 6], "stop", False, REFUSE),
    ],
)
def test_think_tokens(
    name: str, prompt: list[int], said: list[int], reason: str, thinking: bool, verdict: str
) -> None:
    answer = replace(ANSWER, prompt_token_ids=prompt, token_ids=said, finish_reason=reason)
    found = checks.think_tokens(
        replace(PROOF, answer=answer), (OPENING, CLOSING), thinking=thinking
    )
    assert found.verdict == verdict, name
    assert str(OPENING) in str(found)


def test_think_tokens_that_nobody_knows() -> None:
    assert checks.think_tokens(PROOF, None, thinking=True).verdict == WARN


@pytest.mark.parametrize(
    ("timeout", "max_tokens", "verdict"),
    # ten tokens in one second of decoding: 10 tokens/s alone, half of it in a full batch
    [(1800.0, 10000, WARN), (1800.0, 20000, REFUSE), (60.0, 8000, REFUSE), (1800.0, 1000, PASS)],
)
def test_clock(timeout: float, max_tokens: int, verdict: str) -> None:
    found = checks.clock(PROOF, max_tokens=max_tokens, timeout=timeout, concurrency=128)
    assert found.verdict == verdict
    assert "10.0 tokens/s" in found.detail


def test_the_first_try_of_the_people_we_build_for_would_have_been_refused() -> None:
    """8,000 tokens against a clock of 60 s, from a server that gives a stream 30 tokens/s."""
    slow = replace(PROOF, answer=replace(ANSWER, usage={"completion_tokens": 300}), total_s=10.5)
    found = checks.clock(slow, max_tokens=8000, timeout=60.0, concurrency=128)
    assert (found.verdict, found.mend) == (
        REFUSE,
        "raise --timeout above 267, or lower --max-tokens",
    )


@pytest.mark.parametrize(("free", "verdict"), [(10**12, PASS), (3 * 10**9, WARN), (10**9, REFUSE)])
def test_disk(free: int, verdict: str) -> None:
    assert checks.disk(free, 25_000, 8000).verdict == verdict


@pytest.mark.parametrize(
    ("running", "waiting", "verdict"),
    [(0.0, 0.0, PASS), (3.0, 0.0, PASS), (64.0, 9.0, WARN), (None, None, WARN)],
)
def test_load(running: float | None, waiting: float | None, verdict: str) -> None:
    assert checks.load(running, waiting, 128).verdict == verdict
