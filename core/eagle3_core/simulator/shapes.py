"""JSON bodies as vLLM 0.32 writes them: the same keys in the same order."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

from eagle3_core import codec
from eagle3_core.simulator.parser import Piece

VERSION = "0.32.0"
FINGERPRINT = f"vllm-{VERSION}-simulator"
DONE = b"data: [DONE]\n\n"


def new_id(prefix: str) -> str:
    return f"{prefix}-{secrets.token_hex(8)}"


def error(message: str, kind: str, code: int, param: str | None = None) -> dict[str, Any]:
    """Body of a refusal; the HTTP status is ``code``."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def error_event(body: dict[str, Any]) -> bytes:
    """An error inside a stream, with the spaces that vLLM writes there, and ``[DONE]``."""
    return b"data: " + json.dumps(body).encode() + b"\n\n" + DONE


def spoken(piece: Piece, field: str) -> dict[str, str]:
    """A piece under the names it has on the wire. ``field``: as ``SimSettings.reasoning_field``."""
    where, text = piece
    if where == "content":
        return {"content": text}
    names = ("reasoning", "reasoning_content") if field == "both" else (field,)
    return {name: text for name in names if name != "none"}


def usage(
    prompt: int, completion: int, reasoning: int | None, *, stream: bool = False
) -> dict[str, Any]:
    """Token counts; in a stream nulls are left out. ``reasoning``: ``None`` without a parser."""
    cached: dict[str, int | None] = {"cached_tokens": 0, "created_cache_tokens": 0}
    details = None if reasoning is None else {"reasoning_tokens": reasoning}
    body: dict[str, Any] = {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
    }
    if not stream:
        cached["multimodal_tokens"] = None
    body["prompt_tokens_details"] = cached
    if details or not stream:
        body["completion_tokens_details"] = details
    return body


def completion(
    *,
    request_id: str,
    model: str,
    message: dict[str, str],
    field: str,
    finish_reason: str,
    token_ids: list[int] | None,
    prompt_token_ids: list[int] | None,
    counts: dict[str, Any],
) -> dict[str, Any]:
    """A whole answer. ``message``: what was said, by its names on the wire."""
    names = [] if field == "none" else list(spoken(("reasoning", ""), field))
    return {
        "id": request_id,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": message.get("content"),
                    "refusal": None,
                    "annotations": None,
                    "audio": None,
                    "function_call": None,
                    **{name: message.get(name) for name in names},
                },
                "logprobs": None,
                "finish_reason": finish_reason,
                "stop_reason": None,
                "token_ids": token_ids,
                "routed_experts": None,
            }
        ],
        "service_tier": None,
        "system_fingerprint": FINGERPRINT,
        "usage": counts,
        "prompt_logprobs": None,
        "prompt_token_ids": prompt_token_ids,
        "prompt_text": None,
        "kv_transfer_params": None,
        "ec_transfer_params": None,
        "metrics": None,
    }


class Chunks:
    """The events of one stream, as bytes."""

    def __init__(self, request_id: str, model: str) -> None:
        head = {"id": request_id, "object": "chat.completion.chunk", "created": int(time.time())}
        self._head = b"data: " + codec.dumps({**head, "model": model})[:-1] + b","

    def _event(self, rest: dict[str, Any]) -> bytes:
        return self._head + codec.dumps(rest)[1:] + b"\n\n"

    def first(self, prompt_token_ids: list[int] | None) -> bytes:
        choice = {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "logprobs": None,
            "finish_reason": None,
        }
        return self._event(
            {"choices": [choice], "prompt_token_ids": prompt_token_ids, "prompt_text": None}
        )

    def delta(self, delta: dict[str, str], token_ids: list[int] | None) -> bytes:
        choice = {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": None,
            "token_ids": token_ids,
        }
        return self._event({"choices": [choice]})

    def last(
        self,
        delta: dict[str, str],
        token_ids: list[int] | None,
        finish_reason: str,
        counts: dict[str, Any] | None,
    ) -> bytes:
        """The end: the chunk with the finish reason, the one with ``counts`` if any, ``[DONE]``."""
        choice = {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": finish_reason,
            "stop_reason": None,
            "token_ids": token_ids,
        }
        mark = {"system_fingerprint": FINGERPRINT}
        if counts is None:
            return self._event({"choices": [choice], **mark}) + DONE
        return (
            self._event({"choices": [choice]})
            + self._event({"choices": [], "usage": counts, **mark})
            + DONE
        )


def models(model: str, max_model_len: int) -> dict[str, Any]:
    """Body of ``GET /v1/models``."""
    created = int(time.time())
    permission = {
        "id": new_id("modelperm"),
        "object": "model_permission",
        "created": created,
        "allow_create_engine": False,
        "allow_sampling": True,
        "allow_logprobs": True,
        "allow_search_indices": False,
        "allow_view": True,
        "allow_fine_tuning": False,
        "organization": "*",
        "group": None,
        "is_blocking": False,
    }
    entry = {
        "id": model,
        "object": "model",
        "created": created,
        "owned_by": "vllm",
        "root": model,
        "parent": None,
        "max_model_len": max_model_len,
        "permission": [permission],
    }
    return {"object": "list", "data": [entry]}
