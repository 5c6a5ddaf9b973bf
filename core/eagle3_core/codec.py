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
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class JSONError(ValueError):
    """The bytes are not one JSON value."""


def loads(data: bytes) -> Any:
    """Parse one JSON value from UTF-8 bytes; lone surrogates become U+FFFD.

    Raises:
        JSONError: when ``data`` is not JSON, or not UTF-8.
    """
    if orjson is not None:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            # orjson refuses lone surrogates, which servers do send (vLLM cuts tokens in mid-character).
            if not _SURROGATE_ESCAPE.search(data):
                raise JSONError(str(error)) from None
    try:
        value = json.loads(data)
    except ValueError as error:
        raise JSONError(str(error)) from None
    return sanitise(value) if _SURROGATE_ESCAPE.search(data) else value


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


def sanitise(value: Any) -> Any:
    """``value`` with every lone surrogate in every string replaced by U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {sanitise(key): sanitise(item) for key, item in value.items()}
    if isinstance(value, list):
        return [sanitise(item) for item in value]
    return value
