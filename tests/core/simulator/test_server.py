"""The server around the engine: load, metrics, disconnects, refusals, shutdown."""

from __future__ import annotations

import asyncio
import re
import time

import aiohttp
import pytest

from eagle3_core.errors import UserError
from eagle3_core.simulator import reply
from eagle3_core.simulator.engine import Job
from eagle3_core.simulator.server import Simulator
from eagle3_core.simulator.settings import SimSettings

ENGINE = 'engine="0",model_name="kimi-k2.5"'


def sample(text, name, labels=ENGINE):
    (value,) = re.findall(rf"^vllm:{name}\{{{re.escape(labels)}\}} (\S+)$", text, re.MULTILINE)
    return float(value)


def finished(text, reason):
    labels = f'engine="0",finished_reason="{reason}",model_name="kimi-k2.5"'
    return sample(text, "request_success_total", labels)


async def test_metrics_agree_with_what_clients_got(start, talk):
    server = await start(max_num_seqs=4)
    tasks = [
        talk.whole(server, question=f"Question number {n}", max_tokens=30 if n % 3 else None)
        for n in range(12)
    ]
    answers = await asyncio.gather(*tasks)
    _, text = await talk.get(server, "/metrics")
    reasons = [answer["choices"][0]["finish_reason"] for answer in answers]
    usage = [answer["usage"] for answer in answers]
    assert finished(text, "stop") == reasons.count("stop") > 0
    assert finished(text, "length") == reasons.count("length") > 0
    assert finished(text, "abort") == finished(text, "error") == 0
    said = sum(one["completion_tokens"] for one in usage)
    assert sample(text, "generation_tokens_total") == said
    asked = sum(one["prompt_tokens"] for one in usage)
    assert sample(text, "prompt_tokens_total") == asked
    assert sample(text, "prefix_cache_queries_total") == asked
    for name in ("time_to_first_token", "e2e_request_latency", "request_queue_time"):
        assert sample(text, f"{name}_seconds_count") == 12
        last = f'{ENGINE},le="+Inf"'
        assert sample(text, f"{name}_seconds_bucket", last) == 12
    assert sample(text, "inter_token_latency_seconds_count") == said - 12
    assert sample(text, "num_requests_running") == sample(text, "num_requests_waiting") == 0
    assert (server.stats.arrivals, server.stats.peak, server.stats.in_flight) == (12, 12, 0)


async def test_above_the_slots_requests_wait(start, talk, until):
    server = await start(max_num_seqs=3, faults=["hang:1"])
    tasks = [asyncio.create_task(talk.whole(server)) for _ in range(5)]
    await until(lambda: server.stats.in_flight == 5)
    _, text = await talk.get(server, "/metrics")
    assert sample(text, "num_requests_running") == 3
    assert sample(text, "num_requests_waiting") == 2
    assert await talk.get(server, "/load") == (200, '{"server_load":5}')
    for task in tasks:
        task.cancel()


async def test_a_stream_is_slower_in_a_batch(start, talk):
    server = await start(token_rate=400.0, batch_cost=0.25, mean_tokens=5000.0)

    async def seconds():
        begun = time.perf_counter()
        await talk.events(server, max_tokens=80)
        return time.perf_counter() - begun

    alone = await seconds()
    together = await asyncio.gather(*[seconds() for _ in range(9)])
    assert alone > 80 / 400 * 0.9
    assert min(together) > 2 * alone


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_goes_away_frees_its_slot(start, talk, until, stream):
    server = await start(max_num_seqs=1, token_rate=50.0, mean_tokens=5000.0)
    task = asyncio.create_task(talk.events(server) if stream else talk.whole(server))
    await until(lambda: server.engine.metrics.generation_tokens > 3)
    waiting = asyncio.create_task(talk.whole(server, max_tokens=1))
    await until(lambda: server.engine.metrics.waiting == 1)
    task.cancel()
    left = time.perf_counter()
    await until(lambda: server.stats.disconnects == 1)
    assert time.perf_counter() - left < 0.3
    assert (await waiting)["choices"][0]["finish_reason"] == "length"
    _, text = await talk.get(server, "/metrics")
    assert sample(text, "num_requests_running") == 0
    assert finished(text, "abort") == 0
    assert server.stats.finished == {"length": 1}


BUSY = {
    "message": "The engine is currently busy and cannot accept new requests. "
    "Please try again later or on a different instance.",
    "type": "Service Unavailable",
    "param": None,
    "code": 503,
}


async def test_a_full_queue_is_503(start, talk, until):
    server = await start(max_num_seqs=1, max_num_queued_reqs=1, faults=["hang:1"])
    tasks = [asyncio.create_task(talk.whole(server)) for _ in range(2)]
    await until(lambda: server.engine.full)
    for stream in (False, True):
        async with talk.post(server, stream=stream) as response:
            assert response.status == 503
            assert await response.json() == {"error": BUSY}
            assert "Retry-After" not in response.headers
    _, text = await talk.get(server, "/metrics")
    labels = 'model_name="kimi-k2.5",reason="max_num_queued_reqs"'
    assert sample(text, "admission_rejections_total", labels) == 2
    for task in tasks:
        task.cancel()
    await until(lambda: server.engine.metrics.running == 0)


