"""Asking by hand: the script most people write around ``AsyncOpenAI``, and the least that does it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import IO, Any

MAX_TOKENS = 2000
QUESTION = "Prove that the sum of two odd numbers is even, and give three examples. Number {}."


@dataclass
class Work:
    """What is to be asked, and what came of it."""

    url: str
    requests: int
    concurrency: int
    stream: bool
    chunk_tokens: int
    file: IO[str]
    tokens: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    added: list[float] = field(default_factory=list)
    """Seconds that each answer took beyond what the server held it."""

    refill_ms: float | None = None
    """From an answer's end to the next request's start, p50, as the journal tells it (to 1 ms)."""

    def took(self, seconds: float, usage: dict[str, Any]) -> None:
        self.added.append(seconds - usage["held_us"] / 1e6)

    async def all(self, ask: Callable[[int], Awaitable[None]]) -> None:
        """Gather behind a semaphore."""
        slots = asyncio.Semaphore(self.concurrency)

        async def one(number: int) -> None:
            async with slots:
                try:
                    await ask(number)
                except Exception as error:
                    name = type(error).__name__
                    self.errors[name] = self.errors.get(name, 0) + 1

        await asyncio.gather(*(one(number) for number in range(self.requests)))


def messages(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": QUESTION.format(number)}]


async def plain(work: Work) -> None:
    """Typed answers, typed streams, ``json.dumps``, the package's own settings."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=work.url, api_key="none")

    def save(number: int, reasoning: str, content: str, finish: str | None, usage: Any) -> None:
        row = {
            "id": number,
            "messages": messages(number),
            "reasoning": reasoning,
            "content": content,
            "finish_reason": finish,
            "usage": usage.model_dump(),
        }
        work.file.write(json.dumps(row, ensure_ascii=False) + "\n")

    async def whole(number: int) -> None:
        start = time.perf_counter()
        answer = await client.chat.completions.create(
            model="stub", messages=messages(number), max_tokens=MAX_TOKENS
        )
        choice = answer.choices[0]
        message = choice.message
        save(number, message.reasoning, message.content, choice.finish_reason, answer.usage)
        work.took(time.perf_counter() - start, answer.usage.model_dump())
        work.tokens += answer.usage.completion_tokens

    async def streamed(number: int) -> None:
        start = time.perf_counter()
        reasoning, content, finish, usage = [], [], None, None
        stream = await client.chat.completions.create(
            model="stub",
            messages=messages(number),
            max_tokens=MAX_TOKENS,
            stream=True,
            stream_options={"include_usage": True},
        )
        async for chunk in stream:
            if chunk.usage:
                usage = chunk.usage
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            if getattr(delta, "reasoning", None):
                reasoning.append(delta.reasoning)
                work.tokens += work.chunk_tokens
            if delta.content:
                content.append(delta.content)
                work.tokens += work.chunk_tokens
            finish = chunk.choices[0].finish_reason or finish
        save(number, "".join(reasoning), "".join(content), finish, usage)
        work.took(time.perf_counter() - start, usage.model_dump())

    await work.all(streamed if work.stream else whole)


async def raw_aiohttp(work: Work) -> None:
    """aiohttp and orjson, nothing kept in hand: no states, no clocks, no retries."""
    import aiohttp
    import orjson

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)
    )
    url = work.url + "/chat/completions"
    headers = {"Content-Type": "application/json"}

    def save(number: int, reasoning: str, content: str, finish: str | None, usage: Any) -> None:
        row = {
            "id": number,
            "messages": messages(number),
            "reasoning": reasoning,
            "content": content,
            "finish_reason": finish,
            "usage": usage,
        }
        work.file.write(orjson.dumps(row).decode() + "\n")
        work.tokens += usage["completion_tokens"]

    def body(number: int) -> bytes:
        value: dict[str, Any] = {
            "model": "stub",
            "messages": messages(number),
            "max_tokens": MAX_TOKENS,
            "stream": work.stream,
        }
        if work.stream:
            value["stream_options"] = {"include_usage": True}
        return orjson.dumps(value)

    async def whole(number: int) -> None:
        start = time.perf_counter()
        async with session.post(url, data=body(number), headers=headers) as response:
            answer = orjson.loads(await response.read())
        choice = answer["choices"][0]
        message = choice["message"]
        usage = answer["usage"]
        save(number, message["reasoning"], message["content"], choice["finish_reason"], usage)
        work.took(time.perf_counter() - start, usage)

    async def streamed(number: int) -> None:
        start = time.perf_counter()
        reasoning, content, finish, usage, rest = [], [], None, None, b""
        async with session.post(url, data=body(number), headers=headers) as response:
            async for data in response.content.iter_any():
                *events, rest = (rest + data).split(b"\n\n")
                for event in events:
                    if event == b"data: [DONE]":
                        continue
                    chunk = orjson.loads(event[6:])
                    if "usage" in chunk:
                        usage = chunk["usage"]
                    for choice in chunk["choices"]:
                        delta = choice["delta"]
                        if text := delta.get("reasoning"):
                            reasoning.append(text)
                        elif text := delta.get("content"):
                            content.append(text)
                        finish = choice["finish_reason"] or finish
        assert usage is not None
        save(number, "".join(reasoning), "".join(content), finish, usage)
        work.took(time.perf_counter() - start, usage)

    async with session:
        await work.all(streamed if work.stream else whole)
