"""The front door: a prompt set by its path or hub name -> samples and a report."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from eagle3_core.errors import UserError
from eagle3_core.records import Sample
from eagle3_core.samples import hub, json_array, jsonl, parquet
from eagle3_core.samples.collect import Collector
from eagle3_core.samples.files import chunks, files_of
from eagle3_core.samples.formats import HEAD_BYTES, Format, detect
from eagle3_core.samples.report import Report
from eagle3_core.samples.rows import Item


@dataclass(frozen=True)
class PromptSet:
    """The questions of a prompt set, in its order, and what became of its other rows."""

    samples: list[Sample]
    report: Report

    @property
    def fingerprint(self) -> str:
        """16 hex digits over the keys; the order of the rows does not matter."""
        keys = "\n".join(sorted(sample.key for sample in self.samples))
        return hashlib.sha256(keys.encode()).hexdigest()[:16]


def read(path_or_name: str, *, turns: str = "first", limit: int | None = None) -> PromptSet:
    """Read a prompt set.

    Args:
        path_or_name: a JSON, JSON Lines or Parquet file (JSON also as ``.gz``), told apart by
            content; a directory or a pattern of such shards, read in sorted order; or a hub name,
            ``owner/name`` or ``owner/name:split``.
        turns: what the question is, ``first`` or ``all-user``; see ``conversation.question``.
        limit: stop after so many samples.

    Rows are read one by one and dropped; the samples stay in memory.

    Raises:
        UserError: when there is nothing to ask, with the reason.
    """
    if turns not in ("first", "all-user"):
        raise UserError(f"turns = {turns!r} is unknown", "use first or all-user")
    collector = Collector(Report(source=path_or_name), turns, limit)
    if hub.is_name(path_or_name):
        collector.report.format = Format.HUB.value
        collector.take(hub.rows(path_or_name), "row {:,}")
    else:
        _read_files(files_of(path_or_name), collector)
    collector.check()
    return PromptSet(collector.samples, collector.report)


def _read_files(files: list[str], collector: Collector) -> None:
    formats: list[str] = []
    collector.report.files = len(files)
    for file in files:
        format_, items = _open(file)
        if format_.value not in formats:
            formats.append(format_.value)
            collector.report.format = ", ".join(formats)
        shard = Path(file).name.replace("{", "{{").replace("}", "}}") + " " if files[1:] else ""
        collector.take(items, f"{shard}{format_.noun} {{:,}}")
        if collector.full:
            return


def _open(file: str) -> tuple[Format, Iterator[Item]]:
    pieces = chunks(file)
    head = bytearray()
    for piece in pieces:
        head += piece
        if len(head) >= HEAD_BYTES:
            break
    format_, start = detect(bytes(head), file)
    whole = chain([bytes(head)], pieces)
    if format_ is Format.PARQUET:
        return format_, parquet.rows(file)
    if format_ is Format.LINES:
        return format_, jsonl.rows(whole)
    return format_, json_array.rows(whole, start)
