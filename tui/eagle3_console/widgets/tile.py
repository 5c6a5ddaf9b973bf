"""One number: its name, its value, and one line on how to read it."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from eagle3_console.words import TONES
from eagle3_core.text import printable


class Tile(Widget):
    """Redrawn only when what it shows has changed."""

    def __init__(self, label: str, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self._label = label
        self._shown: tuple[str, str, tuple[str, ...], str] = ("–", "", (), "plain")

    def show(
        self, value: str, *details: str, unit: str = "", tone: str = "plain", stale: str = ""
    ) -> None:
        """Show a value; of ``details``, longest first, the first that fits is written under it.

        A ``stale`` value is dim, and its age stands in the place of the details.
        """
        if stale:
            details, tone = (stale,), "dim"
        shown = (value, unit, details, tone)
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    @property
    def text(self) -> str:
        """Label, value and detail as they stand on the screen."""
        return self.render().plain

    def render(self) -> Content:
        value, unit, details, tone = self._shown
        width = self.size.width
        if unit and cell_len(value + unit) + 1 > width:
            unit = ""
        detail = next((text for text in details if cell_len(text) <= width), "")
        if details and not detail:
            detail = details[-1]
        return Content.assemble(
            (self._label, "$text-muted"),
            "\n",
            (printable(value), f"bold {TONES[tone]}"),
            (f" {unit}" if unit else "", "$text-muted"),
            "\n",
            self._detail(printable(detail)),
        )

    def _detail(self, detail: str) -> Content:
        return Content.styled(detail, "$text-muted")


class BarTile(Tile):
    """A tile whose lowest line is a slim bar with its share."""

    def __init__(self, label: str, widget_id: str) -> None:
        super().__init__(label, widget_id)
        self._part = 0.0

    def show_part(self, part: float) -> None:
        """Set how full the bar is, 0 to 1; drawn with the next :meth:`show` or at once."""
        if part != self._part:
            self._part = part
            self.refresh()

    def _detail(self, detail: str) -> Content:
        from eagle3_console.format import bar

        filled, empty = bar(self._part, max(0, self.size.width - cell_len(detail) - 1))
        return Content.assemble(
            (filled, "$text-accent"), (empty, "$border-blurred"), (f" {detail}", "$text-muted")
        )