async def test_a_stream_that_loses_the_race_gets_an_error_event(start, talk, until, monkeypatch):
    server = await start(max_num_seqs=1, max_num_queued_reqs=0)
    monkeypatch.setattr(server.engine, "tick", lambda elapsed: None)  # all between two rounds
    task = asyncio.create_task(talk.whole(server))
    await until(lambda: server.engine.metrics.running == 1)
    async with talk.post(server, stream=True) as response:
        assert response.status == 200
        text = await response.text()
    event = '{"error": {"message": "' + BUSY["message"] + '", "type": "Service Unavailable", '
    event += '"param": null, "code": 503}}'
    assert text == f"data: {event}\n\ndata: [DONE]\n\n"
    async with talk.post(server) as response:
        assert response.status == 503
    task.cancel()


async def test_small_endpoints(start, talk):
    server = await start()
    assert await talk.get(server, "/health") == (200, "")
    assert await talk.get(server, "/ping") == (200, "")
    assert await talk.get(server, "/version") == (200, '{"version":"0.32.0"}')


async def test_tokenize_and_back(start, talk):
    server = await start(max_model_len=1024)
    root = server.url.removesuffix("/v1")

    async def post(path, **body):
        async with talk.session.post(root + path, json=body) as response:
            return response.status, await response.json()

    status, body = await post("/tokenize", prompt="12 + 9<think>", return_token_strs=True)
    assert status == 200
    assert list(body) == ["count", "max_model_len", "tokens", "token_strs"]
    assert body["count"] == len(body["tokens"]) == 5
    assert (body["tokens"][-1], "".join(body["token_strs"])) == (163606, "12 + 9<think>")
    assert await post("/detokenize", tokens=body["tokens"]) == (200, {"prompt": "12 + 9<think>"})
    answer = await talk.whole(server, return_token_ids=True)
    messages = [{"role": "user", "content": "Why does the harbour freeze in winter, "}]
    messages[0]["content"] += "and what does a fisherman do then?"
    status, body = await post("/tokenize", messages=messages)
    assert body["tokens"] == answer["prompt_token_ids"]
    assert body["token_strs"] is None
    for path, wrong in [
        ("/tokenize", {}),
        ("/detokenize", {"tokens": [163000]}),
        ("/detokenize", {"tokens": ["x"]}),
        ("/detokenize", {}),
    ]:
        assert (await post(path, **wrong))[0] == 400


@pytest.mark.parametrize("given", [None, "Bearer wrong", "Bearer", "right"])
async def test_without_the_key_v1_is_closed(start, talk, given):
    server = await start(api_key="right")
    headers = {"Authorization": given} if given else {}
    async with talk.session.get(f"{server.url}/models", headers=headers) as response:
        assert (response.status, await response.text()) == (401, '{"error":"Unauthorized"}')
    right = {"Authorization": "Bearer right"}
    async with talk.session.get(f"{server.url}/models", headers=right) as response:
        assert response.status == 200
    assert (await talk.get(server, "/metrics"))[0] == 200


async def test_shutdown_aborts_what_runs_and_what_waits(start, talk, until):
    server = await start(max_num_seqs=2, token_rate=100.0, mean_tokens=5000.0)
    stream = asyncio.create_task(talk.events(server))
    whole = asyncio.create_task(talk.whole(server))
    await until(lambda: server.engine.metrics.generation_tokens > 10)
    queued = asyncio.create_task(talk.whole(server))
    await until(lambda: server.engine.metrics.waiting == 1)
    begun = time.perf_counter()
    await server.stop()
    assert time.perf_counter() - begun < 1
    *_, last, done = await stream
    assert (last["choices"][0]["finish_reason"], done) == ("abort", "[DONE]")
    answer = await whole
    assert answer["choices"][0]["finish_reason"] == "abort"
    assert answer["choices"][0]["message"]["reasoning"]
    assert answer["usage"]["completion_tokens"] > 3
    assert (await queued)["choices"][0]["message"]["reasoning"] is None


async def test_shutdown_with_time_lets_running_requests_end(start, talk, until):
    server = await start(token_rate=100.0, shutdown_timeout=10.0, mean_tokens=5000.0)
    task = asyncio.create_task(talk.whole(server, max_tokens=50))
    await until(lambda: server.engine.metrics.generation_tokens > 3)
    stopping = asyncio.create_task(server.stop())
    await until(lambda: server.engine.stopped)
    async with talk.post(server) as response:
        assert response.status == 500
        message = (await response.json())["error"]["message"]
        assert message == "cannot schedule new futures after shutdown"
    assert await talk.get(server, "/health") == (200, "")
    assert (await task)["choices"][0]["finish_reason"] == "length"
    await stopping


async def test_a_taken_port_is_said_in_one_line(start):
    server = await start()
    port = int(server.url.split(":")[2].removesuffix("/v1"))
    with pytest.raises(UserError, match=f"cannot listen on 127.0.0.1:{port} .*: give another"):
        async with Simulator(SimSettings(port=port)):
            pytest.fail("it listens on a port that is taken")


async def test_a_client_that_vanishes_before_a_write_is_no_error(
    start, talk, until, caplog, monkeypatch
):
    server = await start(mean_tokens=5000.0)
    opened, progressed = reply.open_stream, Job.progress
    transports = []

    async def open_and_remember(request):
        transports.append(request.transport)
        return await opened(request)

    async def progress_and_lose(job, taken):
        await progressed(job, taken)
        if taken > 10:
            transports[0].abort()

    monkeypatch.setattr(reply, "open_stream", open_and_remember)
    monkeypatch.setattr(Job, "progress", progress_and_lose)
    with pytest.raises(aiohttp.ClientError):
        await talk.events(server)
    await until(lambda: server.stats.in_flight == 0)
    assert (server.engine.metrics.running, server.stats.disconnects) == (0, 1)
    assert [record.getMessage() for record in caplog.records] == []
