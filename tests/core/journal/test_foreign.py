"""Rows of other scripts: names guessed, states judged by what is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.journal.audit import audit
from eagle3_core.journal.row import OURS, look
from eagle3_core.samples.keys import key_of

ASK = [{"role": "user", "content": "Q?"}]


def usual(**message: Any) -> list[dict[str, Any]]:
    return [*ASK, {"role": "assistant", **message}]


@pytest.mark.parametrize(
    ("row", "key", "state"),
    [
        # Only a real answer is done, whatever the status says.
        ({"id": "e1", "status": "success", "answer": "Four."}, "e1", "ok_non_thinking"),
        ({"id": "e2", "status": "error", "error": "Request timed out."}, "e2", "timeout"),
        ({"id": "e3", "status": "success", "answer": None}, "e3", "empty"),
        ({"id": "e4", "status": "success", "answer": ""}, "e4", "empty"),
        ({"id": "e5", "generation": None, "model_name": "toy"}, "e5", "empty"),
        ({"id": "e6", "status": "success", "answer": "Error code: 500 - {}"}, "e6", "server_error"),
        ({"id": "e7", "status": "skipped", "error": "assistant first"}, "e7", "rejected"),
        ({"id": "e8", "status": "success", "error": None, "answer": "ok"}, "e8", "ok_non_thinking"),
        # Errors by their words.
        ({"id": 1, "error": "Error code: 429 - slow down"}, "1", "rate_limited"),
        ({"id": 1, "error": "Connection error."}, "1", "connection"),
        ({"id": 1, "error": "Error code: 400 - too long"}, "1", "rejected"),
        ({"id": 1, "error": {"code": 500}}, "1", "server_error"),
        # Where a reasoning has its place, an empty one is a lack.
        ({"sample_id": 7, "reasoning": "", "content": "4"}, "7", "no_reasoning"),
        ({"sample_id": 7, "reasoning_content": "two and two", "response": "4"}, "7", "ok"),
        (
            {"data_id": "d", "thinking": "hm", "output": "4", "finish_reason": "length"},
            "d",
            "truncated",
        ),
        ({"data_id": "d", "thinking": "hm", "output": None}, "d", "answer_in_reasoning"),
        ({"id": "t", "answer": "<think>hm</think>4"}, "t", "ok"),
        ({"id": "t", "answer": "4<|im_end|>"}, "t", "special_text"),
        ({"id": "t", "reasoning": "a", "reasoning_content": "b", "content": "c"}, "t", "conflict"),
        # The answer as the last message.
        ({"id": "m", "messages": usual(content="4")}, "m", "ok_non_thinking"),
        ({"id": "m", "messages": usual(content="4", reasoning_content="hm")}, "m", "ok"),
        ({"id": "m", "messages": usual(content="4"), "reasoning": ""}, "m", "no_reasoning"),
        (
            {"conversations": [{"from": "human", "value": "Q?"}, {"from": "gpt", "value": "4"}]},
            key_of(ASK),
            "ok_non_thinking",
        ),
        # Whole completions and batch output.
        (
            {
                "id": "c",
                "choices": [
                    {"message": {"content": "4", "reasoning": "hm"}, "finish_reason": "stop"}
                ],
            },
            "c",
            "ok",
        ),
        (
            {
                "id": "batch_1",
                "custom_id": "q1",
                "error": None,
                "response": {
                    "status_code": 200,
                    "body": {"choices": [{"message": {"content": "4"}, "finish_reason": "length"}]},
                },
            },
            "q1",
            "truncated",
        ),
        # A state that is none of ours is another script's status.
        ({"key": "k", "state": "failed", "content": None}, "k", "server_error"),
        ({"key": "k", "state": {}, "content": "4"}, "k", "ok_non_thinking"),
    ],
)
def test_key_and_state(row: dict[str, Any], key: str, state: str) -> None:
    found = look(row)
    assert found is not None
    assert (found.key, found.state.value) == (key, state)
    assert found.form != OURS


@pytest.mark.parametrize("value", [None, 7, [], {}, {"colour": "red"}, {"messages": ASK}])
def test_what_is_no_answer(value: Any) -> None:
    assert look(value) is None


@pytest.mark.parametrize("names", [[], ["reasoning"]])
def test_odd_types_never_raise(names: list[str]) -> None:
    odd: list[Any] = [None, 0, True, 1e300, "", "x", [], [1], [{}], {}, {"choices": [{}]}]
    for name in ("id", "content", "response", "messages", "choices", "usage", "status", "error"):
        for value in odd:
            look({"answer": "x", name: value, **dict.fromkeys(names, value)})


def rows(path: Path, *values: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return str(path)


def test_an_empty_reasoning_that_was_left_out_counts_as_empty(tmp_path: Path) -> None:
    """Only the other rows can tell that the script asked for thinking."""
    bare = [{"id": n, "content": "4"} for n in range(3)]
    alone = audit(rows(tmp_path / "a.jsonl", *bare))
    assert (alone.kept, dict(alone.lost)) == (3, {})
    thinking = {"id": 9, "content": "4", "reasoning": "hm"}
    again = {"id": 0, "content": "4", "reasoning": "second try"}
    mixed = audit(rows(tmp_path / "b.jsonl", *bare, thinking, again))
    assert (mixed.kept, dict(mixed.lost)) == (2, {"no_reasoning": 3})
    assert mixed.is_done("0")
    assert not mixed.is_done("1")


def test_a_later_success_beats_an_error_in_either_order(tmp_path: Path) -> None:
    failed = {"id": "e1", "status": "error", "error": "Request timed out."}
    worked = {"id": "e1", "status": "success", "answer": "ok"}
    for pair in ((failed, worked), (worked, failed)):
        result = audit(rows(tmp_path / "c.jsonl", *pair))
        assert (result.kept, dict(result.lost)) == (1, {"timeout": 1})
        assert result.is_done("e1")


def test_lone_surrogates_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        b'{"key":"s1","content":"half \\ud83d end"}\n{"key":"s2","content":"pair \\ud83d\\ude00"}\n'
        b'{"key":"s3","content":"nul \\u0000 end"}\n'
    )
    result = audit(str(path))
    assert (result.lines, result.kept, result.replaced.lines) == (3, 3, [1])
