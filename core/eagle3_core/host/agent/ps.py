"""Process facts where there is no /proc (macOS): the same questions, asked of ``ps``."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import Tuple

Fields = Tuple[str, int, int, int, int]
"""state, ppid, pgrp, session, start in epoch seconds."""


def _run(argv: list[str]) -> str:
    environ = dict(os.environ, LC_ALL="C")
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        timeout=10,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace")


def boot_id() -> str:
    return _run(["sysctl", "-n", "kern.bootsessionuuid"]).strip()


def table(pid: int | None = None) -> dict[int, Fields]:
    """Facts by pid: of all processes, or of one."""
    which = ["-ax"] if pid is None else ["-p", str(pid)]
    output = _run(["ps", *which, "-o", "pid=,ppid=,pgid=,state=,lstart="])
    rows = (parse_row(line) for line in output.splitlines())
    return {row[0]: row[1] for row in rows if row is not None}


def parse_row(line: str) -> tuple[int, Fields] | None:
    """One row of ``pid ppid pgid state lstart``; ``None`` when it is something else."""
    words = line.split()
    try:
        pid, ppid, pgrp = int(words[0]), int(words[1]), int(words[2])
        start = time.mktime(time.strptime(" ".join(words[4:9]), "%a %b %d %H:%M:%S %Y"))
    except (ValueError, IndexError):
        return None
    try:
        session = os.getsid(pid)
    except OSError:
        session = -1
    return pid, (words[3][:1], ppid, pgrp, session, int(start))


def variable(pid: int, name: str) -> str | None:
    """Value of an environment variable of ``pid``; ``None`` when it cannot be known."""
    output = _run(["ps", "-Eww", "-p", str(pid), "-o", "command="])
    found = re.search(rf"(?:^|\s){re.escape(name)}=(\S+)", output)
    return found.group(1) if found else None
