"""Why an attempt failed: exceptions of the client told apart, for people and for the retry rule."""

from __future__ import annotations

import errno
import os
import ssl
from dataclasses import dataclass
from typing import Any

import openai

from eagle3_core import codec
from eagle3_core.generation.assemble import MalformedAnswerError, ServerSaidError
from eagle3_core.generation.transport import httpx
from eagle3_core.records import AnswerState
from eagle3_core.text import printable

_RETRY_STATUS = frozenset({408, 409, 425, 429})
_FULL = 503
"""vLLM with a full queue; in a stream that lost the race it comes as an event inside a 200."""
_LONGEST_MESSAGE = 500


@dataclass(frozen=True)
class Cause:
    """An exception, explained."""

    state: AnswerState
    message: str
    clock: str | None = None
    retry_after_s: float | None = None
    why: str = ""
    """Of a time-out: ``queued``, ``slow``, ``looping`` or ``silent``; see ``generation.why``."""
    sent_away: bool = False
    """The server is full and said so (429, 503)."""
    reached: bool = True
    """The server took the request; ``False``: it could not be reached, so the try costs nothing."""


def explain(error: BaseException, *, answering: bool) -> Cause:
    """The cause of a failed attempt.

    Args:
        error: what the attempt raised.
        answering: whether the server had begun to answer.
    """
    if isinstance(error, openai.APIStatusError):
        return _status(error)
    if isinstance(error, ServerSaidError):
        rejected = (
            error.code is not None and 400 <= error.code < 500 and error.code not in _RETRY_STATUS
        )
        state = AnswerState.REJECTED if rejected else AnswerState.SERVER_ERROR
        message = f"the server said: {error}"[:_LONGEST_MESSAGE]
        return Cause(state, message, sent_away=error.code == _FULL)
    if isinstance(error, MalformedAnswerError):
        return Cause(AnswerState.SERVER_ERROR, str(error))
    return _connection(_chain(error), answering)


def word_of(error: BaseException) -> str:
    """What went wrong with a connection, in plain words."""
    return _word(_chain(error))


def body_message(body: bytes) -> str:
    """The message in an error body of any server: an object, a string, ``detail``, or plain text."""
    try:
        found: Any = codec.loads(body)
    except codec.JSONError:
        found = body.decode(errors="replace")
    for name in ("error", "detail", "message"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    text = found if isinstance(found, str) else codec.dumps(found).decode()
    return printable(" ".join(text.split())[:_LONGEST_MESSAGE])


def _status(error: openai.APIStatusError) -> Cause:
    code = error.status_code
    said = body_message(error.response.content) or "no further word"
    message = f"HTTP {code}: {said}"
    after = _seconds(error.response.headers.get("retry-after"))
    if code == 429:
        return Cause(AnswerState.RATE_LIMITED, message, retry_after_s=after, sent_away=True)
    if code == _FULL:
        return Cause(AnswerState.SERVER_ERROR, message, retry_after_s=after, sent_away=True)
    if code >= 500 or code in _RETRY_STATUS:
        return Cause(AnswerState.SERVER_ERROR, message, retry_after_s=after)
    return Cause(AnswerState.REJECTED, message)


def _seconds(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None  # an HTTP date: our own back-off is as good


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in links:
        links.append(at)
        at = at.__cause__ or at.__context__
    return links


def _connection(chain: list[BaseException], answering: bool) -> Cause:
    if any(isinstance(e, OSError) and e.errno in (errno.EMFILE, errno.ENFILE) for e in chain):
        return Cause(
            AnswerState.CONNECTION, "too many open files here: raise ulimit -n", reached=False
        )
    word = _word(chain)
    if answering:
        return Cause(AnswerState.CUT, f"the connection broke in mid-answer: {word}")
    if any(isinstance(error, (httpx.ConnectTimeout, TimeoutError)) for error in chain):
        return Cause(
            AnswerState.TIMEOUT, "Request timed out: no connection", clock="connect", reached=False
        )
    if any(isinstance(error, httpx.ConnectError) for error in chain):
        return Cause(AnswerState.CONNECTION, f"no connection: {word}", reached=False)
    return Cause(AnswerState.CONNECTION, f"the connection broke before an answer: {word}")


def _word(chain: list[BaseException]) -> str:
    """The system's words where there are some; else those of the one who saw it first."""
    for error in reversed(chain):
        if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno:
            return os.strerror(error.errno) if error.errno > 0 else str(error)
    said = next((error for error in chain if isinstance(error, httpx.TransportError)), chain[-1])
    return str(said).strip() or type(said).__name__
