"""Rates from counters that are read now and then, and may start over."""

from __future__ import annotations

from collections import deque


class Meter:
    """Growth per second of a counter over a sliding window.

    A counter that falls was restarted: what it shows then is its growth since, never a negative
    rate (the rule of Prometheus' ``rate``).

    Args:
        window_s: seconds to look back.
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._total = 0.0
        self._last: float | None = None
        self._points: deque[tuple[float, float]] = deque()

    def add(self, at: float, value: float) -> None:
        """Take a reading, ``at`` in seconds; a clock that was set back begins a new window."""
        if self._points and at < self._points[-1][0]:
            self._points.clear()
        if self._last is not None:
            self._total += value - self._last if value >= self._last else value
        self._last = value
        self._points.append((at, self._total))
        # One point older than the window stays, so that the window is always spanned.
        while len(self._points) > 2 and self._points[1][0] <= at - self._window_s:
            self._points.popleft()

    @property
    def rate(self) -> float | None:
        """Growth per second; ``None`` with less than two readings."""
        if len(self._points) < 2:
            return None
        (begin, low), (end, high) = self._points[0], self._points[-1]
        return (high - low) / (end - begin) if end > begin else None

    def forget(self) -> None:
        """Drop the window, as after a gap in the readings."""
        self._points.clear()
        self._last = None
