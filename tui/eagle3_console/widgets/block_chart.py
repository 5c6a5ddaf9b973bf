"""A chart of eighth blocks with an axis, as rows of text; no terminal in here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from eagle3_console import format as fmt

BLOCKS = " ▁▂▃▄▅▆▇█"
AXIS_CELLS = 7
"""Cells for the numbers at the left, the axis included."""


def columns(
    times: Sequence[float], values: Sequence[float], width: int
) -> tuple[list[float | None], float]:
    """Mean value per column, newest at the right, and the seconds that one column stands for.

    Columns without a point are ``None``: a gap in the data is a gap in the picture. A point that
    falls just beside its column, as clocks jitter, still fills it.
    """
    if not times or width < 1:
        return [None] * width, 0.0
    steps = [after - before for before, after in pairwise(times)]
    interval = median(steps) if steps else 1.0
    step = max(interval, (times[-1] - times[0]) / max(1, width - 1)) or 1.0
    gathered: list[list[float]] = [[] for _ in range(width)]
    for at, value in zip(times, values, strict=True):
        column = width - 1 - round((times[-1] - at) / step)
        if 0 <= column < width:
            gathered[column].append(value)
    means: list[float | None] = [sum(cell) / len(cell) if cell else None for cell in gathered]
    for n in range(1, width - 1):
        if means[n] is None and means[n - 1] is not None and gathered[n + 1]:
            means[n] = means[n - 1]
    return means, step


def ceiling(values: Sequence[float | None]) -> float:
    """The top of the axis: the next round number above the largest value."""
    top = max((value for value in values if value is not None), default=0.0)
    if top <= 0:
        return 1.0
    unit = 1.0
    while unit * 10 <= top:
        unit *= 10
    while unit > top:
        unit /= 10
    return next(unit * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if unit * step >= top)


def bars(values: Sequence[float | None], top: float, height: int) -> list[str]:
    """Rows of blocks, the uppermost first; a value above nought is never drawn as nothing."""
    rows = []
    for row in range(height - 1, -1, -1):
        line = ""
        for value in values:
            eighths = 0 if value is None else round(value / top * height * 8)
            if value and eighths == 0:
                eighths = 1
            line += BLOCKS[min(8, max(0, eighths - row * 8))]
        rows.append(line)
    return rows


def axis(top: float, height: int) -> list[str]:
    """Labels at the left of each row: the top, the middle where there is room, and nought."""
    labels = [""] * height
    labels[0] = fmt.rate(top)
    if height >= 6 and height % 2 == 0:
        labels[height // 2] = fmt.rate(top / 2)
    labels[-1] = "0" if height > 1 else labels[0]
    return [f"{label:>{AXIS_CELLS - 2}} {'┤' if label else '│'}" for label in labels]


def time_axis(step: float, width: int) -> str:
    """``−10 min`` at the left, ``now`` at the right."""
    left = f"−{fmt.rough(step * width)}"
    gap = width - len(left) - len("now")
    return f"{left}{' ' * gap}now" if gap >= 1 else f"{'now':>{width}}"
