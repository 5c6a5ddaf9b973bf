"""One line of a journal -> the record on it, or the records that stand in a broken one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, BinaryIO

from eagle3_core import codec
from eagle3_core.journal.row import Row, look

BOM = b"\xef\xbb\xbf"
_START = re.compile(r'\{\s*"')
_DECODER = json.JSONDecoder()
_CANDIDATES = 1_000


class Problem(str, Enum):
    """Why a stretch of bytes is no record, in the words of the report."""

    BLANK = "blank"
    TORN = "torn at the end of the file"
    GLUED = "a torn record with others glued to it"
    NUL = "NUL bytes"
    NOT_UTF8 = "not UTF-8"
    NOT_JSON = "not JSON"
    NO_OBJECT = "JSON, but no object"
    UNKNOWN = "an object without an answer"


@dataclass(frozen=True)
class Piece:
    """Bytes of one line: all of it, or a part of a broken one."""

    data: bytes
    row: Row | None
    problem: Problem | None = None

    @property
    def bad(self) -> bool:
        """Whether these bytes keep a reader from going on; an unknown object does not."""
        return self.problem is not None and self.problem is not Problem.UNKNOWN


def lines_of(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The lines of ``file`` that begin before ``size``, each with its newline, the last perhaps
    without. Only the newline byte ends a line. One line is in memory at a time."""
    at = 0
    while at < size and (line := file.readline()):
        at += len(line)
        yield line


def pieces_of(line: bytes) -> list[Piece]:
    """The pieces of a line (its newline is no part of them): joined, they are the line.

    One piece for a record or a hopeless line. A line that does not parse is searched for records
    that do: a torn one with the next glued to it, whole ones without a newline between them, a
    record behind NULs. Such a record is saved only if it parses whole, has a key, and ends where
    the line or another object does, so that no inner part of a broken record passes for one.
    """
    data = line[:-1] if line.endswith(b"\n") else line
    try:
        value = codec.loads(data.removeprefix(BOM))
    except codec.JSONError:
        return _salvage(data)
    if not isinstance(value, dict):
        return [Piece(data, None, Problem.NO_OBJECT)]
    row = look(value)
    return [Piece(data, row, None if row else Problem.UNKNOWN)]


def _salvage(data: bytes) -> list[Piece]:
    text = data.decode("latin-1")  # a byte a character: the structure of JSON is ASCII
    found: list[Piece] = []
    end = tried = 0
    for match in _START.finditer(text):
        start = match.start()
        if start < end:
            continue
        tried += 1
        if tried > _CANDIDATES:  # a line made to cost: what is left of it is moved as it is
            break
        stop = _object_end(text, start)
        row = _record(data[start:stop]) if stop else None
        if row is None:
            continue
        if start > end:
            found.append(Piece(data[end:start], None, Problem.GLUED))
        found.append(Piece(data[start:stop], row))
        end = stop
    if not found:
        return [Piece(data, None, _problem(data))]
    if end < len(data):
        found.append(Piece(data[end:], None, Problem.GLUED))
    return found


def _object_end(text: str, start: int) -> int:
    """Where the object at ``start`` ends; 0 when none does, or when it is a part of another."""
    try:
        _, stop = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return 0
    follows = text[stop : stop + 64].lstrip("\0 \r\t")
    return stop if not follows or follows[0] == "{" else 0


def _record(data: bytes) -> Row | None:
    try:
        value: Any = codec.loads(data)
    except codec.JSONError:
        return None
    row = look(value)
    return row if row and row.key is not None else None


def _problem(data: bytes) -> Problem:
    if not data.strip():
        return Problem.BLANK
    if b"\0" in data:
        return Problem.NUL
    try:
        data.decode()
    except UnicodeDecodeError:
        return Problem.NOT_UTF8
    return Problem.NOT_JSON
