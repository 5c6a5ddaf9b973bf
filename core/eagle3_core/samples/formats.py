"""What a file is, by its first bytes; its name is not asked."""

from __future__ import annotations

import re
from enum import Enum

from eagle3_core import codec
from eagle3_core.errors import UserError
from eagle3_core.samples import json_array
from eagle3_core.samples.columns import QUESTION_COLUMNS
from eagle3_core.samples.rows import Row

HEAD_BYTES = 1 << 20
"""How much of the file ``detect`` wants to see."""

_BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"?(\s*:)?|[{}\[\]]', re.DOTALL)
_OTHERS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"PK\x03\x04": "a ZIP archive",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"ARROW1": "an Arrow file",
    b"\x28\xb5\x2f\xfd": "zstd-packed data",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"version https://git-lfs": "a Git LFS pointer, not the data itself",
    b"<": "HTML or XML",
}


class Format(str, Enum):
    """A known format, in the words of the report."""

    LIST = "JSON list"
    OBJECT = "JSON object with a list"
    LINES = "JSON Lines"
    PARQUET = "Parquet"
    HUB = "hub data set"

    @property
    def noun(self) -> str:
        """What one numbered thing of it is called."""
        return "line" if self is Format.LINES else "row"


def detect(head: bytes, source: str) -> tuple[Format, int]:
    """The format, and the byte offset where its list opens (0 for all but ``OBJECT``).

    Args:
        head: the first ``HEAD_BYTES`` of the file, or all of it.
        source: the file, for errors.

    Raises:
        UserError: when the file is empty or of another format.
    """
    text = head.removeprefix(_BOM).lstrip()
    if not text:
        raise UserError(f"{source} is empty", "give a file with at least one question")
    if head.startswith(b"PAR1"):
        return Format.PARQUET, 0
    if text.startswith(b"["):
        return Format.LIST, 0
    if text.startswith(b"{"):
        start = None if _is_lines(text) else _list_inside(head)
        return (Format.LINES, 0) if start is None else (Format.OBJECT, start)
    raise UserError(
        f"{source} is {_what(head)}, and no prompt set: it begins with {head[:24]!r}",
        "give JSON, JSON Lines or Parquet",
    )


def _is_lines(text: bytes) -> bool:
    """Whether the first line is a whole object by itself, and others follow."""
    first, _, others = text.partition(b"\n")
    try:
        return bool(others.strip()) and isinstance(codec.loads(first), dict)
    except codec.JSONError:
        return False


def _list_inside(head: bytes) -> int | None:
    """Where the list of rows opens in ``{"data": [{…}, …]}``, whatever the list is called.

    It is the first list whose first element has a question column. An object that has such a
    column itself is a row, and so is one without such a list: ``None``.
    """
    depth, key = 0, ""
    for token in _TOKEN.finditer(head):
        mark = token[0][:1]
        if mark in b"{[":
            if mark == b"[" and depth == 1 and _holds_rows(head, token.start()):
                return token.start()
            depth += 1
        elif mark in b"}]":
            depth -= 1
            if depth == 0:
                return None
        elif depth == 1 and token[2]:
            if key in QUESTION_COLUMNS:
                return None
            key = token[1].decode(errors="replace")
    return None


def _holds_rows(head: bytes, start: int) -> bool:
    first = next(json_array.rows([head], start), None)
    value = first.value if isinstance(first, Row) else None
    return isinstance(value, dict) and any(name in value for name in QUESTION_COLUMNS)


def _what(head: bytes) -> str:
    for signature, name in _OTHERS.items():
        if head.startswith(signature):
            return name
    first = head.partition(b"\n")[0]
    if b"\0" in head:
        return "binary data"
    return "a table of text (CSV or TSV)" if b"," in first or b"\t" in first else "plain text"
