"""The bodies have the keys of vLLM 0.32, in its order: the lists below come from real answers."""

from __future__ import annotations

import re

import pytest

WHOLE = [
    *("id", "object", "created", "model", "choices", "service_tier", "system_fingerprint"),
    *("usage", "prompt_logprobs", "prompt_token_ids", "prompt_text", "kv_transfer_params"),
    *("ec_transfer_params", "metrics"),
]
CHOICE = [
    *("index", "message", "logprobs", "finish_reason", "stop_reason", "token_ids"),
    "routed_experts",
]
MESSAGE = [
    *("role", "content", "refusal", "annotations", "audio", "function_call", "reasoning"),
]
USAGE = [
    *("prompt_tokens", "total_tokens", "completion_tokens", "prompt_tokens_details"),
    "completion_tokens_details",
]
CHUNK = ["id", "object", "created", "model", "choices"]
DELTA_CHOICE = ["index", "delta", "logprobs", "finish_reason", "token_ids"]
LAST_CHOICE = ["index", "delta", "logprobs", "finish_reason", "stop_reason", "token_ids"]
MODEL = [
    *("id", "object", "created", "owned_by", "root", "parent", "max_model_len", "permission"),
]
PERMISSION = [
    *("id", "object", "created", "allow_create_engine", "allow_sampling", "allow_logprobs"),
    *("allow_search_indices", "allow_view", "allow_fine_tuning", "organization", "group"),
    "is_blocking",
]


async def test_whole_answer(start, talk):
    answer = await talk.whole(await start())
    (choice,) = answer["choices"]
    assert list(answer) == WHOLE
    assert list(choice) == CHOICE
    assert list(choice["message"]) == MESSAGE
    assert list(answer["usage"]) == USAGE
    assert list(answer["usage"]["prompt_tokens_details"]) == [
        *("cached_tokens", "created_cache_tokens", "multimodal_tokens")
    ]
    assert list(answer["usage"]["completion_tokens_details"]) == ["reasoning_tokens"]
    assert re.fullmatch(r"chatcmpl-[0-9a-f]{16}", answer["id"])
    assert answer["object"] == "chat.completion"
    assert answer["prompt_token_ids"] is choice["token_ids"] is choice["stop_reason"] is None
    assert (choice["message"]["role"], choice["finish_reason"]) == ("assistant", "stop")


@pytest.mark.parametrize("ids", [False, True])
async def test_stream(start, talk, ids):
    events = await talk.events(await start(), return_token_ids=ids)
    first, *deltas, last, done = events
    assert list(first) == [*CHUNK, "prompt_token_ids", "prompt_text"]
    assert list(first["choices"][0]) == ["index", "delta", "logprobs", "finish_reason"]
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    for chunk in deltas:
        assert list(chunk) == CHUNK
        assert list(chunk["choices"][0]) == DELTA_CHOICE
        assert chunk["object"] == "chat.completion.chunk"
    seen = {tuple(chunk["choices"][0]["delta"]) for chunk in deltas}
    assert seen - {()} == {("reasoning",), ("content",)}
    assert (() in seen) == ids
    assert list(last) == [*CHUNK, "system_fingerprint"]
    assert list(last["choices"][0]) == LAST_CHOICE
    assert last["choices"][0]["delta"] == {"content": ""}
    assert last["choices"][0]["finish_reason"] == "stop"
    assert done == "[DONE]"
    assert len({chunk["id"] for chunk in events[:-1]}) == 1


async def test_stream_with_usage(start, talk):
    *_, last, usage, done = await talk.events(await start(), stream_options={"include_usage": True})
    assert list(last) == CHUNK
    assert list(usage) == [*CHUNK, "usage", "system_fingerprint"]
    assert usage["choices"] == []
    assert list(usage["usage"]) == USAGE
    assert list(usage["usage"]["prompt_tokens_details"]) == [
        *("cached_tokens", "created_cache_tokens")
    ]
    assert done == "[DONE]"


async def test_without_a_parser(start, talk):
    server = await start(parser="off")
    answer = await talk.whole(server)
    assert list(answer["choices"][0]["message"]) == MESSAGE
    assert answer["usage"]["completion_tokens_details"] is None
    *_, usage, _ = await talk.events(server, stream_options={"include_usage": True})
    assert "completion_tokens_details" not in usage["usage"]


