"""A big JSON list, bytes -> rows, one at a time.

The list is split at its outer commas by looking at quotes, brackets and commas alone; each piece
is then parsed by itself. So memory is that of one row, a bad row spoils no other, and a file that
ends in mid-list gives every row before the cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from eagle3_core.samples import row_json
from eagle3_core.samples.rows import Cut, Item, Malformed, Row

_INSIDE = rb'[^"\\]*(?:\\.[^"\\]*)*'
"""A string up to its closing quote, or as far as it has come."""
_REST_OF_STRING = re.compile(_INSIDE, re.DOTALL)
_NEXT = re.compile(rb'"%b"|["{}\[\],]' % _INSIDE, re.DOTALL)
"""A whole string, the quote of one that goes on behind the buffer, or a mark."""
_OPENING, _CLOSING, _COMMA = b"{[", b"}]", ord(",")


def rows(chunks: Iterable[bytes], start: int = 0) -> Iterator[Item]:
    """The rows of the list that opens at byte ``start``.

    Args:
        chunks: the whole file in pieces of any size.
        start: byte offset of the ``[``, or of blanks before it. Above 0 for a list inside an
            object, where what follows the list is of no interest.

    Yields a ``Row`` or ``Malformed`` for each element, numbered from 1, and a ``Cut`` when the
    data ends before the list does.
    """
    buffer, offset, element = bytearray(), start, 0  # element: in the buffer, offset: in the file
    marks = _Marks()
    number = depth = 0
    pieces = _from(chunks, start)
    for piece in pieces:
        del buffer[:element]
        offset, marks.position, element = offset + element, marks.position - element, 0
        buffer += piece
        for mark in marks.find(buffer):
            if mark in _OPENING:
                depth += 1
                if depth == 1:
                    element = marks.position
                continue
            depth -= mark in _CLOSING
            if depth == 0 or (depth == 1 and mark == _COMMA):
                data = bytes(buffer[element : marks.position - 1]).strip()
                element = marks.position
                if data:  # a comma too many loses nothing
                    number += 1
                    yield row_json.parse(data, number)
            if depth == 0:
                if not start and (buffer[element:].strip() or any(map(bytes.strip, pieces))):
                    where = f"from byte {offset + element:,} on"
                    yield Malformed(number + 1, f"more text after the end of the list, {where}")
                return
    yield from _unfinished(bytes(buffer[element:]), offset + element, number + 1)


class _Marks:
    """Finds brackets and commas outside of strings, in a buffer that grows at its end."""

    def __init__(self) -> None:
        self.position = 0
        """Just behind the mark that was found last."""
        self._in_string = False

    def find(self, buffer: bytearray) -> Iterator[int]:
        """The marks from ``position`` on, as byte values, as far as the buffer goes."""
        while True:
            if self._in_string:
                rest = _REST_OF_STRING.match(buffer, self.position)
                self.position = rest.end() if rest else self.position
                if buffer[self.position : self.position + 1] != b'"':
                    return  # the end of the buffer, or half an escape before it
                self.position += 1
                self._in_string = False
            match = _NEXT.search(buffer, self.position)
            if match is None:
                self.position = len(buffer)
                return
            self.position = match.end()
            token = match[0]
            if token == b'"':
                self._in_string = True
            elif len(token) == 1:
                yield token[0]


def _from(chunks: Iterable[bytes], start: int) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk[start:]
        start = max(0, start - len(chunk))


def _unfinished(tail: bytes, offset: int, number: int) -> Iterator[Item]:
    """What stands behind the last comma of a list that does not end."""
    end, begin = offset + len(tail), offset + len(tail) - len(tail.lstrip())
    # A number or a word may go on behind the cut; objects, lists and strings say where they end.
    closed = tail.rstrip().endswith((b"}", b"]", b'"'))
    row = row_json.parse(tail.strip(), number) if closed else None
    if isinstance(row, Row):
        yield row
        begin, number = end, number + 1
    yield Cut(end, begin, number)
