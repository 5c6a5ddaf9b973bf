"""When a sample is asked again, when it is given up, and when the whole run pauses or ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from eagle3_core.generation.failure import Cause
from eagle3_core.generation.retry import Tries
from eagle3_core.records import AnswerState

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


def says(status: int, body: Any, **headers: str) -> Reply:
    async def reply(request: web.Request) -> web.StreamResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, body=data, headers=named)

    return reply


message = {"reasoning": "Sum.", "content": "Nine."}
answers = says(200, {"choices": [{"message": message, "finish_reason": "stop"}]})


@pytest.fixture
def whole(bench: Any) -> Any:
    """A bench that asks for whole answers."""
    return lambda *what, **settings: bench(*what, stream="off", **settings)


async def test_a_sample_has_its_cap(whole: Any, samples: Any, scripted: Any) -> None:
    server = await scripted(says(500, {"error": {"message": "two\nlines"}}))
    with whole(samples(3), server.url, attempts=3, concurrency=1) as b:
        await asyncio.wait_for(b.generator.run(), 10)
        b.check_sum()
        await b.endpoints.close()
    assert len(server.arrivals) == 9
    assert b.progress.failed == 3
    for number in range(3):
        mine = [f for f in b.failures if f["key"] == f"k{number}"]
        assert [f["will_retry"] for f in mine] == [True, True, False]
        assert [f["attempt"] for f in mine] == [1, 2, 3]
    errors = [line for line in b.log if line.startswith("ERROR")]
    assert sorted(errors) == [f"ERROR sample {n}: HTTP 500: two lines" for n in range(3)]


async def test_retry_after_is_honoured_and_costs_no_try(
    whole: Any, samples: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: low)
    full = says(429, {"error": {"message": "full"}}, Retry_After="0.4")
    server = await scripted(full, full, answers)
    with whole(samples(1), server.url, attempts=1) as b:
        await asyncio.wait_for(b.generator.run(), 10)
        await b.endpoints.close()
    first, second, third = (at for at, _ in server.arrivals)
    assert 0.4 <= second - first < 1.4
    assert 0.4 <= third - second < 1.4
    assert [row["state"] for row in b.failures] == ["rate_limited"] * 2
    assert b.records[0]["attempt"] == 3


async def test_no_slot_is_held_while_waiting(
    whole: Any, samples: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = says(429, {"error": {"message": "full"}}, Retry_After="0.5")
    server = await scripted(later, *[answers] * 9)
    with whole(samples(9), server.url, concurrency=1) as b:
        await asyncio.wait_for(b.generator.run(), 10)
        await b.endpoints.close()
    assert [row["key"] for row in b.records] == [*(f"k{n}" for n in range(1, 9)), "k0"]


def test_when_a_sample_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)

    def delays(cap: int, *causes: Cause) -> list[float | None]:
        tries = Tries(cap)
        found = []
        for number, cause in enumerate(causes, 1):
            tries.number = number
            found.append(tries.delay_after(cause))
        return found

    error = Cause(AnswerState.SERVER_ERROR, "x")
    away = Cause(AnswerState.CONNECTION, "x", reached=False)
    limited = Cause(AnswerState.RATE_LIMITED, "x", retry_after_s=5.0, sent_away=True)
    full = Cause(AnswerState.SERVER_ERROR, "x", sent_away=True)
    assert delays(3, error, error, error) == [1.0, 2.0, None]
    assert delays(9, *[error] * 9) == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, None]
    assert delays(1, error) == [None]
    assert delays(2, away, away, away, error, error) == [1.0, 1.0, 1.0, 1.0, None]
    assert delays(1, *[away] * 10) == [*[1.0] * 9, None], "not for ever"
    assert delays(2, limited, limited) == [6.0, 6.0]
    assert delays(1, *[full] * 10) == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, None]
    assert delays(9, Cause(AnswerState.SERVER_ERROR, "x", retry_after_s=9e9)) == [601.0]
    assert delays(3, Cause(AnswerState.REJECTED, "x")) == [None]


async def test_a_rejected_sample_is_given_up_and_the_run_goes_on(
    whole: Any, samples: Any, scripted: Any
) -> None:
    no = says(400, {"error": {"message": "the prompt is too long", "code": 400}})
    server = await scripted(answers, no, answers, no, answers)
    with whole(samples(5), server.url, concurrency=1, stop_after=2) as b:
        await asyncio.wait_for(b.generator.run(), 5)
        await b.endpoints.close()
    assert b.generator.fatal == ""
    assert (b.progress.done, b.progress.failed) == (3, 2)
    assert len(server.arrivals) == 5
    assert [f["message"] for f in b.failures] == ["HTTP 400: the prompt is too long"] * 2


async def test_rejected_in_a_row_ends_the_run_with_a_word(
    whole: Any, samples: Any, scripted: Any
) -> None:
    server = await scripted(says(401, {"error": "Unauthorized"}))
    with whole(samples(50), server.url, concurrency=2, stop_after=5) as b:
        await asyncio.wait_for(b.generator.run(), 5)
        b.check_sum()
        await b.endpoints.close()
    assert b.generator.fatal == "the server rejected 5 requests in a row: HTTP 401: Unauthorized"
    assert not any("PAUSE" in line for line in b.log), "the server is well"
    assert len(server.arrivals) <= 6
    assert b.progress.failed == len(b.failures) == len(server.arrivals)
    assert b.progress.pending == 50 - len(server.arrivals)


async def test_failures_in_a_row_pause_the_run_until_the_server_is_well(
    whole: Any, samples: Any, scripted: Any, until: Any
) -> None:
    server = await scripted(*[says(500, b"sick")] * 4, answers)
    server.healthy = False
    with whole(samples(10), server.url, concurrency=1, stop_after=4, attempts=9) as b:
        running = asyncio.create_task(b.generator.run())
        await until(lambda: b.generator.pause)
        assert "4 failures in a row, the last: HTTP 500: sick" in b.generator.pause
        asked = len(server.arrivals)
        await until(lambda: server.probes >= 3)
        b.check_sum()
        assert b.generator.pause, "a sick server that answers is still sick"
        assert not running.done(), "it pauses, it does not end"
        server.healthy = True
        await asyncio.wait_for(running, 10)
        assert b.generator.pause == ""
        await b.endpoints.close()
    assert asked == 4
    assert b.progress.done == 10
    events = [line for line in b.log if "PAUSE" in line or "RESUME" in line]
    assert [line.split()[1] for line in events] == ["PAUSE", "RESUME"]
