"""The trail: every command that went to a host from here, one JSON line each, for its owner alone."""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from eagle3_core import codec
from eagle3_core.errors import UserError
from eagle3_core.host.commands import Note
from eagle3_core.monitor.events import Outcome
from eagle3_core.text import printable


def path() -> Path:
    """``$XDG_STATE_HOME/eagle3-console/commands.log``, usually below ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME")
    folder = Path(base) if base else Path.home() / ".local" / "state"
    return folder / "eagle3-console" / "commands.log"


def note_for(host: str, run: str, env: Sequence[str]) -> Note:
    """What notes the commands to one run.

    Args:
        host: where they go.
        run: its directory there.
        env: names of the variables that a start passes on; their values are never noted.
    """

    def note(name: str, outcome: Outcome) -> str:
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "host": host,
            "run": run,
            "action": name,
            "command": outcome.command,
            "env": list(env) if name in ("start", "restart") else [],
            "ok": outcome.ok,
            "result": outcome.message,
        }
        try:
            _append(codec.dumps(entry) + b"\n")
        except OSError as error:
            return f"not noted in {path()}: {error.strerror}"
        return ""

    return note


def _append(line: bytes) -> None:
    file = path()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of ``eagle3-console trail``."""
    parser.add_argument("-n", type=int, default=20, help="how many")
    parser.add_argument("--json", action="store_true", help="the lines as they are")


def show(args: argparse.Namespace) -> int:
    """Print the newest entries, oldest first. Raises ``UserError``."""
    file = path()
    try:
        with file.open("rb") as lines:
            newest = deque(lines, maxlen=max(0, args.n))
    except FileNotFoundError:
        sys.stdout.write(f"nothing was sent yet: {file} does not exist\n")
        return 0
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror})", "mend its permissions"
        ) from None
    for line in newest:
        text = line.decode(errors="replace").rstrip("\n")
        sys.stdout.write(printable(text if args.json else _sentence(line, text)) + "\n")
    return 0


def _sentence(line: bytes, text: str) -> str:
    try:
        entry = codec.loads(line)
        when = datetime.fromisoformat(entry["time"]).astimezone()
        word = "" if entry["ok"] else "failed: "
        env = f" · with {' '.join(entry['env'])}" if entry["env"] else ""
        command = f" · {entry['command']}" if entry["command"] else ""
        return (
            f"{when:%Y-%m-%d %H:%M:%S} {entry['host']} {entry['run']} {entry['action']} · "
            f"{word}{entry['result']}{command}{env}"
        )
    except (ValueError, KeyError, TypeError):
        return text
