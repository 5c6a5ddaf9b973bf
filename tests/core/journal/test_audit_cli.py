"""``eagle3-core audit`` as people and scripts see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.__main__ import main

ROW = {"id": "a", "reasoning": "hm", "content": "4", "model": "toy"}


def written(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_the_first_line_answers_and_the_exit_code_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = written(tmp_path / "good.jsonl", ROW)
    assert main(["audit", good]) == 0
    assert capsys.readouterr().out.startswith("1 line: 1 can be kept, 0 cannot\n")
    bad = written(tmp_path / "bad.jsonl", ROW, ROW | {"id": "b", "reasoning": ""})
    assert main(["audit", bad]) == 1
    assert capsys.readouterr().out.startswith(
        "2 lines: 1 can be kept, 1 cannot (1 without reasoning)\n"
    )


def test_json_holds_the_same_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "r.jsonl", ROW, ROW, ROW | {"id": "b", "content": "x" * 2000})
    assert main(["audit", path, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["lines"], found["kept"], found["lost"]) == (3, 2, {"duplicate": 1})
    assert found["faults"]["repetition loops"] == {"count": 1, "lines": [3]}
    assert found["repeated_keys"] == {"count": 1, "lines": [2], "keys": {"a": 1}}
    assert found["lengths"]["content_chars"]["max"] == 2000
    assert found["models"] == {"toy": 3}
    assert found["wrong"] is True


def test_text_from_the_file_commands_no_terminal_and_forges_no_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "k\x1b]52;c;eA==\x07\x9b31m\u202e\nmodels  all is well"
    rows = [ROW | {"id": evil, "model": evil, "finish_reason": evil}] * 2
    assert main(["audit", written(tmp_path / "r.jsonl", *rows)]) == 1
    out = capsys.readouterr().out
    assert not set(out) & set("\x1b\x07\x9b\u202e")
    assert "\u241b]52;c;eA==\u2407" in out, "shown, made visible"
    assert "\nmodels  all is well" not in out


def test_eighty_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        ROW | {"id": f"k{n}", "model": f"a model {n}", "content": "<|im_end|>"} for n in range(40)
    ]
    path = written(tmp_path / "r.jsonl", *rows, *rows)
    main(["audit", path])
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) > 15
    assert not [line for line in lines if len(line) > 80 and str(tmp_path) not in line]


def test_failures_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = written(tmp_path / "raw_responses.jsonl", ROW)
    written(
        tmp_path / "failures.jsonl",
        {"key": "a", "state": "timeout", "clock": "total"},
        {"key": "b", "state": "timeout", "clock": "total"},
        {"key": "b", "state": "server_error", "clock": None},
        {"no": "failure"},
    )
    assert main(["audit", journal, "--json"]) == 0, "a failure that was retried is no fault"
    found = json.loads(capsys.readouterr().out)["failures"]
    assert found["kinds"] == {"timeout (total)": 2, "server_error": 1}
    assert (found["lines"], found["bad"], found["samples"], found["answered"]) == (4, 1, 2, 1)
    main(["audit", journal])
    assert "4 attempts on 2 samples, 1 of them answered" in " ".join(
        capsys.readouterr().out.split()
    )


def test_prompts_by_id_and_what_was_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers in the order of finishing: known by their id, not by their place."""
    asked = [{"id": f"q{n:02}", "prompt": f"Question {n}?"} for n in range(12)]
    prompts = written(tmp_path / "input.jsonl", *asked, {"id": "x", "messages": []})
    order = (0, 3, 1, 5, 8, 2, 9)
    answers = [{"id": f"q{n:02}", "status": "success", "answer": "ok"} for n in order]
    failed = {"id": "q04", "status": "error", "error": "Request timed out."}
    path = written(tmp_path / "out.jsonl", *answers, failed, {"id": "zz", "answer": "stray"})
    main(["audit", path, "--prompts", prompts, "--json"])
    found = json.loads(capsys.readouterr().out)["prompts"]
    assert (found["questions"], found["answered"], found["kept_only"]) == (12, 7, 1)
    assert [key[:3] for key in found["missing_keys"]] == ["q06", "q07", "q10", "q11"]
    assert found["strangers"] == 1
    assert found["skipped"] == {"empty conversation": 1}
    main(["audit", path, "--prompts", prompts])
    out = capsys.readouterr().out
    assert "7 of 12 (58.3%) questions answered" in out
    assert "skipped, empty conversation" in out


@pytest.mark.parametrize("name", ["gone.jsonl", "."])
def test_no_file(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert name in said
    assert said.count("\n") == 1


def test_a_prompt_set_is_no_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "set.jsonl", {"prompt": "Why?"}, {"prompt": "How?"})
    assert main(["audit", path]) == 2
    said = capsys.readouterr().err
    assert "'prompt'" in said
    assert "eagle3-core samples" in said
