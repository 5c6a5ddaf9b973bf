"""A run watched over a real agent: files, processes, lost links, and what a console may ask."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor import keeper as keeper_module
from eagle3_core.monitor import watch as watch_module
from eagle3_core.monitor.events import LogLines, NewRecords, Picture
from eagle3_core.monitor.snapshot import LinkState, ProcessState, Snapshot
from eagle3_core.monitor.watch import RunWatch
from eagle3_core.records import Record
from eagle3_core.simulator.server import Simulator
from eagle3_core.simulator.settings import SimSettings

Until = Callable[..., Awaitable[None]]
LOCAL = HostTarget("local")


class Screen:
    """Takes the events of a watch as a console does."""

    def __init__(self, watch: RunWatch) -> None:
        self.watch = watch
        self.pictures: list[Snapshot] = []
        self.arrived: list[float] = []
        self.log: list[LogLines] = []
        self.records: list[Record] = []
        self.bad_lines = 0
        self._job = asyncio.create_task(self._look())

    async def _look(self) -> None:
        async for event in self.watch.events():
            match event:
                case Picture(snapshot):
                    self.pictures.append(snapshot)
                    self.arrived.append(time.monotonic())
                case LogLines():
                    self.log.append(event)
                case NewRecords(records, bad_lines):
                    self.records += records
                    self.bad_lines += bad_lines

    @property
    def now(self) -> Snapshot | None:
        return self.pictures[-1] if self.pictures else None

    @property
    def link(self) -> LinkState | None:
        return self.now.link.state if self.now else None

    @property
    def process(self) -> ProcessState | None:
        return self.now.process.state if self.now else None

    @property
    def lines(self) -> list[str]:
        return [line for part in self.log for line in part.lines]

    def agent(self) -> int:
        link = self.watch._keeper.link
        assert link is not None
        return link.hello.pid

    async def close(self) -> None:
        await self.watch.close()
        await asyncio.wait_for(self._job, 5)


@pytest.fixture
async def screen(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., Screen]]:
    """``screen(run_dir, …)``: a watch and who looks at it; tries come quickly."""
    monkeypatch.setattr(keeper_module, "FIRST_RETRY_S", 0.5)
    screens: list[Screen] = []

    def make(run_dir: Path | str, target: HostTarget = LOCAL, **options: Any) -> Screen:
        screens.append(Screen(RunWatch(target, str(run_dir), **options)))
        return screens[-1]

    yield make
    for each in screens:
        await each.close()


def append(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)


def journal(run: Path) -> Path:
    return run / "prepared" / "raw_responses.jsonl"


async def test_a_run_directory_that_comes_later(
    screen: Callable[..., Screen], until: Until, record: Callable[..., Record], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shown = screen(run)
    await until(lambda: shown.now and shown.now.lines_detail)
    assert shown.now
    assert (shown.now.lines, shown.now.lines_detail) == (0, f"no such directory {run}")
    assert (shown.link, shown.process) == (LinkState.CONNECTED, ProcessState.NONE)
    await until(lambda: shown.log)
    assert shown.log[0].note == f"missing: no such directory {run}"
    written = [record(n) for n in range(3)]
    append(journal(run), b"".join(one.to_line() for one in written) + b'{"key":"half')
    append(run / "inference.log", b"first\nsecond \xff\nhalf")
    await until(lambda: shown.now.lines == 3 and shown.lines and shown.records)
    assert shown.records == written
    assert shown.lines == ["first", "second \ufffd"]
    assert shown.log[-1].partial == "half"
    await until(lambda: shown.now.lines_detail == "")
    append(journal(run), b'-done"}\n')
    await until(lambda: shown.now.lines == 4)
    await until(lambda: shown.bad_lines == 1)


async def test_a_rotated_log_and_a_cut_journal(
    screen: Callable[..., Screen], until: Until, record: Callable[..., Record], tmp_path: Path
) -> None:
    log = tmp_path / "inference.log"
    append(log, b"old\n")
    append(journal(tmp_path), record(0).to_line() * 5)
    shown = screen(tmp_path)
    await until(lambda: shown.now and shown.now.lines == 5 and shown.lines == ["old"])
    log.rename(tmp_path / "inference.log.1")
    append(log, b"new\n")
    os.truncate(journal(tmp_path), 0)
    append(journal(tmp_path), record(1).to_line())
    await until(lambda: shown.lines == ["old", "new"] and shown.now.lines == 1)
    assert "the file was replaced" in [part.note for part in shown.log]


async def test_a_lost_link_comes_back_and_doubles_nothing(
    screen: Callable[..., Screen], until: Until, record: Callable[..., Record], tmp_path: Path
) -> None:
    append(journal(tmp_path), record(0).to_line() + record(1).to_line()[:40])
    append(tmp_path / "inference.log", b"one\ntwo\nthr")
    shown = screen(tmp_path)
    await until(lambda: shown.records and shown.log and shown.log[-1].partial == "thr")
    for _ in range(2):
        before = len(shown.pictures)
        os.kill(shown.agent(), signal.SIGKILL)
        await until(
            lambda b=before: any(p.link.state is LinkState.LOST for p in shown.pictures[b:])
        )
        lost = next(p.link for p in shown.pictures[before:] if p.link.state is LinkState.LOST)
        assert "the agent ended" in lost.detail
        assert lost.retry_at
        assert 0 < lost.retry_at - lost.since < 1
        await until(lambda: shown.link is LinkState.CONNECTED)
    append(journal(tmp_path), record(1).to_line()[40:] + record(2).to_line())
    append(tmp_path / "inference.log", b"ee\nfour\n")
    await until(lambda: shown.now.lines == 3 and len(shown.lines) >= 4 and len(shown.records) >= 3)
    assert shown.lines == ["one", "two", "three", "four"]
    assert shown.records == [record(n) for n in range(3)]
    assert shown.bad_lines == 0


async def test_four_pictures_a_second_are_enough(
    screen: Callable[..., Screen], until: Until, tmp_path: Path
) -> None:
    shown = screen(tmp_path)
    await until(lambda: shown.link is LinkState.CONNECTED)
    begin, first = time.monotonic(), len(shown.arrived)
    written = 0
    while time.monotonic() < begin + 2:
        append(tmp_path / "inference.log", b"line\n")
        written += 1
        await asyncio.sleep(0.005)
    pictures = len(shown.arrived) - first
    assert 4 <= pictures <= 10
    assert len(shown.log) <= pictures + 2
    await until(lambda: len(shown.lines) == written)


async def test_a_burst_of_the_log_keeps_its_newest_lines(
    screen: Callable[..., Screen], until: Until, tmp_path: Path
) -> None:
    log = tmp_path / "inference.log"
    append(log, b"begin\n")
    shown = screen(tmp_path)
    await until(lambda: shown.lines == ["begin"])
    burst = b"".join(b"%06d\n" % n for n in range(100_000))
    append(log, burst)
    await until(lambda: shown.lines[-1] == "099999")
    at_once = max(len(part.lines) for part in shown.log)
    assert at_once <= 20_000
    told = sum(part.skipped_bytes + 7 * len(part.lines) for part in shown.log[1:])
    assert told == len(burst)


async def test_a_burst_of_records_is_counted_and_its_newest_shown(
    screen: Callable[..., Screen], until: Until, record: Callable[..., Record], tmp_path: Path
) -> None:
    shown = screen(tmp_path)
    await until(lambda: shown.link is LinkState.CONNECTED)
    append(journal(tmp_path), b"".join(record(n).to_line() for n in range(2000)))
    await until(lambda: shown.now.lines == 2000 and shown.records)
    assert shown.records[-1] == record(1999)
    assert len(shown.records) <= 200


async def test_a_status_from_anybodys_hand_keeps_the_link(
    screen: Callable[..., Screen], until: Until, tmp_path: Path
) -> None:
    odd = {"done": "7", "lines": "x", "rates": 3, "phase": None, "kept_by_state": [1]}
    (tmp_path / "status.json").write_text(json.dumps(odd))
    (tmp_path / "settings.json").write_text(json.dumps({"base_url": "http://x", "thinking": 5}))
    append(tmp_path / "inference.log", b"there\n")
    shown = screen(tmp_path)
    await until(lambda: shown.now and shown.now.settings and shown.lines)
    assert shown.now
    assert shown.now.progress.done == 0
    assert LinkState.LOST not in {picture.link.state for picture in shown.pictures}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"pid": "7"}', '{"pid": 1, "start": "x", "boot": 5, "exit": "no"}']
)
async def test_a_run_json_from_anybodys_hand_keeps_the_link(
    screen: Callable[..., Screen], until: Until, tmp_path: Path, text: str
) -> None:
    (tmp_path / "run.json").write_text(text)
    append(tmp_path / "inference.log", b"there\n")
    shown = screen(tmp_path)
    await until(lambda: shown.lines and shown.now and shown.now.data_at)
    assert LinkState.LOST not in {picture.link.state for picture in shown.pictures}


async def test_a_host_that_cannot_be_reached_is_tried_again_ever_more_rarely(
    screen: Callable[..., Screen], until: Until, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(watch_module, "EVENTS_EVERY_S", 0.01)
    monkeypatch.setattr(keeper_module, "FIRST_RETRY_S", 0.1)
    monkeypatch.setattr(keeper_module, "LONGEST_RETRY_S", 0.3)
    config = tmp_path / "config"
    config.touch()
    shown = screen(tmp_path, HostTarget("127.0.0.1:1", config=config))

    def waits() -> list[float]:
        lost = {p.link.retry_at: p for p in shown.pictures if p.link.state is LinkState.LOST}
        assert all("refuses the connection on port 1" in p.link.detail for p in lost.values())
        return sorted(at for at in lost if at)

    await until(lambda: len(waits()) >= 5)
    at = waits()
    assert at[1] - at[0] > 0.15
    assert all(0.25 < later - sooner < 2 for sooner, later in itertools.pairwise(at[2:]))
    since = {p.link.since for p in shown.pictures if p.link.state is LinkState.LOST}
    assert len(since) == 1, "tries that fail do not begin the loss anew"
    with pytest.raises(UserError, match=r"127\.0\.0\.1:1 is not connected: wait"):
        await shown.watch.kill()


async def test_a_host_that_refuses_is_not_asked_again(
    screen: Callable[..., Screen], until: Until, tmp_path: Path
) -> None:
    shown = screen(tmp_path, HostTarget("local", python="/no/such/python"))
    await until(lambda: shown.link is LinkState.FAILED)
    assert shown.now
    assert "/no/such/python cannot be run" in shown.now.link.detail
    since = shown.now.link.since
    assert shown.now.link.retry_at is None
    await asyncio.sleep(1.5)  # longer than the first wait of a lost link
    assert shown.now.link.since == since
    shown.watch.reconnect()
    await until(lambda: shown.now.link.since > since and shown.link is LinkState.FAILED)


async def test_a_host_that_was_there_is_tried_again_whatever_it_says(
    screen: Callable[..., Screen], until: Until, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    shown = screen(tmp_path, HostTarget("local", python=str(python)))
    await until(lambda: shown.link is LinkState.CONNECTED)
    python.rename(tmp_path / "away")
    os.kill(shown.agent(), signal.SIGKILL)
    await until(lambda: shown.now and "cannot be run" in shown.now.link.detail)
    assert shown.link is LinkState.LOST
    (tmp_path / "away").rename(python)
    await until(lambda: shown.link is LinkState.CONNECTED)


async def test_an_error_of_ours_ends_the_watch_with_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(keeper_module, "connect", broken)
    watch = RunWatch(LOCAL, str(tmp_path))
    shown = Screen(watch)
    with pytest.raises(RuntimeError, match="a mistake"):
        await asyncio.wait_for(shown._job, 10)
    await watch.close()


async def test_what_cannot_be_done_is_told_in_one_line(
    screen: Callable[..., Screen], until: Until, tmp_path: Path
) -> None:
    shown = screen(tmp_path)
    await until(lambda: shown.link is LinkState.CONNECTED)
    watch = shown.watch
    assert await watch.last_records(5) == []
    assert await watch.random_records(5) == []
    for command in (watch.start, watch.restart, watch.kill, watch.drain, watch.kill_hard):
        with pytest.raises(UserError):
            await command()
    os.kill(shown.agent(), signal.SIGSTOP)
    waiting = asyncio.create_task(watch.last_records(5))
    os.kill(shown.agent(), signal.SIGKILL)
    with pytest.raises(UserError, match="the link to local broke"):
        await waiting


async def test_records_of_the_journal(
    screen: Callable[..., Screen], until: Until, record: Callable[..., Record], tmp_path: Path
) -> None:
    append(journal(tmp_path), b"".join(record(n).to_line() for n in range(20)) + b"bad\n")
    shown = screen(tmp_path)
    await until(lambda: shown.link is LinkState.CONNECTED)
    assert await shown.watch.last_records(3) == [record(18), record(19)]
    some = await shown.watch.random_records(5)
    assert len(some) >= 4
    assert {one.key for one in some} <= {record(n).key for n in range(20)}


@pytest.fixture
async def server() -> AsyncIterator[Simulator]:
    """Answers in about a second, eight at a time."""
    made = Simulator(SimSettings(token_rate=100.0, mean_tokens=60.0, max_num_seqs=8))
    await made.start()
    yield made
    await made.stop()


async def test_start_kill_restart_and_leave(
    screen: Callable[..., Screen],
    until: Until,
    server: Simulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The whole life of a run; leaving the console leaves it running, and nothing of ours behind."""
    prompts, run = tmp_path / "prompts.jsonl", tmp_path / "run"
    rows = ({"id": f"q{n}", "messages": [{"role": "user", "content": str(n)}]} for n in range(200))
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = {
        "prompts": "~/prompts.jsonl",
        "output": "~/run/prepared/raw_responses.jsonl",
        "model": "kimi-k2.5",
        "base_url": [server.url],
        "concurrency": 8,
        "max_tokens": 500,
        "preflight": False,
    }
    tasks = asyncio.all_tasks()
    shown = screen("~/run", settings=settings, python=sys.executable)
    await until(lambda: shown.process is ProcessState.NONE)
    outcome = await shown.watch.start()
    assert outcome.ok, outcome
    assert "-m eagle3_core generate" in outcome.command
    await until(lambda: shown.process is ProcessState.RUNNING and (shown.now.lines or 0) >= 2)
    await until(lambda: shown.now.progress.samples == 200 and shown.now.server.running)
    assert (await shown.watch.set_concurrency(4)).ok
    await until(lambda: shown.now.progress.concurrency == 4)
    assert shown.now
    pid = shown.now.process.pid
    assert (await shown.watch.kill()).ok
    await until(lambda: shown.process is ProcessState.KILLED)
    kept = journal(run).read_bytes()
    assert kept.endswith(b"\n")
    await until(lambda: shown.now.lines == kept.count(b"\n"))
    assert shown.now.rates.requests_s is None
    assert (await shown.watch.restart()).ok
    await until(lambda: shown.process is ProcessState.RUNNING and shown.now.process.pid != pid)
    await until(lambda: shown.now.lines > kept.count(b"\n"))
    assert shown.now.findings == ()
    agent, pid = shown.agent(), shown.now.process.pid
    assert pid
    await shown.close()
    left = asyncio.all_tasks() - tasks - {shown._job}
    assert not [
        task for task in left if "Simulator" not in repr(task) and "aiohttp" not in repr(task)
    ]
    await until(lambda: not Path(f"/proc/{agent}").exists())
    written = len(journal(run).read_bytes())
    await until(lambda: len(journal(run).read_bytes()) > written)
    os.kill(pid, signal.SIGTERM)
    await until(lambda: "exit" in json.loads((run / "run.json").read_text()))
    assert journal(run).read_bytes().startswith(kept)
