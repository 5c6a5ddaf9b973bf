"""Lines without reading the file: exact, and fair to short records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagle3_core.host.agent import read
from eagle3_core.host.agent.wire import Refused


def split(answer: tuple[list[int], bytes]) -> list[bytes]:
    sizes, body = answer
    lines, at = [], 0
    for size in sizes:
        lines.append(body[at : at + size - 1])
        at += size
    assert at == len(body)
    return lines


@settings(max_examples=80, deadline=None)
@given(
    content=st.binary(max_size=300), lines=st.integers(0, 8), block=st.sampled_from([1, 7, 1024])
)
def test_last_and_count_agree_with_a_full_read(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, lines: int, block: int
) -> None:
    path = tmp_path_factory.mktemp("r") / "file"
    path.write_bytes(content)
    whole = content.split(b"\n")[:-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "BLOCK", block)
        assert split(read.last(str(path), lines)) == (whole[-lines:] if lines else [])
        assert read.count(str(path)) == (len(whole), len(content), "")


def test_last_of_long_lines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    lines = [bytes([65 + number]) * 3_000_000 for number in range(4)]
    path.write_bytes(b"".join(line + b"\n" for line in lines) + b"torn")
    assert split(read.last(str(path), 2)) == lines[2:]


def test_sample_is_fair_to_short_records(tmp_path: Path) -> None:
    """Half the records are a hundred times longer: a random byte nearly always hits one of them."""
    path = tmp_path / "file"
    path.write_bytes(
        b"".join(b"%05d" % n + b"x" * (94 if n % 2 else 9900) + b"\n" for n in range(400))
    )
    kinds: Counter[bool] = Counter()
    for seed in range(40):
        lines = split(read.sample(str(path), 10, seed=seed, budget=20))
        assert len(set(lines)) == len(lines) == 10
        kinds.update(len(line) < 1000 for line in lines)
    share = kinds[True] / 400
    assert 0.4 < share < 0.6


def test_sample_of_a_small_file_is_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\nb\nc\n")
    assert split(read.sample(str(path), 3)) == [b"a", b"b", b"c"]
    assert split(read.sample(str(path), 9)) == [b"a", b"b", b"c"]
    path.write_bytes(b"")
    assert split(read.sample(str(path), 3)) == []


def test_why_there_are_no_lines(tmp_path: Path) -> None:
    run = tmp_path / "run"
    journal = run / "prepared" / "raw_responses.jsonl"
    assert read.count(str(journal)) == (0, 0, f"no such directory {run}")
    run.mkdir()
    assert read.count(str(journal)) == (0, 0, "no raw_responses.jsonl yet")
    assert read.count(str(run)) == (0, 0, f"{run} is a directory")
    with pytest.raises(Refused) as caught:
        read.last(str(journal), 1)
    assert caught.value.kind == "missing"
