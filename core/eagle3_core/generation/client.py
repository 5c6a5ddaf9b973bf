"""One endpoint's ``openai`` client, configured so that nothing happens behind our back."""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

import openai

from eagle3_core import codec
from eagle3_core.generation.transport import Transport, httpx
from eagle3_core.records import Sample
from eagle3_core.settings import RunSettings

_TAKES_BYTES = "content" in inspect.signature(openai.AsyncOpenAI.post).parameters


_url = functools.lru_cache(httpx.URL)


class _HTTPClient(httpx.AsyncClient):  # type: ignore[misc, name-defined]
    """httpx without what a model server has no use for: cookies, redirects, merged URLs and headers.

    ``openai`` calls these two and no more of it; they are a sixth of the cost of a request.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport=transport, timeout=None, trust_env=False)
        self._wire = transport

    def build_request(
        self, method: str, url: Any, *, content: Any = None, headers: Any = None, **_: Any
    ) -> Any:
        return httpx.Request(method, _url(str(url)), content=content, headers=headers)

    async def send(self, request: Any, *, stream: bool = False, **_: Any) -> Any:
        response = await self._wire.handle_async_request(request)
        if not stream:
            await response.aread()
        return response


class Client:
    """Chat completions of one endpoint, as bytes.

    The SDK's own retries are off (they send a long request three times unseen, vllm issue 20520)
    and so are its clocks; answers are not built into typed models, which costs thirty times the
    work and drops fields the SDK does not know.
    """

    def __init__(self, base_url: str, settings: RunSettings) -> None:
        self.base_url = base_url.rstrip("/")
        self.root = self.base_url.removesuffix("/v1")
        """Where ``/health`` and ``/metrics`` are."""
        self._http = _HTTPClient(Transport(connect_timeout=settings.connect_timeout))
        self._openai = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=os.environ.get(settings.api_key_env) or "none",
            max_retries=0,
            timeout=None,
            http_client=self._http,
        )

    async def chat(self, body: dict[str, Any]) -> Any:
        """POST one request; the httpx response, its body still to be read and to be closed.

        Raises ``openai.APIError``: an error status, or no connection.
        """
        how: dict[str, Any] = {"content": codec.dumps(body)} if _TAKES_BYTES else {"body": body}
        return await self._openai.post(
            self.base_url + "/chat/completions",  # absolute: a relative one is parsed three times
            cast_to=httpx.Response,
            stream=True,
            stream_cls=openai.AsyncStream[Any],
            **how,
        )

    async def get(self, path: str, *, under_v1: bool = False) -> tuple[int, bytes]:
        """GET beside the API (``/health``, ``/version``): status and body.

        Raises what httpx raises when there is no connection.
        """
        url = (self.base_url if under_v1 else self.root) + path
        headers = {"Authorization": f"Bearer {self._openai.api_key}"}
        response = await self._http.get(url, headers=headers)
        return response.status_code, response.content

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """POST beside the API (``/tokenize``): status and body. Raises as :meth:`get`."""
        headers = {
            "Authorization": f"Bearer {self._openai.api_key}",
            "Content-Type": "application/json",
        }
        response = await self._http.post(
            self.root + path, headers=headers, content=codec.dumps(body)
        )
        return response.status_code, response.content

    async def close(self) -> None:
        await self._openai.close()


def request_body(
    settings: RunSettings, sample: Sample, *, stream: bool, token_ids: bool
) -> dict[str, Any]:
    """The request for one sample.

    ``thinking`` goes where the model's template reads it: ``chat_template_kwargs`` at top level
    (Kimi's template knows ``thinking``, Qwen's ``enable_thinking``; ``extra_body`` overrides).
    """
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": list(sample.messages),
        "max_tokens": settings.max_tokens,
        "stream": stream,
        "chat_template_kwargs": {"thinking": settings.thinking},
    }
    if stream:
        body["stream_options"] = {"include_usage": True}
    if token_ids:
        body["return_token_ids"] = True
    for name in ("temperature", "top_p", "seed"):
        if (value := getattr(settings, name)) is not None:
            body[name] = value
    return body | settings.extra_body
