"""The wire: each message is one JSON line; a header with ``n`` is followed by exactly n raw bytes.

Bytes of logs and journals travel raw, so that no encoding and no escaping can damage them.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, BinaryIO, Dict

Header = Dict[str, Any]


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault
    """An operation that cannot be done, told to the other side.

    Args:
        kind: one word for programs, e.g. ``busy``.
        message: what is wrong, naming the thing.
        mend: what to do about it; empty when there is nothing to say.
    """

    def __init__(self, kind: str, message: str, mend: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.mend = mend


class Wire:
    """Both directions of the channel. ``send`` may be called from any thread."""

    def __init__(self, source: BinaryIO, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()

    def send(self, header: Header, body: bytes = b"") -> None:
        """Write one message whole; ends the process when nobody reads any more."""
        if body:
            header = dict(header, n=len(body))
        line = json.dumps(header, separators=(",", ":")).encode() + b"\n"
        rest = memoryview(line + body)
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:
                os._exit(0)

    def receive(self) -> tuple[Header, bytes] | None:
        """The next message, or ``None`` at the end of the input."""
        line = self._source.readline()
        if not line.endswith(b"\n"):
            return None
        header = json.loads(line.decode())
        size = header.get("n", 0)
        body = self._source.read(size) if size else b""
        return (header, body) if len(body) == size else None
