"""What a repair would do with every piece of a journal, decided in one pass before a byte moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import BinaryIO

from eagle3_core.journal.audit import Places
from eagle3_core.journal.meter import Meter
from eagle3_core.journal.pieces import Piece, lines_of, pieces_of
from eagle3_core.journal.row import Row
from eagle3_core.records import AnswerState


class Fate(IntEnum):
    """Where a piece goes."""

    KEEP = 0
    BAD = 1
    REDO = 2
    DUP = 3
    ASSUMED = 4
    """Undecided: kept, unless other rows show that the script leaves an empty reasoning out."""


MOVED = (Fate.BAD, Fate.REDO, Fate.DUP)


@dataclass
class Plan:
    """The fate of every piece, one byte each, in the order of the file."""

    size: int
    lines: int = 0
    fates: bytearray = field(default_factory=bytearray)
    broken: Places = field(default_factory=Places)
    saved: int = 0
    """Records taken out of broken lines."""
    redone: Counter[AnswerState] = field(default_factory=Counter)
    newline_missing: bool = False
    split: set[int] = field(default_factory=set)
    """Numbers of the lines that have several pieces."""

    @property
    def needed(self) -> bool:
        """Whether the file would change."""
        return bool(self.saved or self.newline_missing or any(map(self.count, MOVED)))

    def count(self, fate: Fate) -> int:
        """Pieces with this fate."""
        return self.fates.count(fate)

    def pieces(self, file: BinaryIO) -> Iterator[tuple[bytes, Fate]]:
        """Every piece of the file with its fate, without parsing whole lines again."""
        fates = iter(self.fates)
        for number, line in enumerate(lines_of(file, self.size), 1):
            if number in self.split:
                yield from ((piece.data, Fate(next(fates))) for piece in pieces_of(line))
            else:
                yield line.removesuffix(b"\n"), Fate(next(fates))


class Planner:
    """Looks at a file line by line."""

    def __init__(self, size: int, redo: Collection[AnswerState], drop_duplicates: bool) -> None:
        self._plan = Plan(size)
        self._redo = redo
        self._drop = drop_duplicates
        self._best: dict[int, tuple[int, int]] = {}
        """Hash of a key -> rank and place of its best piece so far."""
        self._thinks = False

    def read(self, file: BinaryIO) -> Plan:
        """The plan for all of ``file``. A byte a line stays in memory, and the keys' hashes when
        duplicates are looked for."""
        plan = self._plan
        with Meter("looking", plan.size) as meter:
            for line in lines_of(file, plan.size):
                plan.lines += 1
                pieces = pieces_of(line)
                for piece in pieces:
                    self._take(piece)
                if len(pieces) > 1:
                    plan.split.add(plan.lines)
                if len(pieces) > 1 or pieces[0].bad:
                    plan.broken.add(plan.lines)
                    plan.saved += sum(piece.row is not None for piece in pieces)
                plan.newline_missing = not line.endswith(b"\n") and not pieces[-1].bad
                meter.add(len(line))
        self._settle()
        return plan

    def _take(self, piece: Piece) -> None:
        plan, row = self._plan, piece.row
        if row is None:
            plan.fates.append(Fate.BAD if piece.bad else Fate.KEEP)
            return
        self._thinks = self._thinks or bool(row.reasoning and row.has_reasoning_field)
        if row.state in self._redo:
            plan.fates.append(Fate.REDO)
            plan.redone[row.state] += 1
            return
        plan.fates.append(Fate.ASSUMED if row.assumed else Fate.KEEP)
        if self._drop and row.key is not None:
            self._compare(row, hash(row.key))

    def _compare(self, row: Row, code: int) -> None:
        """Of two records of one key the done one stays, else the newer."""
        fates = self._plan.fates
        mine = (0 if not row.done else 1 if row.assumed else 2, len(fates) - 1)
        known = self._best.setdefault(code, mine)
        if known != mine:
            fates[min(known, mine)[1]] = Fate.DUP
            self._best[code] = max(known, mine)

    def _settle(self) -> None:
        plan = self._plan
        again = self._thinks and AnswerState.NO_REASONING in self._redo
        if again and plan.count(Fate.ASSUMED):
            plan.redone[AnswerState.NO_REASONING] += plan.count(Fate.ASSUMED)
        last = Fate.REDO if again else Fate.KEEP
        plan.fates = plan.fates.replace(bytes([Fate.ASSUMED]), bytes([last]))
