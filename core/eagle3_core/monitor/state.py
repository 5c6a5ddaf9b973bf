"""All that is known of a run right now, and the picture made of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from eagle3_core.host.run import RunState
from eagle3_core.metrics import ServerNumbers
from eagle3_core.monitor.findings import find
from eagle3_core.monitor.rates import Meter
from eagle3_core.monitor.snapshot import (
    Link,
    LinkState,
    Point,
    Process,
    ProcessState,
    Progress,
    Rates,
    Server,
    Snapshot,
)
from eagle3_core.records import Record

CHART_WINDOW_S = 10.0
"""Answers come in bursts: the chart shows a rate over this long, not the noise of one second."""
POINTS = 4 * 3600
RECENT = 50


class RunView:
    """Takes facts as they come and gives pictures; knows no connection and no screen.

    Args:
        host: its name, for people.
        run: the run directory, for people.
        clock: epoch seconds of this machine.
    """

    def __init__(self, host: str, run: str, clock: Callable[[], float]) -> None:
        self._host = host
        self._run = run
        self._clock = clock
        self.link = Link(LinkState.CONNECTING, clock())
        self.recent: deque[Record] = deque(maxlen=RECENT)
        self.lines: int | None = None
        self.lines_detail = ""
        self._state: RunState | None = None
        self._data_at: float | None = None
        self._server = Server()
        self._points: deque[Point] = deque(maxlen=POINTS)
        self._answers = Meter(CHART_WINDOW_S)
        self._tokens = Meter(CHART_WINDOW_S)
        self._errors = Meter(CHART_WINDOW_S)
        self._server_tokens = Meter(CHART_WINDOW_S)
        self._behind_since: float | None = None

    @property
    def state(self) -> RunState | None:
        """What the host said last."""
        return self._state

    def take_state(self, state: RunState) -> None:
        """The host's answer about the run."""
        now = self._clock()
        self._state = state
        self._data_at = now
        if not state.journal.exists:
            self.lines = 0
            self.lines_detail = (
                "no raw_responses.jsonl yet"
                if state.exists
                else f"no such directory {state.run_dir}"
            )
        else:
            self.lines_detail = ""
        progress = self._progress()
        running = state.process.alive
        if state.status is not None and running:
            self._answers.add(now, progress.done + progress.kept)
            self._tokens.add(
                now, progress.completion_tokens + state.status.get("streamed_tokens", 0)
            )
            self._errors.add(now, progress.errors)
        elif self.lines is not None:
            self._answers.add(now, self.lines)
        self._watch_the_file(progress, now)
        self._add_point(now, running)

    def take_records(self, records: Sequence[Record], lines: int) -> None:
        """New records, and the lines the journal has now."""
        self.recent.extend(records)
        self.lines = lines

    def server_urls(self) -> list[str]:
        """Where the servers of the run say how they are."""
        state = self._state
        settings = (state.settings or state.launch or {}) if state else {}
        urls = settings.get("base_url") or []
        return [url.rstrip("/").removesuffix("/v1") + "/metrics" for url in urls]

    def take_server(self, numbers: ServerNumbers) -> None:
        """The server's own numbers."""
        if numbers.generation_tokens is not None:
            self._server_tokens.add(self._clock(), numbers.generation_tokens)
        self._server = Server(
            running=_whole(numbers.running),
            waiting=_whole(numbers.waiting),
            kv_cache=numbers.kv_cache,
            tokens_s=self._server_tokens.rate,
            preemptions=_whole(numbers.preemptions),
        )

    def no_server(self, why: str) -> None:
        """The server's numbers could not be had."""
        self._server = Server(error=why)

    def lost(self) -> None:
        """The link is gone: rates would span the gap."""
        for meter in (self._answers, self._tokens, self._errors, self._server_tokens):
            meter.forget()

    def snapshot(self) -> Snapshot:
        """The picture now."""
        now = self._clock()
        state = self._state
        picture = Snapshot(
            at=now,
            host=self._host,
            run=state.run_dir if state else self._run,
            link=self.link,
            process=state.process if state else Process(ProcessState.UNKNOWN),
            lines=self.lines,
            lines_detail=self.lines_detail,
            journal_bytes=state.journal.size if state else 0,
            progress=self._progress(),
            rates=self._rates(),
            server=self._server,
            data_at=self._data_at,
            disk_free=state.disk_free if state else None,
            points=tuple(self._points),
            settings=(state.settings or state.launch) if state else None,
        )
        behind = now - self._behind_since if self._behind_since is not None else 0.0
        findings = find(picture, self.recent, behind)
        return Snapshot(**{**picture.__dict__, "findings": findings})

    def _progress(self) -> Progress:
        status = self._state.status if self._state else None
        if status is None:
            return Progress()
        names = Progress.__dataclass_fields__
        return Progress(**{name: value for name, value in status.items() if name in names})

    def _rates(self) -> Rates:
        status = self._state.status if self._state else None
        if self._state is None or not self._state.process.alive:
            return Rates()
        said: dict[str, Any] = (status or {}).get("rates") or {}
        return Rates(
            requests_s=said.get("requests_s") if said else self._answers.rate,
            tokens_s=self._server.tokens_s
            if self._server.tokens_s is not None
            else self._tokens.rate,
            error_share=said.get("error_share"),
        )

    def _add_point(self, now: float, running: bool) -> None:
        if self._points and now - self._points[-1].at < 0.9:
            return
        tokens = self._server.tokens_s if self._server.tokens_s is not None else self._tokens.rate
        self._points.append(
            Point(
                at=now,
                requests_s=(self._answers.rate or 0.0) if running else 0.0,
                tokens_s=(tokens or 0.0) if running else 0.0,
                errors_s=(self._errors.rate or 0.0) if running else 0.0,
            )
        )

    def _watch_the_file(self, progress: Progress, now: float) -> None:
        counted = (self._state.status or {}).get("lines") if self._state else None
        if counted is None or self.lines is None or self.lines >= counted:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = now


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
