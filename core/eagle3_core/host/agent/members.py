"""Which processes belong to a run: proved by run id, by descent, or by group; never by name."""

from __future__ import annotations

import os
from typing import Any, Callable, Collection, Mapping, NamedTuple

from eagle3_core.host.agent.proc import Stat


class Member(NamedTuple):
    """A process, named so that a reused pid is another one."""

    pid: int
    start: int


def members(
    record: Mapping[str, Any],
    table: Mapping[int, Stat],
    run_id_of: Callable[[int], str | None],
    *,
    leader_runs: bool,
    trusted: Collection[Member] = (),
) -> list[Member]:
    """The living processes of a run, the leader among them, its shim not.

    Args:
        record: the run's ``run.json``; it must be of this boot.
        table: every process of the machine.
        run_id_of: the run id a pid carries, ``""`` for none, ``None`` for unknown.
        leader_runs: whether the pid on record is proved to be the leader. While it is, all of its
            group is ours. After that a group member counts only when it also is of the leader's
            session and its environment was wiped: one that can be read and names no run is
            somebody else's.
        trusted: processes that were proved earlier.
    """
    run, leader, shim = record.get("run_id"), record.get("pid", -1), record.get("shim", -1)
    roots = {member.pid for member in trusted if _same(table, member)}
    if leader_runs:
        roots.add(leader)
    if shim in table and table[shim].start == record.get("shim_start"):
        roots.add(shim)
    own_group = record.get("pgid") == leader
    found = []
    for pid, stat in table.items():
        if stat.dead or pid in (shim, os.getpid()) or stat.start < record.get("start", 0):
            continue
        carried = run_id_of(pid)
        if carried and carried != run:
            continue
        in_group = own_group and stat.pgrp == leader
        grouped = in_group and (leader_runs or (carried is None and stat.session == leader))
        if (run and carried == run) or grouped or _descends(pid, roots, table):
            found.append(Member(pid, stat.start))
    return sorted(found)


def _same(table: Mapping[int, Stat], member: Member) -> bool:
    stat = table.get(member.pid)
    return stat is not None and stat.start == member.start


def _descends(pid: int, roots: set[int], table: Mapping[int, Stat]) -> bool:
    """Whether ``pid`` is one of ``roots`` or has one among its ancestors."""
    seen: dict[int, bool] = {}
    while pid in table and pid not in seen:
        if pid in roots:
            return True
        seen[pid] = True
        pid = table[pid].ppid
    return False
