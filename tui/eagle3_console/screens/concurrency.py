"""How many requests at a time: a number or ``auto``, taken by the run while it goes."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from eagle3_core.generation.concurrency import HIGHEST, setting
from eagle3_core.text import printable


class ConcurrencyScreen(ModalScreen[int | str | None]):
    """Ends with the new setting, or ``None``.

    Args:
        now: the setting as the run says it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, now: str) -> None:
        super().__init__()
        self._now = now
        self._effect = Static(id="effect")

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(Content.styled("Requests in flight", "bold"), id="question")
            field = Input(placeholder="64, or auto", id="setting")
            field.cursor_blink = False
            yield field
            yield self._effect

    def on_mount(self) -> None:
        self.query_one("#setting", Input).focus()
        self._say(f"now {self._now}; enter changes it at once, esc leaves it")

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value and _parse(event.value) is None:
            self._say(f"give a whole number from 1 to {HIGHEST:,}, or auto")
        else:
            self._say(f"now {self._now}; enter changes it at once, esc leaves it")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        value = _parse(event.value)
        if value is not None:
            self.dismiss(value)

    def _say(self, text: str) -> None:
        self._effect.update(Content(printable(text)))


def _parse(text: str) -> int | str | None:
    try:
        return setting(text)
    except ValueError:
        return None
