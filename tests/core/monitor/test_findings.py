"""What the operator is told: each rule fires when it must, and keeps quiet when it must."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from eagle3_core.monitor.findings import find
from eagle3_core.monitor.snapshot import (
    Finding,
    Link,
    LinkState,
    Process,
    ProcessState,
    Progress,
    Rates,
    Server,
    Snapshot,
    Stray,
)
from eagle3_core.records import AnswerState, Record

SETTINGS = {"thinking": True, "timeout": 1800.0, "first_token_timeout": 600}


def picture(
    progress: Progress | None = None,
    server: Server | None = None,
    settings: dict[str, Any] | None = None,
) -> Snapshot:
    return Snapshot(
        at=0.0,
        host="gpu",
        run="/data/run",
        link=Link(LinkState.CONNECTED, 0.0),
        process=Process(ProcessState.RUNNING, 1),
        lines=90,
        lines_detail="",
        journal_bytes=0,
        progress=progress or Progress(samples=100, done=90, concurrency=64),
        rates=Rates(),
        server=server or Server(running=64, waiting=0),
        data_at=0.0,
        disk_free=None,
        settings=SETTINGS if settings is None else settings,
    )


def only(found: tuple[Finding, ...]) -> Finding:
    assert len(found) == 1, found
    return found[0]


def timed_out(count: int = 10, clock: str = "total", **more: Any) -> Progress:
    return Progress(
        samples=200,
        done=100 - count,
        attempts_by_state={"timeout": count},
        timeouts_by_clock={clock: count},
        concurrency=128,
        **more,
    )


def test_a_healthy_run_has_none(record: Callable[..., Record]) -> None:
    assert find(picture(), [record(n) for n in range(50)], 0.0) == ()
    assert find(picture(Progress()), [], 0.0) == ()


def test_lines_that_do_not_arrive_are_told_after_ten_seconds() -> None:
    assert find(picture(), [], 9.9) == ()
    found = only(find(picture(), [], 10.0))
    assert (found.name, found.severity) == ("not persisting", "error")
    assert "90 lines" in found.evidence


@pytest.mark.parametrize(
    ("missing", "answers", "fires"),
    [(2, 4, False), (1, 5, False), (2, 5, True), (10, 10, True), (2, 10, True), (9, 50, False)],
)
def test_reasoning_that_is_missing(
    record: Callable[..., Record], missing: int, answers: int, fires: bool
) -> None:
    bare = [record(n, state=AnswerState.NO_REASONING, reasoning=None) for n in range(missing)]
    recent = bare + [record(n) for n in range(missing, answers)]
    found = find(picture(), recent, 0.0)
    assert bool(found) is fires
    if fires:
        assert only(found).evidence == (
            f"{missing} of the last {answers} answers came without reasoning"
        )
        assert "--reasoning-parser" in only(found).mend
    assert find(picture(settings={"thinking": False}), recent, 0.0) == ()


@pytest.mark.parametrize(
    ("count", "severity"), [(0, None), (1, None), (2, "warning"), (5, "warning"), (6, "error")]
)
def test_share_of_timeouts(count: int, severity: str | None) -> None:
    found = find(picture(timed_out(count)), [], 0.0)
    assert [f.severity for f in found if f.name == "time-outs"] == ([severity] if severity else [])


def test_the_evidence_of_timeouts_names_clock_and_limit() -> None:
    assert only(find(picture(timed_out()), [], 0.0)).evidence == (
        "10 of 100 attempts timed out (10.0%), mostly on the total clock of 1800 s"
    )
    found = only(find(picture(timed_out(clock="first_token"), settings={}), [], 0.0))
    assert found.evidence.endswith("mostly on the first token clock")


@pytest.mark.parametrize(
    ("progress", "server", "cause", "mend"),
    [
        (
            timed_out(),
            Server(running=64, waiting=60),
            "60 requests wait",
            "lower concurrency to 64",
        ),
        (timed_out(timeouts_by_why={"looping": 6}), None, "repeat themselves", "max_tokens"),
        (timed_out(timeouts_by_why={"queued": 6}), None, "queues requests", "lower concurrency"),
        (timed_out(timeouts_by_why={"slow": 9}), None, "take longer", "raise timeout"),
        (timed_out(timeouts_by_why={"looping": 5}), None, "take longer", "raise timeout"),
        (timed_out(clock="connect"), None, "take connections", "look at the server"),
        (timed_out(clock="first_token"), None, "prefills", "raise first_token_timeout"),
        (timed_out(clock="idle"), Server(), "take longer", "raise idle_timeout"),
        (timed_out(), Server(running=64, waiting=6), "take longer", "raise timeout"),
    ],
)
def test_why_requests_time_out(
    progress: Progress, server: Server | None, cause: str, mend: str
) -> None:
    found = only(find(picture(progress, server), [], 0.0))
    assert cause in found.cause
    assert mend in found.mend


def test_timeouts_without_attempts_are_no_division_by_nought() -> None:
    assert (
        only(find(picture(Progress(timeouts_by_clock={"total": 3})), [], 0.0)).severity == "error"
    )


@pytest.mark.parametrize(
    ("states", "evidence"),
    [
        ({"server_error": 2}, None),
        ({"server_error": 4}, None),
        ({"timeout": 1, "stalled": 1}, None),
        (
            {"server_error": 5, "rate_limited": 1},
            "6 of 100 attempts failed: 5 server error, 1 rate",
        ),
        ({"rate_limited": 1, "cut": 8, "timeout": 1}, "9 of 100 attempts failed: 8 cut, 1 rate"),
    ],
)
def test_requests_that_fail(states: dict[str, int], evidence: str | None) -> None:
    progress = Progress(done=100 - sum(states.values()), attempts_by_state=states)
    found = find(picture(progress), [], 0.0)
    assert bool(found) is bool(evidence)
    if evidence:
        assert only(found).evidence.startswith(evidence)
        assert "timeout" not in only(found).evidence


@pytest.mark.parametrize(
    ("cut", "done", "fires"), [(2, 18, True), (1, 19, False), (10, 9, False), (10, 90, True)]
)
def test_answers_that_are_cut(cut: int, done: int, fires: bool) -> None:
    progress = Progress(done=done, kept=cut, kept_by_state={"truncated": cut})
    found = find(picture(progress), [], 0.0)
    assert [f.name for f in found] == (["truncated answers"] if fires else [])


def test_the_gravest_comes_first(record: Callable[..., Record]) -> None:
    progress = Progress(
        done=60,
        kept=20,
        kept_by_state={"truncated": 20},
        attempts_by_state={"timeout": 3, "cut": 17},
        timeouts_by_clock={"total": 3},
    )
    recent = [record(n, state=AnswerState.NO_REASONING) for n in range(10)]
    found = find(picture(progress), recent, 60.0)
    assert [f.severity for f in found] == ["error", "error", "warning", "warning", "warning"]
    assert {f.name for f in found} == {
        "not persisting",
        "reasoning missing",
        "time-outs",
        "failing requests",
        "truncated answers",
    }


@pytest.mark.parametrize(
    ("state", "name", "severity", "mend"),
    [
        (ProcessState.RUNNING, "two writers", "error", "kill 7 8"),
        (ProcessState.NONE, "a stray writer", "warning", "kill 7 8"),
    ],
)
def test_who_else_writes_the_journal(
    state: ProcessState, name: str, severity: str, mend: str
) -> None:
    strays = tuple(Stray(pid, "ann", "python x.py", "/data/j.jsonl.1") for pid in (7, 8))
    seen = replace(picture(), process=Process(state), strays=strays)
    finding = only(find(seen, [], 0.0))
    assert (finding.name, finding.severity) == (name, severity)
    assert "/data/j.jsonl.1 is written by pid 7 of ann (python x.py); pid 8" in finding.evidence
    assert mend in finding.mend
