"""Start the agent on a host: one command that every shell takes, then the handshake."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from eagle3_core.errors import UserError
from eagle3_core.host.deploy import CoreZip, core_zip
from eagle3_core.host.frames import EndOfStreamError, Frames
from eagle3_core.host.transport import Transport

START_TIMEOUT = 60.0
"""Seconds from the command to the agent's first word; a slow line carries the zip in this time."""

PYTHONS = ("python3", "python")

READ_PROGRAM = "import sys;i=sys.stdin.buffer;exec(i.read(int(i.readline())))"

READ_ONLY = "no python3: read-only (counts and log)"

NO_PYTHON = b"EAGLE3-NO-PYTHON"

_SAFE = re.compile(r"[A-Za-z0-9/._~+,:=@%-]+")


class NoPythonError(UserError):
    """There is no Python on the host."""


@dataclass(frozen=True)
class Hello:
    """What an agent says of itself and its host."""

    pid: int
    python: str
    exe: str
    hostname: str
    user: str
    home: str
    boot_id: str
    now: float
    """Epoch seconds there."""
    core_zip: str
    """Path of the core on the host."""

    @property
    def words(self) -> str:
        """Who answers, for people."""
        what = f"Python {self.python}" if self.python else READ_ONLY
        return f"{self.hostname}, {what}"


def shell_program(pythons: Sequence[str]) -> str:
    """A line for ``/bin/sh -c`` that becomes the first of ``pythons`` there is.

    It holds no quote ``'``, no ``!``, no backslash and no newline, so that one pair of single
    quotes carries it through sh, bash, zsh, fish and csh alike. Raises ``UserError``.
    """
    names = " ".join(_in_shell(python) for python in pythons)
    found = f'exec "$p" -I -c "{READ_PROGRAM}" eagle3-agent'
    loop = f'for p in {names}; do if command -v "$p" >/dev/null 2>&1; then {found}; fi'
    return f"{loop}; done; echo {NO_PYTHON.decode()}; exit 127"


def command_line(pythons: Sequence[str], prefix: Sequence[str] = ()) -> str:
    """What the login shell of a host is asked to run. Raises ``UserError``."""
    words = [_quoted(word) for word in prefix]
    return " ".join(["exec", *words, "/bin/sh", "-c", f"'{shell_program(pythons)}'"])


def bare_shell(prefix: Sequence[str] = ()) -> str:
    """The same for a ``/bin/sh`` that reads its commands. Raises ``UserError``."""
    return " ".join(["exec", *(_quoted(word) for word in prefix), "/bin/sh"])


def _in_shell(python: str) -> str:
    """A path for ``sh`` within single quotes; a plain one bare, so that its ``~`` is expanded."""
    if _SAFE.fullmatch(python):
        return python
    if any(character in python for character in "'\"\\!\n`$"):
        raise UserError(
            f"python = {python!r} has characters that a shell reads", "use a plain path"
        )
    return f'"{python}"'


def _quoted(word: str) -> str:
    if _SAFE.fullmatch(word) and not word.startswith("~"):
        return word
    if any(character in word for character in "'\\!\n`"):
        raise UserError(
            f"prefix word {word!r} cannot be quoted for every shell", "write it plainer"
        )
    return f"'{word}'"


@lru_cache(maxsize=1)
def bootstrap_source() -> bytes:
    return (files("eagle3_core.host.agent") / "bootstrap.py").read_bytes()


async def start_agent(
    transport: Transport, host: str, core: CoreZip | None = None
) -> tuple[Hello, Frames]:
    """Bring the agent up over ``transport``.

    Args:
        transport: connected to the stdin and stdout of :func:`command_line`.
        host: its name, for messages.
        core: what to deploy; ``None``: the installed package.

    Raises:
        UserError: no Python, too old a Python, or no agent for another reason.
    """
    try:
        return await asyncio.wait_for(
            _handshake(transport, host, core or core_zip()), START_TIMEOUT
        )
    except asyncio.TimeoutError:
        raise UserError(
            f"{host} did not start the agent within {START_TIMEOUT:.0f} s",
            f"log in with ssh {host} and see what keeps its shell",
        ) from None
    except EndOfStreamError:
        reason = await transport.why()
        raise UserError(
            f"{host}: {reason}", f"log in with ssh {host} and try python3 --version"
        ) from None


async def _handshake(transport: Transport, host: str, core: CoreZip) -> tuple[Hello, Frames]:
    nonce = secrets.token_hex(8)
    program = bootstrap_source()
    order = {"nonce": nonce, "name": core.name, "sha256": core.sha256, "size": len(core.data)}
    transport.write(b"%d\n%s%s\n" % (len(program), program, json.dumps(order).encode()))
    frames = Frames(transport.read)
    answer = await _marked(frames, nonce, host)
    if "old" in answer:
        raise UserError(
            f"{host} has Python {answer['old']} as {answer['exe']}, the agent needs 3.8",
            'set python = "/path/to/python" in the profile',
        )
    if answer.get("need"):
        transport.write(core.data)
    answer = await _marked(frames, nonce, host)
    return Hello(**answer["hello"]), frames


async def _marked(frames: Frames, nonce: str, host: str) -> dict[str, Any]:
    """The next line that carries our nonce; a shell's start-up files may print anything before."""
    mark = b'{"eagle":"' + nonce.encode()
    while True:
        line = await frames.line()
        if NO_PYTHON in line:
            raise NoPythonError(
                f"{host} has no python3 on its PATH",
                'set python = "/path/to/python" in the profile',
            )
        at = line.find(mark)
        if at >= 0:
            answer: dict[str, Any] = json.loads(line[at:])
            return answer
