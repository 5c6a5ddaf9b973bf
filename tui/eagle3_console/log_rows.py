"""The last ten thousand rows of a log and how they lie on the screen; no terminal in here."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells

from eagle3_console.log_fold import Row

KEEP_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Piece:
    """What one screen line shows: a row, or a part of it when lines are wrapped."""

    number: int
    """Which row, counted since the log was opened: stays the same when older rows go."""
    text: str
    kind: str
    glyph: str


class LogRows:
    """A ring of rows with their screen lines; rows keep their numbers for good."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.width = 0
        """Cells of the longest piece so far."""
        self._rows: list[Row] = []
        self._first = 0
        self._partial: Row | None = None
        self._wrap_at: int | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def texts(self) -> list[str]:
        """Texts of all rows kept, the unfinished last one included."""
        return [row.text for row in self._all()]

    def add(self, rows: Iterable[Row], partial: Row | None) -> tuple[int, int]:
        """Add rows at the end; returns how many came, and how many screen lines went at the top.

        ``partial`` is the text after the last newline: it takes the place of the last partial row.
        """
        self._drop_partial()
        added = 0
        for row in rows:
            last = self._rows[-1] if self._rows else None
            if last is not None and last.is_bar:
                if not row.text:
                    continue
                if row.overwrites:
                    self._rows.pop()
                    self._pop_pieces()
            self._rows.append(row)
            self._push_pieces(row, self._end - 1)
            added += 1
        pruned = self._prune()
        self._partial = partial
        if partial is not None:
            self._push_pieces(partial, self._end)
        return added, pruned

    def lay_out(self, wrap_at: int | None) -> None:
        """Lay all rows out anew, wrapped at ``wrap_at`` cells or not at all."""
        self._wrap_at = wrap_at
        self.pieces, self.width = [], 0
        for number, row in enumerate(self._all(), self._first):
            self._push_pieces(row, number)

    def place_of(self, number: int) -> int:
        """The screen line where row ``number`` begins."""
        return bisect_left(self.pieces, number, key=lambda piece: piece.number)

    def matches(self, query: re.Pattern[str]) -> list[int]:
        """Numbers of the rows in which ``query`` is found."""
        return [
            number for number, row in enumerate(self._all(), self._first) if query.search(row.text)
        ]

    @property
    def _end(self) -> int:
        return self._first + len(self._rows)

    def _all(self) -> list[Row]:
        return self._rows if self._partial is None else [*self._rows, self._partial]

    def _push_pieces(self, row: Row, number: int) -> None:
        parts = [row.text]
        if self._wrap_at is not None and cell_len(row.text) > self._wrap_at:
            parts = chop_cells(row.text, self._wrap_at)
        glyph = row.glyph
        for part in parts:
            self.pieces.append(Piece(number, part, row.kind, glyph))
            self.width = max(self.width, cell_len(part))
            glyph = " "

    def _pop_pieces(self) -> None:
        number = self.pieces[-1].number
        while self.pieces and self.pieces[-1].number == number:
            self.pieces.pop()

    def _drop_partial(self) -> None:
        if self._partial is not None:
            self._partial = None
            self._pop_pieces()

    def _prune(self) -> int:
        surplus = len(self._rows) - KEEP_ROWS
        if surplus <= 0:
            return 0
        del self._rows[:surplus]
        self._first += surplus
        gone = self.place_of(self._first)
        del self.pieces[:gone]
        return gone
