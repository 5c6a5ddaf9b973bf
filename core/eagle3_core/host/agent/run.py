"""A run directory as it is now: its process, its small files, its journal and its log."""

from __future__ import annotations

import os
import time
from typing import Any

from eagle3_core.host.agent import proc, record
from eagle3_core.host.agent.members import Member, members
from eagle3_core.host.agent.writers import files_of, find

SHIM_PATIENCE = 2.0
"""Seconds that a shim may take to write down how its process ended."""
JOURNAL = os.path.join("prepared", "raw_responses.jsonl")


def find_leader(entry: record.Record) -> str:
    """``running``, ``ended``, ``reused``, ``rebooted`` or ``elsewhere`` for the process on record.

    ``elsewhere``: in a container or on a host whose processes cannot be seen from here.
    """
    if proc.is_elsewhere(entry, proc.here()):
        return "ended" if "exit" in entry else "elsewhere"
    pid = entry.get("pid") or 0
    stat = proc.stat_of(pid) if pid > 0 else None
    run_id = proc.run_id_of(pid) if stat else None
    return proc.identify(entry, proc.boot_id(), stat, run_id)


def settled(run_dir: str) -> tuple[record.Record | None, str]:
    """The record and its leader; of a run that has just ended, as its shim writes it down.

    Between the end of a process and the line that says how it ended lie a few milliseconds: a
    look in between would take a clean exit for an unexplained one.
    """
    deadline = time.monotonic() + SHIM_PATIENCE
    while True:
        entry = record.load(run_dir)
        leader = find_leader(entry) if entry else ""
        if entry is None or leader != "ended" or "exit" in entry or not _shim_lives(entry):
            return entry, leader
        if time.monotonic() > deadline:
            return entry, leader
        time.sleep(0.01)


def _shim_lives(entry: record.Record) -> bool:
    stat = proc.stat_of(entry.get("shim") or 0) if entry.get("shim") else None
    return stat is not None and stat.start == entry.get("shim_start")


def living(entry: record.Record, leader: str, trusted: tuple[Member, ...] = ()) -> list[Member]:
    """Every living process of the run that can be seen from here."""
    if leader == "rebooted" or proc.is_elsewhere(entry, proc.here()):
        return []
    return members(
        entry,
        proc.table(),
        proc.run_id_of,
        leader_runs=leader == "running",
        trusted=trusted,
    )


def leftovers(entry: record.Record, leader: str) -> list[int]:
    """Pids of the run that outlived their leader."""
    if leader == "running" or not entry.get("pid") or entry.get("all_ended"):
        return []
    return [member.pid for member in living(entry, leader)]


def file_facts(path: str) -> dict[str, Any]:
    try:
        facts = os.stat(path)
    except OSError:
        return {"exists": False, "size": 0, "mtime": None}
    return {"exists": True, "size": facts.st_size, "mtime": facts.st_mtime}


def disk_free(path: str) -> int | None:
    """Free bytes for the user at ``path`` or at the nearest folder above it that exists."""
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    try:
        facts = os.statvfs(path)
    except OSError:
        return None
    return facts.f_bavail * facts.f_frsize


def strays(entry: record.Record | None, leader: str, files: list[str]) -> dict[str, Any]:
    """Who writes the journal and is none of the run; see ``writers.find``."""
    ours = [member.pid for member in living(entry, leader)] if entry else []
    return find(files, ours)


def run_state(
    run_dir: str, log: str | None = None, journal: str | None = None, writers: bool = False
) -> dict[str, Any]:
    """All that a console asks about a run, in one answer.

    Args:
        run_dir: the run's directory; it need not exist.
        log: the run's log when it is not ``inference.log``.
        journal: its journal when it is not the generator's.
        writers: look for stray writers of the journal, which takes some milliseconds a process.
    """
    run_dir = record.absolute(run_dir)
    entry, leader = settled(run_dir)
    files = files_of(run_dir, journal)
    return {
        "run_dir": run_dir,
        "exists": os.path.isdir(run_dir),
        "record": entry,
        "record_exists": os.path.exists(record.path_of(run_dir)),
        "leader": leader,
        "leftovers": leftovers(entry, leader) if entry else [],
        "status": record.load_json(os.path.join(run_dir, "status.json")),
        "settings": record.load_json(os.path.join(run_dir, "settings.json")),
        "launch": record.load_json(os.path.join(run_dir, "launch.json")),
        "journal": file_facts(files[0]),
        "log": file_facts(record.absolute(log or os.path.join(run_dir, "inference.log"))),
        "strays": strays(entry, leader, files) if writers else None,
        "disk_free": disk_free(run_dir),
        "now": time.time(),
    }
