"""Who a process is: place, start time, state, run id. Never a name, never a number alone."""

from __future__ import annotations

import os
import socket
from typing import Any, Mapping, NamedTuple

from eagle3_core.host.agent import ps

RUN_ID = "EAGLE_RUN_ID"
"""Environment variable that every process of a run inherits."""

HAS_PROC = os.path.isdir("/proc/self")


class Stat(NamedTuple):
    """What the kernel says of one process."""

    state: str
    ppid: int
    pgrp: int
    session: int
    start: int
    """Clock ticks since boot (epoch seconds without /proc)."""

    @property
    def dead(self) -> bool:
        """A zombie has ended; only its parent has not looked yet."""
        return self.state in ("Z", "X", "x")


def parse_stat(data: bytes) -> Stat:
    """Parse ``/proc/PID/stat``. The name may hold spaces and brackets: split after the LAST one."""
    fields = data[data.rindex(b")") + 2 :].split()
    return Stat(
        fields[0].decode("ascii", "replace"),
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        int(fields[19]),
    )


def run_id_in(environ: bytes) -> str | None:
    """The run id in a block of ``NAME=value`` strings separated by NUL.

    Returns ``""`` for an environment without one, and ``None`` for one that was wiped, as
    setproctitle does (vLLM's workers): then nothing is known.
    """
    variables = [entry for entry in environ.split(b"\0") if b"=" in entry]
    if not variables:
        return None
    for entry in variables:
        name, _, value = entry.partition(b"=")
        if name == RUN_ID.encode():
            return value.decode("utf-8", "replace")
    return ""


def boot_id() -> str:
    """A value that changes with every boot of the machine."""
    if not HAS_PROC:
        return ps.boot_id()
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


class Place(NamedTuple):
    """Where a pid means something. The names are keys of ``run.json``."""

    boot: str
    host: str
    pidns: int
    """Inode of the PID namespace: each container has its own; 0 where there are none."""


def here() -> Place:
    """The place of this process."""
    try:
        pidns = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        pidns = 0
    return Place(boot_id(), socket.gethostname(), pidns)


def is_elsewhere(record: Mapping[str, Any], place: Place) -> bool:
    """Whether the pids of ``record`` are those of another container or another host.

    Of another boot of the same host they are nobody's: ``identify`` says so. A record that does
    not tell its place is of this one.
    """
    if record.get("boot") != place.boot:
        return bool(record.get("host")) and record["host"] != place.host
    return bool(record.get("pidns") and place.pidns) and record["pidns"] != place.pidns


def stat_of(pid: int) -> Stat | None:
    """Facts about ``pid``, or ``None`` when there is no such process."""
    if not HAS_PROC:
        found = ps.table(pid).get(pid)
        return Stat(*found) if found else None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read())
    except (OSError, ValueError, IndexError):
        return None


def table() -> dict[int, Stat]:
    """Every process of the machine."""
    if not HAS_PROC:
        return {pid: Stat(*fields) for pid, fields in ps.table().items()}
    stats = {int(name): stat_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: stat for pid, stat in stats.items() if stat is not None}


def run_id_of(pid: int) -> str | None:
    """The run id that ``pid`` was started with; ``None`` when it cannot be known."""
    if not HAS_PROC:
        return ps.variable(pid, RUN_ID)
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return run_id_in(file.read())
    except OSError:
        return None


def identify(record: Mapping[str, Any], boot: str, stat: Stat | None, run_id: str | None) -> str:
    """What became of the process that ``record`` (a ``run.json``) names.

    Args:
        record: with ``pid``, ``start``, ``boot`` and ``run_id``.
        boot: the machine's boot id now.
        stat: what now runs under that pid.
        run_id: the run id that it carries, as :func:`run_id_of` gives it.

    Returns:
        ``running``, ``ended``, ``reused`` (the pid is somebody else's now) or ``rebooted``.
        A missing run id disproves nothing, a different one does.
    """
    if record.get("boot") != boot:
        return "rebooted"
    if stat is None:
        return "ended"
    if stat.start != record.get("start"):
        return "reused"
    if stat.dead:
        return "ended"
    if run_id and run_id != record.get("run_id"):
        return "reused"
    return "running"
