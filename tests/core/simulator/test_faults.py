"""Each fault, seen from the client, whole and streamed."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import pytest

THINK_END = 163607


async def body_of(talk, server, **fields):
    async with talk.post(server, **fields) as response:
        assert response.status == 200
        return (await response.read()).decode()


async def read_all_that_comes(response, data):
    """Read into ``data`` until nothing came for a while."""
    while True:
        data += await asyncio.wait_for(response.content.readany(), 0.2)


async def test_500(start, talk):
    server = await start(faults=["500:1"])
    for stream in (False, True):
        async with talk.post(server, stream=stream) as response:
            assert response.status == 500
            assert (await response.json())["error"]["type"] == "InternalServerError"
    assert server.stats.faults == {"500": 2}


async def test_429_says_when_to_come_back(start, talk):
    server = await start(faults=["429:1:7"])
    async with talk.post(server) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "7")
        assert (await response.json())["error"]["code"] == 429


@pytest.mark.parametrize(("fault", "least"), [("hang:1", 0), ("hang:1:5", 5)])
async def test_a_hang_says_nothing_more_and_holds_its_slot(start, talk, until, fault, least):
    server = await start(faults=[fault])
    async with talk.post(server, stream=True) as response:
        assert response.status == 200
        await until(lambda: server.engine.metrics.generation_tokens == least)
        data = bytearray()
        with pytest.raises(asyncio.TimeoutError):
            await read_all_that_comes(response, data)
        assert data.count(b'"reasoning"') == least
        assert server.engine.metrics.running == 1
    await until(lambda: server.engine.metrics.running == 0)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(talk.whole(server), 0.2)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reset_is_a_reset(start, talk, stream):
    server = await start(faults=["reset:1"])
    with pytest.raises(aiohttp.ClientError, match="reset by peer"):
        await body_of(talk, server, stream=stream)
    assert (server.stats.finished, server.stats.disconnects) == ({"reset": 1}, 0)


async def test_a_cut_stream_ends_cleanly_without_a_last_word(start, talk):
    server = await start(faults=["cut:1:6"])
    text = await body_of(talk, server, stream=True)
    assert text.endswith("}\n\n")
    assert text.count('"reasoning"') == 6
    assert text.count('"finish_reason":null') == text.count("data: ") == 7
    assert "[DONE]" not in text


async def test_a_cut_whole_answer_breaks_off_in_mid_body(start, talk):
    server = await start(faults=["cut:1"])
    with pytest.raises(aiohttp.ClientPayloadError):
        await body_of(talk, server)


async def test_an_error_event_comes_after_some_text(start, talk):
    server = await start(faults=["error_event:1:4"])
    *chunks, error, done = await talk.events(server)
    assert len(chunks) == 5
    assert error["error"] == {
        "message": "EngineCore encountered an issue. See stack trace (above) for the root cause.",
        "type": "InternalServerError",
        "param": None,
        "code": 500,
    }
    assert done == "[DONE]"
    async with talk.post(server) as response:
        assert (response.status, await response.json()) == (500, error)
    assert server.engine.metrics.finished == {"error": 2}


async def test_an_abort_is_an_answer_with_that_finish_reason(start, talk):
    server = await start(faults=["abort:1:5"])
    answer = await talk.whole(server)
    assert answer["choices"][0]["finish_reason"] == "abort"
    assert answer["usage"]["completion_tokens"] == 5
    *_, last, done = await talk.events(server)
    assert (last["choices"][0]["finish_reason"], done) == ("abort", "[DONE]")


async def test_slow_first_token(start, talk):
    server = await start(faults=["slow_first_token:1:0.6"])
    asked = time.perf_counter()
    async with talk.post(server, stream=True) as response:
        assert time.perf_counter() - asked < 0.5
        await response.content.readany()
        assert time.perf_counter() - asked > 0.59
        await response.read()


async def test_no_reasoning_whatever_the_request_says(start, talk):
    server = await start(faults=["no_reasoning:1"])
    answer = await talk.whole(
        server, return_token_ids=True, chat_template_kwargs={"thinking": True}
    )
    assert answer["choices"][0]["message"]["reasoning"] is None
    assert answer["choices"][0]["message"]["content"]
    assert answer["prompt_token_ids"][-1] == THINK_END
    assert answer["usage"]["prompt_tokens"] == len(answer["prompt_token_ids"])


async def test_truncate(start, talk):
    server = await start(faults=["truncate:1"])
    answer = await talk.whole(server)
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 16


async def test_slow(start, talk):
    server = await start(faults=["slow:1:20"])
    asked = time.perf_counter()
    await talk.whole(server, max_tokens=8)
    assert time.perf_counter() - asked > 0.3


async def test_a_loop_ends_at_max_tokens_without_an_answer(start, talk):
    server = await start(faults=["loop:1"])
    choice = (await talk.whole(server, max_tokens=300))["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", None)


async def test_a_retry_can_succeed(start, talk):
    server = await start(faults=["500:0.5"])
    statuses = []
    for _ in range(40):
        async with talk.post(server, max_tokens=1) as response:
            statuses.append(response.status)
    assert 10 < statuses.count(200) < 30
    assert server.stats.faults == {"500": statuses.count(500)}
    assert list(server.stats.attempts.values()) == [40]
