"""A host without python3: its files are counted and read by a POSIX shell, and nothing is sent."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from watched import Console, Place, record

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.connect import connect
from eagle3_core.host.follow import Data, Missing, Opened
from eagle3_core.host.link import AgentError, Link, closing
from eagle3_core.host.posix_shell import TOOLS
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.snapshot import ProcessState
from eagle3_core.monitor.watch import RunWatch

Until = Callable[..., Awaitable[None]]
Refused = Callable[..., Awaitable[UserError]]


def bare_host(new_sshd: Callable[..., Any], folder: Path, tools: str, *options: str) -> HostTarget:
    """A host whose PATH holds ``tools`` and nothing else, and whose shell is talkative."""
    (folder / "bin").mkdir()
    for name in tools.split():
        (folder / "bin" / name).symlink_to(str(shutil.which(name)))
    command = folder / "shell"
    command.write_text(
        f"#!/bin/sh\necho welcome; echo to the cluster >&2\nPATH={folder / 'bin'} "
        'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    command.chmod(0o755)
    target: HostTarget = new_sshd(f"ForceCommand {command}", *options).client(folder)
    return target


@pytest.fixture
def target(new_sshd: Callable[..., Any], tmp_path: Path) -> HostTarget:
    return bare_host(new_sshd, tmp_path, TOOLS, "MaxSessions 1", "AllowTcpForwarding no")


@pytest.fixture
async def bare(target: HostTarget) -> AsyncIterator[Link]:
    async with closing(await connect(target)) as link:
        yield link


async def test_hello_says_so(bare: Link) -> None:
    assert bare.hello.words == f"{os.uname().nodename}, no python3: read-only (counts and log)"
    await bare.call("ping")


async def test_a_host_that_lacks_more_says_what_to_do(
    new_sshd: Callable[..., Any], tmp_path: Path, refused: Refused
) -> None:
    error = await refused(bare_host(new_sshd, tmp_path, "ls cat"))
    assert "gpu has no python3" in error.problem
    assert "python =" in error.mend


@pytest.mark.parametrize("name", ["plain", 'it\'s $(touch x) "odd"\n`name`', "-n"])
async def test_count_and_last_of_any_name(bare: Link, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"one\n\xff\xfe\x00two\nthree")
    assert await run.count(bare, str(path)) == (2, path.stat().st_size, "")
    assert await run.last(bare, str(path), 5) == [b"one", b"\xff\xfe\x00two"]
    assert (await run.count(bare, str(tmp_path / "none"))).reason
    assert await run.last(bare, str(tmp_path / "none"), 5) == []
    assert not Path("x").exists()


async def test_what_changes_a_run_says_why_not(bare: Link, tmp_path: Path) -> None:
    for attempt in (
        run.launch(bare, str(tmp_path / "run"), argv=["true"]),
        run.kill(bare, str(tmp_path / "run")),
    ):
        with pytest.raises((AgentError, UserError), match="gpu has no python3: read-only"):
            await attempt
    assert not (tmp_path / "run").exists()


async def test_state_of_a_run(bare: Link, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    state = await run.state(bare, str(folder), writers=True)
    assert not state.exists
    assert not state.journal.exists
    (folder / "prepared").mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / "status.json").write_text(json.dumps({"done": 7}))
    (folder / "settings.json").write_text("{ half")
    (folder / "prepared" / "raw_responses.jsonl").write_bytes(b"x\n")
    state = await run.state(bare, str(folder))
    assert (state.exists, state.status, state.settings) == (True, {"done": 7}, None)
    assert (state.journal.size, state.log.exists) == (2, False)
    assert state.process.state is ProcessState.UNKNOWN
    assert "no python3" in state.process.detail
    assert state.disk_free is not None
    assert state.disk_free > 0


async def test_follow_counts_exactly_over_gaps(bare: Link, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    events = bare.follow(str(path), cap=1003)
    assert isinstance(await anext(events), Missing)
    path.write_bytes(b"".join(b"%09d\n" % n for n in range(500)))
    assert isinstance(await anext(events), Opened)
    first = await anext(events)
    assert isinstance(first, Data)
    assert (first.lines, first.text[-10:]) == (500, b"%09d\n" % 499)
    assert first.skipped + len(first.text) == 5000
    assert first.text.startswith(b"000000400\n"), "the line that was cut into is left out"
    with path.open("ab") as file:
        file.write(b"more\nhalf")
    second = await anext(events)
    assert isinstance(second, Data)
    assert (second.lines, second.text, second.skipped) == (501, b"more\nhalf", 0)
    other = tmp_path / "other"
    other.write_bytes(b"longer than it was\n" * 300)
    other.rename(path)
    replaced = await anext(events)
    assert isinstance(replaced, Opened)
    assert replaced.why == "replaced"
    third = await anext(events)
    assert isinstance(third, Data)
    assert third.lines == 300
    await events.aclose()  # type: ignore[attr-defined]
    # another link goes on from there, if the file is the same
    for change, resumed in ((b"", True), (b"LONGER", False)):
        if change:
            path.write_bytes(path.read_bytes().replace(b"longer", change))
        again = bare.follow(str(path), checkpoint=third.checkpoint)
        opened = await anext(again)
        assert isinstance(opened, Opened)
        assert opened.resumed is resumed
        await again.aclose()  # type: ignore[attr-defined]


async def test_watched_as_any_other(target: HostTarget, tmp_path: Path, until: Until) -> None:
    place = Place(tmp_path / "run")
    place.begin()
    shown = Console(RunWatch(target, str(place.dir)))
    await until(lambda: shown.connected() and shown.now.lines == 2 and shown.lines, 20)
    assert "read-only" in shown.now.link.detail
    place.go_on()
    await until(lambda: len(shown.records) >= 4 and len(shown.lines) >= 4, 20)
    assert shown.records == [record(n) for n in range(4)]
    assert shown.lines == ["one", "two", "three", "four"]
    assert shown.now.lines == 4
    with pytest.raises(UserError, match="no python3: read-only"):
        await shown.watch.start()
    assert shown.lost() == []
    await asyncio.wait_for(shown.close(), 10)
