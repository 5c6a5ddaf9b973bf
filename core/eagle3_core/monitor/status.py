"""``status.json`` as numbers: whatever the file holds, a screen can show what comes out here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from eagle3_core.monitor.snapshot import Progress, Rates

_MOST = 10**15
"""What is more is no count of anything; it would overflow where it is shown."""


def progress_of(status: Mapping[str, Any] | None) -> Progress:
    """The generator's own numbers; what is missing or of the wrong kind stays at its default."""
    given = status or {}
    values: dict[str, Any] = {}
    for field in fields(Progress):
        value = given.get(field.name)
        if field.type == "str" and isinstance(value, str):
            values[field.name] = value
        elif field.type == "dict[str, int]" and isinstance(value, dict):
            values[field.name] = {
                str(name): count for name, item in value.items() if (count := whole(item))
            }
        elif field.type == "int" and (count := whole(value)) is not None:
            values[field.name] = count
        elif field.type in ("float", "float | None") and (found := number(value)) is not None:
            values[field.name] = found
    return Progress(**values)


def rates_of(status: Mapping[str, Any] | None) -> Rates:
    """The rates that the generator measured itself; ``None`` where it says none."""
    given = (status or {}).get("rates")
    said = given if isinstance(given, dict) else {}
    share = number(said.get("error_share"))
    return Rates(
        requests_s=number(said.get("requests_s")),
        tokens_s=number(said.get("tokens_s")),
        error_share=None if share is None else min(share, 1.0),
    )


def number(value: Any) -> float | None:
    """``value`` where it is a number from 0 on that can be shown."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _MOST:
        return None
    return value


def whole(value: Any) -> int | None:
    """``value`` where it is a whole number from 0 on that can be shown."""
    return value if isinstance(value, int) and number(value) is not None else None
