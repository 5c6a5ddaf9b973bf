"""The loop: every sample ends once, every attempt is on disk, and nothing happens unseen."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from eagle3_core.generation import generator as module
from eagle3_core.generation.attempt import Attempt
from eagle3_core.records import KEPT, Answer
from eagle3_core.simulator.server import Simulator

KEPT_STATES = {state.value for state in KEPT}


@pytest.mark.parametrize("stream", ["on", "off"])
async def test_every_sample_is_asked_once(
    bench: Any, samples: Any, simulate: Any, until: Any, stream: str
) -> None:
    server: Simulator = await simulate()
    with bench(samples(40), server.url, concurrency=8, stream=stream) as b:
        running = asyncio.create_task(b.generator.run())
        while not running.done():
            b.check_sum()
            assert b.progress.in_flight <= 8
            await asyncio.sleep(0.005)
        await running
        await b.endpoints.close()
    assert server.stats.arrivals == 40
    assert server.stats.peak == 8
    assert sorted(row["key"] for row in b.records) == sorted(s.key for s in b.samples)
    assert b.progress.done == 40
    assert b.failures == []
    for row in b.records:
        assert row["state"] == "ok"
        assert row["reasoning"]
        assert row["content"]
        assert row["finish_reason"] == "stop"
        assert row["attempt"] == 1
        assert len(row["token_ids"]) == row["usage"]["completion_tokens"]
        assert len(row["prompt_token_ids"]) == row["usage"]["prompt_tokens"]
        assert (row["first_token_s"] is None) == (stream == "off")
        assert row["total_s"] >= (row["first_token_s"] or 0)
        assert row["messages"][0]["content"].startswith("What is the sum of ")
    tokens = sum(row["usage"]["completion_tokens"] for row in b.records)
    assert b.progress.completion_tokens == tokens


async def test_streams_and_whole_answers_bring_the_same(
    bench: Any, samples: Any, simulate: Any
) -> None:
    found = []
    for stream in ("on", "off"):
        server = await simulate()
        with bench(samples(6), server.url, stream=stream) as b:
            await b.generator.run()
            await b.endpoints.close()
        found.append(sorted((r["key"], r["reasoning"], r["content"]) for r in b.records[-6:]))
    assert found[0] == found[1]


FAULTS = [
    "500:0.1",
    "429:0.1:0",
    "reset:0.08",
    "cut:0.08",
    "error_event:0.08",
    "abort:0.08",
    "truncate:0.06:3",
    "no_reasoning:0.06",
]


@pytest.mark.parametrize("stream", ["on", "off"])
async def test_every_request_the_server_saw_is_on_disk(
    bench: Any, samples: Any, simulate: Any, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: low)  # no spread behind Retry-After
    server: Simulator = await simulate(faults=FAULTS, seed=3)
    with bench(samples(80), server.url, concurrency=8, stream=stream, attempts=2) as b:
        running = asyncio.create_task(b.generator.run())
        while not running.done():
            b.check_sum()
            await asyncio.sleep(0.005)
        await running
        await b.endpoints.close()
    assert len(server.stats.faults) == len(FAULTS), "every fault was played"
    assert len(b.records) + len(b.failures) == server.stats.arrivals
    attempts = Counter(row["key"] for row in b.records + b.failures)
    by_question = {s.key: server.stats.attempts[s.messages[0]["content"]] for s in b.samples}
    assert attempts == by_question
    ended = [row["key"] for row in b.records]
    given_up = [row["key"] for row in b.failures if not row["will_retry"]]
    assert sorted(ended + given_up) == sorted(s.key for s in b.samples), "each ended once"
    assert b.progress.failed == len(given_up) > 0
    assert b.progress.retries == len(b.failures) - len(given_up)
    assert b.progress.kept == sum(row["state"] in KEPT_STATES for row in b.records) > 0
    states = Counter(row["state"] for row in b.failures)
    assert states == {state.value: count for state, count in b.progress.attempts.items()}
    assert states["rate_limited"] == server.stats.faults["429"]
    assert states["aborted"] == server.stats.faults["abort"]
    for row in b.failures:
        assert row["clock"] is None
        if stream == "on" and row["state"] in ("cut", "aborted"):
            assert row["reasoning"] or row["content"], "the partial text is kept"
    for row in b.records + b.failures:
        earlier = [f for f in b.failures if f["key"] == row["key"]]
        assert row["attempt"] <= len(earlier) + 1


async def test_a_connection_for_every_request(bench: Any, samples: Any, simulate: Any) -> None:
    """A client with a small pool would wait for one, and time out while the server is idle."""
    server: Simulator = await simulate(faults=["slow_first_token:1:1.0"])
    with bench(samples(16), server.url, concurrency=16, first_token_timeout=3.0) as b:
        await b.generator.run()
        await b.endpoints.close()
    assert server.stats.peak == 16
    assert b.failures == []
    assert max(row["total_s"] for row in b.records) < 2.9


async def test_drain_asks_nothing_new(bench: Any, samples: Any, simulate: Any, until: Any) -> None:
    server: Simulator = await simulate(token_rate=200.0)
    with bench(samples(50), server.url) as b:
        running = asyncio.create_task(b.generator.run())
        await until(lambda: len(b.records) >= 3)
        asked = b.progress.done + b.progress.in_flight
        b.generator.drain()
        await running
        b.check_sum()
        await b.endpoints.close()
    assert server.stats.arrivals == asked
    assert server.stats.disconnects == 0
    assert b.progress.done == len(b.records) == asked < 50


async def test_drain_waits_for_no_retry(bench: Any, samples: Any, simulate: Any) -> None:
    server: Simulator = await simulate(faults=["429:1:600"])
    with bench(samples(3), server.url) as b:
        running = asyncio.create_task(b.generator.run())
        while len(b.failures) < 3:
            await asyncio.sleep(0.005)
        b.generator.drain()
        await asyncio.wait_for(running, 5)
        await b.endpoints.close()
    assert b.progress.pending == 3
    assert b.progress.failed == 0


async def test_stop_ends_at_once_and_keeps_what_is_there(
    bench: Any, samples: Any, simulate: Any, until: Any
) -> None:
    server: Simulator = await simulate(faults=["hang:0.5:5"], seed=1)
    with bench(samples(20), server.url, concurrency=10) as b:
        running = asyncio.create_task(b.generator.run())
        await until(lambda: len(b.records) >= 3 and server.stats.in_flight >= 5)
        b.generator.stop()
        await asyncio.wait_for(running, 1)
        await until(lambda: server.stats.in_flight == 0)
        await b.endpoints.close()
    assert b.progress.done == len(b.records) < 20
    assert b.failures == [], "what was in flight has not failed"


async def test_an_answer_that_ends_as_the_run_is_stopped_is_written(
    bench: Any, samples: Any, simulate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: Simulator = await simulate()
    with bench(samples(1), server.url) as b:
        original = Attempt._run

        async def run_then_stop(attempt: Attempt) -> Answer:
            answer = await original(attempt)
            b.generator.stop()
            return answer

        monkeypatch.setattr(Attempt, "_run", run_then_stop)
        await b.generator.run()
        await b.endpoints.close()
    assert [row["state"] for row in b.records] == ["ok"]
    assert b.progress.done == 1


async def test_a_full_disk_pauses_and_loses_nothing(
    bench: Any, samples: Any, simulate: Any, until: Any
) -> None:
    server: Simulator = await simulate()
    with bench(samples(30), server.url) as b:
        write = b.journal.records.append
        full = True

        def append(line: bytes) -> None:
            if full and len(b.records) >= 10:
                raise OSError(28, "No space left on device")
            write(line)

        b.journal.records.append = append
        running = asyncio.create_task(b.generator.run())
        await until(lambda: "No space left" in b.generator.pause and not b.progress.in_flight)
        b.check_sum()
        asked = server.stats.arrivals
        assert len(b.records) == b.progress.done == 10
        assert 10 < asked <= 14
        await until(lambda: not server.stats.in_flight)
        for _ in range(5):  # looks of the clock
            await asyncio.sleep(module.LOOK_S)
        assert server.stats.arrivals == asked, "nothing new is asked"
        full = False
        await asyncio.wait_for(running, 10)
        assert b.generator.pause == ""
        await b.endpoints.close()
    assert server.stats.arrivals == 30, "nothing was asked twice"
    assert len({row["key"] for row in b.records}) == len(b.records) == 30
    said = [line for line in b.log if "raw_responses.jsonl" in line]
    assert len(said) == 2, said
    assert "No space left on device" in said[0]
    assert "can be written again" in said[1]


@pytest.mark.parametrize("room", [True, False])
async def test_stopped_with_a_full_disk_it_tries_once_more_and_says_what_is_lost(
    bench: Any, samples: Any, simulate: Any, until: Any, room: bool
) -> None:
    server: Simulator = await simulate()
    with bench(samples(4), server.url) as b:
        write = b.journal.records.append
        full = True

        def append(line: bytes) -> None:
            if full:
                raise OSError(28, "No space left on device")
            write(line)

        b.journal.records.append = append
        running = asyncio.create_task(b.generator.run())
        await until(lambda: len(b.generator._unsaved) == 4)
        full = not room
        b.generator.stop()
        await running
        await b.endpoints.close()
    assert len(b.records) == (4 if room else 0)
    lost = "4 finished answers could not be written" in b.log[-1]
    assert lost is not room


async def test_a_fault_of_the_clocks_ends_the_run_instead_of_hanging_it(
    bench: Any, samples: Any, simulate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: Simulator = await simulate(faults=["hang:1"])
    monkeypatch.setattr(Attempt, "look", lambda *_: 1 / 0)
    with bench(samples(1), server.url) as b:
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(b.generator.run(), 5)
        await b.endpoints.close()
