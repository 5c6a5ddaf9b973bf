"""Parquet files, written here with pyarrow."""

import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from eagle3_core.errors import UserError
from eagle3_core.samples import parquet
from eagle3_core.samples.read import read


@pytest.fixture
def blend(tmp_path):
    """300 conversations in the columns of open-perfectblend, in row groups of 64."""
    rows = [
        {
            "conversations": [
                {"from": "human", "value": f"Question {number}?"},
                {"from": "gpt", "value": "Answer."},
            ],
            "source": "made here",
        }
        for number in range(300)
    ]
    path = tmp_path / "blend.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=64)
    return path


def test_rows_in_order(blend):
    found = read(str(blend))
    texts = [sample.messages[0]["content"] for sample in found.samples]
    assert texts == [f"Question {number}?" for number in range(300)]
    assert found.report.format == "Parquet"
    assert found.report.rows == 300


def test_only_the_columns_that_matter_are_read(blend):
    assert set(next(parquet.rows(str(blend))).value) == {"conversations"}


def test_nested_messages_with_ids_and_nulls(tmp_path):
    turns = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    asked = [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": None}]
    table = pa.table(
        {
            "prompt_id": pa.array(["p1", None, "p3", "p4"]),
            "prompt": pa.array(["Q?", "R?", "S?", None]),
            "messages": pa.array([asked, None, [], None], turns),
        }
    )
    pq.write_table(table, tmp_path / "chat.parquet")
    found = read(str(tmp_path / "chat.parquet"))
    assert [(s.sample_id, s.messages[0]["content"]) for s in found.samples] == [
        ("p1", "Q?"),
        (None, "R?"),
    ]
    assert {reason.value: tally.places for reason, tally in found.report.skipped.items()} == {
        "empty conversation": ["row 3", "row 4"]
    }


def test_whole_numbers_as_ids(tmp_path):
    pq.write_table(pa.table({"id": [2**63 - 1, 8], "prompt": ["a", "b"]}), tmp_path / "n.parquet")
    samples = read(str(tmp_path / "n.parquet")).samples
    assert [sample.sample_id for sample in samples] == ["9223372036854775807", "8"]


def test_no_question_column_names_what_is_there(tmp_path):
    pq.write_table(pa.table({"text": ["a"], "label": [1]}), tmp_path / "t.parquet")
    with pytest.raises(UserError, match=r"no question column \(it has 'text', 'label'\)"):
        read(str(tmp_path / "t.parquet"))


def test_a_file_without_its_end_is_damaged(blend, tmp_path):
    half = tmp_path / "half.parquet"
    half.write_bytes(blend.read_bytes()[:2000])
    with pytest.raises(UserError, match=r"half\.parquet is damaged Parquet .*: fetch the file"):
        read(str(half))


def test_damage_inside_is_told(blend):
    data = bytearray(blend.read_bytes())
    data[4:200] = bytes(196)
    blend.write_bytes(data)
    with pytest.raises(UserError, match="damaged Parquet"):
        read(str(blend))


def test_the_core_loads_and_reads_json_without_pyarrow(blend, write):
    lines = write("set.jsonl", [{"prompt": "Q?"}])
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from eagle3_core.errors import UserError\n"
        "from eagle3_core.samples.read import read\n"
        f"print(len(read({lines!r}).samples))\n"
        f"try: read({str(blend)!r})\n"
        "except UserError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, error = done.stdout.splitlines()
    assert count == "1"
    assert error.startswith(f"{blend} is Parquet, and pyarrow is not installed here: pip install")
