"""Each option of the ssh config that decides how to get to a host, against a real sshd.

Option                    | What is held to
--------------------------|------------------------------------------------------------------
StrictHostKeyChecking     | yes refuses, ask asks, accept-new and no write down; none takes a changed key
HashKnownHosts            | test_host_keys.py
UserKnownHostsFile        | several: each vouches, the first is written to; /dev/null; none
GlobalKnownHostsFile      | vouches, is never written to
HostKeyAlias              | the name on file, without a port, as ssh writes and finds it
IdentitiesOnly            | an agent full of keys does not use up the tries
IdentityAgent             | test_connect.py
ProxyJump                 | two in a row, each with its own key; the profile's key is not forced on them
ProxyCommand              | test_connect.py
ConnectTimeout            | a host that takes the connection and says nothing; not a slow person
ServerAliveInterval       | test_faults.py, with ServerAliveCountMax
Include, Match, /etc/ssh  | read, the user's file first
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host import ssh_config
from eagle3_core.host.connect import connect
from eagle3_core.host.target import HostTarget

Sshd = Any
NewSshd = Callable[..., Sshd]
Asker = Callable[..., Any]
Refused = Callable[..., Awaitable[UserError]]


def keygen(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def ssh_enters(config: Path) -> bool:
    """Whether ``ssh`` itself gets in by this config, without a question."""
    command = ["ssh", "-F", str(config), "-o", "BatchMode=yes", "gpu", "echo in"]
    return subprocess.run(command, capture_output=True, check=False).stdout == b"in\n"


@pytest.mark.parametrize(
    ("strict", "enters", "asks", "tells"),
    [
        ("yes", False, 0, 0),
        ("ask", True, 1, 0),
        ("accept-new", True, 0, 1),
        ("no", True, 0, 1),
        ("off", True, 0, 1),
    ],
)
async def test_strict_host_key_checking(
    sshd: Sshd, tmp_path: Path, person: Asker, strict: str, enters: bool, asks: int, tells: int
) -> None:
    extra = f"  StrictHostKeyChecking {strict}\n"
    target = sshd.client(tmp_path, known="", extra=extra)
    asked = person()
    if enters:
        link = await connect(target, asked)
        await link.close()
        assert sshd.host_key_line().strip() in (tmp_path / "known_hosts").read_text()
    else:
        with pytest.raises(UserError) as caught:
            await connect(target, asked)
        assert "StrictHostKeyChecking is yes" in caught.value.problem
        assert str(tmp_path / "known_hosts") in caught.value.mend
        assert (tmp_path / "known_hosts").read_text() == ""
    assert len(asked.asked) == asks
    assert len(asked.told) == tells
    assert all("without a question" in text and "SHA256:" in text for text in asked.told)


@pytest.mark.parametrize("strict", ["yes", "ask", "accept-new", "no"])
async def test_a_changed_key_is_refused_whatever_the_config_says(
    sshd: Sshd, tmp_path: Path, person: Asker, refused: Refused, strict: str
) -> None:
    keygen(tmp_path / "other")
    blob = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    known = f"[127.0.0.1]:{sshd.port} {blob}\n"
    extra = f"  StrictHostKeyChecking {strict}\n"
    asked = person()
    error = await refused(sshd.client(tmp_path, known=known, extra=extra), asked)
    assert "not the one in" in error.problem
    assert asked.asked == []
    assert (tmp_path / "known_hosts").read_text() == known


async def test_dev_null_as_known_hosts_file(sshd: Sshd, tmp_path: Path, person: Asker) -> None:
    target = sshd.client(tmp_path, known="", extra="  StrictHostKeyChecking no\n")
    config = tmp_path / "config"
    config.write_text(config.read_text().replace(str(tmp_path / "known_hosts"), "/dev/null"))
    asked = person()
    for _ in range(2):
        await (await connect(target, asked)).close()
    assert asked.asked == []


async def test_each_known_hosts_file_vouches_and_the_first_is_written_to(
    sshd: Sshd, tmp_path: Path, person: Asker
) -> None:
    first, second, shared = (tmp_path / name for name in ("first", "second", "shared"))
    target = sshd.client(tmp_path, known="")
    config = tmp_path / "config"
    text = config.read_text().replace(str(tmp_path / "known_hosts"), f"{first} {second}")
    config.write_text(text.replace("/dev/null", str(shared)))
    for file in (second, shared):
        file.write_text(sshd.host_key_line())
        await (await connect(target)).close()
        file.unlink()
    asked = person()
    await (await connect(target, asked)).close()
    assert [question.file for question in asked.asked] == [first]
    assert first.exists()
    assert not second.exists()
    assert not shared.exists()


async def test_host_key_alias_is_the_name_on_file(
    sshd: Sshd, tmp_path: Path, person: Asker, refused: Refused
) -> None:
    target = sshd.client(tmp_path, known="", extra="  HostKeyAlias cluster-42\n")
    asked = person()
    await (await connect(target, asked)).close()
    assert (tmp_path / "known_hosts").read_text().startswith("cluster-42 ssh-ed25519 ")
    assert ssh_enters(tmp_path / "config")
    await (await connect(target)).close()
    keygen(tmp_path / "other")
    blob = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    (tmp_path / "known_hosts").write_text(f"cluster-42 {blob}\n")
    assert "-R 'cluster-42'" in (await refused(target)).mend


@pytest.fixture
def full_agent(tmp_path: Path) -> Iterator[Path]:
    """An ssh-agent with more wrong keys than a server has patience."""
    place = tmp_path / "agent.sock"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(place)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 5
    while not place.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    environ = {**os.environ, "SSH_AUTH_SOCK": str(place)}
    keys = [str(keygen(tmp_path / f"wrong{n}")) for n in range(4)]
    subprocess.run(["ssh-add", "-q", *keys], env=environ, check=True)
    yield place
    agent.terminate()
    agent.wait(5)


async def test_identities_only(
    new_sshd: NewSshd, tmp_path: Path, full_agent: Path, refused: Refused
) -> None:
    server = new_sshd("MaxAuthTries 3")
    target = server.client(tmp_path)
    config = tmp_path / "config"
    text = config.read_text().replace("IdentityAgent none", f"IdentityAgent {full_agent}")
    config.write_text(text)
    await (await connect(target)).close()
    config.write_text(text.replace("IdentitiesOnly yes", "IdentitiesOnly no"))
    assert "oo many authentication failures" in str(await refused(target))


async def test_two_jumps_in_a_row_each_with_a_key_of_its_own(
    sshd: Sshd, new_sshd: NewSshd, tmp_path: Path, person: Asker
) -> None:
    """The profile's key opens the target and is not forced on a jump host that has its own."""
    doors = [new_sshd(), new_sshd()]
    target = replace(sshd.client(tmp_path, known=""), identity=sshd.folder / "client")
    config = tmp_path / "config"
    text = config.read_text() + "  ProxyJump door0,door1\n"
    for number, door in enumerate(doors):
        text += (
            f"Host door{number}\n  HostName 127.0.0.1\n  Port {door.port}\n  User {door.user}\n"
            f"  IdentityFile {door.folder / 'client'}\n  IdentitiesOnly yes\n"
            f"  IdentityAgent none\n  UserKnownHostsFile {tmp_path / 'known_hosts'}\n"
        )
    config.write_text(text)
    asked = person()
    link = await connect(target, asked)
    assert [question.port for question in asked.asked] == [doors[0].port, doors[1].port, sshd.port]
    assert await link.call("ping") > 0
    await link.close()


