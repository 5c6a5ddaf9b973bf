"""Lines of a file without reading the file: how many, the last N, K at random."""

from __future__ import annotations

import errno
import os
import random
import time

from eagle3_core.host.agent.wire import Refused

BLOCK = 1 << 20
ANSWER_LIMIT = 32 << 20
"""Bytes that one answer may carry."""


def open_file(path: str) -> int:
    """A descriptor for reading. Raises ``Refused`` naming what is missing."""
    path = os.path.expanduser(path)
    try:
        # A pipe under this name must not block the agent.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused("missing", why_missing(path, error)) from None
    if os.path.isdir(path):
        os.close(fd)
        raise Refused("missing", f"{path} is a directory")
    return fd


def why_missing(path: str, error: OSError) -> str:
    """Why ``path`` could not be opened, in words a person can use."""
    if error.errno != errno.ENOENT:
        return f"{path}: {error.strerror}"
    folder = os.path.dirname(path)
    # journals stand one level below the run directory; name the topmost folder that is not there
    missing = ""
    while folder and not os.path.isdir(folder):
        missing, folder = folder, os.path.dirname(folder)
    if missing and not missing.endswith("/prepared"):
        return f"no such directory {missing}"
    return f"no {os.path.basename(path)} yet"


def newlines(block: bytes) -> int:
    """Newlines in ``block``; on lines of a few kB a find() loop is far faster than count()."""
    total = 0
    at = block.find(b"\n")
    while at >= 0:
        total += 1
        at = block.find(b"\n", at + 1)
    return total


def count(path: str) -> tuple[int, int, str]:
    """Newlines and bytes of a file, and why there are none when it cannot be opened."""
    try:
        fd = open_file(path)
    except Refused as refused:
        return 0, 0, str(refused)
    try:
        lines = size = 0
        while True:
            block = os.pread(fd, BLOCK, size)
            if not block:
                return lines, size, ""
            lines += newlines(block)
            size += len(block)
    finally:
        os.close(fd)


def end_of_lines(fd: int, size: int) -> int:
    """Offset behind the last newline: a writer may be in the middle of a line."""
    at = size
    while at > 0:
        step = min(BLOCK, at)
        found = os.pread(fd, step, at - step).rfind(b"\n")
        if found >= 0:
            return at - step + found + 1
        at -= step
    return 0


def start_of_last(fd: int, end: int, lines: int, limit: int = ANSWER_LIMIT) -> int:
    """Offset of the last ``lines`` whole lines before ``end``, at most ``limit`` bytes back.

    ``end`` is an offset behind a newline. The cost is that of those lines, not of the file.
    """
    if lines <= 0:
        return end
    needed = lines + 1
    at, step, start = end, 65536, end
    while at > 0 and end - at < limit:
        size = min(step, at)
        block = os.pread(fd, size, at - size)
        found = len(block)
        while needed:
            found = block.rfind(b"\n", 0, found)
            if found < 0:
                break
            needed -= 1
            start = at - size + found + 1
        if not needed:
            return start
        at -= size
        step = min(step * 2, BLOCK)
    return 0 if at == 0 else start


def last(path: str, lines: int) -> tuple[list[int], bytes]:
    """The last whole lines: their lengths, newline included, and their bytes, oldest first."""
    fd = open_file(path)
    try:
        end = end_of_lines(fd, os.fstat(fd).st_size)
        start = start_of_last(fd, end, lines)
        body = os.pread(fd, end - start, start)
        pieces = [len(line) + 1 for line in body.split(b"\n")[:-1]]
        return pieces, body
    finally:
        os.close(fd)


def line_at(fd: int, at: int, end: int, limit: int = 8 << 20) -> tuple[int, int] | None:
    """Start and end of the line that holds byte ``at``; ``None`` when it is too long."""
    start = at
    while start > 0:
        step = min(65536, start)
        found = os.pread(fd, step, start - step).rfind(b"\n")
        if found >= 0:
            start = start - step + found + 1
            break
        start -= step
        if at - start > limit:
            return None
    stop = at
    while stop < end and stop - start < limit:
        block = os.pread(fd, 65536, stop)
        found = block.find(b"\n")
        if found >= 0:
            return start, stop + found + 1
        stop += len(block)
        if not block:
            break
    return None


def sample(
    path: str, lines: int, seed: int | None = None, budget: float = 2.0
) -> tuple[list[int], bytes]:
    """``lines`` different whole lines, each equally likely, in the order of the file.

    A random byte falls into a line with a chance that grows with its length. Taking the line with
    a chance of shortest / length undoes that; the shortest is the shortest seen so far, and a
    shorter one starts the draw again.

    Args:
        path: file of newline-ended records.
        lines: how many; fewer come back when the file has fewer.
        seed: makes the draw repeatable.
        budget: seconds after which what was found is returned.
    """
    fd = open_file(path)
    try:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        end = end_of_lines(fd, os.fstat(fd).st_size)
        if start_of_last(fd, end, lines) == 0:
            return last(path, lines)  # the whole file has no more than was asked for
        found = _draw(fd, end, lines, random.Random(seed), time.monotonic() + budget)
        pieces = [stop - start for start, stop in found]
        return pieces, b"".join(os.pread(fd, stop - start, start) for start, stop in found)
    finally:
        os.close(fd)


def _draw(
    fd: int, end: int, lines: int, chance: random.Random, deadline: float
) -> list[tuple[int, int]]:
    shortest = _shortest(fd, end, chance)
    found: list[tuple[int, int]] = []
    total = 0
    while len(found) < lines and total < ANSWER_LIMIT and time.monotonic() < deadline:
        span = line_at(fd, chance.randrange(end), end)
        if span is None or span in found:
            continue
        length = span[1] - span[0]
        if length < shortest:
            shortest, total = length, 0
            found.clear()
        if chance.random() <= shortest / length:
            found.append(span)
            total += length
    return sorted(found)


def _shortest(fd: int, end: int, chance: random.Random, probes: int = 100) -> int:
    """Length of a short line: a random byte finds long ones, the line after it is any line."""
    shortest = end
    for _ in range(probes):
        span = line_at(fd, chance.randrange(end), end)
        after = line_at(fd, span[1], end) if span is not None and span[1] < end else None
        for start, stop in (one for one in (span, after) if one is not None):
            shortest = min(shortest, stop - start)
    return shortest
