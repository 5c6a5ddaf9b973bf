"""Answers: their tokens, their text, and that a stream says what a whole answer says."""

from __future__ import annotations

import pytest

THINK, THINK_END, IM_END = 163606, 163607, 163586


def joined(events):
    """Texts by field, token ids and the finish reason of a stream."""
    said, ids, finish = {}, [], None
    assert events.pop() == "[DONE]"
    for event in events:
        for choice in event["choices"]:
            assert finish is None
            for field, text in choice["delta"].items():
                said[field] = said.get(field, "") + text
            ids += choice.get("token_ids") or []
            finish = choice["finish_reason"]
    said.pop("role")
    return said, ids, finish


async def detokenize(talk, server, ids):
    root = server.url.removesuffix("/v1")
    async with talk.session.post(f"{root}/detokenize", json={"tokens": ids}) as response:
        return (await response.json())["prompt"]


async def test_token_ids_are_the_answer(start, talk):
    server = await start()
    answer = await talk.whole(server, return_token_ids=True)
    choice, usage = answer["choices"][0], answer["usage"]
    message, ids, prompt = choice["message"], choice["token_ids"], answer["prompt_token_ids"]
    assert len(ids) == usage["completion_tokens"]
    assert len(prompt) == usage["prompt_tokens"]
    assert usage["total_tokens"] == len(ids) + len(prompt)
    reasoning = usage["completion_tokens_details"]["reasoning_tokens"]
    assert ids[reasoning] == THINK_END
    assert ids[-1] == IM_END
    assert prompt[-1] == THINK
    assert await detokenize(talk, server, ids[:reasoning]) == message["reasoning"]
    assert await detokenize(talk, server, ids[reasoning + 1 : -1]) == message["content"]


async def test_thinking_off(start, talk):
    answer = await talk.whole(
        await start(), return_token_ids=True, chat_template_kwargs={"thinking": False}
    )
    choice = answer["choices"][0]
    assert answer["prompt_token_ids"][-2:] == [THINK, THINK_END]
    assert THINK_END not in choice["token_ids"]
    assert choice["message"]["reasoning"] is None
    assert choice["message"]["content"]
    assert answer["usage"]["completion_tokens_details"] == {"reasoning_tokens": 0}


@pytest.mark.parametrize(
    "option", [{"chat_template_kwargs": {"enable_thinking": False}}, {"reasoning_effort": "none"}]
)
async def test_the_wrong_switch_turns_off_the_parser_alone(start, talk, option):
    server = await start()
    message = (await talk.whole(server))["choices"][0]["message"]
    mixed = (await talk.whole(server, **option))["choices"][0]["message"]
    assert mixed["reasoning"] is None
    assert mixed["content"] == message["reasoning"] + "</think>" + message["content"]


async def test_no_parser_leaves_all_in_content(start, talk):
    message = (await talk.whole(await start()))["choices"][0]["message"]
    server = await start(parser="off")
    mixed = (await talk.whole(server))["choices"][0]["message"]
    assert mixed["reasoning"] is None
    assert mixed["content"] == message["reasoning"] + "</think>" + message["content"]
    said, _, _ = joined(await talk.events(server))
    assert said == {"content": mixed["content"]}


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("reasoning", ["reasoning"]),
        ("reasoning_content", ["reasoning_content"]),
        ("both", ["reasoning", "reasoning_content"]),
        ("none", []),
    ],
)
async def test_the_reasoning_goes_where_it_is_told(start, talk, field, names):
    server = await start(reasoning_field=field)
    message = (await talk.whole(server))["choices"][0]["message"]
    assert [name for name in message if name.startswith("reasoning")] == names
    assert all(message[name] for name in names)
    said, _, _ = joined(await talk.events(server))
    assert said == {name: message[name] for name in [*names, "content"]}
    said, ids, _ = joined(await talk.events(server, return_token_ids=True))
    assert said == {name: message[name] for name in [*names, "content"]}
    assert THINK_END in ids


@pytest.mark.parametrize("size", [1, 3, 64])
@pytest.mark.parametrize("thinking", [True, False])
async def test_a_stream_says_what_a_whole_answer_says(start, talk, size, thinking):
    server = await start(chunk_tokens=size)
    question = "Was heißt 草原上的大風 genau, und warum \U0001f30a\U0001f30a\U0001f30a so?"
    fields = {
        "question": question,
        "return_token_ids": True,
        "chat_template_kwargs": {"thinking": thinking},
    }
    whole = await talk.whole(server, **fields)
    length = whole["usage"]["completion_tokens"]
    for limit in (1, 2, 9, 30, length - 2, length - 1, length, None):
        fields["max_tokens"] = limit
        whole = await talk.whole(server, **fields)
        choice = whole["choices"][0]
        events = await talk.events(server, stream_options={"include_usage": True}, **fields)
        assert events[0]["prompt_token_ids"] == whole["prompt_token_ids"]
        assert all("prompt_token_ids" not in event for event in events[1:-1])
        sizes = [len(event["choices"][0].get("token_ids") or []) for event in events[:-2]]
        assert max(sizes) == min(size, max(1, choice_tokens(whole) - 1))
        usage = events[-2]["usage"]
        for name in ("prompt_tokens", "completion_tokens", "completion_tokens_details"):
            assert usage[name] == whole["usage"][name]
        said, ids, finish = joined(events)
        assert said.get("reasoning") == choice["message"]["reasoning"]
        assert said["content"] == (choice["message"]["content"] or "")
        assert (ids, finish) == (choice["token_ids"], choice["finish_reason"])


def choice_tokens(whole):
    return whole["usage"]["completion_tokens"]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_cut_inside_the_reasoning_there_is_no_content(start, talk, name):
    answer = await talk.whole(await start(), **{name: 10})
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"] is None
    assert choice["message"]["reasoning"]
    assert answer["usage"]["completion_tokens"] == 10
    assert answer["usage"]["completion_tokens_details"] == {"reasoning_tokens": 10}


async def test_max_tokens_is_cut_to_the_context(start, talk):
    server = await start(max_model_len=100, mean_tokens=2000.0)
    answer = await talk.whole(server, max_tokens=100)
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["total_tokens"] == 100


async def test_the_id_can_be_given(start, talk):
    server = await start()
    assert (await talk.whole(server, request_id="mine"))["id"] == "chatcmpl-mine"
    body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 2}
    headers = {"X-Request-Id": "hdr-7"}
    async with talk.session.post(
        f"{server.url}/chat/completions", json=body, headers=headers
    ) as response:
        answer = await response.json()
    assert (answer["id"], answer["model"]) == ("chatcmpl-hdr-7", "kimi-k2.5")
