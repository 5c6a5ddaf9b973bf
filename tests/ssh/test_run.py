"""A run on its host: launched, watched, drained, killed, restarted; with real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.connect import connect
from eagle3_core.host.link import Link
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.snapshot import Process, ProcessState

Until = Callable[..., Awaitable[None]]
Alive = Callable[[int], bool]

GENERATOR = '''
"""Stands in for the generator: appends lines; INT drains, TERM flushes and ends."""
import json, os, signal, sys, time
out = open(os.path.join(sys.argv[1], "out.jsonl"), "a")
draining = False
def drain(number, frame):
    global draining
    draining = True
    json.dump({"phase": "draining"}, open(os.path.join(sys.argv[1], "status.json"), "w"))
def term(number, frame):
    out.write("flushed\\n"); out.flush(); sys.exit(0)
signal.signal(signal.SIGINT, drain)
signal.signal(signal.SIGTERM, term)
print("ready", flush=True)
for number in range(100000):
    out.write("line %d\\n" % number); out.flush()
    time.sleep(0.01)
    if draining and os.path.exists(os.path.join(sys.argv[1], "answered")):
        sys.exit(7)
'''

FAMILY = '''
"""A leader with a child that ignores TERM, one that left the session, and an orphan without a
trace: another session, a wiped environment, its parent gone."""
import os, signal, sys, time
def child(body, setsid=False):
    pid = os.fork()
    if pid == 0:
        if setsid:
            os.setsid()
        body()
        os._exit(0)
    return pid
def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
def orphan():
    os.execve(sys.executable, [sys.executable, "-c",
        "import os, time\\n"
        "if os.fork() == 0:\\n"
        " os.setsid(); print('pid', os.getpid(), flush=True); time.sleep(1000)"], {})
for body, setsid in ((stubborn, False), (lambda: time.sleep(1000), True)):
    print("pid", child(body, setsid), flush=True)
if len(sys.argv) > 2:
    child(orphan, True)
time.sleep(1000)
'''


@pytest.fixture
async def here() -> AsyncIterator[Link]:
    made = await connect(HostTarget("local"))
    yield made
    await made.close()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "generator.py").write_text(GENERATOR)
    (tmp_path / "family.py").write_text(FAMILY)
    return tmp_path / "run"


@pytest.fixture(autouse=True)
def nothing_left(run_dir: Path) -> object:
    """End what a failed test may have left; a test that passes has ended it itself."""
    yield
    try:
        record = json.loads((run_dir / "run.json").read_text())
        if "exit" not in record and "shim" in record and record["pid"]:
            os.killpg(record["pid"], signal.SIGKILL)
    except (OSError, ValueError):
        pass


def argv_of(run_dir: Path, script: str = "generator.py") -> list[str]:
    return [sys.executable, str(run_dir.parent / script), str(run_dir)]


async def start(link: Link, run_dir: Path, script: str = "generator.py") -> Process:
    return await run.launch(link, str(run_dir), argv=argv_of(run_dir, script))


def log_of(run_dir: Path) -> str:
    try:
        return (run_dir / "inference.log").read_text()
    except OSError:
        return ""


def pids_in(run_dir: Path) -> list[int]:
    return [int(line.split()[1]) for line in log_of(run_dir).split("\n") if line.startswith("pid ")]


def lines_in(run_dir: Path) -> list[str]:
    try:
        return (run_dir / "out.jsonl").read_text().split("\n")[:-1]
    except OSError:
        return []


async def process_of(link: Link, run_dir: Path) -> Process:
    return (await run.state(link, str(run_dir))).process


async def test_launch_returns_at_once_and_outlives_the_link(
    link: Link, run_dir: Path, until: Until, alive: Alive
) -> None:
    began = time.monotonic()
    process = await start(link, run_dir)
    assert time.monotonic() - began < 2.0
    assert process.state is ProcessState.RUNNING
    pid = process.pid
    assert pid is not None
    assert os.getsid(pid) == os.getpgid(pid) == pid
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{pid}/fd/1") == str(run_dir / "inference.log")
    assert os.readlink(f"/proc/{pid}/cwd") == str(run_dir)
    record = json.loads((run_dir / "run.json").read_text())
    assert record["pid"] == record["pgid"] == pid
    assert f"EAGLE_RUN_ID={record['run_id']}".encode() in Path(
        f"/proc/{pid}/environ"
    ).read_bytes().split(b"\0")
    agent = link.hello.pid
    await link.close()
    await until(lambda: not alive(agent), 1.0)
    before = len(lines_in(run_dir))
    await until(lambda: len(lines_in(run_dir)) > before + 5)
    # another console finds it running, and ends it
    other = await connect(HostTarget("local"))
    try:
        again = await process_of(other, run_dir)
        assert (again.state, again.pid) == (ProcessState.RUNNING, pid)
        await run.kill(other, str(run_dir))
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


async def test_kill_lets_the_generator_flush(
    link: Link, run_dir: Path, until: Until, alive: Alive
) -> None:
    process = await start(link, run_dir)
    await until(lambda: len(lines_in(run_dir)) > 3)
    stopped = await run.kill(link, str(run_dir))
    assert stopped.ok
    assert stopped.signalled == ((process.pid, "TERM"),)
    assert stopped.left == ()
    assert lines_in(run_dir)[-1] == "flushed"
    after = await process_of(link, run_dir)
    assert (after.state, after.exit_code) == (ProcessState.EXITED, 0)
    again = await run.kill(link, str(run_dir))
    assert (again.ok, again.signalled) == (True, ())


async def test_drain_waits_for_the_answers_in_flight(
    link: Link, run_dir: Path, until: Until, alive: Alive
) -> None:
    process = await start(link, run_dir)
    await until(lambda: "ready" in log_of(run_dir))
    stopped = await run.drain(link, str(run_dir))
    assert stopped.signalled == ((process.pid, "INT"),)
    await until((run_dir / "status.json").exists)
    assert (await process_of(link, run_dir)).state is ProcessState.DRAINING
    (run_dir / "answered").touch()
    assert process.pid is not None
    await until(lambda: "exit" in (run_dir / "run.json").read_text())
    ended = await process_of(link, run_dir)
    assert (ended.state, ended.exit_code) == (ProcessState.EXITED, 7)
    late = await run.drain(link, str(run_dir))
    assert (late.ok, late.signalled) == (False, ())


async def test_kill_hard(here: Link, run_dir: Path, until: Until) -> None:
    process = await start(here, run_dir)
    await until(lambda: "ready" in log_of(run_dir))
    stopped = await run.kill_hard(here, str(run_dir))
    assert stopped.signalled == ((process.pid, "KILL"),)
    assert lines_in(run_dir)[-1:] != ["flushed"]
    after = await process_of(here, run_dir)
    assert (after.state, after.signal) == (ProcessState.KILLED, "KILL")


async def test_restart_ends_the_old_and_goes_on(here: Link, run_dir: Path, until: Until) -> None:
    first = await start(here, run_dir)
    await until(lambda: len(lines_in(run_dir)) > 3)
    second = await run.restart(here, str(run_dir), argv=argv_of(run_dir))
    assert second.state is ProcessState.RUNNING
    assert second.pid != first.pid
    kept = lines_in(run_dir)
    assert "flushed" in kept
    await until(lambda: len(lines_in(run_dir)) > len(kept))
    assert lines_in(run_dir)[: len(kept)] == kept
    await run.kill(here, str(run_dir))
    third = await run.restart(here, str(run_dir), argv=argv_of(run_dir))
    assert third.state is ProcessState.RUNNING
    await run.kill_hard(here, str(run_dir))


async def test_a_second_launch_is_refused(here: Link, run_dir: Path) -> None:
    process = await start(here, run_dir)
    with pytest.raises(UserError) as caught:
        await start(here, run_dir)
    assert f"pid {process.pid}" in caught.value.problem
    assert time.strftime("%Y-%m-%d") in caught.value.problem
    assert (await process_of(here, run_dir)).pid == process.pid
    await run.kill_hard(here, str(run_dir))


async def test_two_consoles_cannot_both_start_it(here: Link, run_dir: Path) -> None:
    other = await connect(HostTarget("local"))
    try:
        tries = [start(link, run_dir) for link in (here, other, here, other)]
        results = await asyncio.gather(*tries, return_exceptions=True)
    finally:
        await other.close()
    started = [result for result in results if isinstance(result, Process)]
    refused = [result for result in results if isinstance(result, UserError)]
    assert (len(started), len(refused)) == (1, 3)
    await run.kill_hard(here, str(run_dir))


async def test_kill_leaves_nothing_of_a_stubborn_family(
    link: Link, run_dir: Path, until: Until, alive: Alive
) -> None:
    process = await start(link, run_dir, "family.py")
    await until(lambda: len(pids_in(run_dir)) == 2)
    family = pids_in(run_dir)
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        stopped = await run.kill(link, str(run_dir), grace=0.5)
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
    here: Link, run_dir: Path, until: Until, alive: Alive
) -> None:
    """One of them has left the group, wiped its environment and lost its parent."""
    argv = [*argv_of(run_dir, "family.py"), "with an orphan"]
    process = await run.launch(here, str(run_dir), argv=argv)
    await until(lambda: len(pids_in(run_dir)) == 3)
    family = pids_in(run_dir)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    await until(lambda: "exit" in (run_dir / "run.json").read_text())
    left = await process_of(here, run_dir)
    assert (left.state, left.signal) == (ProcessState.LEFTOVERS, "KILL")
    assert all(str(pid) in left.detail for pid in family)
    with pytest.raises(UserError) as caught:
        await start(here, run_dir)
    assert str(family[0]) in caught.value.problem
    stopped = await run.kill(here, str(run_dir), grace=0.3)
    assert stopped.left == ()
    assert not any(alive(pid) for pid in family)
    assert (await process_of(here, run_dir)).state is ProcessState.KILLED
    assert json.loads((run_dir / "run.json").read_text())["all_ended"] is True


async def test_a_reused_pid_is_never_signalled(here: Link, run_dir: Path, alive: Alive) -> None:
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
        run_dir.mkdir()
        (run_dir / "run.json").write_text(json.dumps(record))
        assert (await process_of(here, run_dir)).state is ProcessState.REUSED
        for end in (run.kill, run.kill_hard, run.drain):
            stopped = await end(here, str(run_dir))
            assert stopped.signalled == ()
            assert "nothing was signalled" in stopped.message
        assert stranger.poll() is None
        (run_dir / "run.json").write_text(json.dumps(record | {"boot": "another"}))
        assert (await process_of(here, run_dir)).state is ProcessState.GONE
        assert (await run.kill(here, str(run_dir))).signalled == ()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


async def test_a_run_started_by_hand_is_adopted(here: Link, run_dir: Path) -> None:
    """Its run.json has no shim and its environment no run id; only the leader is ours."""
    run_dir.mkdir()
    child = subprocess.Popen(argv_of(run_dir), stdout=subprocess.DEVNULL)
    reaped = asyncio.create_task(asyncio.to_thread(child.wait))
    stat = Path(f"/proc/{child.pid}/stat").read_text()
    record = {
        "run_id": "by-hand",
        "pid": child.pid,
        "pgid": os.getpgid(child.pid),
        "start": int(stat[stat.rindex(")") + 2 :].split()[19]),
        "boot": here.hello.boot_id,
        "argv": argv_of(run_dir),
        "started_at": time.time(),
    }
    (run_dir / "run.json").write_text(json.dumps(record))
    assert (await process_of(here, run_dir)).state is ProcessState.RUNNING
    with pytest.raises(UserError):
        await start(here, run_dir)
    stopped = await run.kill(here, str(run_dir))
    await reaped
    assert {pid for pid, _ in stopped.signalled} == {child.pid}
    assert (await process_of(here, run_dir)).state is ProcessState.EXITED


async def test_a_command_that_does_not_exist(here: Link, run_dir: Path) -> None:
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(run_dir), argv=["/nowhere/generate"])
    assert "/nowhere/generate" in caught.value.problem
    assert (await process_of(here, run_dir)).state is ProcessState.FAILED


async def test_a_folder_that_cannot_be_made(here: Link, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(tmp_path / "file" / "run"), argv=["true"])
    assert str(tmp_path / "file" / "run") in caught.value.problem


async def test_no_settings_yet(here: Link, run_dir: Path) -> None:
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(run_dir))
    assert "no settings" in caught.value.problem


async def test_a_python_without_the_libraries(here: Link, run_dir: Path) -> None:
    """A virtual environment with nothing in it: the words name it and what it lacks."""
    bare = run_dir.parent / "bare"
    make = [sys.executable, "-m", "venv", "--without-pip", str(bare)]
    await asyncio.to_thread(subprocess.run, make, check=True)
    python = str(bare / "bin" / "python")
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(run_dir), {"model": "m"}, python)
    assert python in caught.value.problem
    assert "openai and aiohttp" in caught.value.problem
    with pytest.raises(UserError) as caught:
        await run.launch(here, str(run_dir), {"model": "m"}, "/nowhere/python")
    assert "/nowhere/python" in caught.value.problem


async def test_the_generator_runs_from_the_zip(here: Link, run_dir: Path, until: Until) -> None:
    """The command line, the settings file and the path that the host's Python gets."""
    process = await run.launch(here, str(run_dir), {"model": "m"})
    record = json.loads((run_dir / "run.json").read_text())
    launch_json = run_dir / "launch.json"
    assert json.loads(launch_json.read_text()) == {"model": "m"}
    command = ["-m", "eagle3_core", "generate", "--settings", str(launch_json)]
    assert record["argv"][1:] == command
    # these settings are not enough, and the generator itself says so
    await until(lambda: "exit" in (run_dir / "run.json").read_text(), 20)
    after = await process_of(here, run_dir)
    assert (after.state, after.pid) == (ProcessState.EXITED, process.pid)
    assert after.exit_code == 2
    assert "launch.json" in log_of(run_dir)
    assert "Traceback" not in log_of(run_dir)
    # with settings of its own the run goes on with those
    (run_dir / "settings.json").write_text("{}")
    await run.launch(here, str(run_dir))
    record = json.loads((run_dir / "run.json").read_text())
    assert record["argv"][-1] == str(run_dir / "settings.json")
    await until(lambda: "exit" in (run_dir / "run.json").read_text(), 20)


