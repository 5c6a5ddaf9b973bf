"""The log on screen: followed until the reader moves, and never drifting under them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from eagle3_console.log_fold import Row
from eagle3_console.log_rows import LogRows

GUTTER = 2
"""Cells before the text, for the glyph of an error or a warning."""


class TailLog(ScrollView, can_focus=True):
    """Rows of a log. Text in it is never markup and can be selected with the mouse."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log--error",
        "log--warning",
        "log--note",
        "log--match",
        "log--match-current",
        "log--placeholder",
    }
    ALLOW_SELECT = True

    class Changed(Message):
        """Follow, rows or matches changed; the panel's title tells of it."""

    def __init__(self, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self.rows = LogRows()
        self.following = True
        self.unseen = 0
        """Rows that came since the reader left the end."""
        self.wrap = False
        self.placeholder = ""
        self._query: re.Pattern[str] | None = None
        self._current: int | None = None
        self._moving = False

    def write(self, rows: Iterable[Row], partial: Row | None = None) -> None:
        """Add rows at the end; ``partial`` takes the place of the last partial row."""
        added, pruned = self.rows.add(rows, partial)
        if not self.following:
            self.unseen += added
        self._settle(pruned)

    def set_placeholder(self, text: str) -> None:
        """Words to show while there are no rows."""
        if text != self.placeholder:
            self.placeholder = text
            if not self.rows.pieces:
                self.refresh()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.following, self.unseen = True, 0
        self._scroll(self.max_scroll_y)
        self.post_message(self.Changed())

    def toggle_wrap(self) -> None:
        """Wrap long lines, or let them run out to the right; the top row stays on top."""
        self.wrap = not self.wrap
        pieces = self.rows.pieces
        top = pieces[min(self.scroll_offset.y, len(pieces) - 1)].number if pieces else 0
        self._lay_out()
        if not self.following:
            self._scroll(self.rows.place_of(top))
        self.post_message(self.Changed())

    def search(self, text: str) -> int:
        """Highlight ``text`` (any case) and go to its last match; returns the number of rows."""
        self._query = re.compile(re.escape(text), re.IGNORECASE) if text else None
        self._current = None
        found = self.matches()
        if found:
            self._show_match(found[-1])
        self.refresh()
        self.post_message(self.Changed())
        return len(found)

    def step(self, direction: int) -> None:
        """Go to the next (1) or the previous (-1) match, round the ends."""
        found = self.matches()
        if not found:
            return
        if self._current not in found:
            at = 0 if direction > 0 else -1
        else:
            at = (found.index(self._current) + direction) % len(found)
        self._show_match(found[at])
        self.post_message(self.Changed())

    def matches(self) -> list[int]:
        """Numbers of the rows that match the search."""
        return [] if self._query is None else self.rows.matches(self._query)

    @property
    def match_place(self) -> tuple[int, int] | None:
        """Which match is shown, from 1 on, of how many; ``None`` without a search."""
        if self._query is None:
            return None
        found = self.matches()
        return (found.index(self._current) + 1 if self._current in found else 0), len(found)

    def _show_match(self, row: int) -> None:
        self._current = row
        self._scroll(max(0, self.rows.place_of(row) - self.size.height // 2))
        self.following = self.is_vertical_scroll_end
        self.refresh()

    def _settle(self, pruned: int) -> None:
        self.virtual_size = Size(self.rows.width + GUTTER, len(self.rows.pieces))
        if self.following:
            self._scroll(self.max_scroll_y)
        elif pruned:
            self._scroll(max(0, self.scroll_offset.y - pruned))
        if pruned and self.text_selection is not None:
            self.screen.clear_selection()
        self.refresh()
        self.post_message(self.Changed())

    def _lay_out(self) -> None:
        self.rows.lay_out(max(10, self.size.width - GUTTER) if self.wrap else None)
        self._settle(0)

    def _scroll(self, y: float) -> None:
        self._moving = True
        self.scroll_to(y=y, animate=False, immediate=True, force=True)
        self._moving = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The reader's own move ends following; coming back to the end takes it up again."""
        super().watch_scroll_y(old_value, new_value)
        if self._moving or round(old_value) == round(new_value):
            return
        if self.is_vertical_scroll_end != self.following:
            self.following, self.unseen = not self.following, 0
            self.post_message(self.Changed())

    def on_resize(self) -> None:
        if self.wrap:
            self._lay_out()
        elif self.following:
            self._scroll(self.max_scroll_y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the glyphs."""
        if not self.rows.pieces:
            return None
        return selection.extract("\n".join(piece.text for piece in self.rows.pieces)), "\n"

    def visible_text(self) -> str:
        """What is on screen now, as text."""
        top = self.scroll_offset.y
        return "\n".join(piece.text for piece in self.rows.pieces[top : top + self.size.height])

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One screen line, highlighted where it matches or is selected."""
        width = self.size.width
        base = self.rich_style
        pieces = self.rows.pieces
        if not pieces:
            return self._placeholder_line(y, width)
        at = self.scroll_offset.y + y
        if at >= len(pieces):
            return Strip.blank(width, base)
        piece = pieces[at]
        style = base
        if piece.kind != "plain":
            style = self.get_component_rich_style(f"log--{piece.kind}")
        x = self.scroll_offset.x
        segments = self._segments(piece.text, style, at, piece.number == self._current)
        text = Strip(segments, cell_len(piece.text))
        text = text.crop_extend(x, x + width - GUTTER, style).apply_offsets(x, at)
        return Strip([Segment(f"{piece.glyph:<{GUTTER}}", style), *text], width)

    def _segments(self, text: str, style: Style, at: int, is_current: bool) -> list[Segment]:
        """``text`` in pieces of one style each: plain, match, selection."""
        spans: list[tuple[int, int, Style]] = []
        if self._query is not None:
            name = "log--match-current" if is_current else "log--match"
            match_style = self.get_component_rich_style(name)
            spans = [(*found.span(), match_style) for found in self._query.finditer(text)]
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(at)) is not None:
            end = len(text) if span[1] == -1 else min(span[1], len(text))
            selected = self.screen.get_component_rich_style("screen--selection")
            spans.append((min(span[0], end), end, selected))
        edges = sorted({0, len(text), *(edge for span in spans for edge in span[:2])})
        segments = []
        for start, end in pairwise(edges):
            over = [look for first, last, look in spans if first <= start and end <= last]
            segments.append(Segment(text[start:end], style + over[-1] if over else style))
        return segments

    def _placeholder_line(self, y: int, width: int) -> Strip:
        style = self.get_component_rich_style("log--placeholder")
        lines = ["", *_wrap_words(self.placeholder, max(10, width - 2 * GUTTER))]
        text = " " * GUTTER + lines[y] if y < len(lines) else ""
        return Strip([Segment(text, style)]).crop_extend(0, width, style)


def _wrap_words(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            for part in chop_cells(word, width):
                if line and cell_len(line) + 1 + cell_len(part) > width:
                    lines.append(line)
                    line = part
                else:
                    line = f"{line} {part}" if line else part
        lines.append(line)
    return lines
