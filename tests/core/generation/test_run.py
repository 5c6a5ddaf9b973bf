"""``eagle3-core generate`` as people run it: killed, stopped, drained, resumed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.simulator.server import Simulator

FORMS = [
    r"Progress: \d+/\d+ \(\d+ errors\), \d+\.\d req/s, avg completion: \d+ tokens, elapsed: \d+s",
    r"ERROR sample \S+: \S.*",
    r"(INFO|WARNING|ERROR) \S.*",
]


async def test_killed_and_resumed_nothing_is_lost_or_asked_twice(
    command: Any, simulate: Any, until: Any
) -> None:
    server: Simulator = await simulate(token_rate=800.0)
    run = command(90)
    arguments = run.arguments(server.url, "--concurrency", "8")
    journal = Path(run.run.journal)
    luck = random.Random()
    before = b""
    for _ in range(2):
        process = await run.start(*arguments)
        counted = before.count(b"\n")
        aim = counted + luck.randint(1, 25)
        await until(lambda aim=aim: journal.exists() and journal.read_bytes().count(b"\n") >= aim)
        status = run.status()
        process.send_signal(signal.SIGKILL)
        await process.wait()
        data = journal.read_bytes()
        assert data.startswith(before), "what was there is untouched"
        assert status.get("lines", 0) <= data.count(b"\n"), "what was counted is there"
        before = data[: data.rfind(b"\n") + 1]
    with journal.open("ab") as file:
        file.write(b'{"key":"q0:torn","state":"ok","mess')  # as if killed in mid-write
    code, errors = await run.whole(*arguments)
    assert (code, errors) == (0, "")
    assert journal.read_bytes().startswith(before)
    keys = [row["key"] for row in run.records]
    assert len(keys) == len(set(keys)) == 90
    assert {row["sample_id"] for row in run.records} == {f"q{n}" for n in range(90)}
    status = run.status()
    assert (status["phase"], status["done"], status["pending"]) == ("finished", 90, 0)
    assert status["lines"] == 90
    # Only what was in flight at the two kills was asked again.
    assert 90 <= server.stats.arrivals <= 90 + 2 * 8
    assert any("torn last line" in line for line in run.log)
    process_file = json.loads(Path(run.run.run).read_bytes())
    assert process_file["exit"] == 0
    assert process_file["run_id"] == status["run_id"]


async def test_sigterm_ends_in_under_a_second_with_whole_lines(
    command: Any, simulate: Any, until: Any
) -> None:
    server: Simulator = await simulate(token_rate=300.0)
    run = command(200)
    process = await run.start(*run.arguments(server.url, "--concurrency", "16"))
    journal = Path(run.run.journal)
    await until(lambda: journal.exists() and journal.stat().st_size > 5000)
    await until(run.status)
    loop = asyncio.get_running_loop()
    sent = loop.time()
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 10) == 143
    # A second of a machine that is not shared with others.
    assert loop.time() - sent < max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    status = run.status()
    assert status["phase"] == "stopped"
    assert status["in_flight"] == 0
    assert status["done"] == len(run.records) > 0, "whole lines, all of them counted"
    assert json.loads(Path(run.run.run).read_bytes())["exit"] == 143
    await until(lambda: server.stats.in_flight == 0)
    assert any("SIGTERM" in line for line in run.log)


async def test_the_first_sigint_drains(command: Any, simulate: Any, until: Any) -> None:
    server: Simulator = await simulate(token_rate=150.0)
    run = command(100)
    process = await run.start(*run.arguments(server.url, "--concurrency", "6"))
    phases = set()

    def seen(phase: str) -> bool:
        phases.add(run.status().get("phase"))
        return phase in phases

    await until(lambda: Path(run.run.status).exists() and seen("running"))
    await until(lambda: server.stats.in_flight == 6)
    process.send_signal(signal.SIGINT)
    await until(lambda: any("drain" in line for line in run.log))
    asked = server.stats.arrivals
    assert await asyncio.wait_for(process.wait(), 20) == 0
    seen("stopped")
    assert "stopped" in phases
    assert server.stats.arrivals - asked <= 1, "one may have been on its way"
    assert len(run.records) == server.stats.arrivals < 100, "all in flight were waited for"
    assert server.stats.disconnects == 0
    assert run.status()["pending"] == 100 - len(run.records)


async def test_the_second_sigint_ends(command: Any, simulate: Any, until: Any) -> None:
    server: Simulator = await simulate(faults=["hang:1:3"])
    run = command(5)
    process = await run.start(*run.arguments(server.url))
    await until(lambda: server.stats.in_flight == 5)
    process.send_signal(signal.SIGINT)
    await until(lambda: any("drain" in line for line in run.log))
    assert process.returncode is None
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), 5) == 130
    assert run.status()["phase"] == "stopped"
    assert run.records == []


async def test_the_log_has_its_two_forms(command: Any, simulate: Any) -> None:
    server: Simulator = await simulate(faults=["500:0.4"], seed=2)
    run = command(12)
    code, _ = await run.whole(*run.arguments(server.url, "--attempts", "1"))
    assert code == 0
    failed = run.status()["failed"]
    assert 0 < failed < 12
    progress = [line for line in run.log if line.startswith("Progress: ")]
    errors = [line for line in run.log if line.startswith("ERROR ")]
    for line in run.log:
        assert any(re.fullmatch(form, line) for form in FORMS), line
    assert all(re.fullmatch(FORMS[0], line) for line in progress)
    assert progress[-1].startswith(f"Progress: 12/12 ({failed} errors), ")
    assert len(errors) == failed
    said = "HTTP 500: EngineCore encountered an issue. See stack trace (above) for the root cause."
    for line in errors:
        assert re.fullmatch(rf"ERROR sample q\d+: {re.escape(said)}", line)


async def test_kept_answers_are_asked_again_only_when_told(command: Any, simulate: Any) -> None:
    short: Simulator = await simulate(faults=["truncate:1:3"])
    run = command(4)
    assert (await run.whole(*run.arguments(short.url)))[0] == 0
    assert run.status()["kept_by_state"] == {"truncated": 4}
    assert {row["flags"]["cut_in"] for row in run.records} == {"reasoning"}
    good: Simulator = await simulate()
    assert (await run.whole(*run.arguments(good.url)))[0] == 0
    assert good.stats.arrivals == 0
    assert run.status()["phase"] == "finished"
    redo = ("--redo", "truncated,no_reasoning")
    assert (await run.whole(*run.arguments(good.url, *redo)))[0] == 0
    assert good.stats.arrivals == 4
    status = run.status()
    assert (status["done"], status["kept"], status["lines"]) == (4, 0, 8)
    assert [row["state"] for row in run.records] == ["truncated"] * 4 + ["ok"] * 4


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are Linux's")
async def test_a_disk_that_fills_up_and_gets_room_again(
    command: Any, simulate: Any, until: Any
) -> None:
    """A limit of the kernel on the size of files, put on the running process and taken away."""
    server: Simulator = await simulate(token_rate=800.0)
    run = command(60)
    process = await run.start(*run.arguments(server.url, "--concurrency", "8"))
    journal = Path(run.run.journal)
    await until(lambda: journal.exists() and journal.stat().st_size > 8_000)
    infinite = resource.RLIM_INFINITY
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (16_000, infinite))
    await until(lambda: run.status().get("phase") == "paused" and not server.stats.in_flight)
    assert "raw_responses.jsonl cannot be written (File too large)" in run.status()["message"]
    data = journal.read_bytes()
    assert data.endswith(b"}\n"), "half a line never stays"
    asked = server.stats.arrivals
    before = run.status()["updated_at"]
    await until(lambda: run.status()["updated_at"] > before)
    assert server.stats.arrivals == asked < 60, "nothing new is asked"
    assert len(run.records) < asked, "answers wait in memory"
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (infinite, infinite))
    assert await asyncio.wait_for(process.wait(), 30) == 0
    assert journal.read_bytes().startswith(data)
    assert len({row["key"] for row in run.records}) == len(run.records) == 60
    assert server.stats.arrivals == 60, "nothing was asked twice"
