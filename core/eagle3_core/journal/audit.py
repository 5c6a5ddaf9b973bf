"""What a journal holds, and what of it can be kept, in one pass over its bytes.

Memory holds one line, three numbers a record (lengths) and two hashes a record (keys and texts):
some 200 MB for a million records.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import BinaryIO

from eagle3_core import codec
from eagle3_core.journal.loops import MARKS, Loop, find_loop
from eagle3_core.journal.markers import stray
from eagle3_core.journal.meter import Meter
from eagle3_core.journal.pieces import BOM, Piece, Problem, lines_of, pieces_of
from eagle3_core.journal.row import Row
from eagle3_core.records import AnswerState

SHOWN = 100
"""Line numbers that are remembered of each kind."""
NAMES = 50
"""Different model names, markers and the like that are told apart."""
DUPLICATE = "duplicate"
BROKEN = "broken"
_SHORTEST_TWIN = 64
_SEEN, _DONE, _ASSUMED = 1, 2, 4


@dataclass
class Places:
    """A count of lines, with the numbers of the first."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        self.count += 1
        if len(self.lines) < SHOWN:
            self.lines.append(line)


@dataclass
class Audit:
    """The account of one file. ``kept`` and ``lost`` add up to ``lines``."""

    path: str
    size: int = 0
    lines: int = 0
    """A torn end that is being written right now is none."""
    records: int = 0
    kept: int = 0
    """Lines with a done answer, the first of their key: what a resume would leave alone."""
    lost: Counter[str] = field(default_factory=Counter)
    """All other lines: by the value of their state, as duplicate, or as broken."""
    forms: Counter[str] = field(default_factory=Counter)
    states: Counter[AnswerState] = field(default_factory=Counter)
    problems: dict[Problem, Places] = field(default_factory=dict)
    unknown_names: list[str] = field(default_factory=list)
    """Names in the first object without an answer."""
    salvageable: int = 0
    """Records that stand whole in glued lines; not counted elsewhere."""
    nul_bytes: int = 0
    tail: str = "whole"
    """``whole``, ``newline_missing``, ``torn`` or ``being_written``."""
    tail_bytes: int = 0
    keyless: Places = field(default_factory=Places)
    repeated: Places = field(default_factory=Places)
    """Lines whose key had been seen, whatever their state."""
    repeated_keys: Counter[str] = field(default_factory=Counter)
    twins: Places = field(default_factory=Places)
    """Answers word for word those of another key (from 64 characters on)."""
    no_reasoning_field: int = 0
    empty_reasoning: Places = field(default_factory=Places)
    """Answers with a text but without a reasoning."""
    answers: int = 0
    """Records with a reasoning or a content."""
    markers: Counter[str] = field(default_factory=Counter)
    marked: Places = field(default_factory=Places)
    loops: Places = field(default_factory=Places)
    loops_at_end: int = 0
    longest_loop: Loop | None = None
    marks: Places = field(default_factory=Places)
    """Texts with a run of exclamation marks."""
    replaced: Places = field(default_factory=Places)
    """Texts with U+FFFD, the sign for a character that was lost."""
    sanitised: int = 0
    error_texts: Places = field(default_factory=Places)
    finish: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    endpoints: Counter[str] = field(default_factory=Counter)
    with_ids: int = 0
    ids_differ: Places = field(default_factory=Places)
    """Lines whose token ids are not as many as ``usage`` says, of answer or prompt."""
    tokens: array[int] = field(default_factory=lambda: array("L"))
    """Completion tokens of every record that tells them."""
    reasoning_chars: array[int] = field(default_factory=lambda: array("L"))
    content_chars: array[int] = field(default_factory=lambda: array("L"))
    first: float | None = None
    """When the first request began and the last answer was there; seconds since 1970."""
    last: float | None = None
    keys: dict[int, int] = field(default_factory=dict)
    """Hash of a key -> what is known of it; see :meth:`has` and :meth:`is_done`."""
    _texts: set[int] = field(default_factory=set)
    _assumed: Places = field(default_factory=Places)
    _thinks: bool = False
    """Another script's rows do hold reasoning."""

    def has(self, key: str) -> bool:
        """Whether there is a record of this key."""
        return hash(key) in self.keys

    def is_done(self, key: str) -> bool:
        """Whether there is a done answer of this key."""
        done = _DONE if self._thinks else _DONE | _ASSUMED
        return bool(self.keys.get(hash(key), 0) & done)

    def take(self, line: bytes, number: int) -> None:
        """Count one line."""
        self.lines += 1
        pieces = pieces_of(line)
        if len(pieces) == 1 and pieces[0].row:
            self._record(pieces[0].row, number)
            return
        self._broken(pieces, number)

    def finish_up(self) -> None:
        """Settle what only the whole file can tell."""
        if self._thinks and self._assumed.count:
            # The script leaves an empty reasoning out: these thought nothing, too.
            self.kept -= self._assumed.count
            self.lost[AnswerState.NO_REASONING.value] += self._assumed.count
            self.states[AnswerState.OK_NON_THINKING] -= self._assumed.count
            self.states[AnswerState.NO_REASONING] += self._assumed.count
            self.states += Counter()

    def _broken(self, pieces: list[Piece], number: int) -> None:
        self.lost[BROKEN] += 1
        problem = pieces[0].problem if len(pieces) == 1 else Problem.GLUED
        self.problems.setdefault(problem or Problem.GLUED, Places()).add(number)
        if problem is Problem.UNKNOWN and not self.unknown_names:
            self.unknown_names = list(codec.loads(pieces[0].data.removeprefix(BOM)))
        self.salvageable += sum(piece.row is not None for piece in pieces)
        self.nul_bytes += sum(piece.data.count(b"\0") for piece in pieces)

    def _record(self, row: Row, number: int) -> None:
        self.records += 1
        self.states[row.state] += 1
        _count(self.forms, row.form)
        duplicate = self._key(row, number)
        if not row.done:
            self.lost[row.state.value] += 1
        elif duplicate:
            self.lost[DUPLICATE] += 1
        else:
            self.kept += 1
            if row.assumed:
                self._assumed.add(number)
        if row.reasoning or row.content:
            self._texts_of(row, number, self.repeated.lines[-1:] == [number])
        self._facts(row, number)

    def _key(self, row: Row, number: int) -> bool:
        """Note the key; whether a done answer of it was there already."""
        if row.key is None:
            self.keyless.add(number)
            return False
        code = hash(row.key)
        known = self.keys.get(code, 0)
        if known:
            self.repeated.add(number)
            _count(self.repeated_keys, row.key)
        ours = _ASSUMED if row.assumed else _DONE if row.done else 0
        self.keys[code] = known | _SEEN | ours
        # An assumed answer is none when others think, so a thought-out one after it counts.
        return bool(known & (_DONE if row.reasoning else _DONE | _ASSUMED))

    def _texts_of(self, row: Row, number: int, repeated: bool) -> None:
        self.answers += 1
        reasoning, content = row.reasoning or "", row.content or ""
        self.reasoning_chars.append(len(reasoning))
        self.content_chars.append(len(content))
        if not row.has_reasoning_field:
            self.no_reasoning_field += 1
        elif row.reasoning:
            self._thinks = True
        if content and not reasoning.strip():
            self.empty_reasoning.add(number)
        if len(reasoning) + len(content) >= _SHORTEST_TWIN:
            code = hash((reasoning, content))
            if code in self._texts and not repeated:
                self.twins.add(number)
            self._texts.add(code)
        self._oddities(reasoning, content, number)

    def _oddities(self, reasoning: str, content: str, number: int) -> None:
        found = stray(reasoning) | stray(content)
        if found:
            self.marked.add(number)
            for marker in found:
                _count(self.markers, marker)
        loops = [(loop, text) for text in (content, reasoning) if (loop := find_loop(text))]
        if loops:
            self.loops.add(number)
            self.loops_at_end += any(loop.end == len(text) for loop, text in loops)
            loop = max((loop for loop, _ in loops), key=lambda each: each.end - each.start)
            known = self.longest_loop
            if known is None or loop.end - loop.start > known.end - known.start:
                self.longest_loop = loop
        if MARKS in reasoning or MARKS in content:
            self.marks.add(number)
        if "\ufffd" in reasoning or "\ufffd" in content:
            self.replaced.add(number)

    def _facts(self, row: Row, number: int) -> None:
        self.sanitised += row.sanitised
        if row.error_text:
            self.error_texts.add(number)
        if row.finish_reason is not None:
            _count(self.finish, row.finish_reason)
        if row.model is not None:
            _count(self.models, row.model)
        if row.endpoint is not None:
            _count(self.endpoints, row.endpoint)
        usage = row.usage or {}
        spent = usage.get("completion_tokens")
        if isinstance(spent, int) and 0 <= spent < 1 << 32:
            self.tokens.append(spent)
        elif row.token_ids is not None:
            self.tokens.append(len(row.token_ids))
        if row.token_ids is not None:
            self.with_ids += 1
            asked = usage.get("prompt_tokens")
            if (isinstance(spent, int) and spent != len(row.token_ids)) or (
                row.prompt_token_ids is not None
                and isinstance(asked, int)
                and asked != len(row.prompt_token_ids)
            ):
                self.ids_differ.add(number)
        if row.started is not None:
            self.first = min(self.first or row.started, row.started)
            self.last = max(self.last or 0.0, row.started + row.total_s)


