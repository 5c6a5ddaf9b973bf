"""Another script's run, by a profile: launched, counted, read, and ended as if it were ours."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.commands import Commands
from eagle3_core.host.foreign_run import ForeignRun
from eagle3_core.host.link import Link
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.events import LogLines, NewRecords, Outcome, Picture
from eagle3_core.monitor.snapshot import ProcessState, Snapshot
from eagle3_core.monitor.watch import RunWatch
from eagle3_core.records import AnswerState

Until = Callable[..., Awaitable[None]]
Site = Any
SCRIPT = Path(__file__).with_name("stand_ins") / "script.py"
SECRET = "sk-a-secret-that-is-nowhere"


class Shell:
    """The command line, with a config and a state folder of its own."""

    def __init__(self, folder: Path, target: HostTarget, site: Path, more: str = "") -> None:
        self.state = folder / "state"
        self.work = folder / "work"
        self.work.mkdir()
        self.run = site
        self.config = folder / "console.toml"
        self.config.write_text(
            f"""{more}
            [profiles.theirs]
            host = "gpu"
            run = "{site}"
            command = ["{sys.executable}", "{SCRIPT}"]
            cwd = "{self.work}"
            log = "logs.txt"
            journal = "answers.jsonl"
            env = ["THEIR_KEY"]
            """
        )
        self._ssh = ["--ssh-config", str(target.config)]

    def __call__(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        where = [] if command == "trail" else ["theirs", *self._ssh]
        return subprocess.run(
            [sys.executable, "-m", "eagle3_console", command, *where, *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            env=os.environ
            | {
                "EAGLE3_CONSOLE_CONFIG": str(self.config),
                "XDG_STATE_HOME": str(self.state),
                "THEIR_KEY": SECRET,
            },
        )

    def rows(self) -> int:
        file = self.work / "answers.jsonl"
        return file.read_bytes().count(b"\n") if file.exists() else 0


@pytest.fixture
def shell(tmp_path: Path, target: HostTarget, site: Site) -> Shell:
    return Shell(tmp_path, target, site.dir)


def status(shell: Shell) -> dict[str, Any]:
    done = shell("status", "--json")
    assert done.returncode == 0, done.stderr
    picture: dict[str, Any] = json.loads(done.stdout)
    return picture


async def test_from_the_command_line_over_ssh(shell: Shell, site: Site, until: Until) -> None:
    before = status(shell)
    assert (before["process"]["state"], before["lines"]) == ("none", 0)
    assert before["lines_detail"] == "no answers.jsonl yet"
    started = await asyncio.to_thread(shell, "start")
    assert started.returncode == 0, started.stderr
    assert f"started as pid {site.record()['pid']}" in started.stdout
    again = await asyncio.to_thread(shell, "start")
    assert "already runs" in again.stderr
    await until(lambda: shell.rows() > 25, 30)
    picture = await asyncio.to_thread(status, shell)
    progress = picture["progress"]
    assert picture["process"]["state"] == "running"
    assert picture["lines"] > 25
    assert progress["samples"] == 25_000
    assert progress["failed"] == progress["timeouts_by_clock"]["request"] >= 6
    assert progress["done"] + progress["failed"] + progress["pending"] == 25_000
    assert picture["findings"][0]["name"] == "time-outs"
    assert "raise the script's time-out" in picture["findings"][0]["mend"]
    samples = await asyncio.to_thread(shell, "samples", "-n", "1")
    assert "question: Why?" in samples.stdout
    assert "reasoning: Since." in samples.stdout
    logs = await asyncio.to_thread(shell, "logs", "-n", "100000")
    assert logs.stdout.startswith(f"key of {len(SECRET)} characters\n")
    ended = await asyncio.to_thread(shell, "kill")
    assert (ended.returncode, ended.stdout) == (0, "1 process ended\n")
    after = status(shell)
    assert (after["process"]["state"], after["process"]["signal"]) == ("killed", "TERM")
    assert shell.rows() == after["lines"]
    trail = shell("trail")
    words = [line.split(" · ")[0].split()[-1] for line in trail.stdout.splitlines()]
    assert words == ["start", "start", "kill"]
    assert f"kill -TERM {site.record()['pid']}" in trail.stdout
    assert "with THEIR_KEY" in trail.stdout
    assert "failed: " in trail.stdout.splitlines()[1]


async def test_a_secret_is_in_the_environment_and_nowhere_else(
    shell: Shell, site: Site, until: Until
) -> None:
    started = await asyncio.to_thread(shell, "start")
    assert started.returncode == 0, started.stderr
    await until(lambda: shell.rows() > 2, 30)
    pid = site.record()["pid"]
    assert f"THEIR_KEY={SECRET}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    for one in (pid, site.record()["shim"]):
        assert SECRET.encode() not in Path(f"/proc/{one}/cmdline").read_bytes()
    await asyncio.to_thread(shell, "kill")
    files = [file for folder in (shell.state, shell.run, shell.work) for file in folder.rglob("*")]
    read = [file for file in files if file.is_file() and SECRET not in file.read_text()]
    assert {file.name for file in read} >= {"run.json", "commands.log", "logs.txt"}
    assert len(read) == len([file for file in files if file.is_file()])
    trail = shell.state / "eagle3-console" / "commands.log"
    assert stat.S_IMODE(trail.stat().st_mode) == 0o600
    entries = [json.loads(line) for line in trail.read_text().splitlines()]
    assert [entry["action"] for entry in entries] == ["start", "kill"]
    assert entries[0]["env"] == ["THEIR_KEY"]
    assert entries[0]["command"] == f"{sys.executable} {SCRIPT}"


def test_read_only_in_the_config_sends_nothing(
    tmp_path: Path, target: HostTarget, site: Site
) -> None:
    shell = Shell(tmp_path, target, site.dir, "read_only = true")
    for command in ("start", "drain", "kill", "restart"):
        done = shell(command)
        assert done.returncode == 2
        assert done.stderr == (
            f"eagle3-console: read-only: {command} is not sent: "
            "leave out --read-only, or read_only in the config file\n"
        )
    assert not site.dir.exists()
    assert shell("status").returncode == 0
    assert "nothing was sent yet" in shell("trail").stdout


@pytest.fixture
def noted() -> list[tuple[str, Outcome]]:
    """Commands that a watch has sent."""
    return []


async def test_a_variable_that_is_nowhere_set(here: Link, site: Site) -> None:
    foreign = ForeignRun((sys.executable, str(SCRIPT)))
    commands = Commands(str(site.dir), foreign=foreign, env=("NO_SUCH_KEY_HERE",))
    with pytest.raises(UserError) as caught:
        await commands.start(here)
    assert "NO_SUCH_KEY_HERE" in caught.value.problem
    assert "export" in caught.value.mend


async def test_the_hosts_own_variable_will_do(
    here: Link, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent has the variable since it was started, this process has it no longer."""
    monkeypatch.delenv("HOME")
    foreign = ForeignRun((sys.executable, "-c", "import time; time.sleep(1000)"))
    commands = Commands(str(site.dir), foreign=foreign, env=("HOME",))
    assert (await commands.start(here)).ok
    assert (await commands.kill(here)).ok


