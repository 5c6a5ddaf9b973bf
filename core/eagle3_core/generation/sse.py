"""Server-sent events from bytes, right on every framing.

The format is the WHATWG HTML Living Standard's (section 9.2.6). Decoding is from bytes, since
model text holds U+2028 and U+0085, which ``str.splitlines`` takes for line ends.
"""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_DATA = b"data: "
_NEXT_DATA = b"\n\ndata: "


@dataclass(frozen=True)
class Event:
    """One dispatched event that carried data."""

    data: bytes
    name: bytes = b"message"


class Decoder:
    """Bytes in, in pieces of any size; events out."""

    def __init__(self) -> None:
        self._rest = b""
        self._at_start = True

    def feed(self, data: bytes) -> list[Event]:
        """The events that ``data`` completes, oldest first. Blocks without data give none."""
        return events(self.blocks(data))

    def blocks(self, data: bytes) -> bytes:
        """The blocks that ``data`` completes, as they came but for line ends, which are LF here."""
        data = self._rest + data
        if self._at_start:
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._rest = data
                return b""
            data = data.removeprefix(_BOM)
            self._at_start = False
        held = b""
        if b"\r" in data:
            if data.endswith(b"\r"):  # the LF of a CRLF may still be on its way
                data, held = data[:-1], b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = data.rfind(b"\n\n")
        if end < 0:
            self._rest = data + held
            return b""
        self._rest = data[end + 2 :] + held
        return data[:end]

    def close(self) -> list[Event]:
        """What the end of the stream leaves: an event whose blank line never came.

        The standard drops it; we keep it, since a server that ends cleanly after its last chunk
        has said all it had to say. Half an event is not JSON and fails later, by name.
        """
        data, self._rest = self._rest.replace(b"\r", b"\n"), b""
        return events(data)


def plain_data(blocks: bytes) -> bytes | None:
    """The data of all ``blocks``, joined by commas, when each is one ``data: `` line.

    That is what servers send nearly always, and finding it so costs a twentieth of making events.
    ``None``: something else is among them, :func:`events` must tell.
    """
    if not blocks.startswith(_DATA) or blocks.count(b"\n") != 2 * blocks.count(_NEXT_DATA):
        return None
    return blocks[len(_DATA) :].replace(_NEXT_DATA, b",")


def events(blocks: bytes) -> list[Event]:
    """What :meth:`Decoder.blocks` gave, as events."""
    return [event for block in blocks.split(b"\n\n") if (event := _event(block))]


def _event(block: bytes) -> Event | None:
    data: list[bytes] = []
    name = b"message"
    for line in block.split(b"\n"):
        label, colon, value = line.partition(b":")
        if not label:  # a comment, or nothing
            continue
        value = value[1:] if value.startswith(b" ") else value
        if label == b"data":
            data.append(value if colon else b"")
        elif label == b"event":
            name = value or b"message"
    payload = b"\n".join(data)
    return Event(payload, name) if payload else None
