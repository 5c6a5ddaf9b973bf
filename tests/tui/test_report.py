"""A run and its records as plain text: every state in words, nothing that commands a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scenarios import DRAINED, EMPTY, FINISHED, HEALTHY, KILLED, NO_REASONING, TIMEOUTS, record

from eagle3_console.report import record_text, status_text
from eagle3_core.monitor.snapshot import Process, ProcessState, Server
from eagle3_core.records import AnswerState
from eagle3_core.text import printable


def test_a_healthy_run() -> None:
    assert status_text(HEALTHY).splitlines() == [
        "gpu-07 · /data/eagle3/kimi-k2/perfectblend",
        "2,491 lines",
        "▶ running · pid 41233",
        "2,491 of 25,000: 2,460 done, 31 kept, 0 failed; 128 in flight, 22,381 pending",
        "0 failed attempts, 0 of them time-outs",
        "0.52 req/s · 657 tok/s · ETA 11 h 52 min",
        "server: 128 running, 14 waiting",
        "journal 18.2 MB, disk 812 GB free",
    ]


def test_no_run_yet() -> None:
    assert status_text(EMPTY).splitlines() == [
        "gpu-07 · /data/eagle3/kimi-k2/perfectblend",
        "0 lines (no such directory /data/eagle3/kimi-k2/perfectblend)",
        "· no run",
        "journal 0 B, disk 812 GB free",
    ]


@pytest.mark.parametrize(
    ("process", "line"),
    [
        (Process(ProcessState.NONE), "· no run"),
        (Process(ProcessState.RUNNING, 7), "▶ running · pid 7"),
        (Process(ProcessState.DRAINING, 7), "▽ draining · pid 7"),
        (Process(ProcessState.EXITED, 7, 0), "■ stopped · pid 7"),
        (Process(ProcessState.EXITED, 7, 3), "✖ failed (exit 3) · pid 7"),
        (Process(ProcessState.KILLED, 7, None, "KILL"), "■ killed (KILL) · pid 7"),
        (
            Process(ProcessState.GONE, 7, detail="the host was rebooted since"),
            "✖ gone: host rebooted · pid 7 · the host was rebooted since",
        ),
        (Process(ProcessState.REUSED, 7), "✖ gone: pid is another's · pid 7"),
        (
            Process(ProcessState.LEFTOVERS, 7, detail="still there: 8, 9"),
            "! leftovers of a dead run · pid 7 · still there: 8, 9",
        ),
        (
            Process(ProcessState.FAILED, detail="/opt/python: no such file"),
            "✖ could not start · /opt/python: no such file",
        ),
        (
            Process(ProcessState.UNKNOWN, detail="run.json cannot be read"),
            "? state unknown · run.json cannot be read",
        ),
    ],
    ids=lambda value: value.state.value if isinstance(value, Process) else "",
)
def test_every_state_of_the_process(process: Process, line: str) -> None:
    picture = replace(HEALTHY, process=process)
    rows = status_text(picture).splitlines()
    assert rows[2] == line
    assert any("req/s" in row for row in rows) is process.alive


def test_every_state_is_in_the_table() -> None:
    marks = test_every_state_of_the_process.pytestmark
    assert {case[0].state for case in marks[0].args[1]} == set(ProcessState)


def test_runs_that_ended() -> None:
    assert "■ finished · pid 41233" in status_text(FINISHED)
    assert "■ killed (KILL) · pid 41233 · ended by SIGKILL" in status_text(KILLED)
    assert "■ stopped · pid 41233 · drained" in status_text(DRAINED)


def test_a_message_of_the_run_stands_beside_its_state() -> None:
    progress = replace(HEALTHY.progress, phase="paused", message="the server does not answer")
    rows = status_text(replace(HEALTHY, progress=progress)).splitlines()
    assert rows[2] == "▶ paused · pid 41233 · the server does not answer"


@pytest.mark.parametrize("picture", [TIMEOUTS, NO_REASONING], ids=["timeouts", "no-reasoning"])
def test_findings_come_with_cause_and_mend(picture: object) -> None:
    finding = picture.findings[0]
    last = status_text(picture).splitlines()[-1]
    assert last == f"! {finding.name}: {finding.evidence}; {finding.cause}; {finding.mend}"


def test_a_server_that_says_nothing() -> None:
    silent = replace(HEALTHY, server=Server(error="http://x does not answer"))
    assert "server: http://x does not answer" in status_text(silent).splitlines()
    ended = replace(KILLED, server=Server(error="http://x does not answer"))
    assert "server:" not in status_text(ended)


def test_a_record() -> None:
    one = replace(record(7), reasoning="It is six.", content="6")
    assert record_text(one).splitlines() == [
        "── pb-017007:4f1c9a0007 · ✔ ok · stop · 1,270 tokens · 1 min 33 s",
        f"question: {one.messages[-1]['content']}",
        "reasoning: It is six.",
        "content: 6",
    ]


def test_empty_parts_say_so() -> None:
    bare = replace(record(), state=AnswerState.NO_REASONING, reasoning=None, content="", usage=None)
    head, _, reasoning, content = record_text(bare).splitlines()
    assert "✖ no reasoning" in head
    assert "– tokens" in head
    assert (reasoning, content) == ("reasoning: (empty)", "content: (empty)")


EVIL = "a\x1b]52;c;ZXZpbA==\x07\x9b2J\u202eb\rc"


def test_nothing_reaches_the_terminal_raw() -> None:
    one = record(
        key=EVIL,
        messages=({"role": "user", "content": EVIL},),
        reasoning=EVIL,
        content=EVIL,
        finish_reason=EVIL,
    )
    picture = replace(
        HEALTHY,
        host=EVIL,
        run=EVIL,
        process=replace(HEALTHY.process, detail=EVIL),
        progress=replace(HEALTHY.progress, message=EVIL),
        findings=tuple(replace(f, evidence=EVIL) for f in TIMEOUTS.findings),
    )
    for text in (record_text(one), status_text(picture)):
        assert printable(EVIL) in text
        assert not set(text) & set("\x1b\x07\x9b\u202e\r")
