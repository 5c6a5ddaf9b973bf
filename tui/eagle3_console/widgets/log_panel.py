"""The log with its title, its search line, and the word on what is below."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from eagle3_console.log_fold import Row, fold, note
from eagle3_console.messages import LogArrived
from eagle3_console.widgets.panel import Panel
from eagle3_console.widgets.tail_log import TailLog
from eagle3_core.text import printable


class FindLine(Input):
    """Where a search is typed; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def action_close(self) -> None:
        panel = self.query_ancestor(LogPanel)
        panel.close_search()


class LogPanel(Panel):
    """``inference.log`` as it grows."""

    NUMBER = 2
    NAME = "Log"

    def __init__(self, widget_id: str) -> None:
        self.tail = TailLog("tail")
        self._find = FindLine(placeholder="search the log, any case", id="find", compact=True)
        self._find.cursor_blink = False
        self._find.display = False
        self._age = ""
        self._missing = ""
        self._partial = ""
        self._placeholder = ""
        super().__init__(widget_id)

    def compose(self) -> ComposeResult:
        yield self.tail
        yield self._find

    def arrive(self, message: LogArrived) -> None:
        """Take in the lines of one flush."""
        rows: list[Row] = []
        if message.dropped:
            rows.append(note(f"{message.dropped:,} lines came too fast to show"))
        for entry in message.entries:
            if entry.is_note and entry.text.startswith("missing"):
                self._missing = entry.text.removeprefix("missing: ")
                self._show_placeholder()
                if not self.tail.rows.pieces:
                    continue
            rows.append(note(entry.text) if entry.is_note else fold(entry.text))
        if rows or message.partial != self._partial:
            self._partial = message.partial
            self.tail.write(rows, fold(message.partial) if message.partial else None)

    def show_state(self, placeholder: str, age: str) -> None:
        """Words for an empty log, and the age of its data when the link is not live."""
        self._placeholder = placeholder
        self._show_placeholder()
        if age != self._age:
            self._age = age
            self._retitle()

    def open_search(self) -> None:
        self._find.display = True
        self._find.focus()

    def close_search(self) -> None:
        """Put the search line away and forget the search."""
        self._find.value = ""
        self._find.display = False
        self.tail.search("")
        self.tail.focus()

    @property
    def searching(self) -> bool:
        """A search is being typed or shown."""
        return self._find.display or self.tail.match_place is not None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.tail.search(event.value)
        self._find.display = False
        self.tail.focus()

    def on_tail_log_changed(self) -> None:
        self._retitle()

    def _show_placeholder(self) -> None:
        missing = f"No log yet, {self._missing}\n" if self._missing else ""
        self.tail.set_placeholder(printable(missing + self._placeholder))

    def _retitle(self) -> None:
        tail = self.tail
        details = []
        if self._age:
            details.append(self._age)
        if (place := tail.match_place) is not None:
            details += [
                f"match {place[0]} of {place[1]}" if place[1] else "no match",
                f"“{self._find.value}”",
            ]
        details.append("following" if tail.following else "held")
        if tail.wrap:
            details.append("wrapped")
        below = "" if tail.following else f"↓ +{tail.unseen:,} new lines · f to follow"
        self.retitle(" · ".join(details), below)
