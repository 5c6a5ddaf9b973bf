"""Throughput over time: requests, tokens and failures a second, each on its own axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import chop_cells
from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from eagle3_console import format as fmt
from eagle3_console.widgets import block_chart
from eagle3_console.widgets.panel import Panel
from eagle3_core.monitor.snapshot import Point
from eagle3_core.text import printable

STACK_FROM = 18
"""Rows from which the charts stand one above the other, each as wide as the panel."""
GAP = 2
ROOMY, ROOM_FOR_MAX = 36, 32
"""Cells from which the head line stands over the bars, and from which it names the maximum."""


@dataclass(frozen=True)
class Series:
    """One small chart."""

    name: str
    field: str
    unit: str


SERIES = (
    Series("requests", "requests_s", "req/s"),
    Series("tokens", "tokens_s", "tok/s"),
    Series("errors", "errors_s", "failed/s"),
)


class RateChart(Panel):
    """Three small charts, side by side or stacked, drawn anew only when the points change."""

    NUMBER = 1
    NAME = "Throughput"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chart--requests",
        "chart--tokens",
        "chart--errors",
        "chart--axis",
        "chart--value",
    }

    def __init__(self, widget_id: str) -> None:
        super().__init__(widget_id)
        self._points: tuple[Point, ...] = ()
        self._placeholder = ""
        self._lines: list[list[tuple[str, str]]] | None = None
        self._drawn_size = Size(0, 0)

    def show(self, points: tuple[Point, ...], placeholder: str, age: str) -> None:
        """Draw points, or words while there are none."""
        self.retitle(age)
        if points != self._points or placeholder != self._placeholder:
            self._points, self._placeholder = points, placeholder
            self._lines = None
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """One screen line of all charts."""
        width = self.size.width
        if self._lines is None or self._drawn_size != self.size:
            self._drawn_size = self.size
            self._lines = self._draw(width, self.size.height)
        line = self._lines[y] if y < len(self._lines) else []
        base = self.rich_style
        segments = [
            Segment(text, self.get_component_rich_style(f"chart--{part}") if part else base)
            for text, part in line
        ]
        return Strip(segments).crop_extend(0, width, base)

    def _draw(self, width: int, height: int) -> list[list[tuple[str, str]]]:
        if not self._points:
            parts = chop_cells(printable(self._placeholder), max(10, width - 4))
            return [[], *([(f"  {part}", "axis")] for part in parts)]
        series = self._series()
        if height >= STACK_FROM:
            each = height // len(series)
            return [line for one in series for line in self._chart(one, width, each)]
        each = (width - GAP * (len(series) - 1)) // len(series)
        charts = [self._chart(one, each, height) for one in series]
        return [
            [piece for n, chart in enumerate(charts) for piece in _apart(chart[y], n)]
            for y in range(height)
        ]

    def _series(self) -> list[Series]:
        """Failures get a chart of their own once there are any."""
        return [
            series
            for series in SERIES
            if series.name != "errors" or any(point.errors_s for point in self._points)
        ]

    def _chart(self, series: Series, width: int, height: int) -> list[list[tuple[str, str]]]:
        """Head line, ``height - 2`` rows of blocks, time axis."""
        times = [point.at for point in self._points]
        values = [float(getattr(point, series.field)) for point in self._points]
        plot = max(1, width - block_chart.AXIS_CELLS)
        means, step = block_chart.columns(times, values, plot)
        top = block_chart.ceiling(means)
        rows = max(1, height - 2)
        head = " " * (block_chart.AXIS_CELLS if width >= ROOMY else 2) + series.unit
        peaks = f" now {fmt.rate(values[-1])}"
        if width >= ROOM_FOR_MAX:
            peaks += f" · max {fmt.rate(max(values))}"
        lines = [[(head, "value"), (f"{peaks:<{max(0, width - len(head))}}", "axis")]]
        labels = block_chart.axis(top, rows)
        for label, blocks in zip(labels, block_chart.bars(means, top, rows), strict=True):
            lines.append([(label, "axis"), (blocks, series.name)])
        when = block_chart.time_axis(step, plot)
        lines.append([(" " * block_chart.AXIS_CELLS + when, "axis")])
        return lines


def _apart(line: list[tuple[str, str]], number: int) -> list[tuple[str, str]]:
    return [(" " * GAP, ""), *line] if number else line