async def test_what_a_failed_note_says(here: Link, site: Site) -> None:
    foreign = ForeignRun((sys.executable, "-c", "import time; time.sleep(1000)"))
    commands = Commands(str(site.dir), foreign=foreign, note=lambda name, outcome: "disk full")
    assert (await commands.start(here)).message.endswith("(disk full)")
    assert (await commands.kill_hard(here)).message.endswith("(disk full)")


class Screen:
    """Takes what a watch tells."""

    def __init__(self, watch: RunWatch) -> None:
        self.watch = watch
        self.now: Snapshot | None = None
        self.lines: list[str] = []
        self.states: list[AnswerState] = []
        self._job = asyncio.create_task(self._look())

    async def _look(self) -> None:
        async for event in self.watch.events():
            match event:
                case Picture(snapshot):
                    self.now = snapshot
                case LogLines(lines):
                    self.lines += lines
                case NewRecords(records):
                    self.states += [record.state for record in records]

    async def close(self) -> None:
        await self.watch.close()
        await asyncio.wait_for(self._job, 5)


@pytest.fixture
async def screen() -> AsyncIterator[Callable[..., Screen]]:
    screens: list[Screen] = []

    def make(run_dir: Path, **options: Any) -> Screen:
        screens.append(Screen(RunWatch(HostTarget("local"), str(run_dir), **options)))
        return screens[-1]

    yield make
    for each in screens:
        await each.close()


