"""An answer put together from what the server sent: one JSON body, or the chunks of a stream."""

from __future__ import annotations

from typing import Any

from eagle3_core import codec
from eagle3_core.generation.sse import Decoder, Event, events, plain_data
from eagle3_core.records import Answer

_TEXTS = ("reasoning", "reasoning_content", "content", "refusal")
"""Fields of a delta whose pieces make a text."""

_DONE = b"data: [DONE]"
BATCH_BYTES = 8192
"""Parsing waits for this much once text flows: as cheap as parsing at the end, in flat memory."""


class ServerSaidError(Exception):
    """The server answered with an error inside an HTTP 200 (vLLM does, guidellm issue 743)."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class MalformedAnswerError(Exception):
    """What came is not an answer of the OpenAI protocol."""


def whole(body: bytes) -> Answer:
    """The answer in the body of a non-streamed response.

    Raises:
        ServerSaidError: when the body is an error object.
        MalformedAnswerError: when it is no chat completion.
    """
    try:
        data = codec.loads(body)
    except codec.JSONError as error:
        raise MalformedAnswerError(f"the answer is not JSON: {error}") from None
    _raise_error(data)
    try:
        choice = data["choices"][0]
        message = choice["message"]
        return Answer(
            reasoning=_typed(str, message, "reasoning"),
            reasoning_content=_typed(str, message, "reasoning_content"),
            content=_typed(str, message, "content"),
            finish_reason=_typed(str, choice, "finish_reason"),
            usage=_typed(dict, data, "usage"),
            prompt_token_ids=_typed(list, data, "prompt_token_ids")
            or _typed(list, choice, "prompt_token_ids"),
            token_ids=_typed(list, choice, "token_ids"),
            tool_calls=_typed(list, message, "tool_calls") or None,
            refusal=_typed(str, message, "refusal"),
            sanitised=codec.has_lone_surrogates(body),
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        raise MalformedAnswerError("the answer has no choices[0].message") from None


def _typed(kind: type, where: dict[str, Any], name: str) -> Any:
    """A field of a server's object: of this type, or ``None``."""
    value = where.get(name)
    if value is not None and not isinstance(value, kind):
        raise MalformedAnswerError(f"the answer's {name} is of type {type(value).__name__}")
    return value


def _raise_error(data: Any) -> None:
    error = data.get("error") if isinstance(data, dict) else None
    if error:
        if isinstance(error, dict):
            code = error.get("code")
            raise ServerSaidError(
                str(error.get("message")), code if isinstance(code, int) else None
            )
        raise ServerSaidError(str(error))


