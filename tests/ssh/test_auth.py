"""Passphrases, passwords and one-time codes: asked as ``ssh`` would, and no oftener than needed."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from eagle3_core.errors import UserError
from eagle3_core.host.answers import Answers
from eagle3_core.host.connect import connect
from eagle3_core.host.ssh_trouble import UnansweredError
from eagle3_core.host.target import HostTarget
from eagle3_core.simulator.ssh_host import EmbeddedHost

Sshd = Any
NewSshd = Callable[..., Sshd]
Asker = Callable[..., Any]
Refused = Callable[..., Awaitable[UserError]]


@pytest.fixture
def locked(sshd: Sshd, tmp_path: Path) -> Path:
    """The client's key under a passphrase, which is ``sesame``."""
    key = tmp_path / "locked"
    shutil.copy(sshd.folder / "client", key)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "sesame", "-f", str(key)], check=True)
    return key


async def test_an_encrypted_key_is_asked_for_once(
    sshd: Sshd, tmp_path: Path, locked: Path, person: Asker
) -> None:
    """Reconnects need nobody, whoever is asked by then."""
    target = replace(sshd.client(tmp_path), identity=locked)
    asked, later = person(passphrases=["sesame"]), person()
    answers = Answers(asked)
    await (await connect(target, answers)).close()
    answers.person = later
    await (await connect(target, answers)).close()
    assert asked.attempts == [0]
    assert later.attempts == []


async def test_a_key_whose_passphrase_was_changed_is_asked_for_again(
    sshd: Sshd, tmp_path: Path, locked: Path, person: Asker
) -> None:
    target = replace(sshd.client(tmp_path), identity=locked)
    asked = person(passphrases=["sesame", "open"])
    answers = Answers(asked)
    await (await connect(target, answers)).close()
    change = ["ssh-keygen", "-q", "-p", "-P", "sesame", "-N", "open", "-f", str(locked)]
    subprocess.run(change, check=True)
    await (await connect(target, answers)).close()
    assert len(asked.attempts) == 2


async def test_two_connections_at_once_ask_once(
    sshd: Sshd, tmp_path: Path, locked: Path, person: Asker
) -> None:
    target = replace(sshd.client(tmp_path), identity=locked)
    asked = person(passphrases=["sesame"], thinks=0.3)
    answers = Answers(asked)
    for link in await asyncio.gather(*(connect(target, answers) for _ in range(3))):
        await link.close()
    assert asked.attempts == [0]


async def test_three_wrong_passphrases_are_enough(
    sshd: Sshd, tmp_path: Path, locked: Path, person: Asker, refused: Refused
) -> None:
    asked = person(passphrases=["a", "b", "c", "sesame"])
    await refused(replace(sshd.client(tmp_path), identity=locked), asked)
    assert asked.attempts == [0, 1, 2]


async def test_no_passphrase_ends_it_with_its_name(
    sshd: Sshd, tmp_path: Path, locked: Path, person: Asker, refused: Refused
) -> None:
    error = await refused(replace(sshd.client(tmp_path), identity=locked), person())
    assert isinstance(error, UnansweredError)
    assert f"the passphrase of {locked}" in error.problem


