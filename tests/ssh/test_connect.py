"""Connecting as ``ssh`` users expect, against a real sshd; a failure is one line with its mend."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from eagle3_core.errors import UserError
from eagle3_core.host.connect import connect
from eagle3_core.host.target import HostTarget

Sshd = Any
NewSshd = Callable[..., Sshd]
Asker = Callable[..., Any]
Refused = Callable[..., Awaitable[UserError]]


async def test_missing_identity_files_are_skipped(sshd: Sshd, tmp_path: Path) -> None:
    target = sshd.client(tmp_path)
    config = tmp_path / "config"
    text = config.read_text()
    config.write_text(text.replace("  IdentityFile", "  IdentityFile /nowhere/id\n  IdentityFile"))
    link = await connect(target)
    await link.close()


async def test_options_of_a_profile_replace_the_config(sshd: Sshd, tmp_path: Path) -> None:
    """user@host:port with known_hosts and identity given: no config of the user is needed."""
    sshd.client(tmp_path)
    config = tmp_path / "empty"
    config.write_text("")
    target = HostTarget(
        f"{sshd.user}@127.0.0.1:{sshd.port}",
        config=config,
        known_hosts=tmp_path / "known_hosts",
        identity=sshd.folder / "client",
    )
    link = await connect(target)
    assert link.hello.user == sshd.user
    await link.close()


async def test_wrong_key(sshd: Sshd, tmp_path: Path, refused: Refused) -> None:
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", str(tmp_path / "wrong")], check=True)
    error = await refused(replace(sshd.client(tmp_path), identity=tmp_path / "wrong"))
    assert sshd.user in error.problem
    assert "does not let" in error.problem


async def test_encrypted_key_is_asked_for_until_right(
    sshd: Sshd, tmp_path: Path, person: Asker, refused: Refused
) -> None:
    key = tmp_path / "locked"
    shutil.copy(sshd.folder / "client", key)
    key.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "sesame", "-f", str(key)], check=True)
    target = replace(sshd.client(tmp_path), identity=key)
    asked = person(passphrases=["wrong", "sesame"])
    link = await connect(target, asked)
    await link.close()
    assert asked.attempts == [0, 1]
    await refused(target)


async def test_agent_key(sshd: Sshd, tmp_path: Path) -> None:
    """IdentityAgent of the config: the key is nowhere but in ssh-agent."""
    place = tmp_path / "agent.sock"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(place)], stdout=subprocess.DEVNULL)
    try:
        while not place.exists():
            assert agent.poll() is None
            await asyncio.sleep(0.02)
        environ = {**os.environ, "SSH_AUTH_SOCK": str(place)}
        key = str(sshd.folder / "client")
        subprocess.run(["ssh-add", "-q", key], env=environ, check=True)
        target = sshd.client(tmp_path)
        config = tmp_path / "config"
        kept = [
            line
            for line in config.read_text().split("\n")
            if not any(word in line for word in ("IdentityFile", "IdentityAgent", "IdentitiesOnly"))
        ]
        config.write_text("\n".join(kept) + f"\n  IdentityFile /nowhere\n  IdentityAgent {place}\n")
        link = await connect(target)
        await link.close()
    finally:
        agent.terminate()
        agent.wait(5)


async def test_jump_host_is_verified_by_us(
    sshd: Sshd, new_sshd: NewSshd, tmp_path: Path, person: Asker, refused: Refused
) -> None:
    """Each hop's key is asked for; asyncssh's own ProxyJump could not."""
    jump = new_sshd()
    (jump.folder / "authorized_keys").write_text((sshd.folder / "client.pub").read_text())
    target = sshd.client(tmp_path, known="")
    config = tmp_path / "config"
    config.write_text(
        config.read_text() + "  ProxyJump door\n"
        f"Host door\n  HostName 127.0.0.1\n  Port {jump.port}\n  User {jump.user}\n"
        f"  IdentityFile {sshd.folder / 'client'}\n  IdentityAgent none\n"
        f"  UserKnownHostsFile {tmp_path / 'known_hosts'}\n"
    )
    error = await refused(target)
    assert "door" in error.problem
    asked = person()
    link = await connect(target, asked)
    assert [question.port for question in asked.asked] == [jump.port, sshd.port]
    assert "direct-tcpip" in jump.log or "Accepted publickey" in jump.log
    await link.close()


async def test_proxy_command(sshd: Sshd, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.py"
    pipe.write_text(
        "import socket, sys, threading, os\n"
        "s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
        "def up():\n"
        "    while d := os.read(0, 65536): s.sendall(d)\n"
        "    os._exit(0)\n"
        "threading.Thread(target=up, daemon=True).start()\n"
        "while d := s.recv(65536): os.write(1, d)\n"
    )
    target = sshd.client(tmp_path, extra=f"  ProxyCommand {sys.executable} {pipe} %h %p\n")
    link = await connect(target)
    await link.close()


async def test_nobody_listens(tmp_path: Path, refused: Refused) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        config = tmp_path / "config"
        config.write_text("")
        error = await refused(HostTarget(f"127.0.0.1:{port}", config=config))
    assert f"port {port}" in error.problem
    assert "sshd" in error.mend


async def test_unknown_host_name(tmp_path: Path, refused: Refused) -> None:
    config = tmp_path / "config"
    config.write_text("")
    error = await refused(HostTarget("no-such-host.invalid", config=config))
    assert "no-such-host.invalid" in error.problem


async def test_broken_config_names_the_line(tmp_path: Path, refused: Refused) -> None:
    config = tmp_path / "config"
    config.write_text("Host gpu\n  Port many\n")
    error = await refused(HostTarget("gpu", config=config))
    assert "ssh config" in error.problem
    assert str(config) in error.problem
    assert "2" in error.problem


async def test_missing_config_is_named(tmp_path: Path, refused: Refused) -> None:
    error = await refused(HostTarget("gpu", config=tmp_path / "none"))
    assert str(tmp_path / "none") in error.problem