class Assembler:
    """A streamed answer as it grows.

    ``texts`` counts chunks that carried text: the only progress that keeps a stream alive, since
    pings prove no more than an open socket.
    """

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._parts: list[bytes] = []
        self._size = 0
        self._texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self._tool_calls: dict[int, dict[str, Any]] = {}
        self._token_ids: list[int] | None = None
        self._prompt_token_ids: list[int] | None = None
        self._usage: dict[str, Any] | None = None
        self.finish_reason: str | None = None
        self.texts = 0
        self.done = False
        """``[DONE]`` came."""

    def feed(self, data: bytes) -> None:
        """Take bytes; parse them now if they may be the first text or the end, else in batches."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= BATCH_BYTES or not self.texts or b"[DONE]" in data:
            self.flush()

    def flush(self) -> None:
        """Parse what has come. Raises ``ServerSaidError`` and ``MalformedAnswerError``."""
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            self._take_blocks(self._decoder.blocks(data))

    def end(self) -> None:
        """The stream has ended: parse the rest. Raises as :meth:`flush`."""
        self.flush()
        for event in self._decoder.close():
            try:
                self._take([event])
            except MalformedAnswerError:
                return  # half an event: without a finish reason the answer is cut anyway

    def answer(self) -> Answer:
        """What has come so far; complete when ``finish_reason`` is set."""
        mended = {name: codec.mend("".join(parts)) for name, parts in self._texts.items()}
        texts = {name: text or None for name, (text, _) in mended.items()}
        return Answer(
            reasoning=texts["reasoning"],
            reasoning_content=texts["reasoning_content"],
            content=texts["content"],
            finish_reason=self.finish_reason,
            usage=self._usage,
            prompt_token_ids=self._prompt_token_ids,
            token_ids=self._token_ids,
            tool_calls=[self._tool_calls[index] for index in sorted(self._tool_calls)] or None,
            refusal=texts["refusal"],
            sanitised=any(lone for _, lone in mended.values()),
        )

    def _take_blocks(self, blocks: bytes) -> None:
        """Parse whole blocks at once where they are plain: a third of the cost of one by one."""
        done = blocks == _DONE or blocks.endswith(b"\n\n" + _DONE)
        data = plain_data(blocks.removesuffix(_DONE).removesuffix(b"\n\n") if done else blocks)
        try:
            chunks = codec.loads(b"[" + data + b"]", keep_surrogates=True) if data else None
        except codec.JSONError:
            chunks = None
        if chunks is None:
            self._take(events(blocks))
            return
        for chunk in chunks:
            self._chunk(chunk)
        self.done = self.done or done

    def _take(self, found: list[Event]) -> None:
        payloads: list[bytes] = []
        failed: ServerSaidError | None = None
        for event in found:
            if event.data == b"[DONE]":
                self.done = True
                break
            if event.name == b"error":
                failed = _named_error(event.data)
                break
            payloads.append(event.data)
        for payload in payloads:
            try:
                chunk = codec.loads(payload, keep_surrogates=True)
            except codec.JSONError as error:
                raise MalformedAnswerError(f"a chunk is not JSON: {error}") from None
            self._chunk(chunk)
        if failed:
            raise failed

    def _chunk(self, chunk: Any) -> None:
        try:
            choices = chunk.get("choices")
            if not choices:
                _raise_error(chunk)
            # Most chunks have none of these: a look first costs less than a check of the type.
            if chunk.get("usage"):
                self._usage = _typed(dict, chunk, "usage")
            if chunk.get("prompt_token_ids") is not None:
                self._prompt_token_ids = _typed(list, chunk, "prompt_token_ids")
            if not choices:
                return
            choice = choices[0]
            if choice.get("finish_reason"):
                self.finish_reason = _typed(str, choice, "finish_reason")
            if choice.get("token_ids") is not None:
                self._token_ids = _extend(self._token_ids, _typed(list, choice, "token_ids"))
            if delta := choice.get("delta"):
                self._delta(delta)
        except (AttributeError, KeyError, IndexError, TypeError):
            raise MalformedAnswerError("a chunk is not of the OpenAI protocol") from None

    def _delta(self, delta: dict[str, Any]) -> None:
        for name, value in delta.items():
            if not value:
                continue
            if (parts := self._texts.get(name)) is not None:
                if not isinstance(value, str):
                    raise TypeError
                parts.append(value)
                self.texts += 1
            elif name == "tool_calls":
                for call in value:
                    self._tool_call(call)

    def _tool_call(self, call: dict[str, Any]) -> None:
        known = self._tool_calls.setdefault(
            _typed(int, call, "index") or 0,
            {"id": None, "type": "function", "function": {"name": "", "arguments": ""}},
        )
        known["id"] = call.get("id") or known["id"]
        function = call.get("function") or {}
        known["function"]["name"] += function.get("name") or ""
        known["function"]["arguments"] += function.get("arguments") or ""
        self.texts += 1


def _extend(ids: list[int] | None, more: list[int]) -> list[int]:
    if ids is None:
        return more
    ids.extend(more)
    return ids


def _named_error(data: bytes) -> ServerSaidError:
    try:
        body = codec.loads(data)
    except codec.JSONError:
        return ServerSaidError(data.decode(errors="replace"))
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        code = inner.get("code")
        return ServerSaidError(
            str(inner.get("message", inner)), code if isinstance(code, int) else None
        )
    return ServerSaidError(str(inner))
