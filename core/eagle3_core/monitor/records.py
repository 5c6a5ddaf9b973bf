"""Lines of a journal to records, bad ones counted."""

from __future__ import annotations

from collections.abc import Iterable

from eagle3_core.records import Record


def parse_lines(lines: Iterable[bytes]) -> tuple[list[Record], int]:
    """The records in ``lines``, and how many lines hold none."""
    records = []
    bad = 0
    for line in lines:
        try:
            records.append(Record.from_line(line))
        except ValueError:
            bad += 1
    return records, bad
