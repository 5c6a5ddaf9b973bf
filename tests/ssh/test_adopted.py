"""A run that was started by hand, without a console, is everybody's; two consoles see one truth."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.connect import connect
from eagle3_core.host.link import Link
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.snapshot import Process, ProcessState
from eagle3_core.rundir import RunDir
from eagle3_core.simulator.server import Simulator
from eagle3_core.simulator.settings import SimSettings

Until = Callable[..., Awaitable[None]]
Site = Any


@pytest.fixture
async def server() -> AsyncIterator[Simulator]:
    """Slow enough that a run goes on until it is ended."""
    simulator = Simulator(SimSettings(token_rate=20, mean_tokens=40))
    await simulator.start()
    yield simulator
    await simulator.stop()


@pytest.fixture
def by_hand(site: Site, server: Simulator) -> Iterator[subprocess.Popen[bytes]]:
    """``eagle3-core generate`` in a shell of its own: no agent, no shim."""
    site.dir.mkdir()
    prompts = site.dir / "prompts.jsonl"
    rows = ({"id": f"q{n}", "messages": [{"role": "user", "content": str(n)}]} for n in range(500))
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {
        "prompts": str(prompts),
        "output": str(site.dir / "prepared" / "raw_responses.jsonl"),
        "model": "kimi-k2.5",
        "base_url": [server.url],
        "concurrency": 4,
        "preflight": False,
    }
    file = site.dir / "mine.json"
    file.write_text(json.dumps(settings))
    argv = [sys.executable, "-m", "eagle3_core", "generate", "--settings", str(file)]
    null = subprocess.DEVNULL
    with subprocess.Popen(argv, stdin=null, stdout=null, stderr=null) as process:
        yield process
        process.kill()


async def going(site: Site, until: Until) -> None:
    journal = Path(str(RunDir(PurePosixPath(site.dir)).journal))
    await until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 2, 30)


@pytest.fixture
async def other() -> AsyncIterator[Link]:
    """The link of a second console."""
    made = await connect(HostTarget("local"))
    yield made
    await made.close()


async def test_it_is_seen_guarded_and_killed(
    here: Link, site: Site, until: Until, by_hand: subprocess.Popen[bytes]
) -> None:
    await going(site, until)
    seen = await run.state(here, str(site.dir), writers=True)
    assert (seen.process.state, seen.process.pid) == (ProcessState.RUNNING, by_hand.pid)
    assert seen.strays == ()
    with pytest.raises(UserError, match=f"already runs as pid {by_hand.pid}"):
        await site.start(here)
    reaped = asyncio.create_task(asyncio.to_thread(by_hand.wait))
    stopped = await run.kill(here, str(site.dir))
    await reaped
    assert stopped.signalled == ((by_hand.pid, "TERM"),)
    ended = await site.process(here)
    assert (ended.state, ended.signal) == (ProcessState.KILLED, "TERM")


async def test_it_is_drained(
    here: Link, site: Site, until: Until, by_hand: subprocess.Popen[bytes]
) -> None:
    await going(site, until)
    assert (await run.drain(here, str(site.dir))).ok
    seen: list[ProcessState] = []
    while by_hand.poll() is None:
        seen.append((await site.process(here)).state)
    assert ProcessState.DRAINING in seen
    ended = await site.process(here)
    assert (ended.state, ended.exit_code) == (ProcessState.EXITED, 0)


async def test_shot_by_the_kernel_it_leaves_no_word_how(
    here: Link, site: Site, until: Until, by_hand: subprocess.Popen[bytes]
) -> None:
    await going(site, until)
    by_hand.kill()
    by_hand.wait()
    ended = await site.process(here)
    assert (ended.state, ended.exit_code) == (ProcessState.EXITED, None)
    assert "not on record" in ended.detail


async def test_two_consoles_see_the_same(here: Link, other: Link, site: Site, until: Until) -> None:
    async def both() -> Process:
        mine, theirs = await asyncio.gather(site.process(here), site.process(other))
        assert mine == theirs
        assert isinstance(mine, Process)
        return mine

    assert (await both()).state is ProcessState.NONE
    await site.start(here)
    assert (await both()).state is ProcessState.RUNNING
    await until(lambda: "ready" in site.log())
    await run.drain(other, str(site.dir))
    await until((site.dir / "status.json").exists)
    assert (await both()).state is ProcessState.DRAINING
    await run.kill_hard(other, str(site.dir))
    assert (await both()).signal == "KILL"


async def test_two_restarts_at_once_leave_one_run(here: Link, other: Link, site: Site) -> None:
    await site.start(here)
    tries = [run.restart(link, str(site.dir), argv=site.argv()) for link in (here, other)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert all(isinstance(result, (Process, UserError)) for result in results), results
    assert any(isinstance(result, Process) for result in results)
    me = f"EAGLE_RUN_ID={site.record()['run_id']}".encode()
    going = [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and str(site.dir).encode() in command_of(folder)
    ]
    assert going == [site.record()["pid"]]
    assert me in Path(f"/proc/{going[0]}/environ").read_bytes().split(b"\0")
    await run.kill_hard(here, str(site.dir))


def command_of(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""
