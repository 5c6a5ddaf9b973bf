"""A run as its host sees it: state, count, launch, drain, kill, restart, samples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from eagle3_core.errors import UserError
from eagle3_core.host.link import AgentError, Link
from eagle3_core.host.run_process import process_of
from eagle3_core.monitor.events import Outcome
from eagle3_core.monitor.snapshot import Process, Stray
from eagle3_core.rundir import RunDir


@dataclass(frozen=True)
class FileFacts:
    exists: bool
    size: int
    mtime: float | None
    """Epoch seconds on the host."""


@dataclass(frozen=True)
class RunState:
    """A run directory at one moment."""

    run_dir: str
    """As the host resolves it."""
    exists: bool
    process: Process
    record: dict[str, Any] | None
    """``run.json``."""
    status: dict[str, Any] | None
    settings: dict[str, Any] | None
    launch: dict[str, Any] | None
    journal: FileFacts
    log: FileFacts
    disk_free: int | None
    """Bytes."""
    host_time: float
    """Epoch seconds on the host."""
    strays: tuple[Stray, ...] | None = None
    """Who else writes the journal; ``None``: it was not asked."""


class Count(NamedTuple):
    lines: int
    size: int
    reason: str
    """Why there are none: the file or a folder above it does not exist."""


@dataclass(frozen=True)
class Stopped(Outcome):
    """How a drain or a kill went."""

    signalled: tuple[tuple[int, str], ...] = ()
    """Pid and signal name without SIG, in order."""
    left: tuple[int, ...] = ()
    """Pids of the run that are still there."""


async def state(
    link: Link,
    run_dir: str,
    *,
    log: str | None = None,
    journal: str | None = None,
    writers: bool = False,
) -> RunState:
    """Ask for all of a run at once; with ``writers`` for stray ones too. Raises ``LinkLost``."""
    facts = await link.call_for_news(
        "run_state", run_dir=run_dir, log=log, journal=journal, writers=writers
    )
    status = _table(facts["status"])
    return RunState(
        run_dir=facts["run_dir"],
        exists=facts["exists"],
        process=process_of(facts, status),
        record=facts["record"],
        status=status,
        settings=_table(facts["settings"]),
        launch=_table(facts["launch"]),
        journal=FileFacts(**facts["journal"]),
        log=FileFacts(**facts["log"]),
        disk_free=facts["disk_free"],
        host_time=facts["now"],
        strays=tuple(Stray(**found) for found in facts["strays"]["found"]) if writers else None,
    )


def _table(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


async def count(link: Link, path: str) -> Count:
    """Count the lines of a file exactly. Raises ``LinkLost``."""
    return Count(*await link.call("count", path=path))


async def last(link: Link, path: str, lines: int) -> list[bytes]:
    """The last whole lines of a file, oldest first; none when there is no file."""
    return await _lines(link, "last", path, lines)


async def sample(link: Link, path: str, lines: int) -> list[bytes]:
    """Whole lines at random, each equally likely whatever its length, in the file's order."""
    return await _lines(link, "sample", path, lines)


async def _lines(link: Link, op: str, path: str, lines: int) -> list[bytes]:
    try:
        sizes, body = await link.call_bytes(op, path=path, lines=lines)
    except AgentError as error:
        if error.kind == "missing":
            return []
        raise
    found, at = [], 0
    for size in sizes:
        found.append(body[at : at + size - 1])
        at += size
    return found


async def launch(
    link: Link,
    run_dir: str,
    settings: Mapping[str, Any] | None = None,
    python: str | None = None,
    *,
    argv: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    log: str | None = None,
    journal: str | None = None,
    cwd: str | None = None,
    needs: Sequence[str] = (),
) -> Process:
    """Start a run in a session of its own; it outlives the link.

    Args:
        link: to the host.
        run_dir: made when it is missing.
        settings: of the generator; ``None``: go on with ``settings.json`` of the run.
        python: the generator's interpreter; ``None``: the agent's.
        argv: a foreign command in place of the generator.
        env: further environment variables, e.g. an API key.
        log: where its output goes; ``None``: ``inference.log`` of the run.
        journal: the file that ``argv`` writes; ``None``: the run's own.
        cwd: where ``argv`` is started; ``None``: in the run.
        needs: names of environment variables without which nothing is started.

    Returns:
        The process; its ``detail`` says how many could not be looked at for stray writers.

    Raises:
        UserError: a run of that directory is alive, somebody else writes its journal, the folder
            cannot be written, the Python lacks what the generator needs, or nothing could be
            started.
        LinkLost: the link ended.
    """
    try:
        started = await link.call(
            "launch",
            run_dir=run_dir,
            settings=settings,
            python=python,
            argv=argv,
            env=env,
            log=log,
            journal=journal,
            cwd=cwd,
            needs=list(needs),
        )
    except AgentError as error:
        raise _user_error(error) from None
    process = (await state(link, run_dir)).process
    hidden = started["hidden"]
    if not hidden:
        return process
    unseen = f"{hidden} of the host's processes could not be looked into for other writers"
    return replace(process, detail="; ".join(filter(None, (process.detail, unseen))))


