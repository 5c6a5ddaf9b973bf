"""The resume index: which keys a journal holds, and in what state, at the speed of the disk."""

from __future__ import annotations

import mmap
import os
import re
from dataclasses import dataclass, field

from eagle3_core import codec
from eagle3_core.records import DONE, AnswerState

_HEAD = re.compile(rb'\{"key":"([^"\\]*)","state":"([a-z_]+)"')
_NESTED = b'{"key":"'
_FEW = 6
_STATES = {state.value.encode(): state for state in AnswerState}


@dataclass
class Index:
    """What a journal holds.

    ``states`` has one state a key: a done one if there ever was one (an answer that is on disk
    stays done, whatever a later attempt brought), else the newest.
    """

    states: dict[str, AnswerState] = field(default_factory=dict)
    lines: int = 0
    duplicates: int = 0
    """Lines whose key had been seen."""
    bad_lines: list[int] = field(default_factory=list)
    """Line numbers, from 1, that hold no record."""

    @property
    def done(self) -> set[str]:
        return {key for key, state in self.states.items() if state in DONE}

    def add(self, key: str, state: AnswerState) -> None:
        known = self.states.get(key)
        if known is not None:
            self.duplicates += 1
        if known not in DONE:
            self.states[key] = state


def scan(path: str) -> Index:
    """Read the index of ``path``; a file that is not there gives an empty one."""
    index = Index()
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return index
    try:
        size = os.fstat(fd).st_size
        if size:
            with mmap.mmap(fd, size, prot=mmap.PROT_READ) as view:
                view.madvise(mmap.MADV_SEQUENTIAL)
                _scan(view, size, index)
    finally:
        os.close(fd)
    return index


def _scan(view: mmap.mmap, size: int, index: Index) -> None:
    start = 0
    while start < size:
        end = view.find(b"\n", start)
        if end < 0:
            end = size
        index.lines += 1
        head = _HEAD.match(view, start, end)
        # A torn line with the next record glued to it begins and ends like a whole one, and so
        # does one with a hole of NULs that a power loss left in it.
        if (
            head
            and end < size
            and view[end - 1] == 0x7D
            and not _glued(view, start + 1, end)
            and view.find(b"\0", start, end) < 0
        ):
            state = _STATES.get(head[2])
            if state is not None:
                index.add(head[1].decode(errors="replace"), state)
                start = end + 1
                continue
        if not _add_parsed(view[start:end], index):
            index.bad_lines.append(index.lines)
        start = end + 1


def _glued(view: mmap.mmap, start: int, end: int) -> bool:
    """Whether another record begins within the line.

    A brace alone is found at several times the speed of ``_NESTED``, and most texts have few.
    """
    for _ in range(_FEW):
        start = view.find(b"{", start, end)
        if start < 0 or view[start : start + len(_NESTED)] == _NESTED:
            return start >= 0
        start += 1
    return view.rfind(_NESTED, start, end) >= 0


def _add_parsed(line: bytes, index: Index) -> bool:
    """A line that the quick look did not settle: parsed whole."""
    try:
        row = codec.loads(line)
        key, state = row["key"], AnswerState(row["state"])
    except (ValueError, KeyError, TypeError):
        return False
    if isinstance(key, str):
        index.add(key, state)
    return isinstance(key, str)
