"""The front door: formats by content, shards, limits, the report, and what is refused."""

import gzip
import json
import os
import subprocess

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet as pq

from eagle3_core.errors import UserError
from eagle3_core.samples.read import read

ROWS = [{"id": f"r{number}", "prompt": f"Question {number}?"} for number in range(4)]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
FORMATS = {
    "list": ("JSON list", json.dumps(ROWS).encode()),
    "indented list": ("JSON list", json.dumps(ROWS, indent=2).encode()),
    "list with mark": ("JSON list", b"\xef\xbb\xbf \n" + json.dumps(ROWS).encode()),
    "object": ("JSON object with a list", json.dumps({"v": 1, "data": ROWS}).encode()),
    "indented object": (
        "JSON object with a list",
        b"\xef\xbb\xbf" + json.dumps({"v": [1], "x": {"y": []}, "rows": ROWS}, indent=1).encode(),
    ),
    "object called as a column": (
        "JSON object with a list",
        json.dumps({"conversations": ROWS, "n": 4}).encode(),
    ),
    "lines": ("JSON Lines", LINES),
    "lines with mark": ("JSON Lines", b"\xef\xbb\xbf" + LINES.replace(b"\n", b"\r\n")),
    "packed lines": ("JSON Lines", gzip.compress(LINES)),
    "packed list": ("JSON list", gzip.compress(json.dumps(ROWS).encode())),
}


@pytest.mark.parametrize(("name", "data"), FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet", ""])
def test_format_is_told_by_content(write, name, data, suffix):
    found = read(write("set" + suffix, data))
    assert found.report.format == name
    assert [sample.sample_id for sample in found.samples] == ["r0", "r1", "r2", "r3"]


@pytest.mark.parametrize(
    "row",
    [
        {"conversations": [{"from": "human", "value": "Q?"}]},
        {"messages": [{"role": "user", "content": "Q?"}]},
        {"prompt": "Q?", "evals": [{"prompt": "never asked"}]},
        {"messages": [{"role": "user", "content": 'Q? {"data": [{"prompt": "x"}]}'}]},
    ],
)
def test_a_single_row_is_no_object_with_a_list(write, row):
    found = read(write("one.jsonl", [row]))
    assert found.report.format == "JSON Lines"
    assert found.samples[0].messages[0]["content"].startswith("Q?")


def test_shards_are_read_in_sorted_order_and_named_in_the_report(write, tmp_path):
    write("set/b.jsonl", [{"prompt": "three"}, {"prompt": "one"}, {"other": 1}])
    write("set/a{0}.jsonl", [{"prompt": "one"}, {"prompt": "two"}])
    write("set/dataset_info.json", {"splits": []})
    for path in ("set", "set/*.jsonl"):
        found = read(str(tmp_path / path))
        assert [s.messages[0]["content"] for s in found.samples] == ["one", "two", "three"]
        assert found.report.duplicates.places == ["b.jsonl line 2"]
        assert [tally.places for tally in found.report.skipped.values()] == [["b.jsonl line 3"]]
        assert "(JSON Lines, 2 files)" in found.report.summary()


def test_parquet_shards_come_before_other_files(tmp_path, write):
    for number in range(3):
        table = pa.table({"prompt": [f"q{number}"]})
        pq.write_table(table, tmp_path / f"train-0000{number}-of-00003.parquet")
    write("readme.json", {"about": "the set"})
    texts = [sample.messages[0]["content"] for sample in read(str(tmp_path)).samples]
    assert texts == ["q0", "q1", "q2"]


def test_the_limit_stops_reading(write):
    # What follows the limit is broken; nobody looks at it.
    found = read(write("set.jsonl", LINES + b"nope\n" * 5), limit=3)
    assert len(found.samples) == 3
    assert found.report.limited
    assert found.report.rows == 3
    assert found.report.malformed.count == 0
    assert found.report.summary().startswith("3 questions from the first 3 rows of ")


def test_a_pipe_can_be_read(tmp_path, write):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", write("set.jsonl", LINES), pipe]):
        assert len(read(str(pipe)).samples) == 4


def test_the_report_accounts_for_every_row(write):
    path = write(
        "mixed.jsonl",
        b'{"id": 1, "prompt": "a"}\n'
        b'{"id": 1, "prompt": "a  "}\n'
        b'{"id": 1, "prompt": "b"}\n'
        b'{"id": 2, "prompt": " "}\n'
        b"nope\n"
        b'{"messages": [{"role": "narrator", "content": "x"}]}\n'
        b"[]\n"
        b'{"prompt": "torn',
    )
    found = read(path)
    report = found.report
    assert [sample.key.split(":")[0] for sample in found.samples] == ["1", "1"]
    skipped = sum(tally.count for tally in report.skipped.values())
    assert (report.rows, report.samples, skipped) == (7, 2, 3)
    assert (report.duplicates.count, report.malformed.count) == (1, 1)
    size = os.path.getsize(path)
    assert report.cut_at == size
    assert report.summary().split("\n") == [
        f"2 questions from 7 rows of {path} (JSON Lines)",
        "skipped, wrong type: 1 (line 7: row is [])",
        "skipped, empty question: 1 (line 4)",
        "skipped, unknown role: 1 (line 6: 'narrator')",
        "skipped, not JSON: 1 (line 5: Expecting value: line 1 column 1 (char 0))",
        "asked once, though repeated: 1 (line 2)",
        "one id for different questions, all kept: 1 (line 3: 1)",
        f"cut off at byte {size:,}, within line 8, which begins at byte {size - 16:,}: "
        "all before it is used",
    ]


def test_the_report_shows_the_first_places_of_many(write):
    found = read(write("many.jsonl", [*ROWS, *({"prompt": ""} for _ in range(1500))]))
    assert "skipped, empty question: 1,500 (line 5; line 6; line 7; …)" in found.report.summary()


ANY_ROW = st.dictionaries(
    st.sampled_from(["id", "prompt", "messages", "conversations", "input", "instruction"]),
    st.recursive(
        st.none() | st.integers(0, 3).map(float) | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["role", "content", "from", "value"]), inner)
        ),
        max_leaves=6,
    ),
)


