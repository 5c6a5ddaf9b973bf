"""The one page that is always open: status, numbers, throughput, findings, log, sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from eagle3_console import words
from eagle3_console.actions import Action, bindings
from eagle3_console.messages import LogArrived, RecordsArrived
from eagle3_console.sample_store import SampleStore
from eagle3_console.screens.dashboard_keys import DashboardKeys
from eagle3_console.widgets.findings_panel import FindingsPanel
from eagle3_console.widgets.key_footer import KeyFooter
from eagle3_console.widgets.log_panel import LogPanel
from eagle3_console.widgets.rate_chart import RateChart
from eagle3_console.widgets.sample_view import SamplePanel
from eagle3_console.widgets.status_line import StatusLine
from eagle3_console.widgets.tiles import Tiles
from eagle3_core.monitor.snapshot import Finding, Snapshot
from eagle3_core.records import Record

DWELL_S = 2.0
"""A sample that is followed stays at least this long, so that it can be read."""


class Dashboard(DashboardKeys, Screen[None]):
    """Hands what arrives to the widgets; each redraws itself only where something changed.

    Args:
        clock: epoch seconds now; all ages on the screen are reckoned from it.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings()
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-normal"),
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (30, "-medium"),
        (42, "-tall"),
    ]

    def __init__(
        self, actions: Sequence[Action], clock: Callable[[], float], *, read_only: bool
    ) -> None:
        super().__init__()
        self.store = SampleStore()
        self.snapshot: Snapshot | None = None
        self.frozen_since: float | None = None
        self._ended = ""
        self._clock = clock
        self._status = StatusLine("status")
        self._tiles = Tiles("tiles")
        self._panels = Container(id="panels")
        self._chart = RateChart("throughput")
        self._findings = FindingsPanel("findings")
        self._log_panel = LogPanel("log")
        self._sample = SamplePanel("sample")
        self._footer = KeyFooter(actions, read_only=read_only, widget_id="footer")
        self._bad_lines = 0
        self._sample_since = float("-inf")

    def compose(self) -> ComposeResult:
        yield self._status
        yield self._tiles
        with self._panels:
            yield self._chart
            yield self._findings
            yield self._log_panel
            yield self._sample
        yield self._footer

    def on_mount(self) -> None:
        self.tick()
        self.set_interval(1.0, self.tick)
        self._log_panel.tail.focus()

    def picture(self, snapshot: Snapshot) -> None:
        """Draw a new snapshot."""
        self.snapshot = snapshot
        self.tick()

    def log_lines(self, message: LogArrived) -> None:
        """Add log lines."""
        self._log_panel.arrive(message)

    def records(self, message: RecordsArrived) -> None:
        """Take in records as they land."""
        self._bad_lines += message.bad_lines
        self.store.add(message.records)
        self._advance()
        self._sample.show(self.store)
        self.tick()

    def older_records(self, records: list[Record]) -> None:
        """Take in records that landed before the console came."""
        self.store.add(records, older=True)
        self._advance()

    def watch_ended(self, reason: str) -> None:
        """Tell why nothing new will come."""
        self._ended = reason
        self.tick()

    def tick(self) -> None:
        """Bring every age and every state up to now."""
        snapshot, now = self.snapshot, self._clock()
        self._footer.show(snapshot)
        age = words.stale_words(snapshot, now)
        chart_words = words.nothing_yet(snapshot, "throughput")
        log_words = words.nothing_yet(snapshot, "log")
        sample_words = words.nothing_yet(snapshot, "sample")
        if snapshot is not None and snapshot.lines == 0 and snapshot.lines_detail:
            sample_words = f"0 lines: {snapshot.lines_detail}\n{sample_words}"
        points = () if snapshot is None or words.has_not_begun(snapshot) else snapshot.points
        self._chart.show(points, chart_words, age)
        self._log_panel.show_state(log_words, age)
        self._sample.show_state(self.store, sample_words, age, self._bad_lines)
        if now - self._sample_since >= DWELL_S:
            self._advance()
        if snapshot is None:
            return
        self._status.show(snapshot, now, self.frozen_since)
        self._tiles.show(snapshot, now)
        findings = words.notices(snapshot, now)
        if self._ended:
            mend = "leave with q and come back"
            findings = (Finding("the watch ended", "error", self._ended, "", mend), *findings)
        self._findings.show(findings, snapshot.progress, age)
        self._panels.set_class(not findings, "-quiet")

    def show_sample(self) -> None:
        """Draw the store's record."""
        self._sample_since = self._clock()
        self._sample.show(self.store)

    def _advance(self) -> None:
        if self.store.shown is not None and self._clock() - self._sample_since < DWELL_S:
            return
        if self.store.advance():
            self.show_sample()
