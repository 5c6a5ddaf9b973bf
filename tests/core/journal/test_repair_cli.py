"""``eagle3-core repair`` as people and scripts see it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eagle3_core.__main__ import main

DATA = b"""{"key":"a","state":"ok","content":"x"}
{"key":"torn","sta{"key":"b","state":"ok","content":"x"}
{"key":"c","state":"truncated","content":"x"}
{"key":"d","state":"no_reasoning","content":"x"}
{"key":"a","state":"ok","content":"y"}
\0\0\0
"""
ASK = ["--redo", "truncated, no_reasoning", "--drop-duplicates"]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "raw_responses.jsonl"
    path.write_bytes(DATA)
    return path


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_it_says_what_it_would_do_and_then_what_it_did(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(journal), *ASK, "--dry-run"]) == 0
    assert journal.read_bytes() == DATA
    assert os.listdir(journal.parent) == [journal.name]
    parts = (
        "broken lines 2 (numbers 2, 6)",
        "saved 1 whole record out of them",
        f"no records 2 -> {journal}.bad",
        f"to ask again 2 (1 truncated, 1 no_reasoning) -> {journal}.redo",
        f"duplicates 1 -> {journal}.dup",
    )
    dry = said(capsys)
    assert "6 lines; 2 would stay" in dry
    assert "nothing was changed" in dry
    assert main(["repair", str(journal), *ASK]) == 0
    done = said(capsys)
    assert "6 lines; 2 stay" in done
    for part in parts:
        assert part in dry
        assert part in done
    assert main(["repair", str(journal), *ASK]) == 0
    assert "2 lines, nothing to repair, nothing touched" in said(capsys)


@pytest.mark.parametrize("number", [5, 12])
def test_it_says_what_an_interrupted_repair_left(
    journal: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    half = Path(f"{journal}.bad.repairing")
    half.write_bytes(b"junk\n" * number)
    assert main(["repair", str(journal)]) == 0
    assert f"completed, see {journal}.bad" in said(capsys)
    assert Path(f"{journal}.bad").read_bytes() == b"junk\n" * number
    half.write_bytes(b"junk")
    Path(f"{journal}.repairing").write_bytes(b"half")
    assert main(["repair", str(journal)]) == 0
    assert "swept up" in said(capsys)
    assert not list(journal.parent.glob("*.repairing"))


@pytest.mark.parametrize("word", ["ok", "bla", "truncated,bla"])
def test_states_that_cannot_be_asked_again(
    journal: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(journal), "--redo", word]) == 2
    assert repr(word.split(",")[-1]) in capsys.readouterr().err
    assert journal.read_bytes() == DATA


def test_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(tmp_path / "gone")]) == 2
    assert "gone" in capsys.readouterr().err
    assert not os.listdir(tmp_path)