def audit(path: str) -> Audit:
    """Read ``path`` as it is now, without a lock; it may grow meanwhile.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        result = Audit(path, os.fstat(file.fileno()).st_size)
        with Meter("reading", result.size) as meter:
            for number, line in enumerate(lines_of(file, result.size), 1):
                if line.endswith(b"\n"):
                    result.take(line, number)
                else:
                    _tail(file, line, number, result)
                meter.add(len(line))
    result.finish_up()
    return result


def _tail(file: BinaryIO, line: bytes, number: int, result: Audit) -> None:
    """The last line has no newline: perhaps its writer is just at it."""
    result.tail_bytes = len(line)
    pieces = pieces_of(line)
    if os.fstat(file.fileno()).st_size > file.tell():
        result.tail = "being_written"
    elif len(pieces) == 1 and not pieces[0].bad:
        result.tail = "newline_missing"
        result.take(line, number)
    else:
        result.tail = "torn"
        result.lines += 1
        result.lost[BROKEN] += 1
        result.problems.setdefault(Problem.TORN, Places()).add(number)
        result.nul_bytes += line.count(b"\0")
        result.salvageable += sum(piece.row is not None for piece in pieces)


def _count(counter: Counter[str], name: str) -> None:
    """Count, with a bound: the names come from the file."""
    known = name in counter or len(counter) < NAMES
    counter[name if known else "…"] += 1
