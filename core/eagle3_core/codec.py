"""JSON in and out: orjson where it is installed, the standard library otherwise.

Both give the same bytes for what we write: compact, UTF-8, one line. A lone surrogate, which
JSON can spell and UTF-8 cannot hold, becomes U+FFFD on the way in, so that every record that is
written can be read back by any reader.
"""

from __future__ import annotations

import json
import re
from typing import Any

try:
    import orjson
except ImportError:  # the host's own Python often has none
    orjson = None  # type: ignore[assignment]

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR_OR_LONE = re.compile("([\ud800-\udbff])([\udc00-\udfff])|[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class JSONError(ValueError):
    """The bytes are not one JSON value."""


def loads(data: bytes, *, keep_surrogates: bool = False) -> Any:
    """Parse one JSON value from UTF-8 bytes; lone surrogates become U+FFFD.

    Args:
        data: the bytes.
        keep_surrogates: leave lone surrogates in the strings, for text that comes in pieces: the
            other half of a pair may be in the next one. :func:`mend` is then the caller's to call.

    Raises:
        JSONError: when ``data`` is not JSON, or not UTF-8.
    """
    if orjson is not None:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            # orjson refuses lone surrogates, which servers do send (they decode token by token).
            if not _SURROGATE_ESCAPE.search(data):
                raise JSONError(str(error)) from None
    try:
        value = json.loads(data.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise JSONError(str(error)) from None
    if keep_surrogates or not _SURROGATE_ESCAPE.search(data):
        return value
    return sanitise(value)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")  # the standard library lets it pass, orjson does not


def dumps(value: Any) -> bytes:
    """One line of compact UTF-8 JSON without the newline. Raises ``TypeError`` for foreign types."""
    if orjson is not None:
        try:
            return orjson.dumps(value)
        except TypeError:
            # Integers above 64 bits and lone surrogates are beyond orjson; the slow way takes both.
            pass
    text = json.dumps(sanitise(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def mend(text: str) -> tuple[str, bool]:
    """``text`` with surrogate pairs joined and lone halves replaced; whether any were lone."""
    if not _SURROGATE.search(text):
        return text, False
    mended = _PAIR_OR_LONE.sub(_join, text)
    return mended, "\ufffd" in mended and mended.count("\ufffd") > text.count("\ufffd")


def _join(match: re.Match[str]) -> str:
    if match[1] is None:
        return "\ufffd"
    return chr(0x10000 + ((ord(match[1]) - 0xD800) << 10) + (ord(match[2]) - 0xDC00))


def has_lone_surrogates(data: bytes) -> bool:
    """Whether JSON bytes spell a lone surrogate, which :func:`loads` replaces."""
    if not _SURROGATE_ESCAPE.search(data):
        return False
    return bool(_SURROGATE.search(json.dumps(json.loads(data), ensure_ascii=False)))


def sanitise(value: Any) -> Any:
    """``value`` with every lone surrogate in every string replaced by U+FFFD."""
    if isinstance(value, str):
        return mend(value)[0]
    if isinstance(value, dict):
        return {sanitise(key): sanitise(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [sanitise(item) for item in value]
    return value
