"""JSON Lines: only the newline byte ends a line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.samples import jsonl
from eagle3_core.samples.rows import Cut, Malformed, Row

SEPARATORS = "\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e"
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from(SEPARATORS), max_size=20)


@given(st.lists(st.dictionaries(TEXTS, TEXTS, max_size=3)), st.booleans(), st.integers(1, 30))
def test_round_trip_with_every_line_separator_inside(rows, ascii_only, size):
    data = b"".join(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\n" for row in rows)
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert list(jsonl.rows(chunks)) == [Row(number, row) for number, row in enumerate(rows, 1)]


def test_five_records_are_five():
    data = (
        '{"id":"u1","a":"plain"}\n{"id":"u2","a":"a\u2028b"}\n{"id":"u3","a":"a\u2029b\u2029c"}\n'
        '{"id":"u4","a":"a\u0085b"}\n{"id":"u5","a":"vt\\u000bff\\f fs\\u001c"}\n'
    )
    assert len(data.splitlines()) > 5
    texts = [item.value["a"] for item in jsonl.rows([data.encode()]) if isinstance(item, Row)]
    assert texts == ["plain", "a\u2028b", "a\u2029b\u2029c", "a\u0085b", "vt\x0bff\x0c fs\x1c"]


def test_mark_crlf_and_blank_lines():
    data = b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n{"a":2}\r\n'
    assert list(jsonl.rows([data])) == [Row(1, {"a": 1}), Row(4, {"a": 2})]


def test_a_whole_last_line_needs_no_newline():
    assert list(jsonl.rows([b'{"a":1}\n{"a":2}'])) == [Row(1, {"a": 1}), Row(2, {"a": 2})]


def test_a_torn_last_line_is_a_cut():
    assert list(jsonl.rows([b'{"a":1}\n{"a":', b'"b'])) == [Row(1, {"a": 1}), Cut(15, 8, 2)]


@pytest.mark.parametrize("bad", [b"nope", b'{"a":1} {"b":2}', b'{"a":"\xff"}', b'{"a":1}\x00'])
def test_a_malformed_line_is_named(bad):
    first, second, third = jsonl.rows([b'{"a":1}\n' + bad + b'\n{"a":3}\n'])
    assert (first, third) == (Row(1, {"a": 1}), Row(3, {"a": 3}))
    assert isinstance(second, Malformed)
    assert second.number == 2
    assert second.problem