@given(st.lists(ANY_ROW | st.none() | st.text(max_size=3), max_size=8), st.booleans())
def test_any_rows_add_up(tmp_path_factory, rows, lines):
    rows.append({"prompt": "the one that is sure"})
    path = tmp_path_factory.mktemp("any", numbered=True) / "set"
    if lines:
        path.write_text('{"prompt": "first"}\n' + "".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text(json.dumps(rows))
    found = read(str(path), turns="all-user")
    report = found.report
    skipped = sum(tally.count for tally in report.skipped.values())
    assert report.rows == len(rows) + lines
    assert report.rows == len(found.samples) + report.duplicates.count + skipped
    assert all(sample.messages[-1]["role"] == "user" for sample in found.samples)
    assert all(sample.messages[-1]["content"].strip() for sample in found.samples)


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
REFUSED = {
    "empty": (b"", r"is empty: give a file"),
    "blank": (b" \n\n", r"is empty: give a file"),
    "csv": (
        b"id,prompt\n1,Q?\n",
        r"is a table of text \(CSV or TSV\), and no prompt set: it begins",
    ),
    "text": (
        b"Dear reader\n",
        r"is plain text.*b'Dear reader\\n'.*give JSON, JSON Lines or Parquet",
    ),
    "png": (PNG, r"is a PNG image"),
    "zip": (b"PK\x03\x04....", r"is a ZIP archive"),
    "html": (b"<!DOCTYPE html>", r"is HTML or XML"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\n", r"is a Git LFS pointer"),
    "utf-16": ("[{}]".encode("utf-16"), r"is UTF-16 text"),
    "zstd": (b"\x28\xb5\x2f\xfd....", r"is zstd-packed data"),
    "binary": (b"\x01\x00\x02", r"is binary data"),
    "empty list": (b"[]", r"gives no question \(it has no rows\)"),
    "cut before the first row": (b'[{"prompt": "x', r"cut off at byte 14, within row 1"),
    "columns": (
        b'[{"text": "a", "la\\u001bbel": 1}]',
        r"no question column \(it has 'text', 'la\\x1bbel'\): name the column messages,",
    ),
    "one object": (b'{\n "a": 1\n}', r"holds no row that is JSON: 2 \(line 1: "),
    "nothing but skips": (b'{"prompt": ""}\n', r"gives no question \(skipped, empty question: 1 "),
    "damaged gzip": (gzip.compress(LINES)[:60], r"is damaged gzip"),
    "gzip of a picture": (gzip.compress(PNG), r"is a PNG image"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(write, data, message):
    path = write("set.json", data)
    with pytest.raises(UserError, match=message) as caught:
        read(path)
    assert caught.value.problem.startswith(path)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_missing_paths_are_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.jsonl does not exist: check the path"):
        read(str(tmp_path / "none.jsonl"))
    with pytest.raises(UserError, match=r"\*\.json does not exist"):
        read(str(tmp_path / "*.json"))
    with pytest.raises(UserError, match=r"is a directory without \.parquet, \.jsonl or"):
        read(str(tmp_path))


def test_what_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "loop.json").symlink_to("loop.json")
    with pytest.raises(UserError, match=r"loop\.json (cannot be read|does not exist)"):
        read(str(tmp_path / "loop.json"))


def test_unknown_turns_are_refused(write):
    with pytest.raises(UserError, match="turns = 'last' is unknown: use first or all-user"):
        read(write("set.jsonl", LINES), turns="last")
