"""The row of numbers above the panels: which number a snapshot gives to which tile."""

from __future__ import annotations

from eagle3_core.monitor.snapshot import LinkState, Snapshot
from textual.app import ComposeResult
from textual.containers import Horizontal

from eagle3_console import format as fmt
from eagle3_console import words
from eagle3_console.widgets.tile import BarTile, Tile


class Tiles(Horizontal):
    """Lines, done, requests, tokens, time-outs, time left."""

    def compose(self) -> ComposeResult:
        yield Tile("Lines", "lines")
        yield BarTile("Done", "done")
        yield Tile("Req/s", "requests")
        yield Tile("Tok/s", "tokens")
        yield Tile("Time-outs", "timeouts")
        yield Tile("Time left", "left")

    def show(self, snapshot: Snapshot, now: float) -> None:
        """Draw a snapshot; every tile shows the age of its number when the link is not live."""
        progress, rates = snapshot.progress, snapshot.rates
        stale = () if self._live(snapshot, now) else (words.age_words(snapshot, now),)
        has_run = progress.samples > 0
        tile = self._tile

        why = (snapshot.lines_detail, "see findings", "see 4") if snapshot.lines_detail else ()
        size = (fmt.size(snapshot.journal_bytes),) if snapshot.lines else why
        tile("lines").show(fmt.count(snapshot.lines), *(stale or size))

        done = self.query_one("#done", BarTile)
        part = progress.done / progress.samples if has_run else 0.0
        done.show_part(part)
        unit = f"/ {progress.samples:,}" if has_run else ""
        value = fmt.count(progress.done) if has_run else fmt.UNKNOWN
        percent = fmt.share(part) if has_run else ""
        done.show(value, *(stale or (percent,)), unit=unit, tone="dim" if stale else "plain")

        flight = (
            (f"{progress.in_flight:,} in flight", f"{progress.in_flight:,} open")
            if snapshot.process.alive
            else ()
        )
        tile("requests").show(fmt.rate(rates.requests_s), *(stale or flight))

        mean = progress.completion_tokens / progress.done if progress.done else None
        average = () if mean is None else (f"{mean:,.0f} an answer", f"{mean:,.0f} each")
        tile("tokens").show(fmt.rate(rates.tokens_s), *(stale or average))

        self._show_timeouts(snapshot, stale)
        self._show_left(snapshot, stale)

    def _show_timeouts(self, snapshot: Snapshot, stale: tuple[str, ...]) -> None:
        progress = snapshot.progress
        tries = progress.done + progress.kept + progress.errors
        count = progress.timeouts
        share = count / tries if tries else 0.0
        percent = fmt.share(share)
        details = (f"{percent} of {tries:,} tries", f"{percent} of tries", percent)
        tone = "plain" if not count else "error" if share >= 0.05 else "warning"
        value = f"! {count:,}" if count else "0" if tries else fmt.UNKNOWN
        shown = stale or (details if count else ("none so far", "none") if tries else ())
        self._tile("timeouts").show(value, *shown, tone=tone)

    def _show_left(self, snapshot: Snapshot, stale: tuple[str, ...]) -> None:
        progress = snapshot.progress
        took = fmt.duration(progress.elapsed_s)
        details = (f"{took} so far", f"after {took}", took) if progress.elapsed_s else ()
        if progress.phase == "finished":
            self._tile("left").show("done", *(stale or (f"in {took}",)), tone="ok")
            return
        eta = fmt.duration(progress.eta_s) if snapshot.process.alive else fmt.UNKNOWN
        self._tile("left").show(eta, *(stale or details))

    def _tile(self, name: str) -> Tile:
        return self.query_one(f"#{name}", Tile)

    @staticmethod
    def _live(snapshot: Snapshot, now: float) -> bool:
        if snapshot.link.state is LinkState.CONNECTING and snapshot.data_at is None:
            return True
        return words.age_words(snapshot, now) in ("live", "no data yet")
