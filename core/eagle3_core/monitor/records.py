"""Lines of a journal, ours or another script's, to records that any screen can show."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from eagle3_core import codec
from eagle3_core.journal import foreign
from eagle3_core.monitor.status import number, whole
from eagle3_core.records import Record
from eagle3_core.samples.conversation import question
from eagle3_core.samples.skips import Skipped


def parse_lines(lines: Iterable[bytes]) -> tuple[list[Record], int]:
    """The records in ``lines``, and how many lines hold none."""
    records = []
    bad = 0
    for line in lines:
        record = _record(line)
        if record is not None and _is_sound(record):
            records.append(record)
        else:
            bad += 1
    return records, bad


def _record(line: bytes) -> Record | None:
    try:
        return Record.from_line(line)
    except ValueError:
        pass
    try:
        row = codec.loads(line)
    except ValueError:
        return None
    is_ours = isinstance(row, dict) and {"key", "state", "attempt"} <= row.keys()
    return foreign_record(row) if isinstance(row, dict) and not is_ours else None


def foreign_record(row: dict[str, Any]) -> Record | None:
    """A row of another script as a record; ``None`` when it holds no answer.

    What it does not say stays empty: no endpoint, no times, one attempt.
    """
    found = foreign.read(row)
    if found is None:
        return None
    asked = question(row)
    messages = ({"role": "user", "content": ""},) if isinstance(asked, Skipped) else asked
    answer = found.answer
    return Record(
        key=found.key or blake2b(codec.dumps(row), digest_size=8).hexdigest(),
        state=found.state,
        sample_id=None,
        messages=tuple(dict(message) for message in messages),
        reasoning=found.reasoning,
        content=found.content,
        finish_reason=answer.finish_reason,
        usage=answer.usage,
        model=found.model or "",
        endpoint="",
        attempt=1,
        started_at=str(found.started or ""),
        first_token_s=None,
        total_s=0.0,
        prompt_token_ids=answer.prompt_token_ids,
        token_ids=answer.token_ids,
    )


def _is_sound(record: Record) -> bool:
    """Whether each field is of its kind: a journal may come from another tool's hand."""
    texts = (record.key, record.model, record.endpoint, record.started_at)
    maybe_texts = (record.sample_id, record.reasoning, record.content, record.finish_reason)
    usage = record.usage
    return (
        all(isinstance(text, str) for text in texts)
        and all(text is None or isinstance(text, str) for text in maybe_texts)
        and bool(record.messages)
        and all(_is_message(message) for message in record.messages)
        and (usage is None or isinstance(usage, dict))
        and ((usage or {}).get("completion_tokens") is None or _counts(usage))
        and all(_is_ids(ids) for ids in (record.prompt_token_ids, record.token_ids))
        and whole(record.attempt) is not None
        and (record.first_token_s is None or number(record.first_token_s) is not None)
        and number(record.total_s) is not None
        and isinstance(record.flags, dict)
    )


def _counts(usage: object) -> bool:
    return isinstance(usage, dict) and whole(usage["completion_tokens"]) is not None


def _is_message(message: object) -> bool:
    return (
        isinstance(message, dict)
        and isinstance(message.get("role"), str)
        and isinstance(message.get("content"), str)
    )


def _is_ids(ids: object) -> bool:
    return ids is None or isinstance(ids, list)
