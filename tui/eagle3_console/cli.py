"""``eagle3-console``: opens the console on a run, or answers a question about it without one."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys

from eagle3_console import config, headless, target, trail
from eagle3_core import __version__
from eagle3_core.errors import UserError
from eagle3_core.simulator.scenarios import SCENARIOS
from eagle3_core.text import printable


def main(argv: list[str] | None = None) -> int:
    """The exit code. Errors that the user can mend are one line on stderr."""
    arguments = sys.argv[1:] if argv is None else argv
    command = arguments[0] if arguments and arguments[0] in _COMMANDS else ""
    args = _parser(command).parse_args(arguments[1:] if command else arguments)
    code = _code(command, args)
    if command in ("", "demo"):
        _leave(code)
    return code


def _code(command: str, args: argparse.Namespace) -> int:
    try:
        return asyncio.run(_run(command, args))
    except UserError as error:
        sys.stderr.write(f"eagle3-console: {printable(str(error))}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _leave(code: int) -> None:
    """End the process although Textual's input thread may not.

    A terminal that has gone away (a closed window, a dropped session) ends the app without ending
    that thread, which then spins on it for ever.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


_COMMANDS = {
    "demo": "the console on a run of its own: no server, no GPU, no network",
    **headless.COMMANDS,
    "trail": "what was sent to the hosts from here, and how it went",
}


def _parser(command: str) -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<9}{text}" for name, text in _COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog=f"eagle3-console {command}".strip(),
        description=_COMMANDS.get(command, __doc__),
        epilog=None if command else f"commands (each with its own --help):\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if command == "trail":
        trail.add_arguments(parser)
        return parser
    if command == "demo":
        parser.add_argument(
            "--scenario", choices=sorted(SCENARIOS), default="healthy", help="which story"
        )
    else:
        target.add_arguments(parser)
    if command in headless.COMMANDS:
        headless.add_arguments(command, parser)
    else:
        parser.add_argument("--theme", help="name of a theme")
        parser.add_argument("--read-only", action="store_true", help="only look")
    if not command:
        parser.add_argument("--version", action="version", version=f"eagle3-console {__version__}")
    return parser


async def _run(command: str, args: argparse.Namespace) -> int:
    if command == "trail":
        return trail.show(args)
    settings = config.load()
    if command in headless.COMMANDS:
        return await headless.run(command, args, target.choose(args, settings))
    chosen = None if command == "demo" else target.choose(args, settings)
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise UserError(
            "the console needs a terminal", "use eagle3-console status, or logs -f, in pipes"
        )
    # Textual takes a quarter of a second to import: the headless commands do without.
    from eagle3_console import console, demo

    look = console.Look(
        theme=args.theme or settings.theme or None,
        read_only=args.read_only or settings.read_only,
        confirm=settings.confirm,
    )
    if chosen is None:
        return await demo.run(args.scenario, look)
    return await console.open_console(chosen, look)
