"""The streaming list reader against json.loads."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.samples import json_array
from eagle3_core.samples.rows import Cut, Malformed, Row

TEXT = st.text(max_size=8) | st.sampled_from(
    ['"', "\\", '\\"', "[{,}]", "\u2028\u0085", "😀", "\n"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(TEXT, VALUES, max_size=4), max_size=6)
STYLES = st.sampled_from(
    [{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False, "indent": "\t"}]
)


def pieces(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def values(items):
    return [item.value for item in items if isinstance(item, Row)]


@given(st.lists(VALUES, max_size=6), STYLES, st.integers(1, 40))
def test_equals_json_loads_under_any_chunking(rows, style, size):
    data = json.dumps(rows, **style).encode()
    items = list(json_array.rows(pieces(data, size)))
    assert values(items) == rows
    assert [item.number for item in items] == list(range(1, len(rows) + 1))


@given(OBJECTS, STYLES, st.integers(1, 40), st.data())
def test_any_cut_gives_exactly_the_rows_before_it(rows, style, size, data):
    text = json.dumps(rows, **style).encode()
    at = data.draw(st.integers(1, len(text) - 1))
    *items, cut = json_array.rows(pieces(text[:at], size))
    complete = 0  # rows whose closing brace lies before the cut
    while complete < len(rows):
        upto = json.dumps(rows[: complete + 1], **style).encode().rstrip(b"]").rstrip()
        if len(upto) > at:
            break
        complete += 1
    assert values(items) == rows[:complete]
    assert len(items) == complete
    assert isinstance(cut, Cut)
    assert cut.at == at
    assert cut.number == complete + 1
    if cut.row_at < at:
        assert text[cut.row_at : cut.row_at + 1] == b"{"


@given(OBJECTS, st.integers(1, 20))
def test_a_list_inside_an_object_is_read_from_its_offset(rows, size):
    head = json.dumps({"about": "[x", "n": 1})[:-1].encode() + b', "data": '
    data = head + json.dumps(rows).encode() + b', "more": [1, 2]}'
    assert values(json_array.rows(pieces(data, size), len(head))) == rows


def test_a_bad_row_spoils_no_other():
    items = list(json_array.rows([b'[{"a": 1}, {"a": nope}, {"a": "\xff"}, {"a": 2},, {"a": 3},]']))
    assert values(items) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert [item.number for item in items if isinstance(item, Malformed)] == [2, 3]


def test_text_after_the_end_is_told():
    *rows, last = json_array.rows([b'[{"a": 1}]\n', b" ", b'[{"a": 2}]'])
    assert values(rows) == [{"a": 1}]
    assert last == Malformed(2, "more text after the end of the list, from byte 10 on")


@pytest.mark.parametrize("tail", [b"12", b"tru", b"null"])
def test_a_word_before_the_cut_may_be_half_a_word(tail):
    assert list(json_array.rows([b'[{"a": 1}, ' + tail])) == [
        Row(1, {"a": 1}),
        Cut(11 + len(tail), 11, 2),
    ]


def test_nan_is_a_value_as_in_pythons_own_json():
    (row,) = json_array.rows([b'[{"a": 1, "score": NaN}]'])
    assert isinstance(row, Row)
    assert row.value["a"] == 1


def test_lone_surrogates_become_replacement_characters():
    data = rb'[{"a": "half \ud83d end"}, {"a": "pair \ud83d\ude00"}]'
    assert values(json_array.rows([data])) == [{"a": "half \ufffd end"}, {"a": "pair 😀"}]


def test_bottomless_nesting_is_a_bad_row():
    items = list(json_array.rows([b'[{"a": 1}, ', b"[" * 200_000, b"]" * 200_000, b"]"]))
    assert values(items) == [{"a": 1}]
    assert isinstance(items[1], Malformed)


def test_memory_is_that_of_one_row():
    row = b'{"a": "' + b"x" * 5_000 + b'"},'
    many = (row * 20 for _ in range(100))  # 10 MB
    tracemalloc.start()
    count = sum(1 for _ in json_array.rows(piece for part in ([b"["], many) for piece in part))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 2_001  # and the cut
    assert peak < 1_000_000


def test_a_huge_string_is_read_in_one_pass():
    # Rescanning the string for every chunk would take hours.
    text = b"\\n" * 5_000_000
    (row,) = json_array.rows(pieces(b'[{"a": "' + text + b'"}]', 4096))
    assert isinstance(row, Row)
    assert len(row.value["a"]) == 5_000_000
