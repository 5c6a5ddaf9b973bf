"""Preflight checks: pure verdicts on facts that were gathered before the first request."""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_core.records import Answer, AnswerState

PASS, WARN, REFUSE = "pass", "warn", "refuse"

BYTES_A_TOKEN = 12.0
"""What a completion token weighs in the journal: its text, its id, its share of the record."""
SLOWEST_DECODE = 0.5
"""Share of a lone stream's token rate that a stream has left in a full batch, at the best guess."""


@dataclass(frozen=True)
class Check:
    """One verdict with its numbers."""

    name: str
    verdict: str
    """``pass``, ``warn`` or ``refuse``."""
    detail: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}" + (f"; {self.mend}" if self.mend else "")


@dataclass(frozen=True)
class Proof:
    """One real request and what came of it."""

    answer: Answer
    state: AnswerState
    reasoning: str | None
    content: str | None
    first_token_s: float | None
    total_s: float
    streamed_chunks: int


def context(max_model_len: int | None, max_tokens: int) -> Check:
    """Whether a full answer fits the model's context beside a question."""
    name = "context"
    if max_model_len is None:
        return Check(name, WARN, "the server does not say how long its context is")
    if max_tokens >= max_model_len:
        return Check(
            name,
            REFUSE,
            f"max_tokens {max_tokens:,} does not fit a context of {max_model_len:,} tokens",
            f"give --max-tokens below {max_model_len:,}, or start the server with a longer context",
        )
    room = max_model_len - max_tokens
    if room < max_tokens * 0.05 or room < 512:
        return Check(
            name,
            WARN,
            f"only {room:,} tokens are left for a question (context {max_model_len:,})",
            "longer questions are rejected, or their answers silently shortened",
        )
    return Check(name, PASS, f"{max_model_len:,} tokens, {room:,} of them for the question")


def reasoning(proof: Proof, *, thinking: bool) -> Check:
    """Whether reasoning arrives, or stays away, as asked."""
    name = "reasoning"
    field = _field(proof.answer)
    if thinking:
        if proof.reasoning:
            where = f"in {field}" if field else "as tags in the content, split here"
            return Check(name, PASS, f"{len(proof.reasoning):,} characters, {where}")
        return Check(
            name,
            REFUSE,
            f"thinking is asked for and none came (state {proof.state.value})",
            "start the server with its reasoning parser (Kimi: --reasoning-parser kimi_k2), "
            "or give --no-thinking",
        )
    if proof.reasoning:
        return Check(
            name,
            REFUSE,
            "thinking is off and the model reasons all the same",
            "its template may read another switch: --extra-body "
            '\'{"chat_template_kwargs": {"enable_thinking": false}}\'',
        )
    return Check(name, PASS, "none, as asked")


def _field(answer: Answer) -> str:
    if answer.reasoning:
        return "reasoning"
    return "reasoning_content" if answer.reasoning_content else ""


def token_ids(proof: Proof, *, asked: bool) -> Check:
    """Whether token ids come, and as many as the server counts."""
    name = "token ids"
    ids = proof.answer.token_ids
    if not asked or ids is None:
        return Check(name, WARN, "the server gives none; rows will be rebuilt from text")
    counted = (proof.answer.usage or {}).get("completion_tokens")
    if counted != len(ids):
        return Check(
            name,
            WARN,
            f"{len(ids)} ids came for {counted} completion tokens",
            "this server drops ids (vllm issues 27482, 30099); such rows are flagged",
        )
    return Check(name, PASS, f"{len(ids)} ids for {counted} completion tokens")


def disk(free: int, samples: int, mean_tokens: float) -> Check:
    """Whether the journal of the whole run fits the disk.

    Args:
        free: bytes.
        samples: how many are still to be asked.
        mean_tokens: expected completion tokens of one.
    """
    need = samples * mean_tokens * BYTES_A_TOKEN
    detail = f"{_size(free)} free, about {_size(need)} needed"
    if need > free:
        return Check("disk", REFUSE, detail, "free some, or choose another --output")
    return Check("disk", WARN if need > free * 0.5 else PASS, detail)


def _size(octets: float) -> str:
    return f"{octets / 1e9:.1f} GB" if octets >= 1e9 else f"{octets / 1e6:.0f} MB"


def clock(proof: Proof, *, max_tokens: int, timeout: float, concurrency: int) -> Check:
    """Whether a full answer can end before the total clock rings."""
    name = "clock"
    tokens = (proof.answer.usage or {}).get("completion_tokens") or proof.streamed_chunks
    decoding = proof.total_s - (proof.first_token_s or 0.0)
    if not tokens or tokens < 8 or decoding <= 0:
        return Check(name, WARN, "too few tokens came to measure a rate")
    alone = tokens / decoding
    needed = max_tokens / timeout
    full = max_tokens / (alone * SLOWEST_DECODE)
    detail = (
        f"a stream alone gives {alone:.1f} tokens/s, {max_tokens:,} tokens in {timeout:.0f} s need "
        f"{needed:.1f}"
    )
    if concurrency > 1:
        detail += f" ({needed * concurrency:,.0f} for {concurrency} streams)"
    if alone < needed:
        return Check(
            name,
            REFUSE,
            detail,
            f"raise --timeout above {max_tokens / alone:.0f}, or lower --max-tokens",
        )
    if full > timeout:
        return Check(
            name, WARN, detail, f"in a full batch it may not do: --timeout {full:.0f} is safe"
        )
    return Check(name, PASS, detail)


def load(running: float | None, waiting: float | None, concurrency: int) -> Check:
    """Whether somebody else uses the server, or it is full already."""
    name = "load"
    if running is None:
        return Check(name, WARN, "the server's /metrics cannot be read")
    if waiting:
        return Check(
            name,
            WARN,
            f"{running:.0f} requests run and {waiting:.0f} wait there already",
            f"{concurrency} more will wait longer",
        )
    others = f"{running:.0f} requests of others run there" if running else "idle"
    return Check(name, PASS, others)


def think_tokens(proof: Proof, markers: tuple[int, int] | None, *, thinking: bool) -> Check:
    """Whether the think markers stand where a template puts them.

    The opening one ends the prompt (Kimi-K2.5) or begins the completion (Kimi-K2-Thinking), and
    the closing one comes once, unless the answer was cut; with thinking off none is said.

    Args:
        proof: with token ids, if the server gives them.
        markers: ids of ``<think>`` and ``</think>``; ``None``: not known.
        thinking: whether it was asked for.
    """
    name = "think tokens"
    prompt, said = proof.answer.prompt_token_ids, proof.answer.token_ids
    if markers is None or prompt is None or said is None:
        return Check(
            name, WARN, "cannot be checked: no ids of <think> and </think>, or none of the answer"
        )
    opening, closing = markers
    ids = f"<think> {opening}, </think> {closing}"
    if not thinking:
        if closing in said:
            return Check(name, REFUSE, f"{ids}: the answer holds them although thinking is off")
        return Check(name, PASS, f"{ids}: none in the answer, as asked")
    opened = prompt[-1:] == [opening] or opening in said[:2] or opening in prompt[-3:]
    closed = said.count(closing)
    cut = proof.answer.finish_reason == "length"
    if not opened:
        return Check(
            name, WARN, f"{ids}: no opening one at the prompt's end or the answer's beginning"
        )
    if closed != 1 and not (cut and closed == 0):
        return Check(name, WARN, f"{ids}: the closing one came {closed} times")
    where = "in the prompt" if opening in prompt[-3:] else "in the answer"
    return Check(name, PASS, f"{ids}: opened {where}, closed {'not yet' if not closed else 'once'}")
