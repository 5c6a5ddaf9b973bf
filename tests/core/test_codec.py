"""JSON in and out: the same with orjson and without, and nothing that a reader cannot read."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core import codec


@pytest.fixture(params=["orjson", "standard library"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "orjson":
        monkeypatch.setattr(codec, "orjson", None)


_WHOLE = st.text(st.characters(exclude_categories=["Cs"]))
_ANY = st.text(st.characters() | st.sampled_from("\ud83d\ude00\udc00\ud800"))


def _json(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    numbers = st.integers(-(2**63), 2**64 - 1) | st.decimals(-9999, 9999, places=3).map(float)
    return st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
        max_leaves=10,
    )


@given(_json(_WHOLE))
def test_both_write_the_same_bytes(value: Any) -> None:
    quick = codec.dumps(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "orjson", None)
        assert codec.dumps(value) == quick
        assert codec.loads(quick) == value
    assert codec.loads(quick) == value
    assert b"\n" not in quick


@given(_json(_ANY))
def test_whatever_is_written_every_reader_can_read(value: Any) -> None:
    line = codec.dumps(value)
    assert orjson.loads(line) == json.loads(line) == codec.sanitise(value)


@given(_json(_ANY))
def test_surrogates_from_a_server_are_mended(value: Any) -> None:
    escaped = json.dumps(value).encode()
    found = codec.loads(escaped)
    assert found == codec.sanitise(json.loads(escaped))
    orjson.dumps(found)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (rb'"half \ud83d end"', "half \ufffd end"),
        (rb'"pair \ud83d\ude00 end"', "pair \U0001f600 end"),
        (rb'"nul \u0000 end"', "nul \x00 end"),
        (rb'"low \ude00 first"', "low \ufffd first"),
        (rb'"swapped \ude00\ud83d"', "swapped \ufffd\ufffd"),
        (rb'"no escape \\ud83d"', r"no escape \ud83d"),
    ],
)
def test_surrogates(data: bytes, text: str) -> None:
    assert codec.loads(data) == text
    lone = codec.loads(data, keep_surrogates=True)
    assert codec.mend(lone) == (text, "\ufffd" in text)
    assert codec.has_lone_surrogates(data) == ("\ufffd" in text)
    assert codec.loads(codec.dumps(lone)) == text


def test_a_replacement_character_of_the_text_is_no_mark_of_mending() -> None:
    assert codec.mend("\ufffd \ud83d\ude00") == ("\ufffd \U0001f600", False)
    assert codec.mend("\ufffd \ud83d") == ("\ufffd \ufffd", True)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"{} {}",
        b'"\xff"',
        b"NaN",
        b"[Infinity]",
        b"nul",
        b"'a'",
        b"[" * 100_000,
        rb'{"a":"\ud83d"',
        rb'["\ud83d",NaN]',
        '"\ud83d"'.encode("utf-8", "surrogatepass"),
        '{"a":1}'.encode("utf-16"),
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(codec.JSONError):
        codec.loads(data)


@pytest.mark.usefixtures("either")
def test_integers_of_any_size_are_written() -> None:
    assert codec.dumps({"n": 2**80}) == b'{"n":%d}' % 2**80


@pytest.mark.usefixtures("either")
def test_foreign_types_are_refused() -> None:
    with pytest.raises(TypeError):
        codec.dumps({"a": object()})
