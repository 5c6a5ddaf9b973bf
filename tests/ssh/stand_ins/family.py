"""A leader with a child that ignores TERM and one that left the session; with a further argument
also an orphan without a trace: another session, a wiped environment, its parent gone. Prints
``pid N`` for each."""

from __future__ import annotations

import os
import signal
import sys
import time

ORPHAN = """
import os, time
if os.fork() == 0:
    os.setsid()
    print("pid", os.getpid(), flush=True)
    time.sleep(1000)
"""


def fork() -> bool:
    """True in the child."""
    pid = os.fork()
    if pid:
        print("pid", pid, flush=True)
    return pid == 0


before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
if fork():
    time.sleep(1000)
signal.signal(signal.SIGTERM, before)
if fork():
    os.setsid()
    time.sleep(1000)
if len(sys.argv) > 2 and os.fork() == 0:
    os.execve(sys.executable, [sys.executable, "-c", ORPHAN], {})
time.sleep(1000)
