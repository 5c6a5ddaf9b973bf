"""A simulator that answers fast, and ways to talk to it as a client does."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from eagle3_core.simulator.faults import Fault
from eagle3_core.simulator.server import Simulator
from eagle3_core.simulator.settings import SimSettings

FAST: dict[str, Any] = {"token_rate": 5000.0, "mean_tokens": 60.0, "prefill_rate": 1e6}

QUESTION = "Why does the harbour freeze in winter, and what does a fisherman do then?"


@dataclass
class Talk:
    """Requests to a simulator, with the answers as plain values."""

    session: aiohttp.ClientSession

    def post(self, server: Simulator, **fields: Any) -> Any:
        messages = [{"role": "user", "content": fields.pop("question", QUESTION)}]
        body = {"model": server.settings.model, "messages": messages, **fields}
        return self.session.post(f"{server.url}/chat/completions", json=body)

    async def whole(self, server: Simulator, **fields: Any) -> dict[str, Any]:
        async with self.post(server, **fields) as response:
            assert response.status == 200, await response.text()
            answer: dict[str, Any] = await response.json()
            return answer

    async def events(self, server: Simulator, **fields: Any) -> list[Any]:
        """All events of a stream, parsed, ``[DONE]`` as text."""
        async with self.post(server, stream=True, **fields) as response:
            assert response.status == 200, await response.text()
            assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
            return parse(await response.text())

    async def get(self, server: Simulator, path: str) -> tuple[int, str]:
        root = server.url.removesuffix("/v1")
        async with self.session.get(root + path) as response:
            return response.status, await response.text()


def parse(text: str) -> list[Any]:
    events: list[Any] = []
    for block in text.split("\n\n")[:-1]:
        assert block.startswith("data: "), block
        data = block.removeprefix("data: ")
        events.append(data if data == "[DONE]" else json.loads(data))
    return events


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Talk(session)


@pytest.fixture
async def start() -> AsyncIterator[Callable[..., Any]]:
    """``await start(**settings)``: a running simulator; ``faults`` as texts."""
    servers: list[Simulator] = []

    async def begin(**settings: Any) -> Simulator:
        faults = tuple(map(Fault.parse, settings.pop("faults", ())))
        server = Simulator(SimSettings(**{**FAST, **settings}, faults=faults))
        servers.append(server)
        await server.start()
        return server

    yield begin
    for server in servers:
        await server.stop()


@pytest.fixture
def until() -> Callable[..., Any]:
    """``await until(condition, seconds)``: poll, and fail when the time is over."""

    async def wait(condition: Callable[[], bool], seconds: float = 5.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            await asyncio.sleep(0.005)

    return wait