async def test_state_of_a_directory_that_does_not_exist(link: Link, run_dir: Path) -> None:
    seen = await run.state(link, str(run_dir))
    assert not seen.exists
    assert seen.process.state is ProcessState.NONE
    assert not seen.journal.exists
    assert seen.disk_free is not None
    assert seen.disk_free > 0
    assert abs(seen.host_time - time.time()) < 5
    counted = await run.count(link, run.journal_of(str(run_dir)))
    assert counted == (0, 0, f"no such directory {run_dir}")


async def test_state_reads_the_small_files(here: Link, run_dir: Path) -> None:
    (run_dir / "prepared").mkdir(parents=True)
    Path(run.journal_of(str(run_dir))).write_text('{"key": 1}\n')
    (run_dir / "status.json").write_text('{"phase": "finished"}')
    (run_dir / "settings.json").write_text('{"model": "m"}')
    (run_dir / "launch.json").write_text("{torn")
    seen = await run.state(here, str(run_dir))
    assert seen.status == {"phase": "finished"}
    assert seen.settings == {"model": "m"}
    assert seen.launch is None
    assert (seen.journal.exists, seen.journal.size) == (True, 11)
    assert await run.count(here, run.journal_of(str(run_dir))) == (1, 11, "")


async def test_last_and_sample(link: Link, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    assert await run.last(link, str(path), 3) == []
    path.write_bytes(b"".join(b"record %d \xff\n" % number for number in range(50)) + b"torn")
    assert await run.last(link, str(path), 2) == [b"record 48 \xff", b"record 49 \xff"]
    found = await run.sample(link, str(path), 5)
    assert len(set(found)) == 5
    assert all(line.startswith(b"record ") and line.endswith(b"\xff") for line in found)
