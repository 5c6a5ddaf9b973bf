"""One record: who it is, what was asked, and reasoning beside content, so that gaps are seen."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from eagle3_console import format as fmt
from eagle3_console.sample_store import SampleStore
from eagle3_console.widgets.panel import Panel
from eagle3_console.words import TONES, answer_word, missing_text
from eagle3_core.records import Record
from eagle3_core.text import printable


class AnswerPane(VerticalScroll, can_focus=True):
    """Reasoning or content, scrolled by the reader."""

    def __init__(self, part: str, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self._part = part
        self._body = Static(markup=False)

    def compose(self) -> ComposeResult:
        yield self._body

    def show(self, record: Record) -> None:
        text = getattr(record, self._part)
        if text and text.strip():
            self._body.update(Content(printable(text)))
            detail = f"{len(text):,} characters"
        else:
            why, tone = missing_text(record, self._part)
            self._body.update(Content.styled(why, f"bold {TONES[tone]}"))
            detail = "empty"
        color = "$reasoning" if self._part == "reasoning" else "$content"
        title = Content.assemble(
            (f"{self._part.capitalize()} ", f"bold {color}"), (f"· {detail} ", "$text-muted")
        )
        self.border_title = title
        self.scroll_home(animate=False)


class SampleHeader(Widget):
    """State, how it ended, tokens and seconds on one line; the question on the next."""

    def __init__(self, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self.record: Record | None = None

    def show(self, record: Record) -> None:
        self.record = record
        self.refresh()

    def render(self) -> Content:
        record = self.record
        if record is None:
            return Content("")
        word = answer_word(record.state)
        facts = [f"finish {record.finish_reason or 'reason missing'}", *_tokens(record)]
        facts.append(_seconds(record))
        if record.attempt > 1:
            facts.append(f"try {record.attempt}")
        facts += [f"{name}: {value}" for name, value in record.flags.items()]
        head = Content.assemble(
            (str(word), f"bold {TONES[word.tone]}"),
            ("   " + printable(" · ".join(facts)), "$text-muted"),
        )
        width = max(10, self.size.width)
        head = head.truncate(width, ellipsis=True)
        return Content.assemble(head, "\n", self._question(width, max(1, self.size.height - 1)))

    def _question(self, width: int, lines: int) -> Content:
        assert self.record is not None
        asked = [message for message in self.record.messages if message.get("role") == "user"]
        last = asked[-1] if asked else {}
        question = " ".join(printable(str(last.get("content", ""))).split())
        turns = f"({len(asked)} turns) " if len(asked) > 1 else ""
        body = Content.assemble(("Q ", "bold $text-accent"), (turns, "$text-muted"), question)
        rows = body.wrap(width) if cell_len(body.plain) > width else [body]
        shown = rows[:lines]
        if len(rows) > lines:
            shown[-1] = (shown[-1] + " …").truncate(width, ellipsis=True)
        return Content("\n").join(shown)


class SamplePanel(Panel):
    """The record that the store shows."""

    NUMBER = 3
    NAME = "Sample"

    def __init__(self, widget_id: str) -> None:
        super().__init__(widget_id)
        self._empty = Static(id="sample-empty", markup=False)
        self._header = SampleHeader("sample-header")
        self._panes = (AnswerPane("reasoning", "reasoning"), AnswerPane("content", "content"))
        self._record: Record | None = None
        self._state = ("", "", 0)
        self.add_class("-empty")

    def compose(self) -> ComposeResult:
        yield self._empty
        yield self._header
        with Horizontal(id="answer"):
            yield from self._panes

    def show(self, store: SampleStore) -> None:
        """Draw the store's record; nothing is redrawn when it stands there already."""
        record = store.shown
        self._title(store)
        if record is self._record:
            return
        self._record = record
        self.set_class(record is None, "-empty")
        if record is not None:
            self._header.show(record)
            for pane in self._panes:
                pane.show(record)

    def show_state(self, store: SampleStore, placeholder: str, age: str, bad_lines: int) -> None:
        """Words while there is no record, and the age of what is shown."""
        if (placeholder, age, bad_lines) == self._state:
            return
        self._state = (placeholder, age, bad_lines)
        self._empty.update(Content(printable(placeholder)))
        self._title(store)

    def _title(self, store: SampleStore) -> None:
        _, age, bad_lines = self._state
        key = [] if store.shown is None else [fmt.middle(store.shown.key, 32)]
        details = [*key, store.place, "flagged only" if store.flagged_only else "", age]
        below = f"! {bad_lines:,} unreadable lines in the journal" if bad_lines else ""
        self.retitle(" · ".join(filter(None, details)), below)


def _tokens(record: Record) -> list[str]:
    tokens = (record.usage or {}).get("completion_tokens")
    return [f"{tokens:,} tokens"] if isinstance(tokens, int) else []


def _seconds(record: Record) -> str:
    if record.first_token_s is None:
        return f"{record.total_s:.1f} s"
    return f"{record.total_s:.1f} s, first token after {record.first_token_s:.1f} s"


def record_text(record: Record) -> str:
    """Reasoning and content as one text, the way they are copied."""
    return (
        f"[reasoning]\n{record.reasoning or '(empty)'}\n\n[content]\n{record.content or '(empty)'}"
    )
