"""Lines of a journal to records that any screen can show, bad ones counted."""

from __future__ import annotations

from collections.abc import Iterable

from eagle3_core.monitor.status import number, whole
from eagle3_core.records import Record


def parse_lines(lines: Iterable[bytes]) -> tuple[list[Record], int]:
    """The records in ``lines``, and how many lines hold none."""
    records = []
    bad = 0
    for line in lines:
        try:
            record = Record.from_line(line)
        except ValueError:
            bad += 1
            continue
        if _is_sound(record):
            records.append(record)
        else:
            bad += 1
    return records, bad


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
