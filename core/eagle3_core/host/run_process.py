"""From what an agent knows about a process to the word that a screen shows."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from eagle3_core.monitor.snapshot import Process, ProcessState


def process_of(facts: Mapping[str, Any], status: Mapping[str, Any] | None) -> Process:
    """The state of a run's process.

    Args:
        facts: ``record``, ``record_exists``, ``leader`` and ``leftovers`` of a ``run_state``.
        status: the run's ``status.json``; only the living generator's own ``phase`` counts.
    """
    record = facts["record"]
    if record is None:
        if facts["record_exists"]:
            why = facts.get("unseen") or "run.json cannot be read"
            return Process(ProcessState.UNKNOWN, detail=why)
        return Process(ProcessState.NONE)
    pid, started = record.get("pid") or None, record.get("started_at")
    if record.get("error"):
        return Process(ProcessState.FAILED, started_at=started, detail=str(record["error"]))
    if facts["leader"] == "running":
        own = (status or {}).get("run_id") in (None, record.get("run_id"))
        draining = own and (status or {}).get("phase") == "draining"
        state = ProcessState.DRAINING if draining else ProcessState.RUNNING
        return Process(state, pid, started_at=started)
    code = record.get("exit")
    name = _signal_of(code)
    exit_code = code if isinstance(code, int) and name is None else None
    left = facts["leftovers"]
    if left:
        detail = "still there: " + ", ".join(str(one) for one in left)
        return Process(ProcessState.LEFTOVERS, pid, exit_code, name, started, detail)
    if name is not None:
        return Process(ProcessState.KILLED, pid, None, name, started)
    if exit_code is not None:
        return Process(ProcessState.EXITED, pid, exit_code, None, started)
    if facts["leader"] == "elsewhere":
        where = f"it was started in another container or on another host ({record.get('host')})"
        return Process(ProcessState.UNKNOWN, pid, started_at=started, detail=where)
    if facts["leader"] == "rebooted":
        return Process(
            ProcessState.GONE, pid, started_at=started, detail="the host was rebooted since"
        )
    if facts["leader"] == "reused":
        return Process(
            ProcessState.REUSED, pid, started_at=started, detail=f"pid {pid} is another process now"
        )
    return Process(
        ProcessState.EXITED, pid, started_at=started, detail="how it ended is not on record"
    )


def _signal_of(code: object) -> str | None:
    """The signal that ended a process, also where it said so itself, as shells do: 128 + number."""
    if not isinstance(code, int):
        return None
    if code < 0:
        return signal_name(-code)
    if code - 128 in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        return signal_name(code - 128)
    return None


def signal_name(number: int) -> str:
    """``KILL`` for 9."""
    try:
        return signal.Signals(number).name[3:]
    except ValueError:
        return str(number)
