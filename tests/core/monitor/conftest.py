"""Facts of a run as a host tells them, and a clock that a test moves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from eagle3_core.host.run import FileFacts, RunState
from eagle3_core.monitor.snapshot import Process, ProcessState
from eagle3_core.records import AnswerState, Record


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_760_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def record() -> Callable[..., Record]:
    """``record(3, state=…)``: an answer."""

    def make(number: int = 0, **changes: Any) -> Record:
        values: dict[str, Any] = {
            "key": f"q{number}:{number:08x}",
            "state": AnswerState.OK,
            "sample_id": f"q{number}",
            "messages": ({"role": "user", "content": f"What is {number}?"},),
            "reasoning": "It is a number.",
            "content": f"{number}",
            "finish_reason": "stop",
            "usage": {"completion_tokens": 10},
            "model": "m",
            "endpoint": "http://127.0.0.1:8000/v1",
            "attempt": 1,
            "started_at": "2025-10-09T08:00:00Z",
            "first_token_s": 0.1,
            "total_s": 1.0,
        }
        return Record(**(values | changes))

    return make


@pytest.fixture
def run_state() -> Callable[..., RunState]:
    """``run_state(status={…}, alive=False)``: what the host says of a run."""

    def make(
        status: Any = None, *, alive: bool = True, journal: bool = True, **changes: Any
    ) -> RunState:
        state = ProcessState.RUNNING if alive else ProcessState.KILLED
        values: dict[str, Any] = {
            "run_dir": "/data/run",
            "exists": True,
            "process": Process(state, 100),
            "record": {"run_id": "a", "pid": 100},
            "status": status,
            "settings": None,
            "launch": None,
            "journal": FileFacts(journal, 10 if journal else 0, None),
            "log": FileFacts(True, 10, None),
            "disk_free": 10**9,
            "host_time": 0.0,
        }
        return RunState(**(values | changes))

    return make


@pytest.fixture
def until() -> Callable[..., Awaitable[None]]:
    """``await until(condition)``: poll, and fail when the time is over."""

    async def wait(condition: Callable[[], object], seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            await asyncio.sleep(0.01)

    return wait