async def drain(link: Link, run_dir: str) -> Stopped:
    """No new requests: SIGINT to the generator, which ends when those in flight have."""
    return await _stop(link, run_dir, "drain", 0.0)


async def kill(link: Link, run_dir: str, grace: float = 10.0) -> Stopped:
    """SIGTERM to every process of the run, SIGKILL to those left after ``grace`` seconds."""
    return await _stop(link, run_dir, "kill", grace)


async def kill_hard(link: Link, run_dir: str) -> Stopped:
    """SIGKILL to every process of the run."""
    return await _stop(link, run_dir, "kill_hard", 0.0)


async def turn(link: Link, run_dir: str, concurrency: int | str) -> Outcome:
    """Change the requests in flight of a run that is going: a number, or ``auto``."""
    try:
        await link.call("control", run_dir=run_dir, values={"concurrency": concurrency})
    except AgentError as error:
        raise _user_error(error) from None
    command = f'control.json {{"concurrency": {json.dumps(concurrency)}}}'
    return Outcome(True, f"concurrency {concurrency}: the run takes it within a second", command)


async def restart(
    link: Link,
    run_dir: str,
    settings: Mapping[str, Any] | None = None,
    python: str | None = None,
    *,
    grace: float = 10.0,
    **more: Any,
) -> Process:
    """Kill what runs, then launch; the journal makes it a resume. Takes and raises what both do."""
    before = await state(link, run_dir)
    if before.record is not None:
        stopped = await kill(link, run_dir, grace)
        if not stopped.ok:
            raise UserError(stopped.message, "end them by hand, then start")
    return await launch(link, run_dir, settings, python, **more)


async def _stop(link: Link, run_dir: str, how: str, grace: float) -> Stopped:
    try:
        facts = await link.call("stop", run_dir=run_dir, how=how, grace=grace)
    except AgentError as error:
        raise _user_error(error) from None
    signalled = tuple((pid, name) for pid, name in facts["signalled"])
    left = tuple(facts["left"])
    return Stopped(
        ok=not left and facts["was"] != "elsewhere" and (how != "drain" or bool(signalled)),
        message=_tell(facts, how, signalled, left),
        command="; ".join(f"kill -{name} {pid}" for pid, name in signalled),
        signalled=signalled,
        left=left,
    )


def _tell(
    facts: Mapping[str, Any],
    how: str,
    signalled: tuple[tuple[int, str], ...],
    left: tuple[int, ...],
) -> str:
    pid, was = facts["pid"], facts["was"]
    if left:
        return f"still there: {', '.join(str(pid) for pid in left)}"
    if not signalled:
        words = {
            "reused": f"pid {pid} is another process now, nothing was signalled",
            "rebooted": "the host was rebooted since, nothing was signalled",
            "elsewhere": "it was started in another container or on another host, "
            "nothing was signalled",
        }
        return words.get(was, f"pid {pid} had already ended")
    if how == "drain":
        return f"SIGINT to pid {pid}: it ends when the requests in flight have"
    killed = len({pid for pid, name in signalled if name == "KILL"})
    total = len({pid for pid, _ in signalled})
    by_force = f", {killed} by SIGKILL" if killed else ""
    return f"{total} process{'es' if total > 1 else ''} ended{by_force}"


def _user_error(error: AgentError) -> UserError | AgentError:
    """A refusal that names its mend is the user's to put right; all else is not."""
    return UserError(error.message, error.mend) if error.mend else error


def own_files(files: RunDir) -> dict[str, str]:
    """The files of a foreign command as :func:`state` takes them."""
    found = {"journal": files.own_journal, "log": files.own_log}
    return {name: str(path) for name, path in found.items() if path}
