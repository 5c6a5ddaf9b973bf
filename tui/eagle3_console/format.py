"""Numbers, rates, times and sizes as people read them; pure functions."""

from __future__ import annotations

UNKNOWN = "–"
"""Shown where nothing has been measured yet."""


def count(value: int | None) -> str:
    """A whole number with thousands separated: ``25,000``."""
    return UNKNOWN if value is None else f"{value:,}"


def rate(value: float | None) -> str:
    """Something per second, to three figures: ``0.52``, ``12.4``, ``1,234``."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{value:,.0f}"


def share(value: float | None) -> str:
    """A part of one as per cent: ``8.3 %``, ``83 %``; what is not none or all never reads so."""
    if value is None:
        return UNKNOWN
    percent = value * 100
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99 < percent < 100:
        return f"{int(percent * 10) / 10:.1f} %"
    return f"{percent:.0f} %" if percent == 0 or percent >= 9.95 else f"{percent:.1f} %"


def duration(seconds: float | None) -> str:
    """A length of time with its two largest units: ``12 s``, ``4 min``, ``11 h 52 min``."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    if whole < 600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def rough(seconds: float) -> str:
    """A length of time in one unit: ``45 s``, ``10 min``, ``3 h``."""
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def size(octets: int | None) -> str:
    """Bytes in decimal units: ``712 B``, ``18.2 MB``."""
    if octets is None:
        return UNKNOWN
    value = float(octets)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            digits = 0 if unit == "B" or value >= 99.95 else 1
            return f"{value:.{digits}f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def bar(part: float, width: int) -> tuple[str, str]:
    """A slim bar of ``width`` cells as its filled and its empty piece; ``part`` is 0 to 1."""
    filled = min(width, max(0, int(part * width)))
    if filled == 0 and part > 0 and width:
        filled = 1
    return "━" * filled, "─" * (width - filled)


def middle(text: str, width: int) -> str:
    """``text`` cut in its middle to ``width`` characters, so that both ends stay readable."""
    if len(text) <= width:
        return text
    if width < 2:
        return "…"[:width]
    head = (width - 1) // 3
    return text[:head] + "…" + text[len(text) - (width - 1 - head) :]
