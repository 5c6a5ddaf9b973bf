"""How an attempt ended, as a line for the journal."""

from __future__ import annotations

import asyncio

from eagle3_core.generation.attempt import Attempt
from eagle3_core.generation.failure import Cause
from eagle3_core.generation.state import Judgement
from eagle3_core.records import Answer, Failure, Record


def record_of(attempt: Attempt, answer: Answer, judgement: Judgement, model: str) -> Record:
    """An answer that is kept."""
    return Record(
        key=attempt.sample.key,
        state=judgement.state,
        sample_id=attempt.sample.sample_id,
        messages=attempt.sample.messages,
        reasoning=judgement.reasoning,
        content=judgement.content,
        finish_reason=answer.finish_reason,
        usage=answer.usage,
        model=model,
        endpoint=attempt.endpoint.url,
        attempt=attempt.number,
        started_at=attempt.started_at,
        first_token_s=_first_token_s(attempt),
        total_s=_elapsed_s(attempt),
        prompt_token_ids=answer.prompt_token_ids,
        token_ids=answer.token_ids,
        flags=judgement.flags,
    )


def failure_of(attempt: Attempt, cause: Cause, partial: Answer, *, will_retry: bool) -> Failure:
    """An attempt that gave nothing to keep, with the text that had come."""
    return Failure(
        key=attempt.sample.key,
        state=cause.state,
        sample_id=attempt.sample.sample_id,
        attempt=attempt.number,
        clock=cause.clock,
        why=cause.why or None,
        message=cause.message,
        endpoint=attempt.endpoint.url,
        started_at=attempt.started_at,
        elapsed_s=_elapsed_s(attempt),
        queue_s=round(attempt.waited_s, 4),
        first_token_s=_first_token_s(attempt),
        tokens=attempt.texts,
        will_retry=will_retry,
        reasoning=partial.reasoning or partial.reasoning_content,
        content=partial.content,
    )


def _elapsed_s(attempt: Attempt) -> float:
    return round(asyncio.get_running_loop().time() - attempt.started, 4)


def _first_token_s(attempt: Attempt) -> float | None:
    return None if attempt.first_text is None else round(attempt.first_text - attempt.started, 4)
