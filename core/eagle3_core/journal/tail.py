"""The torn tail: what a crash leaves at the end of an append-only file, put right before appending."""

from __future__ import annotations

import os
from dataclasses import dataclass

from eagle3_core import codec

_STEP = 1 << 16


@dataclass(frozen=True)
class Mended:
    """What was found at the end of the file and done about it."""

    verdict: str
    """``whole``, ``newline_missing`` (it was added) or ``torn`` (moved aside)."""
    moved_bytes: int = 0
    moved_to: str = ""


def mend_tail(fd: int, path: str) -> Mended:
    """Make the file end with a newline; move a torn last line to ``<path>.torn``.

    Nothing is thrown away: the torn bytes are on disk in the side file before the file is cut.

    Args:
        fd: the file, open for reading and writing.
        path: its name, for the side file.
    """
    size = os.fstat(fd).st_size
    if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
        return Mended("whole")
    start = _last_line(fd, size)
    tail = os.pread(fd, size - start, start)
    try:
        whole = isinstance(codec.loads(tail), dict)
    except codec.JSONError:
        whole = False
    if whole:
        os.pwrite(fd, b"\n", size)
        os.fsync(fd)
        return Mended("newline_missing")
    aside = path + ".torn"
    side = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        write_all(side, tail + b"\n")
        os.fsync(side)
    finally:
        os.close(side)
    os.ftruncate(fd, start)
    os.fsync(fd)
    return Mended("torn", len(tail), aside)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte; a disk that fills up raises instead of writing half."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _last_line(fd: int, size: int) -> int:
    end = size
    while end > 0:
        begin = max(0, end - _STEP)
        at = os.pread(fd, end - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0
