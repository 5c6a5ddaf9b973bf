"""``eagle3-core simulate``: the server as a command."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import os
import signal
import sys
from typing import Any, get_args, get_type_hints

from eagle3_core.simulator.faults import KINDS, Fault
from eagle3_core.simulator.server import Simulator
from eagle3_core.simulator.settings import SimSettings

_PARENT_CHECK_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One flag for each field of ``SimSettings``, ``--fault``, and ``--parent-pid``."""
    hints = get_type_hints(SimSettings)
    for knob in dataclasses.fields(SimSettings):
        if knob.name == "faults":
            continue
        parser.add_argument(
            "--" + knob.name.replace("_", "-"),
            type=_number_or_text(hints[knob.name]),
            default=knob.default,
            choices=knob.metadata["choices"] or None,
            metavar=None if knob.metadata["choices"] else knob.name.rpartition("_")[2].upper(),
            help=knob.metadata["help"]
            + ("" if knob.default is None else " (default: %(default)s)"),
        )
    kinds = "; ".join(
        name if kind.parameter == "unused" else f"{name}: {kind.parameter}"
        for name, kind in KINDS.items()
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND:SHARE[:PARAM]",
        help=f"let a share (0 to 1) of the requests fail; may be repeated. {kinds}",
    )
    parser.add_argument(
        "--parent-pid", type=int, default=None, metavar="PID", help="end when this process is gone"
    )


def _number_or_text(hint: Any) -> type:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    kind: type = kinds[0] if kinds else hint
    return kind


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM, SIGINT or the end of the parent; print the URL when ready.

    Raises:
        UserError: for settings that cannot work, or a port that is taken.
    """
    values = {
        knob.name: getattr(args, knob.name)
        for knob in dataclasses.fields(SimSettings)
        if knob.name != "faults"
    }
    settings = SimSettings(**values, faults=tuple(map(Fault.parse, args.fault)))
    # Asked before the URL is out: whoever waits for that may kill the parent at once.
    ours = os.getppid() == args.parent_pid
    asyncio.run(_serve(settings, args.parent_pid, ours=ours))
    return 0


async def _serve(settings: SimSettings, parent: int | None, *, ours: bool) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    async with Simulator(settings) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        ends: list[asyncio.Task[Any]] = [asyncio.create_task(over.wait())]
        if parent is not None:
            ends.append(asyncio.create_task(_gone(parent, ours=ours)))
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)


async def _gone(pid: int, *, ours: bool) -> None:
    while _alive(pid, ours=ours):
        await asyncio.sleep(_PARENT_CHECK_S)


def _alive(pid: int, *, ours: bool) -> bool:
    # A parent that died and was not reaped still takes signals; being handed on tells the truth.
    if ours and os.getppid() != pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
