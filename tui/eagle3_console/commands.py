"""Commands to the run: what is asked before, what is said after."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from eagle3_core.errors import UserError
from eagle3_core.monitor.events import Outcome, Watch
from eagle3_core.monitor.snapshot import Snapshot


@dataclass(frozen=True)
class Question:
    """What a person is asked before a command goes out."""

    question: str
    effect: str
    yes: str


EFFECTS = {
    "start": ("Start the run?", "Samples that are done are not asked again.", "Start"),
    "drain": ("Drain the run?", "It ends once the requests in flight have ended.", "Drain"),
    "kill": (
        "Kill the run?",
        "TERM to its process group. Requests in flight are lost, finished answers are kept.",
        "Kill",
    ),
    "restart": (
        "Restart the run?",
        "Kill it, then start it again. Requests in flight are asked anew.",
        "Restart",
    ),
    "kill_hard": (
        "Send SIGKILL?",
        "The whole process group ends at once, without flushing. Lines on disk stay; "
        "the last one may be torn and is repaired on the next start.",
        "Send SIGKILL",
    ),
}


def question(name: str, snapshot: Snapshot | None, *, always: bool) -> Question | None:
    """What to ask before command ``name``; ``None`` when it goes out at once."""
    if not always and name != "kill_hard":
        return None
    text, effect, yes = EFFECTS[name]
    where = ""
    if snapshot is not None:
        pid = f"pid {snapshot.process.pid} on " if snapshot.process.pid is not None else ""
        where = f"{pid}{snapshot.host}, {snapshot.run}\n"
    return Question(text, where + effect, yes)


async def carry_out(watch: Watch, name: str) -> Outcome:
    """Send a command; every way it can fail becomes an outcome in words."""
    send = {
        "start": watch.start,
        "drain": watch.drain,
        "kill": watch.kill,
        "restart": watch.restart,
        "kill_hard": watch.kill_hard,
    }[name]
    return await told(send(), name)


async def told(command: Awaitable[Outcome], name: str) -> Outcome:
    """The outcome of a command, its failures in words too."""
    try:
        return await command
    except UserError as error:
        return Outcome(False, f"{error.problem}\n→ {error.mend}")
    except Exception as error:
        return Outcome(False, f"{name} failed: {type(error).__name__}: {error}")
