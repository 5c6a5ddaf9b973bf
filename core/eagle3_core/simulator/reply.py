"""An answer on its way out: whole or as a stream, and the ways in which it can break off."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from eagle3_core import codec
from eagle3_core.simulator import shapes
from eagle3_core.simulator.engine import Job
from eagle3_core.simulator.parser import Piece, Reader
from eagle3_core.simulator.request import ChatRequest
from eagle3_core.simulator.settings import SimSettings

DEAD = shapes.error(
    "EngineCore encountered an issue. See stack trace (above) for the root cause.",
    "InternalServerError",
    500,
)


@dataclass(frozen=True)
class Exchange:
    """One chat request that has its place in the engine."""

    request: web.Request
    chat: ChatRequest
    prompt: list[int]
    job: Job
    request_id: str
    reasoning: bool
    """The answer begins with reasoning that the parser splits off."""
    settings: SimSettings

    def counts(self, reader: Reader, *, stream: bool) -> dict[str, Any]:
        reasoning = reader.reasoning_tokens if self.settings.parser == "on" else None
        return shapes.usage(len(self.prompt), self.job.produced, reasoning, stream=stream)


def json_response(
    body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A JSON answer with the content type that vLLM gives it, without a charset."""
    return web.Response(
        body=codec.dumps(body), status=status, headers=headers, content_type="application/json"
    )


async def whole(exchange: Exchange) -> web.StreamResponse:
    """Wait for the end, then answer in one piece."""
    job = exchange.job
    await job.progress(0)
    if job.finish == "error":
        return json_response(DEAD, status=500)
    if job.finish == "reset":
        return _reset(exchange.request, web.StreamResponse())
    tokens = job.script.tokens[: job.produced]
    reader = Reader(reasoning=exchange.reasoning)
    message: dict[str, str] = {}
    for piece in reader.feed(tokens, final=True):
        message |= shapes.spoken(piece, exchange.settings.reasoning_field)
    ids = exchange.chat.return_token_ids
    body = shapes.completion(
        request_id=exchange.request_id,
        model=exchange.settings.model,
        message=message,
        field=exchange.settings.reasoning_field,
        finish_reason=str(job.finish),
        token_ids=tokens if ids else None,
        prompt_token_ids=exchange.prompt if ids else None,
        counts=exchange.counts(reader, stream=False),
    )
    if job.finish == "cut":
        return await _half(exchange.request, codec.dumps(body))
    return json_response(body)


async def open_stream(request: web.Request) -> web.StreamResponse:
    """Send the head of a stream, which vLLM does before there is any token."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    return response


async def stream(exchange: Exchange, response: web.StreamResponse) -> web.StreamResponse:
    """Send chunks as the engine produces tokens, until the end or the break."""
    job = exchange.job
    field = exchange.settings.reasoning_field
    ids = exchange.chat.return_token_ids
    chunks = shapes.Chunks(exchange.request_id, exchange.settings.model)
    reader = Reader(reasoning=exchange.reasoning)
    out = bytearray(chunks.first(exchange.prompt if ids else None))
    sent = 0
    while True:
        await job.progress(sent)
        groups = _groups(job, sent, exchange.settings.chunk_tokens)
        last = (groups.pop() if groups else []) if job.finish is not None else None
        for tokens in groups:
            sent += len(tokens)
            for delta, of_delta in _deltas(reader.feed(tokens), field, tokens if ids else None):
                out += chunks.delta(delta, of_delta)
        if last is not None:
            return await _end(exchange, response, chunks, reader, out, last)
        await response.write(bytes(out))
        out.clear()


async def _end(
    exchange: Exchange,
    response: web.StreamResponse,
    chunks: shapes.Chunks,
    reader: Reader,
    out: bytearray,
    tokens: list[int],
) -> web.StreamResponse:
    job = exchange.job
    broken = job.finish in ("error", "cut", "reset")
    pieces = reader.feed(tokens, final=not broken)
    ids = tokens if exchange.chat.return_token_ids else None
    deltas = _deltas(pieces, exchange.settings.reasoning_field, ids)
    if broken:
        for delta, of_delta in deltas:
            out += chunks.delta(delta, of_delta)
        if job.finish == "error":
            out += shapes.error_event(DEAD)
        await response.write(bytes(out))
        return _reset(exchange.request, response) if job.finish == "reset" else response
    silent: dict[str, str] = {"content": ""} if reader.where == "content" else {}
    last, of_last = deltas.pop() if deltas else (silent, ids)
    for delta, of_delta in deltas:
        out += chunks.delta(delta, of_delta)
    counts = exchange.counts(reader, stream=True) if exchange.chat.include_usage else None
    out += chunks.last(last or silent, of_last, str(job.finish), counts)
    await response.write(bytes(out))
    return response


def _groups(job: Job, sent: int, size: int) -> list[list[int]]:
    """Tokens beyond the first ``sent``, chunk by chunk: the first alone, then ``size`` a chunk. One
    that is not full waits, unless it is the last."""
    groups: list[list[int]] = []
    while sent < job.produced:
        end = sent + (size if sent else 1)
        if end > job.produced and job.finish is None:
            break
        end = min(end, job.produced)
        groups.append(job.script.tokens[sent:end])
        sent = end
    return groups


def _deltas(
    pieces: list[Piece], field: str, ids: list[int] | None
) -> list[tuple[dict[str, str], list[int] | None]]:
    """Deltas with their token ids. No chunk holds reasoning and content both; the ids of a mixed
    one all go with its first part. A chunk without text is sent only where it carries ids."""
    spoken = [delta for piece in pieces if (delta := shapes.spoken(piece, field))]
    if not spoken and ids:
        spoken = [{}]
    return [
        (delta, ids if ids is None or not number else []) for number, delta in enumerate(spoken)
    ]


async def _half(request: web.Request, body: bytes) -> web.StreamResponse:
    """Promise the whole body, send half, close."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response


def _reset(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Close with RST instead of FIN, as a killed process or a firewall does."""
    if request.transport is not None:
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    return response