@pytest.mark.parametrize("form", ["openssh", "pem"])
async def test_encrypted_keys_where_ssh_looks_by_itself(
    new_sshd: NewSshd,
    tmp_path: Path,
    person: Asker,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    """No IdentityFile: the usual names of ~/.ssh, in any format, without a .pub beside them."""
    server = new_sshd()
    target = server.client(tmp_path)
    key = tmp_path / "home" / ".ssh" / "id_rsa"
    key.parent.mkdir(parents=True)
    format_of = ["-m", "PEM"] if form == "pem" else []
    command = ["ssh-keygen", "-q", "-t", "rsa", *format_of, "-N", "sesame", "-f", str(key)]
    subprocess.run(command, check=True)
    key.with_suffix(".pub").rename(server.folder / "authorized_keys")
    config = tmp_path / "config"
    lines = config.read_text().split("\n")
    config.write_text("\n".join(line for line in lines if "Identit" not in line))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    asked = person(passphrases=["wrong", "sesame"])
    link = await connect(target, asked)
    assert asked.attempts == [0, 1]
    await link.close()


async def test_keys_that_the_config_does_not_name_are_left_alone(
    sshd: Sshd,
    tmp_path: Path,
    person: Asker,
    refused: Refused,
    locked: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """IdentityFile names one that is not there: the usual one is not asked for instead."""
    target = sshd.client(tmp_path)
    config = tmp_path / "config"
    config.write_text(config.read_text().replace(str(sshd.folder / "client"), "/nowhere/id"))
    key = tmp_path / "home" / ".ssh" / "id_ed25519"
    key.parent.mkdir(parents=True)
    locked.rename(key)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    asked = person(passphrases=["sesame"])
    assert "does not let" in (await refused(target, asked)).problem
    assert asked.attempts == []


@pytest.fixture
def account() -> Iterator[tuple[str, str]]:
    """Name and password of a user of this machine; gone with the test."""
    if os.getuid():
        pytest.skip("only root can make a user with a password")
    name, password = f"eagle{secrets.token_hex(4)}", secrets.token_hex(8)
    subprocess.run(["useradd", "-m", "-s", "/bin/sh", name], check=True)
    try:
        subprocess.run(["chpasswd"], input=f"{name}:{password}\n".encode(), check=True)
        yield name, password
    finally:
        subprocess.run(["userdel", "-r", name], check=True, stderr=subprocess.DEVNULL)


def without_key(target: HostTarget, user: str) -> HostTarget:
    assert target.config is not None
    lines = target.config.read_text().split("\n")
    kept = [line for line in lines if "IdentityFile" not in line and "User " not in line]
    target.config.write_text("\n".join([*kept, f"  User {user}", "  PubkeyAuthentication no", ""]))
    return target


async def test_password(
    new_sshd: NewSshd,
    tmp_path: Path,
    account: tuple[str, str],
    person: Asker,
    refused: Refused,
) -> None:
    """Asked again when wrong, remembered when right, asked again when it has changed since."""
    name, password = account
    server = new_sshd("PasswordAuthentication yes")
    target = without_key(server.client(tmp_path), name)
    asked = person(passwords=["wrong", password])
    answers = Answers(asked)
    link = await connect(target, answers)
    assert link.hello.user == name
    await link.close()
    assert asked.password_attempts == [(name, "gpu", 0), (name, "gpu", 1)]
    await (await connect(target, answers)).close()
    assert len(asked.password_attempts) == 2
    subprocess.run(["chpasswd"], input=f"{name}:new-one\n".encode(), check=True)
    asked.passwords = ["new-one"]
    await (await connect(target, answers)).close()
    assert asked.password_attempts[2:] == [(name, "gpu", 1)]
    error = await refused(target, person())
    assert f"the password of {name}" in error.problem
    asked = person(passwords=["a", "b", "c", "d"])
    await refused(target, asked)
    assert len(asked.password_attempts) == 3


async def test_key_and_password_both(
    new_sshd: NewSshd, tmp_path: Path, account: tuple[str, str], person: Asker
) -> None:
    name, password = account
    server = new_sshd(
        "PasswordAuthentication yes",
        "AuthenticationMethods publickey,password",
        "AuthorizedKeysFile .ssh/authorized_keys",
    )
    target = server.client(tmp_path)
    config = tmp_path / "config"
    config.write_text(config.read_text().replace(f"User {server.user}", f"User {name}"))
    keys = Path(f"/home/{name}/.ssh")
    keys.mkdir()
    shutil.copy(server.folder / "client.pub", keys / "authorized_keys")
    asked = person(passwords=[password])
    link = await connect(target, asked)
    assert link.hello.user == name
    assert asked.password_attempts == [(name, "gpu", 0)]
    await link.close()


class CodeServer(asyncssh.SSHServer):
    """As PAM does it: a code, then a password, each in a round of its own, then an empty round."""

    rounds: list[list[str]]

    def begin_auth(self, username: str) -> bool:
        return True

    def kbdint_auth_supported(self) -> bool:
        return True

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Any:
        self.rounds = []
        return ("", "", "", [("Verification code: ", True)])

    def validate_kbdint_response(self, username: str, responses: Any) -> Any:
        self.rounds.append(list(responses))
        if self.rounds == [["123456"]]:
            return ("", "", "", [("Password: ", False)])
        if self.rounds == [["123456"], ["hunter2"]]:
            return ("", "", "", [])
        return self.rounds == [["123456"], ["hunter2"], []]


class CodeHost(EmbeddedHost):
    """The demo's host, opened by a one-time code in place of a key."""

    def _server(self) -> asyncssh.SSHServer:
        kind = type(super()._server())
        server: asyncssh.SSHServer = type("Server", (CodeServer, kind), {})()
        return server


@pytest.fixture
async def code_host(tmp_path: Path) -> AsyncIterator[HostTarget]:
    async with CodeHost(tmp_path, name="gpu") as host:
        assert host.target.config is not None
        text = host.target.config.read_text()
        host.target.config.write_text(text + "  User me\n  PubkeyAuthentication no\n")
        yield host.target


async def test_one_time_code(code_host: HostTarget, person: Asker) -> None:
    asked = person(codes=["123456", "hunter2"])
    answers = Answers(asked)
    link = await connect(code_host, answers)
    assert await link.call("ping") > 0
    await link.close()
    assert asked.challenges == [("Verification code: ", True), ("Password: ", False)]
    # a code is good once: the next connection asks anew
    asked.codes = ["123456", "hunter2"]
    await (await connect(code_host, answers)).close()
    assert len(asked.challenges) == 4


async def test_a_wrong_code_is_asked_for_three_times(
    code_host: HostTarget, person: Asker, refused: Refused
) -> None:
    asked = person(codes=["1", "2", "3", "4"])
    error = await refused(code_host, asked)
    assert len(asked.challenges) == 3
    assert "does not let me in" in error.problem


async def test_no_code_ends_it_with_its_name(
    code_host: HostTarget, person: Asker, refused: Refused
) -> None:
    asked = person()
    error = await refused(code_host, asked)
    assert "Verification code" in error.problem
    assert asked.challenges == [("Verification code: ", True)]
    assert asked.password_attempts == []
