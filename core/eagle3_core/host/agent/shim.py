"""The parent of a launched process: starts it in a session of its own, records it and its end.

It reads what to start from its stdin, prints the record, and lives on until every process of the
run has ended. Where the kernel can, it adopts orphans of the run, so that a worker that left the
group and wiped its environment is still known by its descent.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import time
from typing import Any

from eagle3_core.host.agent import proc, record

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Become the parent of every orphan of the run; false where the system cannot do that."""
    with contextlib.suppress(OSError, AttributeError):  # not Linux: run ids alone must do
        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    return False


def exit_code(status: int) -> int:
    """What ``subprocess`` calls returncode: negative for the signal that ended it."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def start(order: dict[str, Any]) -> record.Record:
    """Start ``order`` (argv, cwd, log, env, run_id, run_dir) and write ``run.json``."""
    own = proc.stat_of(os.getpid())
    entry: record.Record = {
        "run_id": order["run_id"],
        "argv": order["argv"],
        "log": order["log"],
        "cwd": order["cwd"],
        **proc.here()._asdict(),
        "started_at": time.time(),
        "shim": os.getpid(),
        "shim_start": own.start if own else 0,
    }
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        child = subprocess.Popen(
            order["argv"],
            cwd=order["cwd"],
            env=dict(os.environ, **order["env"]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        entry.update(pid=0, pgid=0, start=0, error=str(error), ended_at=time.time())
    else:
        stat = proc.stat_of(child.pid)
        entry.update(pid=child.pid, pgid=child.pid, start=stat.start if stat else 0)
        child.returncode = 0  # we wait for it ourselves, together with what we adopt
    record.save_json(record.path_of(order["run_dir"]), entry)
    os.dup2(log, 2)
    os.close(log)
    return entry


def watch(run_dir: str, entry: record.Record, adopts: bool) -> None:
    """Wait for the process and for every orphan; write down how the process ended.

    ``all_ended`` is noted when nothing of the run is left, which only a parent of all can know; it
    saves every later look at the run a search through the processes of the machine.
    """
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            break
        if pid == entry["pid"]:
            entry.update(exit=exit_code(status), ended_at=time.time())
            if _has_children():
                _save_own(run_dir, entry)
    if adopts and "exit" in entry:
        entry["all_ended"] = True
    _save_own(run_dir, entry)


def _has_children() -> bool:
    if not hasattr(os, "waitid"):  # macOS
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _save_own(run_dir: str, entry: record.Record) -> None:
    """The directory may belong to a later run by now."""
    now = record.load(run_dir)
    if now is None or now.get("run_id") == entry["run_id"]:
        record.save_json(record.path_of(run_dir), entry)


def main() -> None:
    order = json.load(sys.stdin)
    adopts = adopt_orphans()
    entry = start(order)
    print(json.dumps(entry), flush=True)  # noqa: T201 - the answer to the agent
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    watch(order["run_dir"], entry, adopts)
