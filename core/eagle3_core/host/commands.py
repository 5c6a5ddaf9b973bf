"""What may be sent to a run: each command goes through here, is refused or is noted."""

from __future__ import annotations

import os
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eagle3_core.errors import UserError
from eagle3_core.host import run as host_run
from eagle3_core.host.foreign_run import ForeignRun
from eagle3_core.host.link import AgentError, Link, LinkLost
from eagle3_core.monitor.events import Outcome
from eagle3_core.monitor.snapshot import Process
from eagle3_core.rundir import RunDir

Note = Callable[[str, Outcome], str]
"""Takes a command's name and how it went; says what hindered noting it, usually nothing."""


@dataclass(frozen=True)
class Commands:
    """The commands to one run.

    Args:
        run_dir: its directory on the host.
        settings: what a start uses; ``None``: the run's own.
        python: the generator's Python on the host.
        foreign: what is started in place of the generator.
        env: names of environment variables that a start passes on, with their values here, or the
            host's own where there is none here. The values appear nowhere else.
        read_only: refuse them all.
        note: is told of each that was sent.
    """

    run_dir: str
    settings: Mapping[str, Any] | None = field(default=None, repr=False)
    python: str | None = None
    foreign: ForeignRun = ForeignRun()
    env: tuple[str, ...] = ()
    read_only: bool = False
    note: Note | None = None

    @property
    def files(self) -> RunDir:
        """The run's files on the host."""
        return self.foreign.files(self.run_dir)

    async def start(self, link: Link) -> Outcome:
        """Launch; what is done already is not asked again."""
        return await self._send("start", lambda: self._launched(link, host_run.launch))

    async def restart(self, link: Link) -> Outcome:
        """Kill what runs, then launch."""
        return await self._send("restart", lambda: self._launched(link, host_run.restart))

    async def drain(self, link: Link) -> Outcome:
        """SIGINT to the leader: nothing new is asked, it ends when what is in flight is in."""
        return await self._send("drain", lambda: host_run.drain(link, self.run_dir))

    async def kill(self, link: Link) -> Outcome:
        """SIGTERM to all of the run: flushes and ends."""
        return await self._send("kill", lambda: host_run.kill(link, self.run_dir))

    async def kill_hard(self, link: Link) -> Outcome:
        """SIGKILL to all of the run."""
        return await self._send("kill_hard", lambda: host_run.kill_hard(link, self.run_dir))

    async def set_concurrency(self, link: Link, setting: int | str) -> Outcome:
        """Change the requests in flight of the run while it goes."""
        if self.foreign.command:
            raise UserError(
                f"{self.foreign.command[0]} takes no other concurrency while it goes",
                "change it in the command of the profile, then restart",
            )
        return await self._send("concurrency", lambda: host_run.turn(link, self.run_dir, setting))

    async def _send(self, name: str, command: Callable[[], Awaitable[Outcome]]) -> Outcome:
        if self.read_only:
            raise UserError(
                f"read-only: {name} is not sent",
                "leave out --read-only, or read_only in the config file",
            )
        try:
            outcome = await command()
        except (UserError, AgentError, LinkLost) as error:
            if self.note:
                starts = name in ("start", "restart")
                asked = shlex.join(self.foreign.command) if starts else ""
                self.note(name, Outcome(False, str(error), asked))
            raise
        trouble = self.note(name, outcome) if self.note else ""
        return replace(outcome, message=f"{outcome.message} ({trouble})") if trouble else outcome

    async def _launched(self, link: Link, launch: Callable[..., Awaitable[Process]]) -> Outcome:
        foreign, files = self.foreign, self.files
        given = {name: os.environ[name] for name in self.env if name in os.environ}
        process = await launch(
            link,
            self.run_dir,
            None if foreign.command else self.settings,
            self.python,
            argv=foreign.command or None,
            cwd=foreign.folder(self.run_dir) if foreign.cwd else None,
            env=given,
            needs=self.env,
            log=str(files.log) if foreign.log else None,
            journal=str(files.journal) if foreign.journal else None,
        )
        record = (await host_run.state(link, self.run_dir)).record or {}
        command = shlex.join(str(word) for word in record.get("argv") or [])
        where = f"{process.pid}; {process.detail}" if process.detail else f"{process.pid}"
        return Outcome(process.alive, f"started as pid {where}", command)
