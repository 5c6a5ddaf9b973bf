"""What the keys of the dashboard do to what is seen; commands to the run are the app's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.screen import Screen
from textual.widget import Widget

from eagle3_console.clipboard import fits
from eagle3_console.sample_file import save_record
from eagle3_console.widgets.log_panel import LogPanel
from eagle3_console.widgets.sample_view import record_text
from eagle3_console.widgets.tail_log import TailLog

if TYPE_CHECKING:
    from eagle3_console.sample_store import SampleStore

PANELS = ("throughput", "findings", "log", "sample")
FOCUS_ORDER = ("tail", "reasoning", "content", "findings-scroll")


class DashboardKeys(Screen[None]):
    """Actions of the dashboard."""

    store: SampleStore
    _log_panel: LogPanel

    def show_sample(self) -> None:
        raise NotImplementedError

    # panels

    def action_solo(self, panel: str) -> None:
        """Show one panel alone; the same key again brings all back."""
        panels = self.query_one("#panels")
        if panels.has_class(f"-solo-{panel}"):
            self._show_all()
            return
        self._show_all()
        panels.add_class("-solo", f"-solo-{panel}")
        inside = {"log": "tail", "sample": "reasoning", "findings": "findings-scroll"}
        if panel in inside:
            self.query_one(f"#{inside[panel]}").focus()

    def action_overview(self) -> None:
        """One step back: the search first, then the enlarged panel."""
        log = self._log_panel
        if log.searching:
            log.close_search()
        else:
            self._show_all()

    def action_next_panel(self) -> None:
        """Focus the next panel that can be seen."""
        seen = [name for name in FOCUS_ORDER if self._is_seen(self.query_one(f"#{name}"))]
        if not seen:
            return
        current = self.focused.id if self.focused is not None else None
        at = seen.index(current) + 1 if current in seen else 0
        self.query_one(f"#{seen[at % len(seen)]}").focus()

    def action_go_top(self) -> None:
        self._scroller().scroll_home(animate=False)

    def action_go_bottom(self) -> None:
        scroller = self._scroller()
        if isinstance(scroller, TailLog):
            scroller.follow()
        else:
            scroller.scroll_end(animate=False)

    # log

    def action_search(self) -> None:
        if not self._is_seen(self._log_panel):
            self.action_solo("log")
        self._log_panel.open_search()

    def action_match(self, direction: int) -> None:
        if self._log_panel.tail.match_place is None:
            self._say("nothing to search for yet: press / first", "warning")
        self._log_panel.tail.step(direction)

    def action_follow(self) -> None:
        self._log_panel.tail.follow()

    def action_wrap(self) -> None:
        self._log_panel.tail.toggle_wrap()

    # sample

    def action_sample_step(self, direction: int) -> None:
        if not self.store.listed():
            self._say("no samples seen yet", "warning")
        self.store.step(direction)
        self.show_sample()

    def action_latest(self) -> None:
        self.store.latest()
        self.show_sample()

    def action_flagged(self) -> None:
        only = self.store.toggle_flagged()
        if only and not self.store.listed():
            self._say("no flagged samples among those seen", "information")
        self.show_sample()

    def action_save(self) -> None:
        """Write the shown record to a file in the working directory."""
        record = self.store.shown
        if record is None:
            self._say("no sample to save", "warning")
            return
        try:
            path = save_record(record)
        except OSError as error:
            self._say(f"not saved: {error.strerror}: {error.filename}", "error")
            return
        self._say(f"saved to {path}", "information")

    def action_copy(self) -> None:
        """Copy the selection; else what the focused log shows; else the sample."""
        text, what = self.get_selected_text() or "", "selection"
        if not text and isinstance(self.focused, TailLog):
            text, what = self.focused.visible_text(), "log on screen"
        elif not text and self.store.shown is not None:
            text, what = record_text(self.store.shown), "sample"
        if not text:
            self._say("nothing to copy", "warning")
        elif not fits(text):
            self._say("too long for a terminal's clipboard: save it with o", "warning")
        else:
            self.app.copy_to_clipboard(text)
            self._say(f"copied: {what}, {len(text):,} characters", "information")

    def _show_all(self) -> None:
        self.query_one("#panels").remove_class("-solo", *(f"-solo-{name}" for name in PANELS))

    def _scroller(self) -> Widget:
        focused = self.focused
        return (
            focused if focused is not None and focused.id in FOCUS_ORDER else self._log_panel.tail
        )

    @staticmethod
    def _is_seen(widget: Widget) -> bool:
        return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))

    def _say(self, text: str, severity: Literal["information", "warning", "error"]) -> None:
        self.notify(text, severity=severity, markup=False)
