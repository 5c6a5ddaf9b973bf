"""Repetition: a text that turns in circles, found in time linear in its length."""

from __future__ import annotations

from dataclasses import dataclass

SHORTEST = 1_000
"""Characters that a loop covers at least: an answer may well repeat a line or a table row."""
TURNS = 3
"""Whole turns that a loop makes at least."""
LONGEST_UNIT = 2_048
"""Characters between two turns at most."""
MARKS = "!" * 16
"""What broken weights or a broken cache write: the first token of many vocabularies."""

_PROBE = 32
_STRIDE = 480
_REACH = (512, 1024, 2048)
_TRIES = 4


@dataclass(frozen=True)
class Loop:
    """A stretch of a text in which every character equals the one ``unit`` characters before it."""

    start: int
    end: int
    unit: int

    @property
    def turns(self) -> float:
        """How often the unit is said."""
        return (self.end - self.start) / self.unit


def find_loop(text: str) -> Loop | None:
    """The first loop of at least ``SHORTEST`` characters and ``TURNS`` turns.

    Every 480 characters the next 32 are looked for among those behind them, near by (512)
    at every place and farther (up to 2,048) at every second and fourth, since a long unit makes
    a long loop. Where they come again, the distance is a period, and how far it holds is measured
    by comparing slices. All of that is done by the string methods of the interpreter: 5,000
    characters take about 20 microseconds. It finds every exact loop of the size above, wherever
    it stands, whose unit does not hold the same 32 characters more than 4 times. It does not see
    turns that differ (a counter that runs up, a word that is swapped).
    """
    for number, at in enumerate(range(0, len(text) - SHORTEST + 520, _STRIDE)):
        reach = _REACH[2 if number % 4 == 0 else number % 2 == 0]
        probe = text[at : at + _PROBE]
        again = at
        for _ in range(_TRIES):
            again = text.find(probe, again + 1, at + reach + _PROBE)
            if again < 0:
                break
            loop = _measure(text, at, again - at)
            if loop.end - loop.start >= max(SHORTEST, TURNS * loop.unit):
                return loop
    return None


def _measure(text: str, at: int, unit: int) -> Loop:
    """How far the period holds around a place where it was seen."""
    end = at + unit + _PROBE
    step = _PROBE
    while step:
        if end + step <= len(text) and text.startswith(text[end - unit : end - unit + step], end):
            end += step
            step = min(2 * step, 1 << 16)
        else:
            step //= 2
    start = at
    step = _PROBE
    while step:
        if start >= step and text.endswith(text[start - step + unit : start + unit], 0, start):
            start -= step
            step = min(2 * step, 1 << 16)
        else:
            step //= 2
    return Loop(start, end, unit)
