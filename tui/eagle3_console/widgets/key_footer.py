"""The lowest line: the keys that matter now, the most important ones when there is little room."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from eagle3_console.actions import Action
from eagle3_core.monitor.snapshot import Snapshot

GAP = "  "


class KeyFooter(Widget):
    """Keys from the table of actions; what cannot be done now is dim and struck through."""

    def __init__(self, actions: Sequence[Action], *, read_only: bool, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self._actions = [action for action in actions if action.footer]
        self._read_only = read_only
        self._off: frozenset[str] = frozenset()

    def show(self, snapshot: Snapshot | None) -> None:
        """Dim what cannot be done with the run as it is."""
        off = frozenset(action.id for action in self._actions if action.when(snapshot))
        if off != self._off:
            self._off = off
            self.refresh()

    @property
    def text(self) -> str:
        return self.render().plain

    def render(self) -> Content:
        width = self.size.width
        head = Content.styled("read-only", "bold $text-warning") if self._read_only else Content("")
        room = width - head.cell_length
        kept: list[Action] = []
        for action in sorted(self._actions, key=lambda action: action.footer):
            need = len(action.key_names) + 1 + len(action.label) + len(GAP)
            if need <= room:
                kept.append(action)
                room -= need
        shown = [head] if self._read_only else []
        shown += [self._item(action) for action in self._actions if action in kept]
        return Content(GAP).join(shown)

    def _item(self, action: Action) -> Content:
        if action.id in self._off:
            words = (f"{action.key_names} {action.label}", "$text-disabled strike")
            item = Content.assemble(words)
        else:
            item = Content.assemble(
                (action.key_names, "bold $footer-key-foreground"),
                (f" {action.label}", "$text-muted"),
            )
        call = action.call if action.call.startswith("app.") else f"screen.{action.call}"
        return item.stylize(Style.from_meta({"@click": call}))
