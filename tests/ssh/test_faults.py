"""What can happen to a link while a run is watched over it, against a real sshd.

Fault                        | What the operator sees                         | What is preserved
-----------------------------|------------------------------------------------|-------------------------------
line stalls (cable, Wi-Fi)   | "link lost": the host gives no sign of life,   | all: counts and log go on from
                             | within ServerAliveInterval × (CountMax + 1)    | the checkpoint, a half line
                             |                                                | is made whole
connection reset             | "link lost" at once, again in 1 s              | the same
connection closed            | "link lost" at once, again in 1 s              | the same
agent killed                 | "link lost: the agent ended", again in 1 s     | the same
sshd restarted               | "link lost", "refuses the connection" while it | the same
                             | is away, tries ever more rarely up to 30 s     |
host answers with another key| "link lost": the key, the file and line of the | nothing goes to that host
                             | one on file, `ssh-keygen -R`; never a question |
laptop slept                 | "connecting" within a second of waking; no     | the same
                             | wait for a keepalive or for the next try       |
host rebooted                | after reconnecting: gone, the host was         | journal, log, every count
                             | rebooted since                                 |
journal replaced meanwhile   | the count begins anew, as the file is another  | the old count is not added
a question nobody answers    | "link failed", what was asked for; no second   | the run; R asks again
                             | dialog until R is pressed                      |
agent's side ends            | (nothing)                                      | the agent ends within a second
                             |                                                | of the loss, leaves nothing
slow line (200 ms)           | numbers 200 ms older                           | all
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from watched import Place, Scene, caught_up, first_half, record

from eagle3_core.host.answers import Answers
from eagle3_core.monitor import keeper as keeper_module
from eagle3_core.monitor import wakeup as wakeup_module
from eagle3_core.monitor.snapshot import LinkState, ProcessState
from eagle3_core.simulator.line import Line

Sshd = Any
Asker = Callable[..., Any]
Until = Callable[..., Awaitable[None]]


@pytest.fixture
async def scene(sshd: Sshd, tmp_path: Path, until: Until) -> AsyncIterator[Scene]:
    """The host behind a line; a sign of life is asked for every second, twice in vain."""
    async with Line(sshd.port) as line:
        known = sshd.host_key_line().replace(f":{sshd.port} ", f":{line.port} ")
        extra = "  ServerAliveInterval 1\n  ServerAliveCountMax 2\n  ConnectTimeout 4\n"
        target = sshd.client(tmp_path, known=known, extra=extra)
        config = tmp_path / "config"
        config.write_text(config.read_text().replace(f"Port {sshd.port}", f"Port {line.port}"))
        made = Scene(line, target, Place(tmp_path / "run"), until)
        yield made
        await made.close()


@pytest.mark.parametrize(
    ("fault", "seconds", "said"),
    [
        (Line.stall, 6.0, "not responding to keepalive"),
        (Line.reset, 1.5, "connection"),
        (Line.hang_up, 1.5, "connection"),
    ],
)
async def test_a_line_that_breaks(
    scene: Scene,
    until: Until,
    alive: Callable[[int], bool],
    fault: Callable[[Line], None],
    seconds: float,
    said: str,
) -> None:
    shown = await scene.look()
    agent, began = shown.agent(), time.monotonic()
    fault(scene.line)
    await until(lambda: shown.lost(), seconds)
    assert said in shown.lost()[0]
    assert time.monotonic() - began < seconds
    assert shown.now.data_at is not None
    scene.place.go_on()
    scene.line.flow()
    await caught_up(shown, until)
    await until(lambda: not alive(agent), 5)


async def test_a_stalled_line_takes_no_new_connection_either(scene: Scene, until: Until) -> None:
    """Tries go on, each ends in ConnectTimeout, and the loss is told as one."""
    shown = await scene.look()
    scene.line.stall()
    await until(lambda: any("does not answer" in reason for reason in shown.lost()), 15)
    since = {p.link.since for p in shown.pictures if p.link.state is LinkState.LOST}
    assert len(since) == 1
    scene.place.go_on()
    scene.line.flow()
    await caught_up(shown, until)


async def test_the_agent_killed(scene: Scene, until: Until) -> None:
    shown = await scene.look()
    os.kill(shown.agent(), signal.SIGKILL)
    await until(lambda: shown.lost(), 3)
    assert "the agent ended" in shown.lost()[0] or "closed" in shown.lost()[0]
    scene.place.go_on()
    await caught_up(shown, until)


async def test_nobody_listens_for_a_while(scene: Scene, until: Until) -> None:
    """As while sshd or the host restarts."""
    shown = await scene.look()
    await scene.line.shut()
    scene.line.reset()
    await until(lambda: any("refuses the connection" in reason for reason in shown.lost()), 10)
    waits = [p.link.retry_at - p.at for p in shown.pictures if p.link.retry_at]
    assert max(waits) <= keeper_module.LONGEST_RETRY_S
    scene.place.go_on()
    await scene.line.open()
    shown.watch.reconnect()
    await caught_up(shown, until)


async def test_a_host_that_comes_back_with_another_key(
    scene: Scene,
    until: Until,
    sshd: Sshd,
    person: Asker,
    new_sshd: Callable[..., Sshd],
) -> None:
    asked = person()
    shown = await scene.look(prompts=asked)
    scene.line.lead_to(new_sshd().port)
    scene.line.reset()
    await until(lambda: any("not the one in" in reason for reason in shown.lost()), 10)
    assert any("ssh-keygen" in reason for reason in shown.lost())
    assert asked.asked == []
    assert not shown.connected()
    scene.place.go_on()
    scene.line.lead_to(sshd.port)
    await caught_up(shown, until)


async def test_a_laptop_that_slept(
    scene: Scene,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock on the wall is an hour on; nobody waits for a keepalive or for a next try."""
    monkeypatch.setattr(wakeup_module, "LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(keeper_module, "FIRST_RETRY_S", 600.0)
    ahead = 0.0
    shown = await scene.look(clock=lambda: time.time() + ahead)
    scene.place.go_on()
    began = time.monotonic()
    ahead = 3600.0
    await until(lambda: scene.line.connections == 2, 3)
    await caught_up(shown, until)
    assert time.monotonic() - began < 15
    assert scene.line.connections == 2
    # an idle minute, or a clock set back, is no sleep
    ahead -= 7200.0
    await asyncio.sleep(0.5)
    assert shown.connected()
    assert scene.line.connections == 2


async def test_a_host_that_was_rebooted(scene: Scene, until: Until) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    run = {"run_id": "a", "pid": os.getpid(), "pgid": 1, "start": 1, "boot": boot, "argv": ["x"]}
    stat = Path(f"/proc/{os.getpid()}/stat").read_bytes()
    run["start"] = int(stat[stat.rindex(b")") + 2 :].split()[19])
    (scene.place.dir / "run.json").write_text(json.dumps(run))
    shown = await scene.look()
    await until(lambda: first_half(shown) and shown.now.process.alive, 20)
    scene.line.reset()
    (scene.place.dir / "run.json").write_text(json.dumps(dict(run, boot=boot[::-1])))
    scene.place.go_on()
    await until(lambda: shown.now.process.state is ProcessState.GONE, 10)
    assert "rebooted" in shown.now.process.detail
    await caught_up(shown, until)


async def test_a_journal_replaced_while_nobody_looked(scene: Scene, until: Until) -> None:
    shown = await scene.look()
    await scene.line.shut()
    scene.line.reset()
    await until(lambda: shown.lost(), 5)
    other = scene.place.journal.with_name("other")
    other.write_bytes(b"".join(record(n).to_line() for n in range(10, 13)))
    other.replace(scene.place.journal)
    await scene.line.open()
    await until(lambda: shown.connected() and shown.now.lines == 3, 15)
    assert shown.records[2:] == [record(n) for n in range(10, 13)]


async def test_a_question_that_nobody_answers_is_put_once(
    scene: Scene,
    until: Until,
    sshd: Sshd,
    person: Asker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The key was encrypted meanwhile; esc at the question, then R and the right answer."""
    monkeypatch.setattr(keeper_module, "FIRST_RETRY_S", 0.1)
    key = tmp_path / "key"
    shutil.copy(sshd.folder / "client", key)
    asked = person()
    target = replace(scene.target, identity=key)
    shown = await scene.look(target, prompts=Answers(asked))
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "sesame", "-f", str(key)], check=True)
    scene.line.reset()
    await until(lambda: shown.now.link.state is LinkState.FAILED, 10)
    assert f"the passphrase of {key}" in shown.now.link.detail
    scene.place.go_on()
    await asyncio.sleep(1.0)
    assert asked.attempts == [0]
    asked.passphrases = ["sesame"]
    shown.watch.reconnect()
    await caught_up(shown, until)
    scene.line.reset()
    await until(lambda: scene.line.connections == 4 and shown.connected(), 10)
    assert asked.attempts == [0, 0]


async def test_a_slow_line(scene: Scene, until: Until) -> None:
    scene.line.delay = 0.1
    shown = await scene.look()
    scene.place.go_on()
    await caught_up(shown, until)
    assert shown.lost() == []
