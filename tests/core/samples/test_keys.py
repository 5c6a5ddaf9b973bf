"""Keys: the identity of a question, and of nothing else."""

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.errors import UserError
from eagle3_core.samples.keys import ID_COLUMNS, key_of, own_id
from eagle3_core.samples.read import read

ASKED = [{"role": "user", "content": "A?"}]
IDS = st.none() | st.integers() | st.text(min_size=1, max_size=12)
CONTENTS = st.text(min_size=1, max_size=20)


def test_a_known_key_never_changes():
    # Journals on disk hold these: a change here loses every finished answer on resume.
    assert key_of(ASKED) == "a605b59987af2cc1"
    assert key_of(ASKED, "x/1 é~:") == "x%2F1%20%C3%A9%7E%3A:a605b59987af2cc1"
    system = {"role": "system", "content": "Be brief."}
    assert key_of([system, *ASKED], 7) == "7:a539d11a284ca109"


@given(IDS, CONTENTS)
def test_the_alphabet(own, content):
    key = key_of([{"role": "user", "content": content}], own)
    assert re.fullmatch(r"(?:[A-Za-z0-9._%-]+:)?[0-9a-f]{16}", key)


@given(st.tuples(IDS, CONTENTS), st.tuples(IDS, CONTENTS))
def test_two_questions_share_a_key_only_when_they_are_the_same(one, other):
    def identity(own, content):
        return None if own is None else str(own), content.replace("\r\n", "\n").rstrip()

    keys = [key_of([{"role": "user", "content": content}], own) for own, content in (one, other)]
    assert (keys[0] == keys[1]) == (identity(*one) == identity(*other))


def test_line_ends_and_trailing_blanks_do_not_count_but_all_else_does():
    def key(content, role="user"):
        return key_of([{"role": role, "content": content}])

    assert key("a\r\nb \n") == key("a\nb")
    others = ["a\nb", " a\nb", "A\nb", "a\n\nb", "a b", "a\rb", "\u00e9", "e\u0301"]
    assert len({key(content) for content in others}) == len(others)
    assert key("a", "system") != key("a")


def test_roles_and_contents_do_not_run_into_one_another():
    turns = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert key_of(turns) != key_of([{"role": "user", "content": "a\nb"}])
    assert key_of(turns) != key_of([{"role": "user", "content": "ab"}])


@pytest.mark.parametrize("value", [None, "", True, 1.5, float("nan"), ["x"], {"a": 1}])
def test_what_is_no_id(value):
    assert own_id({"id": value}) is None
    assert own_id({"id": value, "uuid": "u"}) == "u"


@pytest.mark.parametrize("name", ID_COLUMNS)
def test_id_columns(name):
    assert own_id({name: "x", "other": "y"}) == "x"


ROWS = st.lists(
    st.fixed_dictionaries(
        {"prompt": st.text(min_size=1, max_size=5)},
        optional={"id": st.text(min_size=1, max_size=2) | st.none()},
    ),
    min_size=1,
    max_size=12,
)


@given(rows=ROWS, seed=st.integers(), data=st.data())
def test_keys_depend_neither_on_order_nor_on_sampling(tmp_path_factory, rows, seed, data):
    rows.append({"prompt": "always there"})
    folder = tmp_path_factory.mktemp("sets", numbered=True)

    def by_row(chosen):
        path = folder / "set.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in chosen))
        found = read(str(path))
        return {(s.sample_id, s.messages[0]["content"]): s.key for s in found.samples}, found

    keys, whole = by_row(rows)
    shuffled = random.Random(seed).sample(rows, len(rows))
    others, reordered = by_row(shuffled)
    assert {key_of(s.messages, s.sample_id) for s in whole.samples} == set(keys.values())
    assert set(others.values()) == set(keys.values())
    assert reordered.fingerprint == whole.fingerprint
    kept = data.draw(st.integers(1, len(shuffled)))
    some, part = by_row([*shuffled[:kept], rows[-1]])
    assert set(some.values()) <= set(keys.values())
    assert (part.fingerprint == whole.fingerprint) == (set(some.values()) == set(keys.values()))


def test_ids_of_every_type(write):
    path = write(
        "ids.jsonl",
        b'{"id":7,"prompt":"A?"}\n{"id":"007","prompt":"B?"}\n{"id":"x-1","prompt":"C?"}\n'
        b'{"id":null,"prompt":"D?"}\n{"prompt":"D?"}\n{"id":"","prompt":"E?"}\n'
        b'{"id":12345678901234567890123,"prompt":"F?"}\n{"id":"x-1","prompt":"G?"}\n',
    )
    found = read(path)
    assert [sample.sample_id for sample in found.samples] == [
        *("7", "007", "x-1", None, None, "12345678901234567890123", "x-1"),
    ]
    assert len({sample.key for sample in found.samples}) == 7
    assert found.samples[0].key == key_of(ASKED, "7")
    assert found.samples[5].key.startswith("12345678901234567890123:")
    assert found.report.duplicates.places == ["line 5"]
    assert found.report.duplicate_ids.places == ["line 8: x-1"]


def test_one_id_as_number_and_as_text_is_refused(write):
    path = write("clash.jsonl", b'{"id":7,"prompt":"A?"}\n\n{"id":"7","prompt":"H?"}\n')
    with pytest.raises(UserError, match=r"clash.jsonl has the id 7 in line 1 and '7' in line 3"):
        read(path)


def test_two_ids_above_64_bits_stay_two(write):
    rows = [{"id": 2**70, "prompt": "A?"}, {"id": 2**70 + 1, "prompt": "A?"}]
    assert [s.sample_id for s in read(write("big.jsonl", rows)).samples] == [
        "1180591620717411303424",
        "1180591620717411303425",
    ]
