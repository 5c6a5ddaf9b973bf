"""The servers of a run: least-loaded choice, rest for one that fails, a probe to bring it back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from eagle3_core.generation.client import Client
from eagle3_core.generation.failure import Cause
from eagle3_core.records import AnswerState
from eagle3_core.settings import RunSettings

_FIRST_PROBE_S = 1.0
_LONGEST_PROBE_S = 30.0


class Endpoint:
    """One server, its client and its numbers."""

    def __init__(self, base_url: str, settings: RunSettings) -> None:
        self.client = Client(base_url, settings)
        self.url = self.client.base_url
        self.in_flight = 0
        self.finished = 0
        self.failed = 0
        self.failures_in_row = 0
        self.resting = ""
        """Why no requests go there now; empty while they do."""

    def to_json(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "in_flight": self.in_flight,
            "finished": self.finished,
            "failed": self.failed,
            "resting": self.resting,
        }


class Endpoints:
    """All servers of a run.

    Args:
        settings: names them, and says after how many failures in a row one is rested.
        on_change: called when one is rested or comes back, with a word for the log.
    """

    def __init__(self, settings: RunSettings, on_change: Callable[[str], None]) -> None:
        self.all = [Endpoint(url, settings) for url in settings.base_url]
        self._stop_after = settings.stop_after
        self._on_change = on_change
        self._probes: set[asyncio.Task[None]] = set()

    def choose(self) -> Endpoint | None:
        """The awake endpoint with the fewest requests in flight; ``None`` when all rest."""
        awake = [endpoint for endpoint in self.all if not endpoint.resting]
        return min(awake, key=lambda endpoint: endpoint.in_flight) if awake else None

    @property
    def pause(self) -> str:
        """Why nothing can be asked now; empty while something can."""
        return "" if self.choose() else "; ".join(f"{e.url}: {e.resting}" for e in self.all)

    def succeeded(self, endpoint: Endpoint) -> None:
        endpoint.finished += 1
        endpoint.failures_in_row = 0

    def failed(self, endpoint: Endpoint, cause: Cause) -> None:
        """Count a failure; rest the endpoint when it is out of reach or fails again and again.

        One slow or failed answer alone never rests an endpoint, nor does a request that it
        rejects or, being full, sends away: that is how a healthy one speaks.
        """
        endpoint.failed += 1
        if cause.state is AnswerState.REJECTED or cause.sent_away:
            return
        endpoint.failures_in_row += 1
        if endpoint.resting:
            return
        if not cause.reached:
            self.rest(endpoint, cause.message)
        elif endpoint.failures_in_row >= self._stop_after:
            count = endpoint.failures_in_row
            self.rest(endpoint, f"{count} failures in a row, the last: {cause.message}")

    def rest(self, endpoint: Endpoint, why: str) -> None:
        """Send nothing there until it answers ``/health`` again."""
        endpoint.resting = why
        self._on_change(f"PAUSE {endpoint.url}: {why}; asking /health until it answers")
        task = asyncio.create_task(self._probe(endpoint))
        self._probes.add(task)
        task.add_done_callback(self._probes.discard)

    async def _probe(self, endpoint: Endpoint) -> None:
        delay = _FIRST_PROBE_S
        while True:
            await asyncio.sleep(delay)
            if await healthy(endpoint.client):
                break
            delay = min(delay * 1.5, _LONGEST_PROBE_S)
        endpoint.resting = ""
        endpoint.failures_in_row = 0
        self._on_change(f"RESUME {endpoint.url}: it answers again")

    async def close(self) -> None:
        for probe in self._probes:
            probe.cancel()
        await asyncio.gather(*self._probes, return_exceptions=True)
        for endpoint in self.all:
            await endpoint.client.close()


async def healthy(client: Client, *, patience_s: float = 10.0) -> bool:
    """Whether the server is up: ``/health``, or ``/v1/models`` where there is no such page."""
    try:
        status, _ = await asyncio.wait_for(client.get("/health"), patience_s)
        if status in (404, 405):
            status, _ = await asyncio.wait_for(client.get("/models", under_v1=True), patience_s)
    except Exception:
        return False
    return status < 500