def theirs(site: Site) -> ForeignRun:
    return ForeignRun((sys.executable, str(SCRIPT)), log="l.txt", journal="answers.jsonl")


async def test_in_the_console(
    site: Site,
    until: Until,
    screen: Callable[..., Screen],
    noted: list[tuple[str, Outcome]],
) -> None:
    def note(name: str, outcome: Outcome) -> str:
        noted.append((name, outcome))
        return ""

    shown = screen(site.dir, foreign=theirs(site), note=note)
    await until(lambda: shown.now and shown.now.process.state is ProcessState.NONE)
    assert (await shown.watch.start()).ok
    await until(lambda: shown.now.progress.timeouts > 4 and shown.now.lines > 20, 30)
    assert shown.now
    assert shown.now.progress.samples == 25_000
    assert shown.now.rates.tokens_s is None or shown.now.rates.tokens_s > 0
    await until(lambda: shown.now.rates.error_share is not None)
    assert 0.1 < shown.now.rates.error_share < 0.35
    assert set(shown.states) == {AnswerState.OK}
    assert "key of 0 characters" in shown.lines
    assert len(await shown.watch.random_records(2)) == 2
    assert [record.content for record in await shown.watch.last_records(1)] != []
    with pytest.raises(UserError, match="takes no other concurrency"):
        await shown.watch.set_concurrency(9)
    assert (await shown.watch.restart()).ok
    assert (await shown.watch.kill_hard()).ok
    await until(lambda: shown.now.process.state is ProcessState.KILLED)
    assert [name for name, _ in noted] == ["start", "restart", "kill_hard"]
    assert noted[0][1].command == f"{sys.executable} {SCRIPT}"
    assert noted[2][1].command.startswith("kill -KILL ")


async def test_a_log_of_the_known_form_needs_no_profile(
    tmp_path: Path, until: Until, screen: Callable[..., Screen]
) -> None:
    """Somebody's run directory, as it was left: nothing but a log and no lines at all."""
    log = tmp_path / "inference.log"
    log.write_text(
        "ERROR sample 17004: Request timed out.\n"
        "Progress: 2680/25000 (222 errors), 0.5 req/s, avg completion: 1263 tokens, elapsed: 5945s\n"
    )
    shown = screen(tmp_path)
    await until(
        lambda: shown.now and shown.now.progress.samples == 25_000 and shown.now.lines_detail
    )
    assert shown.now
    assert (shown.now.progress.done, shown.now.progress.errors) == (2458, 222)
    assert shown.now.lines == 0
    assert shown.now.lines_detail == "no raw_responses.jsonl yet"
    (finding,) = shown.now.findings
    assert finding.evidence == "221 of 2,680 attempts failed: 221 of unknown cause"
    assert "asked again" not in finding.mend
    (tmp_path / "new").write_text("Progress: 5/100 (0 errors), 0.5 req/s\n")
    (tmp_path / "new").replace(log)
    await until(lambda: shown.now.progress.samples == 100)
    assert (shown.now.progress.done, shown.now.progress.errors) == (5, 0)


async def test_a_watch_that_only_looks_refuses_every_command(
    here: Link,
    site: Site,
    until: Until,
    screen: Callable[..., Screen],
    noted: list[tuple[str, Outcome]],
) -> None:
    process = await site.start(here)
    shown = screen(site.dir, read_only=True, note=lambda *sent: noted.append(sent) or "")
    await until(lambda: shown.now and shown.now.process.alive)
    watch = shown.watch
    for command in (watch.start, watch.drain, watch.kill, watch.kill_hard, watch.restart):
        with pytest.raises(UserError, match=r"^read-only: "):
            await command()
    with pytest.raises(UserError, match=r"^read-only: "):
        await watch.set_concurrency(9)
    assert noted == []
    assert not (site.dir / "control.json").exists()
    assert (await site.process(here)).pid == process.pid
    await run.kill_hard(here, str(site.dir))
