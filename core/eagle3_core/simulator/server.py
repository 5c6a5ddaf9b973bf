"""The simulated server: an OpenAI-compatible endpoint that can be started inside a program."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from aiohttp import web

from eagle3_core.errors import UserError
from eagle3_core.simulator import metrics, shapes, tokens
from eagle3_core.simulator.chat import Chat
from eagle3_core.simulator.engine import Engine
from eagle3_core.simulator.reply import json_response
from eagle3_core.simulator.request import RefusedError, check_model, read_json
from eagle3_core.simulator.settings import SimSettings
from eagle3_core.simulator.stats import Stats
from eagle3_core.simulator.template import prompt_tokens

_LARGEST_BODY = 64 * 1024 * 1024
_KEEP_ALIVE_S = 5.0
_LAST_WORDS_S = 2.0
"""Seconds that clients get to read the end of aborted answers."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Simulator:
    """``async with Simulator(SimSettings(…)) as server:`` serves at ``server.url`` until the end
    of the block. Raises ``UserError`` when it cannot listen."""

    def __init__(self, settings: SimSettings | None = None) -> None:
        self.settings = settings or SimSettings()
        self.engine = Engine(self.settings)
        self.stats = Stats()
        self.url = ""
        """With ``/v1``, once started."""
        self._runner: web.AppRunner | None = None
        self._loop: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Simulator:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen and answer. Raises ``UserError``."""
        self._runner = web.AppRunner(
            self._application(),
            access_log=None,
            handler_cancellation=True,  # so that a client that goes away frees its slot at once
            keepalive_timeout=_KEEP_ALIVE_S,
            shutdown_timeout=_LAST_WORDS_S,
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.settings.host, self.settings.port, backlog=4096)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise UserError(
                f"cannot listen on {self.settings.host}:{self.settings.port} ({error.strerror})",
                "give another --port, or 0 for a free one",
            ) from None
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://[{host}]:{port}/v1" if ":" in host else f"http://{host}:{port}/v1"
        self._loop = asyncio.create_task(self.engine.run())

    async def stop(self) -> None:
        """Take no more requests, let others end within ``shutdown_timeout``, abort the rest."""
        self.engine.stopped = True
        deadline = asyncio.get_running_loop().time() + self.settings.shutdown_timeout
        while self.stats.in_flight and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        self.engine.abort_all()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=_LARGEST_BODY)
        chat = Chat(self.settings, self.engine, self.stats)
        app.router.add_post("/v1/chat/completions", chat.handle)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/health", self._nothing)
        app.router.add_get("/ping", self._nothing)
        app.router.add_get("/version", self._version)
        app.router.add_get("/load", self._load)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_post("/tokenize", self._tokenize)
        app.router.add_post("/detokenize", self._detokenize)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        key = self.settings.api_key
        if key is not None and request.path.startswith("/v1/"):
            given = request.headers.get("Authorization", "").encode(errors="replace")
            if not hmac.compare_digest(given, f"Bearer {key}".encode()):
                return json_response({"error": "Unauthorized"}, status=401)
        try:
            return await handler(request)
        except RefusedError as refusal:
            return json_response(refusal.body, status=refusal.status)
        except web.HTTPMethodNotAllowed as error:
            allowed = {"Allow": ", ".join(sorted(error.allowed_methods))}
            return json_response({"detail": "Method Not Allowed"}, status=405, headers=allowed)
        except web.HTTPNotFound:
            return json_response({"detail": "Not Found"}, status=404)

    async def _models(self, request: web.Request) -> web.Response:
        return json_response(shapes.models(self.settings.model, self.settings.max_model_len))

    async def _nothing(self, request: web.Request) -> web.Response:
        return web.Response()

    async def _version(self, request: web.Request) -> web.Response:
        return json_response({"version": shapes.VERSION})

    async def _load(self, request: web.Request) -> web.Response:
        return json_response({"server_load": self.stats.in_flight})

    async def _metrics(self, request: web.Request) -> web.Response:
        body = metrics.render(self.engine.metrics, self.settings.model)
        return web.Response(body=body, headers={"Content-Type": metrics.CONTENT_TYPE})

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await self._body(request)
        messages, prompt = body.get("messages"), body.get("prompt")
        if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
            options = body.get("chat_template_kwargs") or {}
            found = prompt_tokens(
                messages,
                thinking=options.get("thinking") is not False,
                generation=body.get("add_generation_prompt") is not False,
            )
        elif isinstance(prompt, str):
            found = tokens.encode(prompt)
        else:
            raise RefusedError(_wanted("prompt or messages"))
        strings = body.get("return_token_strs")
        return json_response(
            {
                "count": len(found),
                "max_model_len": self.settings.max_model_len,
                "tokens": found,
                "token_strs": [tokens.decode([token]) for token in found] if strings else None,
            }
        )

    async def _detokenize(self, request: web.Request) -> web.Response:
        given = (await self._body(request)).get("tokens")
        if not isinstance(given, list):
            raise RefusedError(_wanted("tokens"))
        try:
            return json_response({"prompt": tokens.decode(given)})
        except (KeyError, TypeError):
            raise RefusedError(_wanted("ids of known tokens")) from None

    async def _body(self, request: web.Request) -> dict[str, Any]:
        body = read_json(await request.read(), request.content_type)
        check_model(body, self.settings)
        return body


def _wanted(what: str) -> dict[str, Any]:
    return shapes.error(f"1 validation error:\n  the body needs {what}", "Bad Request", 400)
