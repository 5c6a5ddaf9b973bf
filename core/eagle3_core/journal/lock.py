"""One writer a journal: a lock that dies with its holder, and says who holds it."""

from __future__ import annotations

import fcntl
import os
import socket
from datetime import datetime, timezone
from types import TracebackType

from eagle3_core import codec
from eagle3_core.errors import UserError

IN_USE = 73
"""Exit code of a refused second writer (EX_CANTCREAT of sysexits.h)."""


class JournalLock:
    """``flock`` on ``<journal>.lock``, held from :meth:`__enter__` until the process ends.

    Raises:
        UserError: another process holds it; names its host, pid and start time.
    """

    def __init__(self, journal: str) -> None:
        self._journal = journal
        self._fd = -1

    def __enter__(self) -> JournalLock:
        fd = os.open(self._journal + ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(os.pread(fd, 4096, 0))
            os.close(fd)
            raise UserError(
                f"{self._journal} is being written by {holder}",
                "watch that run, or stop it before starting another",
                exit_code=IN_USE,
            ) from None
        except OSError:  # no locks on this file system
            os.close(fd)
            raise
        me = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "since": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        os.ftruncate(fd, 0)
        os.pwrite(fd, codec.dumps(me) + b"\n", 0)
        self._fd = fd
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.ftruncate(self._fd, 0)
        os.close(self._fd)


def _holder(data: bytes) -> str:
    try:
        who = codec.loads(data)
        return f"pid {who['pid']} on {who['host']} since {who['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
