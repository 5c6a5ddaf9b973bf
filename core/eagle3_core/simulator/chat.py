"""POST /v1/chat/completions: from the body of a request to its place in the engine."""

from __future__ import annotations

from aiohttp import web

from eagle3_core.simulator import faults, reply, script, shapes
from eagle3_core.simulator.engine import Engine, Job, QueueFullError
from eagle3_core.simulator.reply import Exchange
from eagle3_core.simulator.request import (
    ChatRequest,
    RefusedError,
    check_prompt,
    read_chat,
    read_json,
)
from eagle3_core.simulator.settings import SimSettings
from eagle3_core.simulator.stats import Stats
from eagle3_core.simulator.template import prompt_tokens, question_of

BUSY = shapes.error(
    "The engine is currently busy and cannot accept new requests. "
    "Please try again later or on a different instance.",
    "Service Unavailable",
    503,
)
STOPPED = shapes.error("cannot schedule new futures after shutdown", "InternalServerError", 500)
LIMITED = shapes.error("Rate limit reached. Please try again later.", "Too Many Requests", 429)


class Chat:
    """Answers chat requests from one engine."""

    def __init__(self, settings: SimSettings, engine: Engine, stats: Stats) -> None:
        self.settings = settings
        self.engine = engine
        self.stats = stats

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The handler. Raises :class:`RefusedError` for what vLLM refuses with 4xx."""
        try:
            body = read_json(await request.read(), request.content_type)
            chat = read_chat(body, self.settings)
            prompt = prompt_tokens(chat.messages, thinking=chat.thinking)
            check_prompt(len(prompt), self.settings.max_model_len)
        except RefusedError:
            self.stats.refused += 1
            raise
        self.stats.arrive(question_of(chat.messages))
        try:
            return await self._answer(request, body, chat, prompt)
        except ConnectionResetError:
            # The client went away just before a write; aiohttp has nobody to send this to.
            return web.StreamResponse()
        finally:
            self.stats.in_flight -= 1

    async def _answer(
        self, request: web.Request, body: dict[str, object], chat: ChatRequest, prompt: list[int]
    ) -> web.StreamResponse:
        fault = faults.pick(self.settings.faults, self.settings.seed, self.stats.arrivals)
        if fault:
            self.stats.faults[fault.kind] += 1
        if fault and fault.kind == "500":
            raise RefusedError(reply.DEAD)
        if fault and fault.kind == "429":
            wait = {"Retry-After": f"{fault.parameter:g}"}
            return reply.json_response(LIMITED, status=429, headers=wait)
        if self.engine.stopped:
            raise RefusedError(STOPPED)
        if self.engine.full:
            self.engine.metrics.rejections += 1
            raise RefusedError(BUSY)
        thinking = chat.thinking
        if fault and fault.kind == "no_reasoning":
            thinking = False
            prompt = prompt_tokens(chat.messages, thinking=False)
        room = self.settings.max_model_len - len(prompt)
        play = script.write(
            self.settings,
            chat.messages,
            thinking=thinking,
            max_tokens=min(chat.max_tokens or room, room),
            fault=fault,
        )
        chunk = self.settings.chunk_tokens if chat.stream else None
        name = body.get("request_id") or request.headers.get("X-Request-Id")
        exchange = Exchange(
            request=request,
            chat=chat,
            prompt=prompt,
            job=Job(play, len(prompt), chunk_tokens=chunk),
            request_id=f"chatcmpl-{name}" if name else shapes.new_id("chatcmpl"),
            reasoning=thinking and chat.parsing,
            settings=self.settings,
        )
        return await self._play(exchange)

    async def _play(self, exchange: Exchange) -> web.StreamResponse:
        job = exchange.job
        stream = await reply.open_stream(exchange.request) if exchange.chat.stream else None
        try:
            self.engine.submit(job)
        except QueueFullError:
            if stream is None:
                raise RefusedError(BUSY) from None
            # The queue filled up since the last round: too late for a status, as in vLLM.
            await stream.write(shapes.error_event(BUSY))
            return stream
        try:
            if stream is None:
                return await reply.whole(exchange)
            return await reply.stream(exchange, stream)
        finally:
            if job.finish is None:
                self.stats.disconnects += 1
                self.engine.drop(job)
            else:
                self.stats.finished[job.finish] += 1
