"""A second writer of a journal, refused before it can mix its lines with ours."""

from __future__ import annotations

from typing import Sequence

from eagle3_core.host.agent import writers
from eagle3_core.host.agent.wire import Refused


def refuse(paths: Sequence[str]) -> int | None:
    """How many processes could not be looked at, when nobody is seen to write ``paths``.

    Raises:
        Refused: ``busy``; names every writer by pid, user and command, and the mend.
    """
    seen = writers.find(paths)
    found, hidden = seen["found"], seen["hidden"]
    if found:
        who = "; ".join(f"pid {w['pid']} of {w['user']} ({w['command']})" for w in found)
        also = f"; {hidden} of the host's processes could not be looked into" if hidden else ""
        pids = " ".join(str(writer["pid"]) for writer in found)
        raise Refused(
            "busy",
            f"{found[0]['path']} is being written by {who}{also}",
            f"end that first (kill {pids}), or choose another run directory",
        )
    holder = writers.lock_holder(paths)
    if holder:
        raise Refused(
            "busy",
            f"{paths[0]} is locked by a process that cannot be seen from here ({holder})",
            "end it where it runs: another user's, another container's or another host's",
        )
    return int(hidden) if hidden is not None else None
