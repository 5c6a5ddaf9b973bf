"""A framed part of the dashboard: the key that enlarges it, its name, and what stands beside it."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.widget import Widget

from eagle3_core.text import printable


class Panel(Widget):
    """Base of the numbered panels; writes its title only when it changes."""

    NUMBER: ClassVar[int]
    NAME: ClassVar[str]

    def __init__(self, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self._shown: tuple[str, str] | None = None
        self.retitle()

    def retitle(self, detail: str = "", below: str = "") -> None:
        """Write ``1 Name · detail`` into the upper border and ``below`` into the lower one."""
        if (detail, below) == self._shown:
            return
        self._shown = (detail, below)
        parts = [(f" {self.NUMBER} ", "bold $text-accent"), (f"{self.NAME} ", "bold $foreground")]
        if detail:
            parts.append((f"· {printable(detail)} ", "not bold $text-muted"))
        self._set_borders(Content.assemble(*parts), below)

    def _set_borders(self, title: Content, below: str) -> None:
        self.border_title = title
        subtitle = Content.styled(f" {printable(below)} " if below else "", "bold $text-accent")
        self.border_subtitle = subtitle
