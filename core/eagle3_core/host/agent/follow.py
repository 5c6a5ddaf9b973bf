"""Follow a growing file by name: its new text, an exact count of its lines, every break in it.

A checkpoint ``{dev, ino, offset, lines, print}`` lets a later agent go on where this one stopped;
``print`` holds the bytes just before the offset, so that a file that was replaced or rewritten is
never taken for the old one.
"""

from __future__ import annotations

import base64
import errno
import os
from typing import Any, Callable, Dict, Mapping

from eagle3_core.host.agent.read import BLOCK, end_of_lines, newlines, start_of_last, why_missing

PRINT = 64
"""Bytes before the offset that prove the file is still the same."""

SLICE = 64 << 20
"""Bytes read in one turn, so that a first count of a huge file does not keep others waiting."""

INTERVAL = 0.1
"""Seconds between two looks at a file that does not grow."""

Emit = Callable[[Dict[str, Any], bytes], None]


class Follow:
    """One followed file. ``turn`` looks once; events go to ``emit`` as a header and raw bytes.

    Args:
        options: ``path``; ``checkpoint`` of an earlier follow; ``lines_back`` or ``bytes_back``,
            how much of the present text to send first; ``count``: count lines from the start of
            the file; ``text``: send text at all; ``cap``: most bytes of text in one event.
    """

    def __init__(self, options: Mapping[str, Any], emit: Emit) -> None:
        self.path = os.path.expanduser(options["path"])
        self.due = 0.0
        self._emit = emit
        self._options = options
        self._checkpoint = options.get("checkpoint")
        self._cap: int = options.get("cap", 262144)
        self._fd = -1
        self._key: tuple[int, int] = (0, 0)
        self._missing: str | None = None
        self._opened = False
        self._restart()

    def _restart(self) -> None:
        self._offset = self._lines = 0
        self._print = b""
        self._sent = 0
        """Offset up to which text was sent, or need not be."""
        self._seeking = False
        """After a gap text starts again at the next start of a line."""

    def turn(self, now: float) -> None:
        """Look at the file once; sets ``due`` to when the next look is due."""
        more = False
        try:
            more = self._look()
        except OSError as error:
            self._lose(why_missing(self.path, error))
            self.close()
        self.due = now if more else now + INTERVAL

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _look(self) -> bool:
        """Send what is new; true when there is more to read at once."""
        if self._fd < 0:
            self._open(self._why_open())
        elif self._read(SLICE):
            return True
        else:
            try:
                facts = os.stat(self.path)
            except OSError as error:
                # The descriptor stays open: a writer may still hold the file, and while it is
                # held its inode number cannot be given to the next one.
                self._lose("removed" if error.errno == errno.ENOENT else str(error.strerror))
                return False
            if (facts.st_dev, facts.st_ino) != self._key:
                self._read(None)  # what the old file got before it was moved away
                self._open("replaced")
            elif self._missing:
                self._missing = None
                self._say_opened("back", True, facts.st_size)
        return self._read(SLICE)

    def _lose(self, reason: str) -> None:
        if self._missing != reason:
            self._missing = reason
            self._emit({"ev": "missing", "reason": reason}, b"")

    def _why_open(self) -> str:
        if self._opened:
            return "replaced"
        return "created" if self._missing else "started"

    def _open(self, why: str) -> None:
        fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.close()
        self._fd = fd
        facts = os.fstat(fd)
        self._key = (facts.st_dev, facts.st_ino)
        self._missing, self._opened = None, True
        self._restart()
        saved, self._checkpoint = self._checkpoint, None
        resumed = saved is not None and self._resume(saved, facts.st_size)
        if saved is not None and not resumed:
            why = "replaced"
        elif why == "started" and not resumed:
            self._skip_history(facts.st_size)
        self._say_opened(why, resumed, facts.st_size)

    def _say_opened(self, why: str, resumed: bool, size: int) -> None:
        self._emit({"ev": "opened", "why": why, "resumed": resumed, "size": size}, b"")

    def _resume(self, saved: Mapping[str, Any], size: int) -> bool:
        if (saved["dev"], saved["ino"]) != self._key or saved["offset"] > size:
            return False
        expected = base64.b64decode(saved["print"])
        if os.pread(self._fd, len(expected), saved["offset"] - len(expected)) != expected:
            return False
        self._offset, self._lines, self._print = saved["offset"], saved["lines"], expected
        self._sent = saved["offset"]
        return True

    def _skip_history(self, size: int) -> None:
        """Set where text begins: the start of a line, as far back as was asked for."""
        lines_back = self._options.get("lines_back")
        if lines_back is not None:
            begin = start_of_last(self._fd, end_of_lines(self._fd, size), lines_back)
        else:
            begin = max(0, size - self._options.get("bytes_back", 65536))
            if begin:
                block = os.pread(self._fd, size - begin + 1, begin - 1)
                begin += max(0, block.find(b"\n"))
        self._sent = begin
        if not self._options.get("count", True):
            self._offset = begin
            self._remember()

    def _remember(self) -> None:
        size = min(PRINT, self._offset)
        self._print = os.pread(self._fd, size, self._offset - size) if size else b""

    def _break(self, size: int) -> str | None:
        if size < self._offset:
            return "truncated"
        before = self._offset - len(self._print)
        if self._print and os.pread(self._fd, len(self._print), before) != self._print:
            return "rewritten"
        return None

    def _read(self, limit: int | None) -> bool:
        """Read on and send one event; true when the file holds more than ``limit`` allowed."""
        size = os.fstat(self._fd).st_size
        broken = self._break(size)
        if broken:
            self._restart()
            self._emit({"ev": broken}, b"")
        if size == self._offset:
            return False
        end = size if limit is None else min(size, self._offset + limit)
        keep = max(self._sent, end - self._cap)
        parts: list[bytes] = []
        added = 0
        while self._offset < end:
            block = os.pread(self._fd, min(BLOCK, end - self._offset), self._offset)
            if not block:
                break  # it shrank while we read; the next look says so
            added += newlines(block)
            parts.append(block[max(0, keep - self._offset) :])
            self._offset += len(block)
        self._lines += added
        self._remember()
        self._send(b"".join(parts), keep, added, size)
        return self._offset < size

    def _send(self, text: bytes, begin: int, added: int, size: int) -> None:
        """One event for what was read.

        Args:
            text: the end of what was read, from offset ``begin`` on.
            added: newlines in all that was read.
            size: of the file.
        """
        if begin > self._sent:
            self._seeking = True
        if self._seeking:
            found = text.find(b"\n") + 1
            self._seeking = not found
            text = text[found:] if found else b""
            begin = self._offset - len(text)
        header = {
            "ev": "data",
            "offset": self._offset,
            "lines": self._lines,
            "new": added,
            "skipped": begin - self._sent,
            "behind": size - self._offset,
            "checkpoint": self._saved(),
        }
        self._sent = max(self._sent, self._offset)
        if not self._options.get("text", True):
            header["skipped"], text = 0, b""
        self._emit(header, text)

    def _saved(self) -> dict[str, Any]:
        device, inode = self._key
        proof = base64.b64encode(self._print).decode()
        return {
            "dev": device,
            "ino": inode,
            "offset": self._offset,
            "lines": self._lines,
            "print": proof,
        }
