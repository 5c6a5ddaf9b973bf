"""Ending a run: drain, kill, kill hard, restart; its processes and no other."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.link import Link
from eagle3_core.monitor.snapshot import ProcessState

Until = Callable[..., Awaitable[None]]
Alive = Callable[[int], bool]
Site = Any


async def test_kill_lets_the_generator_flush(
    link: Link, site: Site, until: Until, alive: Alive
) -> None:
    process = await site.start(link)
    await until(lambda: len(site.lines()) > 3)
    stopped = await run.kill(link, str(site.dir))
    assert stopped.ok
    assert stopped.signalled == ((process.pid, "TERM"),)
    assert stopped.left == ()
    assert site.lines()[-1] == "flushed"
    after = await site.process(link)
    assert (after.state, after.exit_code) == (ProcessState.EXITED, 0)
    again = await run.kill(link, str(site.dir))
    assert (again.ok, again.signalled) == (True, ())


async def test_drain_waits_for_the_answers_in_flight(
    link: Link, site: Site, until: Until, alive: Alive
) -> None:
    process = await site.start(link)
    await until(lambda: "ready" in site.log())
    stopped = await run.drain(link, str(site.dir))
    assert stopped.signalled == ((process.pid, "INT"),)
    await until((site.dir / "status.json").exists)
    assert (await site.process(link)).state is ProcessState.DRAINING
    (site.dir / "answered").touch()
    assert process.pid is not None
    await until(site.ended)
    ended = await site.process(link)
    assert (ended.state, ended.exit_code) == (ProcessState.EXITED, 7)
    late = await run.drain(link, str(site.dir))
    assert (late.ok, late.signalled) == (False, ())


async def test_kill_hard(here: Link, site: Site, until: Until) -> None:
    process = await site.start(here)
    await until(lambda: "ready" in site.log())
    stopped = await run.kill_hard(here, str(site.dir))
    assert stopped.signalled == ((process.pid, "KILL"),)
    assert site.lines()[-1:] != ["flushed"]
    after = await site.process(here)
    assert (after.state, after.signal) == (ProcessState.KILLED, "KILL")


async def test_restart_ends_the_old_and_goes_on(here: Link, site: Site, until: Until) -> None:
    first = await site.start(here)
    await until(lambda: len(site.lines()) > 3)
    second = await run.restart(here, str(site.dir), argv=site.argv())
    assert second.state is ProcessState.RUNNING
    assert second.pid != first.pid
    kept = site.lines()
    assert "flushed" in kept
    await until(lambda: len(site.lines()) > len(kept))
    assert site.lines()[: len(kept)] == kept
    await run.kill(here, str(site.dir))
    third = await run.restart(here, str(site.dir), argv=site.argv())
    assert third.state is ProcessState.RUNNING
    await run.kill_hard(here, str(site.dir))


async def test_kill_leaves_nothing_of_a_stubborn_family(
    link: Link, site: Site, until: Until, alive: Alive
) -> None:
    process = await site.start(link, "family.py")
    await until(lambda: len(site.pids()) == 2)
    family = site.pids()
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        stopped = await run.kill(link, str(site.dir), grace=0.5)
        assert stopped.ok
        assert stopped.left == ()
        assert not any(alive(pid) for pid in [*family, process.pid])
        assert (family[0], "KILL") in stopped.signalled
        assert {pid for pid, _ in stopped.signalled} == {process.pid, *family}
        assert alive(bystander.pid)
    finally:
        bystander.kill()
        bystander.wait()


async def test_orphans_of_a_leader_that_was_shot_are_shown_and_killed(
    here: Link, site: Site, until: Until, alive: Alive
) -> None:
    """One of them has left the group, wiped its environment and lost its parent."""
    argv = [*site.argv("family.py"), "with an orphan"]
    process = await run.launch(here, str(site.dir), argv=argv)
    await until(lambda: len(site.pids()) == 3)
    family = site.pids()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    await until(site.ended)
    left = await site.process(here)
    assert (left.state, left.signal) == (ProcessState.LEFTOVERS, "KILL")
    assert all(str(pid) in left.detail for pid in family)
    with pytest.raises(UserError) as caught:
        await site.start(here)
    assert str(family[0]) in caught.value.problem
    stopped = await run.kill(here, str(site.dir), grace=0.3)
    assert stopped.left == ()
    assert not any(alive(pid) for pid in family)
    assert (await site.process(here)).state is ProcessState.KILLED
    assert site.record()["all_ended"] is True


async def test_a_reused_pid_is_never_signalled(here: Link, site: Site, alive: Alive) -> None:
    """The record of an old run names the pid of a process that is somebody else's now."""
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        record = {
            "run_id": "x",
            "pid": stranger.pid,
            "pgid": stranger.pid,
            "start": 1,
            "boot": boot,
        }
        site.dir.mkdir()
        (site.dir / "run.json").write_text(json.dumps(record))
        assert (await site.process(here)).state is ProcessState.REUSED
        for end in (run.kill, run.kill_hard, run.drain):
            stopped = await end(here, str(site.dir))
            assert stopped.signalled == ()
            assert "nothing was signalled" in stopped.message
        assert stranger.poll() is None
        (site.dir / "run.json").write_text(json.dumps(record | {"boot": "another"}))
        assert (await site.process(here)).state is ProcessState.GONE
        assert (await run.kill(here, str(site.dir))).signalled == ()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


async def test_a_run_started_by_hand_is_adopted(here: Link, site: Site) -> None:
    """Its run.json has no shim and its environment no run id; only the leader is ours."""
    site.dir.mkdir()
    child = subprocess.Popen(site.argv(), stdout=subprocess.DEVNULL)
    reaped = asyncio.create_task(asyncio.to_thread(child.wait))
    stat = Path(f"/proc/{child.pid}/stat").read_text()
    record = {
        "run_id": "by-hand",
        "pid": child.pid,
        "pgid": os.getpgid(child.pid),
        "start": int(stat[stat.rindex(")") + 2 :].split()[19]),
        "boot": here.hello.boot_id,
        "argv": site.argv(),
        "started_at": time.time(),
    }
    (site.dir / "run.json").write_text(json.dumps(record))
    assert (await site.process(here)).state is ProcessState.RUNNING
    with pytest.raises(UserError):
        await site.start(here)
    stopped = await run.kill(here, str(site.dir))
    await reaped
    assert {pid for pid, _ in stopped.signalled} == {child.pid}
    assert (await site.process(here)).state is ProcessState.EXITED
