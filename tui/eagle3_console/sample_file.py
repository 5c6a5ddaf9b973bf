"""A record written to a file of its own, byte for byte the journal's line."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

from eagle3_core.records import Record


def save_record(record: Record, folder: Path | None = None) -> Path:
    """Write ``sample-KEY.json`` into ``folder`` (the working directory) and return its path.

    A file that is there is never overwritten: the next free number is added to the name. Raises
    ``OSError`` when the folder cannot be written to.
    """
    folder = folder or Path.cwd()
    stem = "sample-" + re.sub(r"[^\w.-]+", "_", record.key, flags=re.ASCII)[:80]
    for number in count(1):
        path = folder / (f"{stem}.json" if number == 1 else f"{stem}-{number}.json")
        try:
            with path.open("xb") as file:
                file.write(record.to_line())
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")
