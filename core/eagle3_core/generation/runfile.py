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
from typing import Any

from eagle3_core import codec
from eagle3_core.host.agent import proc
from eagle3_core.rundir import RunDir


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
        self._ours = proc.RUN_ID not in os.environ
        self.run_id = os.environ.get(proc.RUN_ID) or uuid.uuid4().hex
        own = proc.stat_of(os.getpid())
        self._facts: dict[str, Any] = {
            "run_id": self.run_id,
            "pid": os.getpid(),
            "pgid": os.getpgrp(),
            "start": own.start if own else 0,
            **proc.here()._asdict(),
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
