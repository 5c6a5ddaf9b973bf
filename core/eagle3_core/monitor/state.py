"""All that is known of a run right now, and the picture made of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from eagle3_core.host.run import RunState
from eagle3_core.metrics import ServerNumbers
from eagle3_core.monitor.findings import find
from eagle3_core.monitor.late import Late
from eagle3_core.monitor.log_numbers import LogNumbers, Patterns
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
    Stray,
)
from eagle3_core.monitor.status import number, progress_of, rates_of, whole
from eagle3_core.records import Record
from eagle3_core.rundir import RunDir

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
        files: the run's; ``None``: in their usual places.
        patterns: what the lines of its log say, where there is no ``status.json``.
    """

    def __init__(
        self,
        host: str,
        run: str,
        clock: Callable[[], float],
        files: RunDir | None = None,
        patterns: Patterns | None = None,
    ) -> None:
        self._host = host
        self._run = run
        self._clock = clock
        self.link = Link(LinkState.CONNECTING, clock())
        self._files = files or RunDir(PurePosixPath(run))
        self.log = LogNumbers(patterns)
        """Numbers of the log, for a run that has no ``status.json``."""
        self.recent: deque[Record] = deque(maxlen=RECENT)
        self.lines: int | None = None
        self.lines_detail = ""
        self._unreadable = ""
        self._state: RunState | None = None
        self._strays: tuple[Stray, ...] = ()
        self._data_at: float | None = None
        self._server = Server()
        self._points: deque[Point] = deque(maxlen=POINTS)
        self._answers = Meter(CHART_WINDOW_S)
        self._tokens = Meter(CHART_WINDOW_S)
        self._errors = Meter(CHART_WINDOW_S)
        self._server_tokens = Meter(CHART_WINDOW_S)
        self._late = Late()
        self._counted: tuple[str, object] | None = None
        """What the meters read: the status of which run, or the lines."""

    @property
    def state(self) -> RunState | None:
        """What the host said last."""
        return self._state

    def take_state(self, state: RunState) -> None:
        """The host's answer about the run."""
        now = self._clock()
        self._state = state
        self._data_at = now
        if state.strays is not None:
            self._strays = state.strays
        # An answer that was asked for before the file came must not undo what its tail has told since.
        if not state.journal.exists and not self.lines:
            self.lines = 0
            self.lines_detail = (
                f"no {self._files.journal.name} yet"
                if state.exists or self._files.own_journal
                else f"no such directory {state.run_dir}"
            )
        else:
            self.lines_detail = self._unreadable
        running = state.process.alive
        self._read_meters(state, now)
        counted = whole((self._own_status() or {}).get("lines"))
        self._late.look(now, counted if running else None, self.lines)
        self._add_point(now, running)

    def take_records(self, records: Sequence[Record], lines: int, unreadable: str = "") -> None:
        """New records, and the lines the journal has now, or why it cannot be read."""
        if lines < (self.lines or 0):
            self.recent.clear()  # the file began anew: what it held is no evidence any more
        self.recent.extend(records)
        self.lines = lines
        self._unreadable = unreadable

    def server_urls(self) -> list[str]:
        """Where the servers of the run say how they are."""
        state = self._state
        settings = (state.settings or state.launch or {}) if state else {}
        urls = settings.get("base_url")
        return [
            url.rstrip("/").removesuffix("/v1") + "/metrics"
            for url in (urls if isinstance(urls, list) else [])
            if isinstance(url, str)
        ]

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
        """The link is gone: rates would span the gap, and nothing can be late in it."""
        self._forget()
        self._server_tokens.forget()
        self._late = Late()

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
            strays=self._strays,
        )
        return replace(picture, findings=find(picture, self.recent, self._late.seconds(now)))

    def _progress(self) -> Progress:
        status = self._state.status if self._state else None
        said = self.log.progress() if status is None else None
        return progress_of(status) if said is None else said

    def _read_meters(self, state: RunState, now: float) -> None:
        """Read the counters of a living run; another run's are another counter, not growth."""
        status = self._own_status()
        counted: tuple[str, object] | None = None
        if state.process.alive and status is not None:
            counted = ("status", status.get("run_id"))
        elif state.process.alive and state.status is None and self.lines is not None:
            counted = ("lines", (state.record or {}).get("run_id"))
        if counted is None or counted != self._counted:
            self._forget()
        self._counted = counted
        if counted is None:
            return
        if status is None:
            self._answers.add(now, self.lines or 0)
            self._errors.add(now, self._progress().errors)
            return
        progress = progress_of(status)
        self._answers.add(now, progress.done + progress.kept)
        streamed = number(status.get("streamed_tokens")) or 0
        self._tokens.add(now, progress.completion_tokens + streamed)
        self._errors.add(now, progress.errors)

    def _own_status(self) -> dict[str, Any] | None:
        """The status of the process on record; just after a start it is still the one before's."""
        state = self._state
        if state is None or state.status is None:
            return None
        said, ours = state.status.get("run_id"), (state.record or {}).get("run_id")
        return state.status if said is None or said == ours else None

    def _forget(self) -> None:
        for meter in (self._answers, self._tokens, self._errors):
            meter.forget()

    def _rates(self) -> Rates:
        if self._state is None or not self._state.process.alive:
            return Rates()
        server = self._server.tokens_s
        if self._state.status is None:
            return self._rates_of_log(server)
        said = rates_of(self._own_status())
        return Rates(
            requests_s=self._answers.rate if said.requests_s is None else said.requests_s,
            tokens_s=self._tokens.rate if server is None else server,
            error_share=said.error_share,
        )

    def _rates_of_log(self, server: float | None) -> Rates:
        """Lines of a journal are counted; without one, the log must be believed."""
        has_journal = self._state is not None and self._state.journal.exists
        requests = self._answers.rate if has_journal else self.log.rate
        mean, progress = self.log.mean_tokens, self._progress()
        tokens = None if requests is None or mean is None else requests * mean
        ended = progress.done + progress.errors
        return Rates(
            requests_s=requests,
            tokens_s=tokens if server is None else server,
            error_share=progress.errors / ended if ended else None,
        )

    def _add_point(self, now: float, running: bool) -> None:
        if self._points and 0 <= now - self._points[-1].at < 0.9:
            return
        server = self._server.tokens_s
        requests, tokens = self._answers.rate, self._tokens.rate if server is None else server
        if self._state is not None and self._state.status is None:
            requests, tokens = (said := self._rates_of_log(server)).requests_s, said.tokens_s
        self._points.append(
            Point(
                at=now,
                requests_s=(requests or 0.0) if running else 0.0,
                tokens_s=(tokens or 0.0) if running else 0.0,
                errors_s=(self._errors.rate or 0.0) if running else 0.0,
            )
        )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
