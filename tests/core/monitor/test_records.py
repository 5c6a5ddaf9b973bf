"""Journal lines to records: whatever a line holds, what comes out can be shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.monitor.records import parse_lines
from eagle3_core.records import AnswerState, Record

ODD = [
    b"",
    b"{",
    b"[]",
    b"7",
    b"null",
    b'"key"',
    b"{}",
    b'{"key":"a","state":"ok"}',
    b"\xff\xfe",
    b"[" * 100_000,
]


def test_good_and_bad_lines(record: Callable[..., Record]) -> None:
    good = [record(n) for n in range(3)]
    lines = [good[0].to_line()[:-1], *ODD, good[1].to_line(), good[2].to_line()[:-1]]
    assert parse_lines(lines) == (good, len(ODD))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("key", 7),
        ("state", "fine"),
        ("state", []),
        ("state", None),
        ("messages", []),
        ("messages", "text"),
        ("messages", None),
        ("messages", [{"role": "user"}]),
        ("messages", [{"role": "user", "content": [{"type": "text"}]}]),
        ("messages", ["hello"]),
        ("reasoning", 7),
        ("content", ["a"]),
        ("finish_reason", {}),
        ("usage", [1]),
        ("usage", {"completion_tokens": "many"}),
        ("usage", {"completion_tokens": -1}),
        ("token_ids", "1 2 3"),
        ("attempt", "first"),
        ("first_token_s", "soon"),
        ("total_s", None),
        ("total_s", 1e300),
        ("model", None),
        ("flags", []),
    ],
)
def test_a_field_of_the_wrong_kind(record: Callable[..., Record], name: str, value: object) -> None:
    row = json.loads(record().to_line())
    assert name in row or name == "token_ids"
    assert parse_lines([json.dumps(row | {name: value}).encode()]) == ([], 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("usage", None),
        ("usage", {"completion_tokens": None}),
        ("usage", {"prompt_tokens": 4}),
        ("reasoning", None),
        ("content", None),
        ("first_token_s", None),
        ("token_ids", [1, 2]),
        ("sample_id", None),
    ],
)
def test_what_a_server_may_leave_out(
    record: Callable[..., Record], name: str, value: object
) -> None:
    one = record(**{name: value})
    assert parse_lines([one.to_line()]) == ([one], 0)


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_no_line_is_too_bad(lines: list[bytes]) -> None:
    records, bad = parse_lines(lines)
    assert len(records) + bad == len(lines)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"id": 7, "question": "Why?", "reasoning_content": "Since.", "answer": "So."},
            ("7", AnswerState.OK, "Why?", "Since.", "So."),
        ),
        (
            {
                "sample_id": "a",
                "conversations": [
                    {"from": "human", "value": "Why?"},
                    {"from": "gpt", "value": "So."},
                ],
                "reasoning": "Since.",
            },
            ("a", AnswerState.OK, "Why?", "Since.", "So."),
        ),
        ({"id": "x", "output": "So.", "thinking": ""}, ("x", AnswerState.NO_REASONING, "", None, "So.")),
        ({"id": "e", "error": "Request timed out."}, ("e", AnswerState.TIMEOUT, "", None, None)),
    ],
)  # fmt: skip
def test_the_rows_of_another_script(row: dict[str, Any], expected: tuple[Any, ...]) -> None:
    (record,), bad = parse_lines([json.dumps(row).encode()])
    assert bad == 0
    shown = record.key, record.state, record.messages[-1]["content"]
    assert (*shown, record.reasoning, record.content) == expected


def test_rows_without_a_name_differ() -> None:
    rows = [json.dumps({"output": text, "reasoning": "r"}).encode() for text in ("a", "b", "a")]
    one, two, three = parse_lines(rows)[0]
    assert one.key != two.key
    assert one.key == three.key
    assert one.key
