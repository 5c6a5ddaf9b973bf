"""The row of numbers above the panels: which number a snapshot gives to which tile."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from eagle3_console import format as fmt
from eagle3_console import words
from eagle3_console.widgets.tile import BarTile, Tile
from eagle3_core.monitor.snapshot import Snapshot


class Tiles(Horizontal):
    """Lines, done, requests, tokens, time-outs, time left."""

    def __init__(self, widget_id: str) -> None:
        self._lines = Tile("Lines", "lines")
        self._done = BarTile("Done", "done")
        self._requests = Tile("Req/s", "requests")
        self._tokens = Tile("Tok/s", "tokens")
        self._timeouts = Tile("Time-outs", "timeouts")
        self._left = Tile("Time left", "left")
        super().__init__(id=widget_id)

    def compose(self) -> ComposeResult:
        yield from (self._lines, self._done, self._requests)
        yield from (self._tokens, self._timeouts, self._left)

    def show(self, snapshot: Snapshot, now: float) -> None:
        """Draw a snapshot; every tile shows the age of its number when the link is not live."""
        progress, rates = snapshot.progress, snapshot.rates
        stale = words.stale_words(snapshot, now)
        has_run = progress.samples > 0

        why = (snapshot.lines_detail, "see findings", "see 4") if snapshot.lines_detail else ()
        size = (fmt.size(snapshot.journal_bytes),) if snapshot.lines else why
        self._lines.show(fmt.count(snapshot.lines), *size, stale=stale)

        part = progress.done / progress.samples if has_run else 0.0
        self._done.show_part(part)
        unit = f"/ {progress.samples:,}" if has_run else ""
        value = fmt.count(progress.done) if has_run else fmt.UNKNOWN
        percent = fmt.share(part) if has_run else ""
        self._done.show(value, percent, unit=unit, stale=stale)

        flight = (
            (f"{progress.in_flight:,} in flight", f"{progress.in_flight:,} open")
            if snapshot.process.alive
            else ()
        )
        self._requests.show(fmt.rate(rates.requests_s), *flight, stale=stale)

        mean = progress.completion_tokens / progress.done if progress.done else None
        average = () if mean is None else (f"{mean:,.0f} an answer", f"{mean:,.0f} each")
        self._tokens.show(fmt.rate(rates.tokens_s), *average, stale=stale)

        self._show_timeouts(snapshot, stale)
        self._show_left(snapshot, stale)

    def _show_timeouts(self, snapshot: Snapshot, stale: str) -> None:
        progress = snapshot.progress
        tries = progress.done + progress.kept + progress.errors
        count = progress.timeouts
        share = count / tries if tries else 0.0
        percent = fmt.share(share)
        details = (f"{percent} of {tries:,} tries", f"{percent} of tries", percent)
        tone = "plain" if not count else "error" if share >= 0.05 else "warning"
        value = f"! {count:,}" if count else "0" if tries else fmt.UNKNOWN
        shown = details if count else ("none so far", "none") if tries else ()
        self._timeouts.show(value, *shown, tone=tone, stale=stale)

    def _show_left(self, snapshot: Snapshot, stale: str) -> None:
        progress = snapshot.progress
        took = fmt.duration(progress.elapsed_s)
        details = (f"{took} so far", f"after {took}", took) if progress.elapsed_s else ()
        if progress.phase == "finished":
            self._left.show("done", f"in {took}", tone="ok", stale=stale)
            return
        eta = fmt.duration(progress.eta_s) if snapshot.process.alive else fmt.UNKNOWN
        self._left.show(eta, *details, stale=stale)
