"""``run.json``: who the process of a run is, for a run that was started by hand.

A run that the console launches has this file from its launcher, which also sees how the process
ends; see ``host.agent.shim`` for the same keys.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from eagle3_core import codec
from eagle3_core.rundir import RunDir

RUN_ID = "EAGLE_RUN_ID"
"""Environment variable by which a launcher names the run; its processes inherit it."""


def write_atomically(path: str, value: Any) -> None:
    """Replace ``path`` by ``value`` as JSON; a reader sees the old file or the new one."""
    beside = f"{path}.{os.getpid()}.tmp"
    with open(beside, "wb") as file:
        file.write(codec.dumps(value) + b"\n")
    os.replace(beside, path)


class RunFile:
    """Writes ``run.json`` at the start and the exit code at the end, unless a launcher does."""

    def __init__(self, run: RunDir) -> None:
        self._path = str(run.run)
        self._ours = RUN_ID not in os.environ
        self.run_id = os.environ.get(RUN_ID) or uuid.uuid4().hex
        self._facts: dict[str, Any] = {
            "run_id": self.run_id,
            "pid": os.getpid(),
            "pgid": os.getpgrp(),
            "start": start_ticks(os.getpid()),
            "boot": boot_id(),
            "argv": [sys.executable, *sys.argv],
            "log": str(run.log),
            "cwd": os.getcwd(),
            "started_at": time.time(),
        }
        if self._ours:
            write_atomically(self._path, self._facts)

    def ended(self, exit_code: int) -> None:
        """Record how the process ends."""
        if self._ours:
            # A full disk must not hide how the run ended from the one who started it.
            with contextlib.suppress(OSError):
                write_atomically(
                    self._path, self._facts | {"exit": exit_code, "ended_at": time.time()}
                )


def boot_id() -> str:
    """This boot of the machine; empty where the system has no such thing (macOS)."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int:
    """Start time of a process in clock ticks since boot (proc(5), field 22); 0 where unknown."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    # The name may hold spaces and brackets: the fields begin behind the last bracket.
    return int(text[text.rindex(b")") + 2 :].split()[19])