async def test_a_changed_key_of_a_jump_host_is_refused(
    sshd: Sshd, new_sshd: NewSshd, tmp_path: Path, refused: Refused
) -> None:
    door = new_sshd()
    keygen(tmp_path / "other")
    blob = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    known = sshd.host_key_line() + f"[127.0.0.1]:{door.port} {blob}\n"
    target = sshd.client(tmp_path, known=known, extra="  ProxyJump door\n")
    config = tmp_path / "config"
    config.write_text(
        config.read_text() + f"Host door\n  HostName 127.0.0.1\n  Port {door.port}\n"
        f"  User {door.user}\n  IdentityFile {door.folder / 'client'}\n"
        f"  UserKnownHostsFile {tmp_path / 'known_hosts'}\n"
    )
    error = await refused(target)
    assert error.problem.startswith("door shows the host key")
    assert f"{tmp_path / 'known_hosts'}:2" in error.problem


async def test_connect_timeout(tmp_path: Path, refused: Refused) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        config = tmp_path / "config"
        config.write_text(
            f"Host gpu\n  HostName 127.0.0.1\n  Port {mute.getsockname()[1]}\n  ConnectTimeout 1\n"
        )
        began = time.monotonic()
        error = await refused(HostTarget("gpu", config=config))
        assert 0.9 < time.monotonic() - began < 4
    assert "does not answer" in error.problem


async def test_a_person_may_take_longer_than_the_host(
    sshd: Sshd, tmp_path: Path, person: Asker
) -> None:
    key = tmp_path / "locked"
    shutil.copy(sshd.folder / "client", key)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "sesame", "-f", str(key)], check=True)
    target = sshd.client(tmp_path, extra="  ConnectTimeout 1\n")
    asked = person(passphrases=["wrong", "sesame"], thinks=1.2)
    link = await connect(replace(target, identity=key), asked)
    assert asked.attempts == [0, 1]
    await link.close()


async def test_include_match_and_the_config_of_the_machine(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """~/.ssh/config first, /etc/ssh/ssh_config for what it leaves open."""
    sshd.client(tmp_path)
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "config").write_text("Include conf.d/*\nHost gpu\n  HostName 127.0.0.1\n")
    (home / ".ssh" / "conf.d").mkdir()
    (home / ".ssh" / "conf.d" / "one").write_text(
        f'Match originalhost gpu exec "true"\n  Port {sshd.port}\n'
    )
    machine = tmp_path / "ssh_config"
    machine.write_text(
        "Host gpu\n  HostName wrong.invalid\n  Port 1\n"
        f"Host *\n  User {sshd.user}\n  IdentityFile {sshd.folder / 'client'}\n"
        f"  IdentityAgent none\n  UserKnownHostsFile {tmp_path / 'known_hosts'}\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(ssh_config, "GLOBAL_CONFIG", machine)
    await (await connect(HostTarget("gpu"))).close()
