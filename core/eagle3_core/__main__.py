"""``eagle3-core``: the generation core's command line."""

from __future__ import annotations

import argparse
import importlib
import sys

from eagle3_core import __version__
from eagle3_core.errors import UserError

COMMANDS = {
    "generate": ("eagle3_core.generation.cli", "ask a live server every question of a prompt set"),
    "samples": ("eagle3_core.samples.cli", "show what a prompt set holds and what is skipped"),
    "simulate": ("eagle3_core.simulator.cli", "an OpenAI-compatible server that behaves like vLLM"),
}
"""Command to the module that has its ``add_arguments`` and ``run``, and its one line of help."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code. Errors that the user can mend are one line on stderr."""
    arguments = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="eagle3-core", description=__doc__)
    parser.add_argument("--version", action="version", version=f"eagle3-core {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text)
        # Only the command that is asked for is imported: the others' packages may be missing.
        if name in arguments[:1]:
            try:
                importlib.import_module(module).add_arguments(sub)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("eagle3_core"):
                    raise
                missing = UserError(
                    f"this Python ({sys.executable}) has no {error.name}",
                    f"pip install {error.name}, or use the Python that runs the server",
                )
                return _fail(missing)
    args = parser.parse_args(arguments)
    try:
        return int(importlib.import_module(COMMANDS[args.command][0]).run(args))
    except UserError as error:
        return _fail(error)
    except KeyboardInterrupt:
        return 130


def _fail(error: UserError) -> int:
    sys.stderr.write(f"eagle3-core: {error}\n")
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
