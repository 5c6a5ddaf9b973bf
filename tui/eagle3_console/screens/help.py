"""All keys on one page, out of the table of actions, and what the glyphs mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from eagle3_console.actions import Action

GLYPHS = (
    ("● ◐ ○ ✖", "link: connected, connecting, lost, failed"),
    ("▶ ▽ ■ ✖", "run: running, draining, ended, failed"),
    ("✔ ! ✖", "sample: done, look at it, empty or failed"),
)
KEY_CELLS = 9


class HelpScreen(ModalScreen[None]):
    """Closed by the keys that people try."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", show=False)
    ]

    def __init__(self, actions: Sequence[Action]) -> None:
        super().__init__()
        self._actions = actions

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Keys"
            box.border_subtitle = "esc to close"
            yield Static(self.page(), id="help-page")

    def page(self) -> Content:
        """Actions by group, then the glyphs."""
        lines: list[Content] = []
        for group, actions in groupby(self._actions, key=lambda action: action.group):
            lines.append(Content.styled(group, "bold $text-accent"))
            lines += [
                Content.assemble(
                    (f"  {action.key_names:<{KEY_CELLS}}", "bold $foreground"),
                    (action.help, "$text-muted"),
                )
                for action in actions
            ]
            lines.append(Content(""))
        lines.append(Content.styled("Glyphs", "bold $text-accent"))
        for glyphs, meaning in GLYPHS:
            lines.append(
                Content.assemble((f"  {glyphs:<{KEY_CELLS}}", "bold"), (meaning, "$text-muted"))
            )
        return Content("\n").join(lines)
