"""The bytes of one row -> the row."""

from __future__ import annotations

import json
from typing import Any

from eagle3_core import codec
from eagle3_core.samples.keys import ID_COLUMNS
from eagle3_core.samples.rows import Malformed, Row


def parse(data: bytes, number: int) -> Row | Malformed:
    """Parse one row; what is no JSON comes back as ``Malformed``, with the parser's own words."""
    try:
        return Row(number, _value(data))
    except (ValueError, RecursionError) as error:
        return Malformed(number, str(error))


def _value(data: bytes) -> Any:
    """The same value with and without orjson, which refuses the NaN that Python's json writes,
    and turns whole numbers above 64 bits into floats: two such ids could become one."""
    try:
        value = codec.loads(data)
    except codec.JSONError:
        value = None
    floats = isinstance(value, dict) and any(isinstance(value.get(n), float) for n in ID_COLUMNS)
    return codec.sanitise(json.loads(data.decode())) if value is None or floats else value
