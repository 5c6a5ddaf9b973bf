"""The log: whole lines that no server's words can break, and the numbers in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.generation.failure import Cause
from eagle3_core.generation.log import RunLog
from eagle3_core.generation.progress import WINDOW_S, Progress
from eagle3_core.records import AnswerState, Record, Sample


def lines(path: Path) -> list[str]:
    data = path.read_bytes()
    assert data.endswith(b"\n")
    return data.decode().split("\n")[:-1]


def test_the_forms(tmp_path: Path) -> None:
    log = RunLog(str(tmp_path / "inference.log"))
    log.sample_failed(Sample("17004:ab", (), "17004"), "Request timed out.", again_in=None)
    log.sample_failed(Sample("ab", ()), "Request timed out.", again_in=1.25)
    log.info("start")
    log.error("no")
    log.close()
    assert lines(tmp_path / "inference.log") == [
        "ERROR sample 17004: Request timed out.",
        "WARNING sample ab: Request timed out.; asked again in 1.2 s",
        "INFO start",
        "ERROR no",
    ]


@given(st.text(st.characters() | st.sampled_from("\n\r\x1b\x9b\u2028\x85\u202e\ud83d")))
def test_a_line_is_a_line_whatever_a_server_says(
    tmp_path_factory: pytest.TempPathFactory, said: str
) -> None:
    path = tmp_path_factory.mktemp("log") / "inference.log"
    log = RunLog(str(path))
    log.sample_failed(Sample("k", ()), f"x{said}", again_in=None)
    log.close()
    (line,) = lines(path)
    assert line.startswith("ERROR sample k: x")
    assert len(line.splitlines()) == 1
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", line)


def record(state: AnswerState, tokens: int | None) -> Record:
    usage = None if tokens is None else {"completion_tokens": tokens}
    return Record(
        key="k", state=state, sample_id=None, messages=(), reasoning=None, content=None,
        finish_reason="stop", usage=usage, model="m", endpoint="e", attempt=1, started_at="",
        first_token_s=None, total_s=1.0,
    )  # fmt: skip


def test_the_numbers() -> None:
    progress = Progress(10, started=100.0)
    progress.states[AnswerState.OK] += 2  # of an earlier run
    assert progress.line(100.0) == (
        "Progress: 2/10 (0 errors), 0.0 req/s, avg completion: 0 tokens, elapsed: 0s"
    )
    assert progress.rates(100.0) == {"requests_s": None, "tokens_s": None, "error_share": None}
    assert progress.eta_s(100.0) is None
    progress.stored(record(AnswerState.OK, 1000), 104.0)
    progress.stored(record(AnswerState.TRUNCATED, 3000), 106.0)
    progress.stored(record(AnswerState.OK, None), 108.0)
    progress.attempt_failed(Cause(AnswerState.TIMEOUT, "x", "idle"), again=True, now=109.0)
    progress.attempt_failed(Cause(AnswerState.REJECTED, "x"), again=False, now=110.0)
    assert progress.line(110.0) == (
        "Progress: 6/10 (1 errors), 0.2 req/s, avg completion: 2000 tokens, elapsed: 10s"
    )
    assert progress.rates(110.0) == {"requests_s": 0.3, "tokens_s": 400.0, "error_share": 0.4}
    assert progress.eta_s(110.0) == pytest.approx(4 / 0.3)
    value = progress.to_json(110.0)
    assert (value["done"], value["kept"], value["failed"], value["pending"]) == (4, 1, 1, 4)
    assert value["attempts_by_state"] == {"timeout": 1, "rejected": 1}
    assert value["timeouts_by_clock"] == {"idle": 1}
    assert (value["retries"], value["lines"], value["completions"]) == (1, 3, 2)
    late = 106.0 + WINDOW_S
    assert progress.rates(late)["requests_s"] == 2 / WINDOW_S, "the first has left the window"
    assert progress.rates(late + 9)["error_share"] is None
    assert progress.eta_s(late + 9) is None
