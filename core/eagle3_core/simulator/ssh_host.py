"""An SSH host inside this process: loopback, throw-away keys, a home of its own. For the demo.

What sshd gives for free is written out here: running the command, its environment, its end when
the channel goes. Processes that left for a session of their own live on, as they do under sshd.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from eagle3_core.host.target import HostTarget

if TYPE_CHECKING:
    import asyncssh

ALIAS = "demo-gpu"

HANG_UP_GRACE = 1.0
"""Seconds between the hang-up and the kill of a command whose channel is gone."""


class EmbeddedHost:
    """``async with EmbeddedHost(home) as host: await connect(host.target)``.

    Args:
        home: existing folder that becomes ``$HOME`` of every command; keys and ssh config are
            written to its ``.ssh``, readable by this user alone.
        env: further environment variables of every command.
        name: alias under which the host is known.
    """

    def __init__(
        self, home: Path, *, env: Mapping[str, str] | None = None, name: str = ALIAS
    ) -> None:
        self.home = home
        self.name = name
        self.port = 0
        self._env = {"HOME": str(home), **(env or {})}
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._commands: set[asyncio.Task[None]] = set()

    @property
    def target(self) -> HostTarget:
        """How to connect; good while the host is up."""
        folder = self.home / ".ssh"
        return HostTarget(self.name, config=folder / "config", known_hosts=folder / "known_hosts")

    async def __aenter__(self) -> EmbeddedHost:
        import asyncssh

        host_key = asyncssh.generate_private_key("ssh-ed25519")
        client_key = asyncssh.generate_private_key("ssh-ed25519")
        public = client_key.export_public_key().decode()
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(public),
            server_factory=self._server,
            process_factory=self._serve,
            encoding=None,
            allow_scp=False,
            x11_forwarding=False,
            agent_forwarding=False,
        )
        self.port = self._acceptor.get_port()
        self._write_files(host_key.export_public_key().decode(), client_key.export_private_key())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._acceptor is not None:
            self._acceptor.close()
            await self._acceptor.wait_closed()
        for connection in list(self._connections):
            connection.abort()
            await connection.wait_closed()
        await asyncio.gather(*self._commands, return_exceptions=True)

    def _server(self) -> asyncssh.SSHServer:
        """Keeps count of the connections, for the acceptor does not end them."""
        import asyncssh

        connections = self._connections

        class Server(asyncssh.SSHServer):
            def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
                self._conn = conn
                connections.add(conn)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.discard(self._conn)

        return Server()

    def _write_files(self, host_public: str, client_private: bytes) -> None:
        folder = self.home / ".ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        key = folder / "id_demo"
        config = [
            f"Host {self.name}",
            "  HostName 127.0.0.1",
            f"  Port {self.port}",
            f'  IdentityFile "{key}"',
            "  IdentitiesOnly yes",
            "  IdentityAgent none",
            f'  UserKnownHostsFile "{folder / "known_hosts"}"',
            "",
        ]
        _write_private(key, client_private)
        _write_private(folder / "config", "\n".join(config).encode())
        entry = f"[127.0.0.1]:{self.port} {host_public}"
        _write_private(folder / "known_hosts", entry.encode())

    def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        task = asyncio.create_task(self._run(process))
        self._commands.add(task)
        task.add_done_callback(self._commands.discard)

    async def _run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Run one command for one channel."""
        if not process.command:
            process.stderr.write(b"this host runs commands only\n")
            process.exit(1)
            return
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            process.command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=self.home,
            env={**os.environ, **self._env},
            start_new_session=True,
        )
        assert child.stdout is not None
        assert child.stderr is not None
        feeder = asyncio.create_task(_feed(process, child))
        work: asyncio.Future[Any] = asyncio.gather(
            _pump(child.stdout, process.stdout),
            _pump(child.stderr, process.stderr),
            child.wait(),
            return_exceptions=True,
        )
        gone: asyncio.Future[Any] = asyncio.ensure_future(process.channel.wait_closed())
        try:
            waits: set[asyncio.Future[Any]] = {work, gone}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await _hang_up(child)
            elif child.returncode is not None and child.returncode < 0:
                process.exit_with_signal(signal.Signals(-child.returncode).name[3:])
            else:
                process.exit(child.returncode or 0)
        finally:
            feeder.cancel()
            gone.cancel()
            await asyncio.gather(feeder, gone, work, return_exceptions=True)
            assert child.stdin is not None
            child.stdin.close()


def _write_private(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)


async def _feed(
    process: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
) -> None:
    """The client's input and its end; signals arrive as exceptions out of ``read``."""
    import asyncssh

    assert child.stdin is not None
    while True:
        try:
            block = await process.stdin.read(65536)
        except asyncssh.SignalReceived as asked:
            _signal_group(child, getattr(signal, f"SIG{asked.signal}", signal.SIGTERM))
            continue
        except (asyncssh.Error, OSError):
            block = b""
        if not block:
            child.stdin.close()
            return
        child.stdin.write(block)
        with contextlib.suppress(OSError):
            await child.stdin.drain()


async def _pump(source: asyncio.StreamReader, sink: asyncssh.SSHWriter[bytes]) -> None:
    while block := await source.read(65536):
        sink.write(block)
        await sink.drain()


def _signal_group(child: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


async def _hang_up(child: asyncio.subprocess.Process) -> None:
    """End a command whose channel is gone."""
    _signal_group(child, signal.SIGHUP)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(child.wait(), HANG_UP_GRACE)
    if child.returncode is None:
        _signal_group(child, signal.SIGKILL)
        await child.wait()