async def test_models(start, talk):
    server = await start(max_model_len=1024)
    async with talk.session.get(f"{server.url}/models") as response:
        body = await response.json()
    (model,) = body["data"]
    assert list(body) == ["object", "data"]
    assert list(model) == MODEL
    assert list(model["permission"][0]) == PERMISSION
    assert (model["id"], model["max_model_len"]) == ("kimi-k2.5", 1024)


def bad(param, message, value):
    return (400, "BadRequestError", param, f"{message} (parameter={param}, value={value})")


def invalid(param, kind, message, value):
    detail = f"{{'type': '{kind}', 'loc': '{param}', 'msg': '{message}', 'input': {value!r}}}"
    return (400, "Bad Request", param, f"1 validation error:\n  {detail}")


TOO_LONG = (
    "This model's maximum context length is 1024 tokens. However, your prompt contains at least "
    "1025 input tokens, which exceeds this limit even without any output tokens. Please reduce "
    "the length of the input prompt."
)
TOO_MANY = (
    "max_tokens=9999 cannot be greater than max_model_len=1024. Please request fewer output tokens."
)
NO_MODEL = "The model `nope` does not exist. Valid aliases: kimi-k2.5."
NO_TURN = "Cannot apply chat template to an empty conversation. Provide at least one message."
NO_NUMBER = "Input should be a valid number, unable to parse string as a number"

REFUSALS = [
    ({"model": "nope"}, (404, "NotFoundError", "model", NO_MODEL)),
    ({"max_tokens": 0}, bad("max_tokens", "max_tokens must be at least 1, got 0.", 0)),
    ({"max_tokens": -1}, bad("max_tokens", "max_tokens must be at least 1, got -1.", -1)),
    ({"max_tokens": 9999}, bad("max_tokens", TOO_MANY, 9999)),
    ({"temperature": -1}, bad("temperature", "temperature must be non-negative, got -1.0.", -1.0)),
    ({"top_p": 2}, bad("top_p", "top_p must be in (0, 1], got 2.0.", 2.0)),
    ({"temperature": "hot"}, invalid("body.temperature", "float_parsing", NO_NUMBER, "hot")),
    ({"messages": []}, (400, "BadRequestError", None, NO_TURN)),
    ({"messages": None}, (400, "Bad Request", "body.messages", None)),
    ({"messages": ["hello"]}, (400, "Bad Request", "body.messages.0", None)),
    ({"question": "apples " * 1000}, bad("input_tokens", TOO_LONG, 1025)),
]


@pytest.mark.parametrize(("body", "refusal"), REFUSALS)
@pytest.mark.parametrize("stream", [False, True])
async def test_refusals(start, talk, body, refusal, stream):
    status, kind, param, said = refusal
    server = await start(max_model_len=1024)
    async with talk.post(server, **body, stream=stream) as response:
        assert response.status == status
        assert response.headers["Content-Type"] == "application/json"
        answer = await response.json()
    assert list(answer) == ["error"]
    assert list(answer["error"]) == ["message", "type", "param", "code"]
    message = answer["error"].pop("message")
    assert answer["error"] == {"type": kind, "param": param, "code": status}
    assert said is None or message == said
    assert (server.stats.refused, server.stats.arrivals) == (1, 0)


NO_REQUESTS = [
    (b"", "json", "'missing', 'loc': 'body', 'msg': 'Field required', 'input': 'None'}"),
    (b'{"model": "kimi', "json", "json_invalid"),
    (b"[]", "json", "dictionary"),
    (b'{"model": "kimi-k2.5"}', "json", "'loc': 'body.messages', 'msg': 'Field required'"),
    (b"{}", "xml", "Unsupported Media Type: Only 'application/json' is allowed"),
]


@pytest.mark.parametrize(("data", "kind", "said"), NO_REQUESTS)
async def test_bodies_that_are_no_request(start, talk, data, kind, said):
    server = await start()
    headers = {"Content-Type": f"application/{kind}"}
    url = f"{server.url}/chat/completions"
    async with talk.session.post(url, data=data, headers=headers) as response:
        answer = await response.json()
        assert response.status == answer["error"]["code"] == 400
    assert answer["error"]["type"] == "Bad Request"
    assert answer["error"]["message"].startswith("1 validation error:\n  ")
    assert said in answer["error"]["message"]


async def test_wrong_paths_and_methods_have_another_shape(start, talk):
    server = await start()
    assert await talk.get(server, "/v1/nothing") == (404, '{"detail":"Not Found"}')
    assert await talk.get(server, "/") == (404, '{"detail":"Not Found"}')
    assert await talk.get(server, "/v1/chat/completions") == (
        405,
        '{"detail":"Method Not Allowed"}',
    )
