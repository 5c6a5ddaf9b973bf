"""An audit counts what is there: every mixture of lines, whole and broken, against a naive count."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.journal import audit as module
from eagle3_core.journal.audit import audit
from eagle3_core.journal.audit_sums import faults, lengths, wrong
from eagle3_core.journal.audit_text import headline
from eagle3_core.journal.index import scan
from eagle3_core.journal.pieces import Problem
from eagle3_core.records import DONE, AnswerState, Record


def record(key: str, state: AnswerState = AnswerState.OK, **other: Any) -> bytes:
    fields: dict[str, Any] = {
        "sample_id": None,
        "messages": ({"role": "user", "content": "Why?"},),
        "reasoning": f"They ask why. {key}",
        "content": "Because.",
        "finish_reason": "stop",
        "usage": None,
        "model": "toy",
        "endpoint": "http://127.0.0.1:8000/v1",
        "attempt": 1,
        "started_at": "2026-01-01T00:00:00.000+00:00",
        "first_token_s": None,
        "total_s": 2.0,
    }
    return Record(key, state, **(fields | other)).to_line()


def of(tmp_path: Path, data: bytes) -> module.Audit:
    path = tmp_path / "raw_responses.jsonl"
    path.write_bytes(data)
    return audit(str(path))


JUNK = {
    b"": Problem.BLANK,
    b"\0\0\0": Problem.NUL,
    b'{"key":"a","state"': Problem.NOT_JSON,
    b'{"key":"\xc3': Problem.NOT_UTF8,
    b"[1,2]": Problem.NO_OBJECT,
    b'{"colour":"red"}': Problem.UNKNOWN,
}
LINE = st.one_of(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(list(AnswerState))),
    st.sampled_from(list(JUNK)),
    st.lists(st.sampled_from("abcdef"), min_size=2, max_size=3),
)


@given(st.lists(LINE, max_size=30), st.booleans())
def test_every_mixture_is_counted_as_by_hand(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Any], newline: bool
) -> None:
    data, kept, lost = [], 0, Counter[str]()
    done: set[str] = set()
    seen: set[str] = set()
    repeated = salvageable = 0
    for line in lines:
        if isinstance(line, tuple):
            key, state = line
            data.append(record(key, state))
            repeated += key in seen
            seen.add(key)
            if state not in DONE:
                lost[state.value] += 1
            elif key in done:
                lost["duplicate"] += 1
            else:
                done.add(key)
                kept += 1
        elif isinstance(line, list):
            data.append(b'{"key":"torn","st' + b"".join(record(key)[:-1] for key in line) + b"\n")
            lost["broken"] += 1
            salvageable += len(line)
        else:
            data.append(line + b"\n")
            lost["broken"] += 1
    whole = b"".join(data)
    if not newline and whole.endswith(b"}\n") and isinstance(lines[-1], tuple):
        whole = whole[:-1]
    path = tmp_path_factory.mktemp("audit") / "raw_responses.jsonl"
    path.write_bytes(whole)
    result = audit(str(path))
    assert (result.lines, result.kept, result.lost) == (len(lines), kept, lost)
    assert result.kept + sum(result.lost.values()) == result.lines
    assert result.states == Counter(line[1] for line in lines if isinstance(line, tuple))
    assert (result.repeated.count, result.salvageable) == (repeated, salvageable)
    kinds = Counter(JUNK[line] for line in lines if isinstance(line, bytes))
    kinds[Problem.GLUED] = sum(isinstance(line, list) for line in lines)
    assert {kind: at.count for kind, at in result.problems.items()} == dict(+kinds)
    index = scan(str(path))
    assert len(index.done) == kept, "a resume counts the same answers as done"
    assert all(map(result.is_done, index.done))


def test_the_seeds_question(tmp_path: Path) -> None:
    lines = [record(f"k{number}") for number in range(371)]
    lines += [record(f"n{n}", AnswerState.NO_REASONING, reasoning=None) for n in range(9)]
    lines += [record(f"t{n}", AnswerState.TRUNCATED, finish_reason="length") for n in range(5)]
    lines += [record("k0"), record("k1"), b'{"key":"torn","sta\n']
    result = of(tmp_path, b"".join(lines))
    assert headline(result) == (
        "388 lines: 371 can be kept, 17 cannot (9 without reasoning, 5 cut, 2 duplicates, 1 broken)"
    )
    assert wrong(result)
    assert result.repeated.lines == [386, 387]
    assert result.empty_reasoning.lines == list(range(372, 381))


def test_a_file_without_fault(tmp_path: Path) -> None:
    result = of(tmp_path, record("a") + record("b"))
    assert not wrong(result)
    assert headline(result) == "2 lines: 2 can be kept, 0 cannot"
    assert (result.first, result.last) == (1767225600.0, 1767225602.0)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("repetition loops", record("x", content="wait, " * 300)),
        ("runs of !!!!", record("x", reasoning="so " + "!" * 20)),
        ("stray markers", record("x", content="end<|im_end|>")),
        ("characters lost (U+FFFD)", record("x", content="half \ufffd")),
        (
            "token ids do not match usage",
            record("x", token_ids=[1], usage={"completion_tokens": 2}),
        ),
        (
            "token ids do not match usage",
            record(
                "x",
                token_ids=[1],
                prompt_token_ids=[1, 2],
                usage={"completion_tokens": 1, "prompt_tokens": 3},
            ),
        ),
        ("answer reads like an error", record("x", content="Error code: 500 - {'error': 1}")),
        ("record without a key", b'{"answer":"no key"}\n'),
    ],
)
def test_each_fault_is_found_on_its_line_and_alone(tmp_path: Path, name: str, line: bytes) -> None:
    result = of(tmp_path, record("a") + line + record("b"))
    found = {fault: at.lines for fault, at in faults(result).items() if at.count}
    assert found == {name: [2]}
    assert wrong(result)


def test_the_same_answer_to_different_questions(tmp_path: Path) -> None:
    long = {"reasoning": "Let me think about that for a while. " * 2, "content": "Yes."}
    result = of(tmp_path, record("a", **long) + record("b", **long) + record("a", **long))
    assert faults(result)["same answer to different questions"].lines == [2]
    assert result.lost == {"duplicate": 1}


def test_mixed_models_are_wrong(tmp_path: Path) -> None:
    result = of(tmp_path, record("a") + record("b", model="other"))
    assert wrong(result)
    assert result.models == {"toy": 1, "other": 1}


def test_the_end_of_the_file(tmp_path: Path) -> None:
    line = record("a")
    assert of(tmp_path, line).tail == "whole"
    missing = of(tmp_path, line + record("b")[:-1])
    assert (missing.tail, missing.kept, wrong(missing)) == ("newline_missing", 2, True)
    torn = of(tmp_path, line + b"\0" * 64)
    assert (torn.tail, torn.tail_bytes, torn.nul_bytes) == ("torn", 64, 64)
    assert (torn.lines, torn.kept, torn.lost) == (2, 1, {"broken": 1})
    empty = of(tmp_path, b"")
    assert (empty.lines, wrong(empty)) == (0, False)


def test_a_line_that_is_being_written_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "raw_responses.jsonl"
    last = record("b")
    path.write_bytes(record("a") + last[:30])

    def then_the_writer_goes_on(line: bytes) -> Any:
        if line == last[:30]:
            with open(path, "ab") as file:
                file.write(last[30:])
        return pieces_of(line)

    pieces_of = module.pieces_of
    monkeypatch.setattr(module, "pieces_of", then_the_writer_goes_on)
    result = audit(str(path))
    assert (result.tail, result.tail_bytes) == ("being_written", 30)
    assert (result.lines, result.kept, wrong(result)) == (1, 1, False)


def test_only_the_newline_ends_a_line(tmp_path: Path) -> None:
    texts = ["a\u2028b", "a\u2029b\u2029c", "a\u0085b", "vt\u000bff\f fs\u001c"]
    rows = [
        json.dumps({"id": f"u{n}", "answer": text}, ensure_ascii=False)
        for n, text in enumerate(texts)
    ]
    result = of(tmp_path, "\n".join([*rows, ""]).encode())
    assert (result.lines, result.kept) == (4, 4)
    assert list(result.content_chars) == [len(text) for text in texts]


@pytest.mark.parametrize("values", [[5], [1, 2], list(range(1001)), [7] * 9])
def test_lengths_are_values_of_the_list(values: list[int]) -> None:
    found = lengths(module.array("L", values))
    assert found
    assert (found["min"], found["max"], found["count"]) == (values[0], values[-1], len(values))
    assert found["median"] == sorted(values)[round((len(values) - 1) / 2)]
    assert found["at_max"] == values.count(values[-1])
    assert lengths(module.array("L")) is None


def test_names_from_the_file_are_bounded(tmp_path: Path) -> None:
    result = of(tmp_path, b"".join(record(f"k{n}", model=f"m{n}") for n in range(200)))
    assert len(result.models) <= module.NAMES + 1
    assert sum(result.models.values()) == 200


def test_it_takes_no_lock_and_leaves_no_trace(tmp_path: Path) -> None:
    of(tmp_path, record("a"))
    assert os.listdir(tmp_path) == ["raw_responses.jsonl"]
