"""A chat request from its body: checked as vLLM checks it, refused in its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eagle3_core import codec
from eagle3_core.simulator import shapes
from eagle3_core.simulator.settings import SimSettings


class RefusedError(Exception):
    """The server says no, with this body and the HTTP status in it."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body["error"]["message"])
        self.body = body

    @property
    def status(self) -> int:
        return int(self.body["error"]["code"])


def _invalid(kind: str, where: str, message: str, value: str) -> RefusedError:
    detail = f"{{'type': '{kind}', 'loc': '{where}', 'msg': '{message}', 'input': {value!r}}}"
    return RefusedError(shapes.error(f"1 validation error:\n  {detail}", "Bad Request", 400, where))


def _bad(message: str, param: str, value: object) -> RefusedError:
    text = f"{message} (parameter={param}, value={value})"
    return RefusedError(shapes.error(text, "BadRequestError", 400, param))


@dataclass(frozen=True)
class ChatRequest:
    """What the simulator reads of a request; other fields are accepted and ignored."""

    messages: list[dict[str, Any]]
    max_tokens: int | None
    stream: bool
    include_usage: bool
    return_token_ids: bool
    thinking: bool
    """What the template is told."""
    parsing: bool
    """Whether the reasoning parser is on; ``enable_thinking`` switches off it alone, since
    Kimi's template does not know that name."""


def read_json(data: bytes, content_type: str) -> dict[str, Any]:
    """The body as an object. Raises :class:`RefusedError`."""
    if content_type != "application/json":
        text = "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"
        raise RefusedError(shapes.error(text, "Bad Request", 400))
    if not data:
        raise _invalid("missing", "body", "Field required", "None")
    try:
        body = codec.loads(data)
    except codec.JSONError:
        raise _invalid("json_invalid", "body.0", "JSON decode error", "{}") from None
    if not isinstance(body, dict):
        raise _invalid("model_attributes_type", "body", "Input should be a valid dictionary", "…")
    return body


def read_chat(body: dict[str, Any], settings: SimSettings) -> ChatRequest:
    """Check a chat request. Raises :class:`RefusedError`."""
    messages = _messages(body)
    check_model(body, settings)
    options = body.get("chat_template_kwargs") or {}
    include = body.get("stream_options") or {}
    for name, value in (("chat_template_kwargs", options), ("stream_options", include)):
        if not isinstance(value, dict):
            raise _invalid("dict_type", f"body.{name}", "Input should be a valid dictionary", "…")
    _sampling(body)
    return ChatRequest(
        messages=messages,
        max_tokens=_max_tokens(body, settings.max_model_len),
        stream=bool(body.get("stream")),
        include_usage=bool(include.get("include_usage")),
        return_token_ids=bool(body.get("return_token_ids")),
        thinking=options.get("thinking") is not False,
        parsing=settings.parser == "on"
        and options.get("enable_thinking") is not False
        and body.get("reasoning_effort") != "none",
    )


def check_model(body: dict[str, Any], settings: SimSettings) -> None:
    """Refuse a model that is not served; no name at all will do."""
    model = body.get("model")
    if model is not None and model != settings.model:
        text = f"The model `{model}` does not exist. Valid aliases: {settings.model}."
        raise RefusedError(shapes.error(text, "NotFoundError", 404, "model"))


def check_prompt(length: int, limit: int) -> None:
    """Refuse a prompt that leaves no room for an answer; counting stops just above the limit."""
    if length >= limit:
        length = min(length, limit + 1)
        raise _bad(
            f"This model's maximum context length is {limit} tokens. However, your prompt contains "
            f"at least {length} input tokens, which exceeds this limit even without any output "
            "tokens. Please reduce the length of the input prompt.",
            "input_tokens",
            length,
        )


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    if "messages" not in body:
        raise _invalid("missing", "body.messages", "Field required", f"<dict of {len(body)} items>")
    messages = body["messages"]
    if not isinstance(messages, list):
        raise _invalid("list_type", "body.messages", "Input should be a valid list", "…")
    for number, message in enumerate(messages):
        where = f"body.messages.{number}"
        if not isinstance(message, dict):
            raise _invalid("dict_type", where, "Input should be a valid dictionary", "…")
        if not isinstance(message.get("content"), (str, list, type(None))):
            raise _invalid("string_type", where, "Input should be a valid string", "…")
    if not messages:
        text = "Cannot apply chat template to an empty conversation. Provide at least one message."
        raise RefusedError(shapes.error(text, "BadRequestError", 400))
    return messages


def _max_tokens(body: dict[str, Any], limit: int) -> int | None:
    value = body.get("max_completion_tokens")
    if value is None:
        value = body.get("max_tokens")
    if value is None:
        return None
    if not isinstance(value, int):
        raise _invalid("int_type", "body.max_tokens", "Input should be a valid integer", str(value))
    if value < 1:
        raise _bad(f"max_tokens must be at least 1, got {value}.", "max_tokens", value)
    if value > limit:
        raise _bad(
            f"max_tokens={value} cannot be greater than max_model_len={limit}. "
            "Please request fewer output tokens.",
            "max_tokens",
            value,
        )
    return value


def _sampling(body: dict[str, Any]) -> None:
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if value is not None and not isinstance(value, (int, float)):
            text = "Input should be a valid number, unable to parse string as a number"
            raise _invalid("float_parsing", f"body.{name}", text, str(value))
    temperature, top_p = body.get("temperature"), body.get("top_p")
    if temperature is not None and temperature < 0:
        value = float(temperature)
        raise _bad(f"temperature must be non-negative, got {value}.", "temperature", value)
    if top_p is not None and not 0 < top_p <= 1:
        raise _bad(f"top_p must be in (0, 1], got {float(top_p)}.", "top_p", float(top_p))
