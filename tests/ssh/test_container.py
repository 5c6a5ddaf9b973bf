"""A run inside a container: a process tree of its own, reached by a prefix before the agent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.connect import connect
from eagle3_core.host.link import Link
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.snapshot import ProcessState

Until = Callable[..., Awaitable[None]]
Alive = Callable[[int], bool]
Site = Any


@pytest.fixture
def container() -> Iterator[tuple[str, ...]]:
    """The prefix into a new PID namespace with a /proc of its own, as ``docker exec`` is one."""
    own_user = () if os.getuid() == 0 else ("--user", "--map-root-user")
    argv = ["unshare", *own_user, "--pid", "--fork", "--kill-child", "--mount-proc"]
    with subprocess.Popen([*argv, "sleep", "1000"]) as outer:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        deadline = time.monotonic() + 10
        while not (pid := children.read_text().strip()) or not is_sleep(pid):
            assert time.monotonic() < deadline, "the container does not start"
            time.sleep(0.01)
        as_user = () if os.getuid() == 0 else ("--user", "--preserve-credentials")
        yield ("nsenter", "--target", pid, *as_user, "--pid", "--mount")
        outer.kill()


def is_sleep(pid: str) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep")


@pytest.fixture(params=["local", "gpu"])
async def inside(
    request: pytest.FixtureRequest, container: tuple[str, ...], target: HostTarget
) -> AsyncIterator[Link]:
    """Into a container of this machine, and of a host behind ssh."""
    outside = target if request.param == "gpu" else HostTarget("local")
    made = await connect(replace(outside, prefix=container))
    yield made
    await made.close()


async def test_a_run_in_a_container_is_launched_watched_and_killed_there(
    inside: Link, here: Link, site: Site, until: Until
) -> None:
    process = await site.start(inside)
    await until(lambda: len(site.lines()) > 3)
    assert process.state is ProcessState.RUNNING
    assert site.record()["pidns"] != os.stat("/proc/self/ns/pid").st_ino
    # from outside its number is somebody else's, or nobody's
    seen = await site.process(here)
    assert (seen.state, seen.pid) == (ProcessState.UNKNOWN, process.pid)
    assert "another container" in seen.detail
    for end in (run.drain, run.kill, run.kill_hard):
        stopped = await end(here, str(site.dir))
        assert (stopped.ok, stopped.signalled) == (False, ())
        assert "nothing was signalled" in stopped.message
    with pytest.raises(UserError, match="another container"):
        await site.start(here)
    with pytest.raises(UserError, match="nothing was signalled"):
        await run.restart(here, str(site.dir), argv=site.argv())
    before = len(site.lines())
    await until(lambda: len(site.lines()) > before + 5)
    stopped = await run.kill(inside, str(site.dir))
    assert stopped.signalled == ((process.pid, "TERM"),)
    assert site.lines()[-1] == "flushed"
    # how it ended is on record, and true everywhere
    for link in (inside, here):
        ended = await site.process(link)
        assert (ended.state, ended.exit_code) == (ProcessState.EXITED, 0)


async def test_a_process_of_the_same_number_outside_is_never_taken_for_it(
    inside: Link, here: Link, site: Site, alive: Alive
) -> None:
    """Pid, start time, boot and even the run id agree; only the container does not."""
    started = await site.start(here)
    record = site.record()
    site_inside = record | {"pidns": record["pidns"] + 1}
    (site.dir / "run.json").write_text(json.dumps(site_inside))
    assert (await site.process(here)).state is ProcessState.UNKNOWN
    assert (await run.kill_hard(here, str(site.dir))).signalled == ()
    assert alive(started.pid)
    (site.dir / "run.json").write_text(json.dumps(record))
    assert (await run.kill_hard(here, str(site.dir))).signalled != ()


async def test_after_its_container_has_gone_the_journals_lock_tells(
    container: tuple[str, ...], here: Link, site: Site
) -> None:
    inside = await connect(HostTarget("local", prefix=container))
    await site.start(inside)
    await inside.close()
    pid = next(word for word in container if word.isdigit())
    subprocess.run(["kill", "-KILL", pid], check=True)
    with pytest.raises(UserError, match=r"run\.json"):
        await site.start(here)
    lock = site.dir / "prepared" / "raw_responses.jsonl.lock"
    lock.parent.mkdir()
    lock.touch()
    again = await site.start(here)
    assert again.state is ProcessState.RUNNING
    await run.kill_hard(here, str(site.dir))


async def test_a_prefix_that_leads_nowhere(container: tuple[str, ...]) -> None:
    wrong = ("nsenter", "--target", "999999999", "--pid")
    with pytest.raises(UserError) as caught:
        await connect(HostTarget("local", prefix=wrong))
    assert "\n" not in str(caught.value)
    assert sys.executable not in str(caught.value)
