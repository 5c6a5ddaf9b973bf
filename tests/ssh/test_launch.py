"""Starting a run: detached, once, and with plain words when it cannot be."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.connect import connect
from eagle3_core.host.link import Link
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.snapshot import Process, ProcessState

Until = Callable[..., Awaitable[None]]
Alive = Callable[[int], bool]
Site = Any


async def test_launch_returns_at_once_and_outlives_the_link(
    link: Link, site: Site, until: Until, alive: Alive
) -> None:
    began = time.monotonic()
    process = await site.start(link)
    assert time.monotonic() - began < 2.0
    assert process.state is ProcessState.RUNNING
    pid = process.pid
    assert pid is not None
    assert os.getsid(pid) == os.getpgid(pid) == pid
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{pid}/fd/1") == str(site.dir / "inference.log")
    assert os.readlink(f"/proc/{pid}/cwd") == str(site.dir)
    record = site.record()
    assert record["pid"] == record["pgid"] == pid
    assert f"EAGLE_RUN_ID={record['run_id']}".encode() in Path(
        f"/proc/{pid}/environ"
    ).read_bytes().split(b"\0")
    agent = link.hello.pid
    await link.close()
    await until(lambda: not alive(agent), 1.0)
    before = len(site.lines())
    await until(lambda: len(site.lines()) > before + 5)
    # another console finds it running, and ends it
    other = await connect(HostTarget("local"))
    try:
        again = await site.process(other)
        assert (again.state, again.pid) == (ProcessState.RUNNING, pid)
        await run.kill(other, str(site.dir))
        assert not alive(pid)
    finally:
        await other.close()


async def test_the_agent_is_gone_within_a_second_of_a_lost_connection(
    ssh_link: Link, until: Until, alive: Alive
) -> None:
    agent = ssh_link.hello.pid
    assert alive(agent)
    ssh_link.transport.connection.abort()  # type: ignore[attr-defined]
    await until(lambda: not alive(agent), 1.0)
    assert await asyncio.wait_for(ssh_link.closed(), 5)


async def test_a_second_launch_is_refused(here: Link, site: Site) -> None:
    process = await site.start(here)
    with pytest.raises(UserError) as caught:
        await site.start(here)
    assert f"pid {process.pid}" in caught.value.problem
    assert time.strftime("%Y-%m-%d") in caught.value.problem
    assert (await site.process(here)).pid == process.pid
    await run.kill_hard(here, str(site.dir))


async def test_two_consoles_cannot_both_start_it(here: Link, site: Site) -> None:
    other = await connect(HostTarget("local"))
    try:
        tries = [site.start(link) for link in (here, other, here, other)]
        results = await asyncio.gather(*tries, return_exceptions=True)
    finally:
        await other.close()
    started = [result for result in results if isinstance(result, Process)]
    refused = [result for result in results if isinstance(result, UserError)]
    assert (len(started), len(refused)) == (1, 3)
    await run.kill_hard(here, str(site.dir))


async def test_a_command_that_does_not_exist(here: Link, site: Site) -> None:
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(site.dir), argv=["/nowhere/generate"])
    assert "/nowhere/generate" in caught.value.problem
    assert (await site.process(here)).state is ProcessState.FAILED


async def test_a_folder_that_cannot_be_made(here: Link, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(tmp_path / "file" / "run"), argv=["true"])
    assert str(tmp_path / "file" / "run") in caught.value.problem


async def test_no_settings_yet(here: Link, site: Site) -> None:
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(site.dir))
    assert "no settings" in caught.value.problem


async def test_a_python_without_the_libraries(here: Link, site: Site) -> None:
    """A virtual environment with nothing in it: the words name it and what it lacks."""
    bare = site.dir.parent / "bare"
    make = [sys.executable, "-m", "venv", "--without-pip", str(bare)]
    await asyncio.to_thread(subprocess.run, make, check=True)
    python = str(bare / "bin" / "python")
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(site.dir), {"model": "m"}, python)
    assert python in caught.value.problem
    assert "openai and aiohttp" in caught.value.problem
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(site.dir), {"model": "m"}, "/nowhere/python")
    assert "/nowhere/python" in caught.value.problem


async def test_the_generator_runs_from_the_zip(here: Link, site: Site, until: Until) -> None:
    """The command line, the settings file and the path that the host's Python gets."""
    process = await run.launch(here, str(site.dir), {"model": "m"})
    record = site.record()
    launch_json = site.dir / "launch.json"
    output = str(site.dir / "prepared" / "raw_responses.jsonl")
    assert json.loads(launch_json.read_text()) == {"model": "m", "output": output}
    command = ["-m", "eagle3_core", "generate", "--settings", str(launch_json)]
    assert record["argv"][1:] == command
    # these settings are not enough, and the generator itself says so
    await until(site.ended, 20)
    after = await site.process(here)
    assert (after.state, after.pid) == (ProcessState.EXITED, process.pid)
    assert after.exit_code == 2
    assert "launch.json" in site.log()
    assert "Traceback" not in site.log()
    # with settings of its own the run goes on with those
    (site.dir / "settings.json").write_text("{}")
    await run.launch(here, str(site.dir))
    record = site.record()
    assert record["argv"][-1] == str(site.dir / "settings.json")
    await until(site.ended, 20)
