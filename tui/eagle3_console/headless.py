"""The console's headless twins, for scripts and cron: status, start, drain, kill, restart, logs, samples."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import os
import sys
import time
from collections.abc import Awaitable, Callable

from eagle3_console.ask import prompts
from eagle3_console.report import record_text, status_text
from eagle3_console.target import RunTarget
from eagle3_core import codec
from eagle3_core.errors import UserError
from eagle3_core.generation.concurrency import setting
from eagle3_core.host import run as host_run
from eagle3_core.host.connect import connect
from eagle3_core.host.foreign_run import ForeignRun
from eagle3_core.host.link import AgentError, Link, LinkLost, closing
from eagle3_core.monitor.events import Outcome
from eagle3_core.monitor.records import parse_lines
from eagle3_core.monitor.server import ask_servers
from eagle3_core.monitor.snapshot import Link as LinkPicture
from eagle3_core.monitor.snapshot import LinkState, Snapshot
from eagle3_core.monitor.state import RunView
from eagle3_core.monitor.tail import Tail
from eagle3_core.text import printable

LOG_LINES = 20_000
"""Lines of a log that are read for its numbers, where no other file has them."""

COMMANDS = {
    "status": "say how a run is",
    "start": "start generation, or go on where it stopped",
    "drain": "ask nothing new and end when the requests in flight have",
    "kill": "end it now; nothing finished is lost",
    "restart": "kill, then start",
    "concurrency": "change the requests in flight while the run goes: --set N, or auto",
    "logs": "show the log",
    "samples": "show records, reasoning and content",
}


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    """Flags of one command, beside those that name the run."""
    if name in ("status", "samples"):
        parser.add_argument("--json", action="store_true", help="for programs")
    if name == "concurrency":
        parser.add_argument(
            "--set", required=True, type=setting, metavar="N", help="1 to 4096, or auto"
        )
    if name == "logs":
        parser.add_argument("-f", "--follow", action="store_true", help="go on as it grows")
    if name in ("logs", "samples"):
        parser.add_argument("-n", type=int, default=20 if name == "logs" else 3, help="how many")
    if name == "samples":
        parser.add_argument("--random", action="store_true", help="any, not the newest")


async def run(name: str, args: argparse.Namespace, target: RunTarget) -> int:
    """One command against one run; its exit code. Raises ``UserError``."""
    try:
        async with closing(await connect(target.host, prompts())) as link:
            return await _HANDLERS[name](link, args, target)
    except LinkLost as error:
        raise UserError(
            f"the link to {target.host.name} broke ({error.reason})", "try again"
        ) from None
    except AgentError as error:
        raise UserError(error.message, error.mend or "see the log of the run") from None
    except BrokenPipeError:
        # The reader, as head, has had enough; the interpreter's own last flush must not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


async def _status(link: Link, args: argparse.Namespace, target: RunTarget) -> int:
    picture = await take_picture(link, target)
    if args.json:
        _out(codec.dumps(dataclasses.asdict(picture)).decode())
    else:
        _out(status_text(picture))
    return 0


async def take_picture(link: Link, target: RunTarget) -> Snapshot:
    """One snapshot of a run, lines counted exactly, the last records looked at."""
    foreign = target.foreign or ForeignRun()
    files = foreign.files(target.run_dir)
    view = RunView(target.host.name, target.run_dir, time.time, files, foreign.patterns)
    view.link = LinkPicture(LinkState.CONNECTED, time.time(), link.hello.hostname)
    journal = str(files.journal)
    count = await host_run.count(link, journal)
    recent, _ = parse_lines(await host_run.last(link, journal, 50))
    view.take_records(recent, count.lines, count.reason)
    own_files = host_run.own_files(files)
    state = await host_run.state(link, target.run_dir, **own_files, writers=True)
    if state.status is None:
        log = await host_run.last(link, str(files.log), LOG_LINES)
        view.log.take(line.decode(errors="replace") for line in log)
    view.take_state(state)
    await ask_servers(link, view)
    return view.snapshot()


async def _start(link: Link, args: argparse.Namespace, target: RunTarget) -> int:
    return _told(await target.commands().start(link))


async def _restart(link: Link, args: argparse.Namespace, target: RunTarget) -> int:
    return _told(await target.commands().restart(link))


async def _drain(link: Link, args: argparse.Namespace, target: RunTarget) -> int:
    return _told(await target.commands().drain(link))


async def _kill(link: Link, args: argparse.Namespace, target: RunTarget) -> int:
    return _told(await target.commands().kill(link))


async def _concurrency(link: Link, args: argparse.Namespace, target: RunTarget) -> int:
    return _told(await target.commands().set_concurrency(link, args.set))


async def _logs(link: Link, args: argparse.Namespace, target: RunTarget) -> int:
    path = str(target.commands().files.log)
    if not args.follow:
        for line in await host_run.last(link, path, args.n):
            _out(printable(line.decode(errors="replace")))
        return 0
    with contextlib.suppress(asyncio.CancelledError):
        async for piece in Tail(path, count=False, lines_back=args.n).follow(link):
            if piece.note:
                sys.stderr.write(printable(f"{path}: {piece.note}") + "\n")
            for line in piece.lines:
                _out(printable(line.decode(errors="replace")))
    return 0


async def _samples(link: Link, args: argparse.Namespace, target: RunTarget) -> int:
    ask = host_run.sample if args.random else host_run.last
    lines = await ask(link, str(target.commands().files.journal), args.n)
    if args.json:
        for line in lines:
            _out(line.decode(errors="replace"))
        return 0
    records, bad = parse_lines(lines)
    if not records:
        _out("no records yet")
    for record in records:
        _out(record_text(record))
    if bad:
        _out(f"{bad} lines hold no record")
    return 0


def _told(outcome: Outcome) -> int:
    _out(printable(outcome.message))
    return 0 if outcome.ok else 1


def _out(text: str) -> None:
    # What is for programs stays as it is, unless it is a terminal that would read it.
    sys.stdout.write((printable(text) if sys.stdout.isatty() else text) + "\n")
    sys.stdout.flush()


_Handler = Callable[[Link, argparse.Namespace, RunTarget], Awaitable[int]]

_HANDLERS: dict[str, _Handler] = {
    "status": _status,
    "start": _start,
    "drain": _drain,
    "kill": _kill,
    "restart": _restart,
    "concurrency": _concurrency,
    "logs": _logs,
    "samples": _samples,
}
