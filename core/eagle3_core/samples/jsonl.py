"""JSON Lines, bytes -> rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eagle3_core.samples import row_json
from eagle3_core.samples.rows import Cut, Item, Malformed

_BOM = b"\xef\xbb\xbf"


def rows(chunks: Iterable[bytes]) -> Iterator[Item]:
    """One ``Row`` or ``Malformed`` a line, numbered from 1; blank lines count but give nothing.

    Only the newline byte ends a line: U+2028, U+0085 and form feeds are text, and may stand
    unescaped in a JSON string. A last line without its newline is a row when it parses; when it
    does not, the file is cut off there: a ``Cut``.
    """
    offset = 0
    for number, line in enumerate(_lines(chunks), 1):
        data = (line.removeprefix(_BOM) if number == 1 else line).strip()
        if data:
            row = row_json.parse(data, number)
            torn = isinstance(row, Malformed) and not line.endswith(b"\n")
            yield Cut(offset + len(line), offset, number) if torn else row
        offset += len(line)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []  # of the line in work; joined once, however long it grows
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            parts += (line, b"\n")
            yield b"".join(parts)
            parts.clear()
        if rest:
            parts.append(rest)
    if parts:
        yield b"".join(parts)
