"""The HTTP transport under the ``openai`` client: aiohttp, a connection for every request in flight.

``openai``'s own transports scan their pool for every request and cap it silently; on this one a
streamed answer costs a thirtieth (see ``benchmarks/``). Only public parts are used: an httpx
transport, of whichever httpx the installed ``openai`` is built on.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import openai


def httpx_module() -> types.ModuleType:
    """The httpx that this ``openai`` builds on: ``httpx``, or ``httpx2`` from openai 3 on."""
    for base in openai.DefaultAsyncHttpxClient.__mro__:
        root = base.__module__.partition(".")[0]
        if root.startswith("httpx"):
            return importlib.import_module(root)
    raise ImportError("this openai is built on no httpx")


httpx = httpx_module()


class _Body(httpx.AsyncByteStream):  # type: ignore[misc, name-defined]
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.content.iter_any():
            yield chunk

    async def aclose(self) -> None:
        # close, not release: a stream that is left early must free its slot on the server at once
        if not self._response.content.is_eof():
            self._response.close()
        self._response.release()


class Transport(httpx.AsyncBaseTransport):  # type: ignore[misc, name-defined]
    """httpx requests over one aiohttp session.

    Args:
        connect_timeout: seconds for name look-up, connection and TLS together. There is no other
            clock here: waiting for an answer is judged by whoever asked.
    """

    def __init__(self, *, connect_timeout: float) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_timeout)
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: Any) -> Any:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=self._timeout,
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            )
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name not in ("host", "content-length", "accept-encoding")
        ]
        response = await self._session.request(
            request.method,
            str(request.url),
            data=await request.aread(),
            headers=headers,
            allow_redirects=False,
        )
        return httpx.Response(
            response.status,
            headers=list(response.raw_headers),
            stream=_Body(response),
            request=request,
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
