"""The shapes that travel: sample, answer, record, failure, and the states of an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from eagle3_core import codec


class AnswerState(str, Enum):
    """What became of a sample, decided in one place (``generation.state``)."""

    OK = "ok"
    OK_NON_THINKING = "ok_non_thinking"

    TRUNCATED = "truncated"
    NO_REASONING = "no_reasoning"
    EMPTY = "empty"
    ANSWER_IN_REASONING = "answer_in_reasoning"
    TOOL_CALL = "tool_call"
    REFUSAL = "refusal"
    SPECIAL_TEXT = "special_text"
    AMBIGUOUS = "ambiguous"
    DOUBLE_OPEN = "double_open"
    CONFLICT = "conflict"
    DAMAGED = "damaged"
    PROMPT_MISMATCH = "prompt_mismatch"

    TIMEOUT = "timeout"
    STALLED = "stalled"
    CUT = "cut"
    SERVER_ERROR = "server_error"
    RATE_LIMITED = "rate_limited"
    CONNECTION = "connection"
    ABORTED = "aborted"

    REJECTED = "rejected"

    @property
    def group(self) -> str:
        """``done``, ``kept``, ``retryable`` or ``final``."""
        if self in DONE:
            return "done"
        if self in RETRYABLE:
            return "retryable"
        return "final" if self is AnswerState.REJECTED else "kept"


DONE = frozenset({AnswerState.OK, AnswerState.OK_NON_THINKING})
"""Counted as done on resume; never asked again."""

RETRYABLE = frozenset(
    {
        AnswerState.TIMEOUT,
        AnswerState.STALLED,
        AnswerState.CUT,
        AnswerState.SERVER_ERROR,
        AnswerState.RATE_LIMITED,
        AnswerState.CONNECTION,
        AnswerState.ABORTED,
    }
)
"""Failed attempts that another attempt may heal."""

KEPT = frozenset(state for state in AnswerState if state.group == "kept")
"""Answers that are on disk and shown, but not good training data; re-asked only when told."""


@dataclass(frozen=True)
class Sample:
    """One question to be answered.

    ``key`` is its identity: the data set's own id (percent-encoded where needed), a colon, and a
    hash of the normalised messages; only the hash where the set has no id. It never depends on
    row order or sampling.
    """

    key: str
    messages: tuple[dict[str, str], ...]
    """Chat messages ``{"role", "content"}``, the last of them from the user."""
    sample_id: str | None = None
    """The data set's own id as text, where it has one."""


@dataclass(frozen=True)
class Answer:
    """What the server said, before any judgement. Fields that it did not send are ``None``."""

    reasoning: str | None = None
    """``message.reasoning`` (vLLM from 0.11.2 on, OpenRouter)."""
    reasoning_content: str | None = None
    """``message.reasoning_content`` (older vLLM, SGLang, llama.cpp, DeepSeek, Moonshot)."""
    content: str | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    prompt_token_ids: list[int] | None = None
    token_ids: list[int] | None = None
    tool_calls: list[Any] | None = None
    refusal: str | None = None
    sanitised: bool = False
    """A lone surrogate in the server's JSON was replaced by U+FFFD."""


@dataclass(frozen=True)
class Record:
    """One line of ``raw_responses.jsonl``."""

    key: str
    state: AnswerState
    sample_id: str | None
    messages: tuple[dict[str, str], ...]
    reasoning: str | None
    content: str | None
    finish_reason: str | None
    usage: dict[str, Any] | None
    model: str
    endpoint: str
    attempt: int
    """1 for the first try."""
    started_at: str
    """UTC, ISO 8601."""
    first_token_s: float | None
    """Seconds from sending the request to the first text; ``None`` for whole answers."""
    total_s: float
    prompt_token_ids: list[int] | None = None
    token_ids: list[int] | None = None
    flags: dict[str, Any] = field(default_factory=dict)
    """Further findings on this answer, among them ``cut_in``: ``reasoning`` or ``content``."""

    def to_line(self) -> bytes:
        """The line with its newline: key and state first, so that a scan need not parse it."""
        row: dict[str, Any] = {
            "key": self.key,
            "state": self.state.value,
            "sample_id": self.sample_id,
            "messages": list(self.messages),
            "reasoning": self.reasoning,
            "content": self.content,
            "finish_reason": self.finish_reason,
            "usage": self.usage,
        }
        if self.prompt_token_ids is not None:
            row["prompt_token_ids"] = self.prompt_token_ids
        if self.token_ids is not None:
            row["token_ids"] = self.token_ids
        row |= {
            "model": self.model,
            "endpoint": self.endpoint,
            "attempt": self.attempt,
            "started_at": self.started_at,
            "first_token_s": self.first_token_s,
            "total_s": self.total_s,
            "flags": self.flags,
        }
        return codec.dumps(row) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Record:
        """Read one line back. Raises ``ValueError`` when it is not a record of ours."""
        row = codec.loads(line)
        try:
            return cls(
                key=row["key"],
                state=AnswerState(row["state"]),
                sample_id=row["sample_id"],
                messages=tuple(row["messages"]),
                reasoning=row["reasoning"],
                content=row["content"],
                finish_reason=row["finish_reason"],
                usage=row["usage"],
                model=row["model"],
                endpoint=row["endpoint"],
                attempt=row["attempt"],
                started_at=row["started_at"],
                first_token_s=row["first_token_s"],
                total_s=row["total_s"],
                prompt_token_ids=row.get("prompt_token_ids"),
                token_ids=row.get("token_ids"),
                flags=row["flags"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a record: {error}") from None


@dataclass(frozen=True)
class Failure:
    """One line of ``failures.jsonl``: an attempt that gave no answer to keep."""

    key: str
    state: AnswerState
    sample_id: str | None
    attempt: int
    clock: str | None
    """Which clock rang: ``connect``, ``first_token``, ``idle`` or ``total``."""
    why: str | None
    """What a time-out came from: ``queued``, ``slow``, ``looping`` or ``silent``."""
    message: str
    endpoint: str
    started_at: str
    elapsed_s: float
    queue_s: float
    """Seconds the sample waited in our own queue since its turn came."""
    first_token_s: float | None
    tokens: int
    """Text deltas received; 0 for whole answers."""
    will_retry: bool
    reasoning: str | None
    content: str | None

    def to_line(self) -> bytes:
        """The line with its newline, key and state first."""
        row = dict(self.__dict__)
        row["state"] = self.state.value
        return codec.dumps({"key": self.key, "state": row["state"], **row}) + b"\n"
