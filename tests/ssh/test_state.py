"""What a run directory tells, and the lines of its files."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

from eagle3_core.host import run
from eagle3_core.host.link import Link
from eagle3_core.monitor.snapshot import ProcessState
from eagle3_core.rundir import RunDir

Until = Callable[..., Awaitable[None]]
Alive = Callable[[int], bool]
Site = Any


async def test_state_of_a_directory_that_does_not_exist(link: Link, site: Site) -> None:
    seen = await run.state(link, str(site.dir))
    assert not seen.exists
    assert seen.process.state is ProcessState.NONE
    assert not seen.journal.exists
    assert seen.disk_free is not None
    assert seen.disk_free > 0
    assert abs(seen.host_time - time.time()) < 5
    counted = await run.count(link, str(RunDir(PurePosixPath(site.dir)).journal))
    assert counted == (0, 0, f"no such directory {site.dir}")


async def test_state_reads_the_small_files(here: Link, site: Site) -> None:
    (site.dir / "prepared").mkdir(parents=True)
    Path(str(RunDir(PurePosixPath(site.dir)).journal)).write_text('{"key": 1}\n')
    (site.dir / "status.json").write_text('{"phase": "finished"}')
    (site.dir / "settings.json").write_text('{"model": "m"}')
    (site.dir / "launch.json").write_text("{torn")
    seen = await run.state(here, str(site.dir))
    assert seen.status == {"phase": "finished"}
    assert seen.settings == {"model": "m"}
    assert seen.launch is None
    assert (seen.journal.exists, seen.journal.size) == (True, 11)
    assert await run.count(here, str(RunDir(PurePosixPath(site.dir)).journal)) == (1, 11, "")


async def test_last_and_sample(link: Link, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    assert await run.last(link, str(path), 3) == []
    path.write_bytes(b"".join(b"record %d \xff\n" % number for number in range(50)) + b"torn")
    assert await run.last(link, str(path), 2) == [b"record 48 \xff", b"record 49 \xff"]
    found = await run.sample(link, str(path), 5)
    assert len(set(found)) == 5
    assert all(line.startswith(b"record ") and line.endswith(b"\xff") for line in found)
