"""What the operator should know: findings with evidence and mend, then the tally of errors."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from eagle3_console.widgets.panel import Panel
from eagle3_console.words import TONES, severity_word
from eagle3_core.monitor.snapshot import Finding, Progress
from eagle3_core.text import printable

INDENT = "  "


class FindingsPanel(Panel):
    """Redrawn only when its words or its width change."""

    NUMBER = 4
    NAME = "Findings"

    def __init__(self, widget_id: str) -> None:
        super().__init__(widget_id)
        self._findings: list[Finding] = []
        self._tally: list[str] = []
        self._drawn: tuple[object, ...] | None = None
        self._body = Static(markup=False)

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=True, id="findings-scroll"):
            yield self._body

    def show(self, findings: tuple[Finding, ...], progress: Progress, age: str) -> None:
        """Write findings, worst first, and how attempts failed."""
        order = {"error": 0, "warning": 1}
        self._findings = sorted(findings, key=lambda finding: order.get(finding.severity, 2))
        self._tally = tally_words(progress)
        count = str(len(findings)) if findings else "none"
        self.retitle(" · ".join(filter(None, (count, age))))
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        """In a strip of two lines each finding is cut to one line of evidence and one of mend."""
        width = self.size.width - 1
        if width <= len(INDENT):
            return
        panels = self.parent
        alone = panels is not None and panels.has_class("-solo")
        brief = self.screen.has_class("-short") and not alone
        drawn = (tuple(self._findings), tuple(self._tally), width, brief)
        if drawn != self._drawn:
            self._drawn = drawn
            rows = _rows(self._findings, self._tally, width, brief=brief)
            self._body.update(Content("\n").join(rows))


def tally_words(progress: Progress) -> list[str]:
    """Failed attempts by state and clock, and kept answers by state; empty when there are none."""
    clocks = _listed(progress.timeouts_by_clock, ", ")
    failed = _listed(progress.attempts_by_state, " · ")
    if clocks:
        failed = failed.replace(" timeout", f" timeout ({clocks})", 1)
    kept = _listed(progress.kept_by_state, " · ")
    lines = [f"failed tries: {failed}"] if failed else []
    return [*lines, f"kept, not done: {kept}"] if kept else lines


def _listed(counts: dict[str, int], between: str) -> str:
    return between.join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count
    )


def _rows(findings: list[Finding], tally: list[str], width: int, *, brief: bool) -> list[Content]:
    rows: list[Content] = []
    for finding in findings:
        word = severity_word(finding.severity)
        name = Content.assemble(
            (f"{word.glyph} {printable(finding.name)}", f"bold {TONES[word.tone]}"),
            (f"  {printable(finding.evidence)}", "$foreground"),
        )
        rows += _hang(name, width, brief=brief)
        if finding.cause and not brief:
            cause = Content.styled(INDENT + printable(finding.cause), "$text-muted")
            rows += _hang(cause, width, brief=False)
        if finding.mend:
            mend = Content.assemble(("→ ", "bold $text-accent"), printable(finding.mend))
            rows += _hang(mend, width, brief=brief)
    if not findings:
        rows.append(Content.styled("✔ nothing to report", "$text-success"))
    for line in tally:
        rows += _hang(Content.styled(printable(line), "$text-muted"), width, brief=brief)
    return rows


def _hang(text: Content, width: int, *, brief: bool) -> list[Content]:
    """``text`` wrapped with its further lines set in under the first, or cut to one line."""
    if brief:
        return [text.truncate(width, ellipsis=True)]
    first, *rest = text.wrap(width)
    if not rest:
        return [first]
    begun = len(first.plain)
    remaining = text[begun:]
    if remaining.plain.startswith(" "):
        remaining = remaining[1:]
    return [first, *(INDENT + line for line in remaining.wrap(width - len(INDENT)))]
