"""End a run: drain, kill, kill hard. Nothing is signalled that is not proved to be the run's."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from eagle3_core.host.agent import proc, record, run
from eagle3_core.host.agent.members import Member
from eagle3_core.host.agent.wire import Refused

PAUSE = 0.02
"""Seconds between two looks at what is left."""


def send(member: Member, number: int) -> bool:
    """Signal a process that is still the same one; false when it is gone or not ours to signal.

    The start time is compared while a pidfd holds the process, so the pid cannot change hands
    in between; without pidfds (Python 3.8, macOS, old kernels) that gap is microseconds.
    """
    handle = _hold(member.pid)
    try:
        stat = proc.stat_of(member.pid)
        if stat is None or stat.start != member.start or stat.dead:
            return False
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)  # novermin: with a handle it is there
        else:
            os.kill(member.pid, number)
        return True
    except OSError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)


def _hold(pid: int) -> int:
    """A pidfd, or -1 where there is none: old Python, old kernel, or a container that forbids it."""
    if not hasattr(os, "pidfd_open"):
        return -1
    try:
        return os.pidfd_open(pid)  # novermin: just asked for
    except OSError:
        return -1


def stop(run_dir: str, how: str, grace: float = 10.0) -> dict[str, Any]:
    """End the run of ``run_dir``.

    Args:
        run_dir: a run directory.
        how: ``drain``: SIGINT to the leader alone; ``kill``: SIGTERM to every process of the run,
            SIGKILL to what is left after ``grace`` seconds; ``kill_hard``: SIGKILL at once.
        grace: seconds.

    Returns:
        ``was`` (the leader as ``run.find_leader`` says), ``pid``, ``signalled``
        (``[pid, name]`` in order), ``left`` (pids), ``seconds`` and ``exit`` when known.

    Raises:
        Refused: ``none`` when the directory has no run on record.
    """
    run_dir = record.absolute(run_dir)
    began = time.monotonic()
    entry = record.load(run_dir)
    if entry is None:
        raise Refused("none", f"no run of {run_dir} is on record", "start it first")
    leader = run.find_leader(entry)
    signalled: list[tuple[int, str]] = []
    left: list[Member] = []
    if how == "drain":
        member = Member(entry["pid"], entry["start"])
        if leader == "running" and send(member, signal.SIGINT):
            signalled.append((member.pid, "INT"))
    else:
        first = signal.SIGTERM if how == "kill" else signal.SIGKILL
        signalled, left = _end(entry, leader, first, grace if how == "kill" else 0.0)
        if not left:
            _await_shim(entry)
    now = record.load(run_dir) or entry
    return {
        "was": leader,
        "pid": entry.get("pid"),
        "signalled": signalled,
        "left": [member.pid for member in left],
        "seconds": time.monotonic() - began,
        "exit": now.get("exit"),
    }


def _end(
    entry: record.Record, leader: str, first: int, grace: float
) -> tuple[list[tuple[int, str]], list[Member]]:
    """Signal all of the run until nothing is left, newcomers too: a fork may slip in between."""
    signalled: list[tuple[int, str]] = []
    told: set[Member] = set()
    trusted: set[Member] = set()
    deadline = time.monotonic() + grace
    give_up = deadline + 2.0
    while True:
        leader = run.find_leader(entry) if leader == "running" else leader
        left = run.living(entry, leader, tuple(trusted))
        trusted.update(left)
        if not left or time.monotonic() > give_up:
            return signalled, left
        hard = first == signal.SIGKILL or time.monotonic() >= deadline
        number = signal.SIGKILL if hard else first
        for member in left:
            if (hard or member not in told) and send(member, number):
                told.add(member)
                signalled.append((member.pid, signal.Signals(number).name[3:]))
        time.sleep(PAUSE)


def _await_shim(entry: record.Record) -> None:
    """The shim notes the exit code and ends a moment later; a restart must not race with that."""
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        shim = proc.stat_of(entry.get("shim", -1))
        if shim is None or shim.dead or shim.start != entry.get("shim_start"):
            return
        time.sleep(PAUSE)
