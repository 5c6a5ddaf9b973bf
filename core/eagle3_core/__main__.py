"""``eagle3-core``: the generation core's command line."""

from __future__ import annotations

import argparse
import importlib
import sys
import types

from eagle3_core import __version__
from eagle3_core.errors import UserError
from eagle3_core.text import printable

COMMANDS = {
    "audit": ("eagle3_core.journal.audit_cli", "say what a journal holds and what can be kept"),
    "generate": ("eagle3_core.generation.cli", "ask a live server every question of a prompt set"),
    "repair": ("eagle3_core.journal.repair_cli", "move what is bad out of a journal, atomically"),
    "preflight": ("eagle3_core.generation.preflight_cli", "check a run without starting it"),
    "samples": ("eagle3_core.samples.cli", "show what a prompt set holds and what is skipped"),
    "simulate": ("eagle3_core.simulator.cli", "an OpenAI-compatible server that behaves like vLLM"),
}
"""Command to the module that has its ``add_arguments`` and ``run``, and its one line of help."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code. Errors that the user can mend are one line on stderr."""
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except UserError as error:
        sys.stderr.write(f"eagle3-core: {printable(str(error))}\n")
        return error.exit_code
    except KeyboardInterrupt:  # also while the packages are being imported
        return 130


def _main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="eagle3-core", description=__doc__)
    parser.add_argument("--version", action="version", version=f"eagle3-core {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text)
        # Only the command that is asked for is imported: the others' packages may be missing.
        if name in arguments[:1]:
            _import(module).add_arguments(sub)
    args = parser.parse_args(arguments)
    return int(_import(COMMANDS[args.command][0]).run(args))


def _import(module: str) -> types.ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("eagle3_core"):
            raise
        raise UserError(
            f"this Python ({sys.executable}) has no {error.name}",
            f"pip install {error.name}, or use the Python that runs the server",
        ) from None


if __name__ == "__main__":
    sys.exit(main())
