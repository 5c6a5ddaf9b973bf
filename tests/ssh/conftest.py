"""A real sshd per session: own port, own config, own host keys; and hosts of every kind."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from person import Person

from eagle3_core.errors import UserError
from eagle3_core.host import run
from eagle3_core.host.connect import connect
from eagle3_core.host.link import Link
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.snapshot import Process
from eagle3_core.simulator.ssh_host import EmbeddedHost

SSHD = "/usr/sbin/sshd"


def keygen(path: Path, kind: str = "ed25519", passphrase: str = "") -> Path:
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Sshd:
    """A running server and the client's side of it."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    user: str

    @property
    def log(self) -> str:
        return (self.folder / "sshd.log").read_text(errors="replace")

    def host_key_line(self, name: str = "127.0.0.1") -> str:
        public = (self.folder / "host_ed25519.pub").read_text().split()
        return f"[{name}]:{self.port} {public[0]} {public[1]}\n"

    def client(self, folder: Path, *, known: str | None = None, extra: str = "") -> HostTarget:
        """A target with a config of its own in ``folder``. ``known``: its known_hosts."""
        hosts = folder / "known_hosts"
        hosts.write_text(self.host_key_line() if known is None else known)
        config = folder / "config"
        config.write_text(
            f"Host gpu\n  HostName 127.0.0.1\n  Port {self.port}\n  User {self.user}\n"
            f"  IdentityFile {self.folder / 'client'}\n  IdentitiesOnly yes\n"
            f"  IdentityAgent none\n  UserKnownHostsFile {hosts}\n"
            f"  GlobalKnownHostsFile /dev/null\n{extra}"
        )
        return HostTarget("gpu", config=config)


def start_sshd(folder: Path, *options: str) -> Sshd:
    """Start sshd in ``folder`` with further lines of ``sshd_config``; it must answer at once."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(parents=True, exist_ok=True)
    if not (folder / "client").exists():
        keygen(folder / "client")
    keygen(folder / "host_ed25519")
    shutil.copy(folder / "client.pub", folder / "authorized_keys")
    port = free_port()
    lines = [
        *options,  # of two lines the first counts
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder / 'host_ed25519'}",
        f"AuthorizedKeysFile {folder / 'authorized_keys'}",
        f"PidFile {folder / 'sshd.pid'}",
        "UsePAM no",
        "StrictModes no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin yes",
        "PrintMotd no",
        "LogLevel VERBOSE",
    ]
    config = folder / "sshd_config"
    config.write_text("\n".join(lines) + "\n")
    with open(folder / "sshd.log", "ab") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=log)
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert process.poll() is None, (folder / "sshd.log").read_text()
            assert time.monotonic() < deadline, "sshd does not answer"
            time.sleep(0.02)
    return Sshd(folder, port, process, pwd.getpwuid(os.getuid()).pw_name)


def stop_sshd(server: Sshd) -> None:
    server.process.terminate()
    server.process.wait(10)


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    server = start_sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    stop_sshd(server)


@pytest.fixture
def target(sshd: Sshd, tmp_path: Path) -> HostTarget:
    folder = tmp_path / "client"
    folder.mkdir()
    return sshd.client(folder)


@pytest.fixture(params=["sshd", "embedded", "local"])
async def link(request: pytest.FixtureRequest, sshd: Sshd, tmp_path: Path) -> AsyncIterator[Link]:
    """The same link over each transport."""
    folder = tmp_path / "host"
    folder.mkdir()
    if request.param == "embedded":
        async with EmbeddedHost(folder) as host:
            made = await connect(host.target)
            yield made
            await made.close()
        return
    made = await connect(sshd.client(folder) if request.param == "sshd" else HostTarget("local"))
    yield made
    await made.close()


@pytest.fixture
async def ssh_link(target: HostTarget) -> AsyncIterator[Link]:
    made = await connect(target)
    yield made
    await made.close()


@pytest.fixture
def new_sshd(tmp_path: Path) -> Iterator[Callable[..., Sshd]]:
    """Further servers with options of their own; they end with the test."""
    servers: list[Sshd] = []

    def start(*options: str) -> Sshd:
        servers.append(start_sshd(tmp_path / f"sshd-{len(servers)}", *options))
        return servers[-1]

    yield start
    for server in servers:
        stop_sshd(server)


@pytest.fixture
def until() -> Callable[..., Awaitable[None]]:
    """Wait until a callable gives true."""

    async def wait(condition: Callable[[], bool], seconds: float = 5.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not true within {seconds} s"
            await asyncio.sleep(0.02)

    return wait


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Whether a pid is a process that has not ended (a zombie has)."""

    def check(pid: int) -> bool:
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return False
        return stat[stat.rindex(b")") + 2 :][:1] not in (b"Z", b"X")

    return check


@pytest.fixture
def person() -> type[Person]:
    return Person


@pytest.fixture
def refused() -> Callable[..., Awaitable[UserError]]:
    """The error of a connection that must not come about: one line."""

    async def attempt(target: HostTarget, person: Person | None = None) -> UserError:
        with pytest.raises(UserError) as caught:
            await connect(target, person)
        assert "\n" not in str(caught.value)
        return caught.value

    return attempt


@pytest.fixture
async def here() -> AsyncIterator[Link]:
    """A link to this machine."""
    made = await connect(HostTarget("local"))
    yield made
    await made.close()


@dataclass
class Site:
    """A run directory with a stand-in for its generator."""

    dir: Path

    def argv(self, script: str = "generator.py") -> list[str]:
        return [sys.executable, str(Path(__file__).with_name("stand_ins") / script), str(self.dir)]

    async def start(self, link: Link, script: str = "generator.py") -> Process:
        return await run.launch(link, str(self.dir), argv=self.argv(script))

    async def process(self, link: Link) -> Process:
        return (await run.state(link, str(self.dir))).process

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads((self.dir / "run.json").read_text())
        return record

    def ended(self) -> bool:
        return "exit" in self.record()

    def text(self, name: str) -> str:
        path = self.dir / name
        return path.read_text() if path.exists() else ""

    def log(self) -> str:
        return self.text("inference.log")

    def lines(self) -> list[str]:
        return self.text("out.jsonl").split("\n")[:-1]

    def pids(self) -> list[int]:
        """What ``family.py`` has started."""
        return [int(row.split()[1]) for row in self.log().split("\n") if row.startswith("pid ")]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Ends what a failed test may have left; a test that passes has ended it itself."""
    made = Site(tmp_path / "run")
    yield made
    if (made.dir / "run.json").exists() and not made.ended():
        record = made.record()
        # The same number in a container is another group here.
        is_here = record.get("pidns") == os.stat("/proc/self/ns/pid").st_ino
        if "shim" in record and record["pid"] and is_here:
            os.killpg(record["pid"], signal.SIGKILL)
