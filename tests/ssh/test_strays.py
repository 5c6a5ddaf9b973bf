"""A second writer of the journal: no start beside it, and a finding while a run goes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.link import Link
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.events import Picture
from eagle3_core.monitor.snapshot import ProcessState
from eagle3_core.monitor.watch import RunWatch

Site = Any
HOLD = "import sys; f = open(sys.argv[1], 'a'); print('open', flush=True); sys.stdin.read()"


@pytest.fixture
def stray(site: Site) -> Iterator[Callable[[str], int]]:
    """``stray(name)``: a process that was started by hand and writes a file of the run."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str) -> int:
        path = site.dir / "prepared" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-c", HOLD, str(path)]
        started.append(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert started[-1].stdout
        assert started[-1].stdout.readline() == b"open\n"
        return started[-1].pid

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", ["raw_responses.jsonl", "failures.jsonl"])
async def test_a_start_is_refused_beside_a_stray_writer(
    here: Link, site: Site, stray: Callable[[str], int], name: str
) -> None:
    pid = stray(name)
    with pytest.raises(UserError) as caught:
        await site.start(here)
    assert f"pid {pid} of " in caught.value.problem
    assert str(site.dir / "prepared" / name) in caught.value.problem
    assert f"kill {pid}" in caught.value.mend
    assert not (site.dir / "run.json").exists()
    assert (await site.process(here)).state is ProcessState.NONE


async def test_a_foreign_journal_is_guarded_too(
    here: Link, site: Site, stray: Callable[[str], int]
) -> None:
    pid = stray("theirs.jsonl")
    journal = str(site.dir / "prepared" / "theirs.jsonl")
    with pytest.raises(UserError, match=f"pid {pid} of "):
        await run.launch(here, str(site.dir), argv=["true"], journal=journal)


async def test_the_state_names_strays_when_asked(
    here: Link, site: Site, stray: Callable[[str], int]
) -> None:
    await site.start(here)
    pid = stray("raw_responses.jsonl")
    assert (await run.state(here, str(site.dir))).strays is None
    seen = await run.state(here, str(site.dir), writers=True)
    assert seen.strays is not None
    assert [one.pid for one in seen.strays] == [pid]
    await run.kill_hard(here, str(site.dir))


async def test_the_runs_own_processes_are_no_strays(
    here: Link, site: Site, until: Callable[..., Any]
) -> None:
    """Leader and worker both have the journal open, as inherited descriptors are."""
    code = (
        "import os, pathlib, sys, time; p = pathlib.Path('prepared'); p.mkdir();"
        "f = open(p / 'raw_responses.jsonl', 'a'); os.fork(); print('ready', flush=True);"
        "time.sleep(1000)"
    )
    await run.launch(here, str(site.dir), argv=[sys.executable, "-c", code])
    await until(lambda: site.log().count("ready") == 2)
    assert (await run.state(here, str(site.dir), writers=True)).strays == ()
    await run.kill_hard(here, str(site.dir))


async def test_the_console_shows_it(
    here: Link, site: Site, stray: Callable[[str], int], tmp_path: Path
) -> None:
    await site.start(here)
    pid = stray("raw_responses.jsonl")
    watch = RunWatch(HostTarget("local"), str(site.dir))
    try:
        async with asyncio.timeout(20):
            async for event in watch.events():
                if isinstance(event, Picture) and event.snapshot.findings:
                    break
    finally:
        await watch.close()
        await run.kill_hard(here, str(site.dir))
    (finding,) = event.snapshot.findings
    assert (finding.name, finding.severity) == ("two writers", "error")
    assert f"pid {pid} of " in finding.evidence
