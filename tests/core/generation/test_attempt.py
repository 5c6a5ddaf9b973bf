"""One attempt: its clocks, what makes an answer complete, and all the ways to break off."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from eagle3_core.simulator.server import Simulator

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


GOOD = chunk(reasoning="Sum.") + chunk(content="Ni") + chunk("stop", content="ne.")
DONE = b"data: [DONE]\n\n"


def streams(*pieces: bytes | float, stay_open: bool = False) -> Reply:
    """Bytes, and pauses in seconds between them."""

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            if isinstance(piece, bytes):
                await response.write(piece)
            else:
                await asyncio.sleep(piece)
        if stay_open:
            await asyncio.sleep(60)
        return response

    return reply


def says(status: int, body: Any, **headers: str) -> Reply:
    async def reply(request: web.Request) -> web.StreamResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, body=data, headers=named)

    return reply


async def hangs(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits that long")


answers = streams(GOOD + DONE)
message = {"reasoning": "Sum.", "content": "Nine."}
answers_whole = says(200, {"choices": [{"message": message, "finish_reason": "stop"}]})

Clock = tuple[Reply, dict[str, Any], str, str, str]
CLOCKS: dict[str, Clock] = {
    "no head": (hangs, {"first_token_timeout": 0.2}, "timeout", "first_token",
                r"no first token \(0 s, no token: still queued at the server, or it is stuck\)"),
    "no text": (streams(chunk(role="assistant", content=""), stay_open=True),
                {"first_token_timeout": 0.2}, "timeout", "first_token", "no first token"),
    "pings are no text": (streams(*[b": ping\n\n", 0.02] * 100),
                          {"first_token_timeout": 0.2}, "timeout", "first_token", "no token"),
    "silence": (streams(chunk(reasoning="Su"), stay_open=True), {"idle_timeout": 0.2},
                "stalled", "idle", r"no more tokens came \(0 s, 1 tokens at \d"),
    "pings are no progress": (streams(chunk(content="Su"), *[b": ping\n\n", 0.02] * 100),
                              {"idle_timeout": 0.2}, "stalled", "idle", "no more tokens"),
    "too long": (streams(*[chunk(reasoning="Su"), 0.02] * 200), {"timeout": 0.4},
                 "timeout", "total", r"^Request timed out \(0 s, \d+ tokens at \d"),
    "whole and too long": (hangs, {"timeout": 0.2, "stream": "off"},
                           "timeout", "total", r"^Request timed out \(0 s\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOCKS)
async def test_each_clock_says_its_name(bench: Any, samples: Any, scripted: Any, name: str) -> None:
    reply, settings, state, clock, word = CLOCKS[name]
    whole = settings.get("stream") == "off"
    server = await scripted(reply, answers_whole if whole else answers)
    with bench(samples(1), server.url, **settings) as b:
        await asyncio.wait_for(b.generator.run(), 10)
        await b.endpoints.close()
    (failure,) = b.failures
    assert (failure["state"], failure["clock"]) == (state, clock)
    assert re.search(word, failure["message"]), failure["message"]
    assert failure["will_retry"] is True
    assert 0.15 < failure["elapsed_s"] < 1.5
    assert b.progress.clocks == {clock: 1}
    if state == "stalled":
        assert (failure["reasoning"] or failure["content"]) == "Su"
        assert failure["tokens"] == 1
    assert [(row["state"], row["attempt"]) for row in b.records] == [("ok", 2)]


async def test_a_request_that_is_given_up_frees_its_slot(
    bench: Any, samples: Any, simulate: Any, until: Any
) -> None:
    server: Simulator = await simulate(faults=["hang:1:3"], max_num_seqs=1)
    with bench(samples(1), server.url, idle_timeout=0.2, attempts=9) as b:
        running = asyncio.create_task(b.generator.run())
        await until(lambda: server.stats.disconnects == 2)
        assert [row["state"] for row in b.failures][:1] == ["stalled"]
        b.generator.stop()
        await running
        await b.endpoints.close()


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("without [DONE], left open", streams(GOOD, stay_open=True)),
        ("without [DONE], ended", streams(GOOD)),
        ("without the last blank line", streams(GOOD[:-1])),
        ("[DONE], left open", streams(GOOD + DONE, stay_open=True)),
    ],
)
async def test_a_finish_reason_makes_an_answer(
    bench: Any, samples: Any, scripted: Any, name: str, reply: Reply
) -> None:
    server = await scripted(reply)
    with bench(samples(1), server.url) as b:
        await asyncio.wait_for(b.generator.run(), 5)
        await b.endpoints.close()
    assert [(r["state"], r["reasoning"], r["content"]) for r in b.records] == [
        ("ok", "Sum.", "Nine.")
    ]
    assert len(server.arrivals) == 1


HALF = chunk(reasoning="Sum.") + chunk(content="Ni")
BROKEN: dict[str, tuple[Reply, str, str]] = {
    "ends in order": (streams(HALF), "cut", "the stream ended without a finish reason"),
    "[DONE] alone": (streams(HALF + DONE), "cut", "the stream ended without a finish reason"),
    "[DONE] alone, left open": (streams(HALF + DONE, stay_open=True), "cut", "without a finish"),
    "error event": (streams(HALF + b'data: {"error":{"message":"died","code":500}}\n\n' + DONE),
                    "server_error", "the server said: died"),
    "error event, left open": (
        streams(HALF, 0.05, b'data: {"error":{"message":"died","code":500}}\n\n', stay_open=True),
        "server_error", "the server said: died"),
    "error event by name": (streams(HALF, 0.05, b'event: error\ndata: {"message":"died"}\n\n'),
                            "server_error", "the server said: died"),
    "busy in the stream": (streams(b'data: {"error":{"message":"busy","code":503}}\n\n' + DONE),
                           "server_error", "the server said: busy"),
    "aborted": (streams(HALF + chunk("abort") + DONE), "aborted", "the server aborted the answer"),
    "a page": (says(200, b"<html>hello</html>"), "cut", "without a finish reason"),
    "content of another kind": (streams(HALF + chunk(content=[{"text": "x"}])), "server_error",
                                "a chunk is not of the OpenAI protocol"),
    "a chunk of no JSON": (streams(HALF + b"data: {oops\n\n"), "server_error", "not JSON"),
    "500": (says(500, {"error": {"message": "died"}}), "server_error", "HTTP 500: died"),
    "503 of a proxy": (says(503, b"<html>\n <b>no\x1b[2J</b>"), "server_error",
                       "HTTP 503: <html> <b>no\u241b[2J</b>"),
    "504 without a word": (says(504, b""), "server_error", "HTTP 504: no further word"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
async def test_what_breaks_is_asked_again(
    bench: Any, samples: Any, scripted: Any, name: str
) -> None:
    reply, state, word = BROKEN[name]
    server = await scripted(reply, answers)
    with bench(samples(1), server.url) as b:
        await asyncio.wait_for(b.generator.run(), 5)
        await b.endpoints.close()
    assert [(row["state"], row["attempt"]) for row in b.records] == [("ok", 2)]
    (failure,) = b.failures
    assert failure["state"] == state
    assert word in failure["message"]
    assert failure["clock"] is None
    if HALF in (reply.__closure__ or [None])[0].cell_contents:  # type: ignore[union-attr]
        assert (failure["reasoning"], failure["content"]) == ("Sum.", "Ni")
    assert len(server.arrivals) == 2
    (line,) = [line for line in b.log if "sample 0" in line]
    assert re.fullmatch(r"WARNING sample 0: .*; asked again in 0\.\d s", line)
