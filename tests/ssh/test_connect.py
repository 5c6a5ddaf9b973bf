"""Connecting as ``ssh`` users expect, against a real sshd; every failure is one line with its mend."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host.connect import connect
from eagle3_core.host.prompts import Headless, HostKeyQuestion
from eagle3_core.host.target import HostTarget

Sshd = Any
NewSshd = Callable[..., Sshd]


class Person(Headless):
    """Answers as told and notes what was asked."""

    def __init__(self, *, yes: bool = True, passphrases: Sequence[str] = ()) -> None:
        self.yes = yes
        self.asked: list[HostKeyQuestion] = []
        self.passphrases = list(passphrases)
        self.attempts: list[int] = []

    async def confirm_host_key(self, question: HostKeyQuestion) -> bool:
        self.asked.append(question)
        return self.yes

    async def passphrase(self, key_file: str, attempt: int) -> str | None:
        self.attempts.append(attempt)
        return self.passphrases.pop(0) if self.passphrases else None


async def refused(target: HostTarget, person: Person | None = None) -> UserError:
    """The error of a connection that must not come about."""
    with pytest.raises(UserError) as caught:
        await connect(target, person)
    assert "\n" not in str(caught.value)
    return caught.value


def fingerprint(public_key: Path) -> str:
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(public_key)], capture_output=True, text=True, check=True
    )
    return shown.stdout.split()[1]


async def test_unknown_key_is_refused_when_nobody_answers(sshd: Sshd, tmp_path: Path) -> None:
    error = await refused(sshd.client(tmp_path, known=""))
    assert fingerprint(sshd.folder / "host_ed25519.pub") in str(error)
    assert "gpu" in error.problem
    assert "ssh gpu" in error.mend
    assert (tmp_path / "known_hosts").read_text() == ""


async def test_unknown_key_is_asked_for_written_and_then_known(sshd: Sshd, tmp_path: Path) -> None:
    target = sshd.client(tmp_path, known="other.example ssh-ed25519 torn line")
    person = Person()
    link = await connect(target, person)
    await link.close()
    (question,) = person.asked
    assert question.fingerprint == fingerprint(sshd.folder / "host_ed25519.pub")
    assert question.port == sshd.port
    # ssh itself must find and take the entry
    done = subprocess.run(
        ["ssh", "-F", str(tmp_path / "config"), "-o", "BatchMode=yes", "gpu", "echo in"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "in\n", done.stderr
    link = await connect(target, person)
    await link.close()
    assert len(person.asked) == 1


async def test_unknown_key_is_hashed_when_the_config_says_so(sshd: Sshd, tmp_path: Path) -> None:
    target = sshd.client(tmp_path, known="", extra="  HashKnownHosts yes\n")
    link = await connect(target, Person())
    await link.close()
    text = (tmp_path / "known_hosts").read_text()
    assert text.startswith("|1|")
    found = subprocess.run(
        ["ssh-keygen", "-f", str(tmp_path / "known_hosts"), "-F", f"[127.0.0.1]:{sshd.port}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0
    link = await connect(target)
    await link.close()


async def test_a_no_is_a_no(sshd: Sshd, tmp_path: Path) -> None:
    person = Person(yes=False)
    await refused(sshd.client(tmp_path, known=""), person)
    assert len(person.asked) == 1
    assert (tmp_path / "known_hosts").read_text() == ""


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
async def test_changed_key_is_refused_without_a_question(
    sshd: Sshd, tmp_path: Path, kind: str
) -> None:
    """Another key on file, of the same type or of another, is no unknown key."""
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(other)], check=True)
    algorithm, blob = (tmp_path / "other.pub").read_text().split()[:2]
    known = f"# a comment\n[127.0.0.1]:{sshd.port} {algorithm} {blob}\n"
    person = Person()
    error = await refused(sshd.client(tmp_path, known=known), person)
    assert f"{tmp_path / 'known_hosts'}:2" in error.problem
    assert f"-R '[127.0.0.1]:{sshd.port}'" in error.mend
    assert person.asked == []


@pytest.mark.parametrize("also_known", [False, True])
async def test_revoked_key_is_refused_without_a_question(
    sshd: Sshd, tmp_path: Path, also_known: bool
) -> None:
    person = Person()
    known = "@revoked " + sshd.host_key_line()
    if also_known:  # for the host without its port, where asyncssh looks next
        known += "127.0.0.1 " + sshd.host_key_line().split(" ", 1)[1]
    error = await refused(sshd.client(tmp_path, known=known), person)
    assert "revoked" in error.problem
    assert person.asked == []


async def test_none_as_known_hosts_file_does_not_switch_the_check_off(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    target = sshd.client(tmp_path)
    config = tmp_path / "config"
    config.write_text(config.read_text().replace(str(tmp_path / "known_hosts"), "none"))
    error = await refused(target)
    assert "unknown host key" in error.problem


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


async def test_wrong_key(sshd: Sshd, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", str(tmp_path / "wrong")], check=True)
    error = await refused(replace(sshd.client(tmp_path), identity=tmp_path / "wrong"))
    assert sshd.user in error.problem
    assert "does not let" in error.problem


async def test_encrypted_key_is_asked_for_until_right(sshd: Sshd, tmp_path: Path) -> None:
    key = tmp_path / "locked"
    shutil.copy(sshd.folder / "client", key)
    key.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "sesame", "-f", str(key)], check=True)
    target = replace(sshd.client(tmp_path), identity=key)
    person = Person(passphrases=["wrong", "sesame"])
    link = await connect(target, person)
    await link.close()
    assert person.attempts == [0, 1]
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


async def test_jump_host_is_verified_by_us(sshd: Sshd, new_sshd: NewSshd, tmp_path: Path) -> None:
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
    person = Person()
    link = await connect(target, person)
    assert [question.port for question in person.asked] == [jump.port, sshd.port]
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


async def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        config = tmp_path / "config"
        config.write_text("")
        error = await refused(HostTarget(f"127.0.0.1:{port}", config=config))
    assert f"port {port}" in error.problem
    assert "sshd" in error.mend


async def test_unknown_host_name(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("")
    error = await refused(HostTarget("no-such-host.invalid", config=config))
    assert "no-such-host.invalid" in error.problem


async def test_broken_config_names_the_line(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host gpu\n  Port many\n")
    error = await refused(HostTarget("gpu", config=config))
    assert "ssh config" in error.problem
    assert str(config) in error.problem
    assert "2" in error.problem


async def test_missing_config_is_named(tmp_path: Path) -> None:
    error = await refused(HostTarget("gpu", config=tmp_path / "none"))
    assert str(tmp_path / "none") in error.problem


def shell_of(new_sshd: NewSshd, tmp_path: Path, body: str) -> Sshd:
    """A server whose every command goes through a script in place of the login shell."""
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\n" + body)
    shell.chmod(shell.stat().st_mode | stat.S_IXUSR)
    return new_sshd(f"ForceCommand {shell}")


async def test_noisy_start_up_files_do_not_matter(new_sshd: NewSshd, tmp_path: Path) -> None:
    noise = 'echo welcome; echo "{not json"; printf "no newline"; echo warn >&2\n'
    server = shell_of(new_sshd, tmp_path, noise + 'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n')
    link = await connect(server.client(tmp_path))
    assert await link.call("ping") > 0
    await link.close()


SHELLS = [shell for shell in ("fish", "csh", "tcsh", "zsh") if shutil.which(shell)]
"""Beside sh and bash, which every machine has, those that this one has too."""


@pytest.mark.parametrize("shell", ["sh", "bash", *SHELLS])
async def test_the_command_is_valid_in_every_shell(
    new_sshd: NewSshd, tmp_path: Path, shell: str
) -> None:
    server = shell_of(
        new_sshd, tmp_path, f'exec {shutil.which(shell)} -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    link = await connect(server.client(tmp_path))
    assert await link.call("ping") > 0
    await link.close()


async def test_no_python_on_the_host(new_sshd: NewSshd, tmp_path: Path) -> None:
    """A PATH without any python: the words name the host and the key of the profile."""
    (tmp_path / "bin").mkdir()
    server = shell_of(
        new_sshd, tmp_path, f'PATH={tmp_path / "bin"} exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    target = server.client(tmp_path)
    error = await refused(target)
    assert "gpu has no python3" in error.problem
    assert "python =" in error.mend
    # and the mend works
    link = await connect(replace(target, python=sys.executable))
    await link.close()


async def test_old_python_says_so(new_sshd: NewSshd, tmp_path: Path) -> None:
    fake = tmp_path / "python3"
    fake.write_text(
        "#!/bin/sh\nexec " + sys.executable + " -I -c '"
        'import sys; sys.version_info = (3, 6, 8); sys.version = "3.6.8 (old)"\n'
        "i = sys.stdin.buffer; exec(i.read(int(i.readline())))'\n"
    )
    fake.chmod(0o755)
    target = replace(new_sshd().client(tmp_path), python=str(fake))
    error = await refused(target)
    assert "3.6.8" in error.problem
    assert "3.8" in error.problem


async def test_closed_account_says_what_the_host_said(new_sshd: NewSshd, tmp_path: Path) -> None:
    server = shell_of(new_sshd, tmp_path, "echo This account is not available >&2; exit 1\n")
    error = await refused(server.client(tmp_path))
    assert "This account is not available" in error.problem


async def test_prefix_wraps_the_agent(sshd: Sshd, tmp_path: Path) -> None:
    target = replace(sshd.client(tmp_path), prefix=("env", "EAGLE_TEST_PREFIX=a b"))
    link = await connect(target)
    environ = Path(f"/proc/{link.hello.pid}/environ").read_bytes()
    assert b"EAGLE_TEST_PREFIX=a b" in environ.split(b"\0")
    await link.close()


async def test_one_channel_is_enough(new_sshd: NewSshd, tmp_path: Path) -> None:
    server = new_sshd("MaxSessions 1", "AllowTcpForwarding no")
    link = await connect(server.client(tmp_path))
    path = tmp_path / "log"
    path.write_text("a\n")
    async for event in link.follow(str(path)):
        assert event is not None
        break
    assert (await link.call("count", path=str(path)))[0] == 1
    await link.close()


async def test_read_only_home_falls_back_to_a_private_folder(
    new_sshd: NewSshd, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.write_text("a file, so nothing can be made under it")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    server = shell_of(
        new_sshd,
        tmp_path,
        f'HOME={home} TMPDIR={temporary} exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n',
    )
    target = replace(server.client(tmp_path), python=sys.executable)
    link = await connect(target)
    zip_path = Path(link.hello.core_zip)
    assert temporary in zip_path.parents
    assert stat.S_IMODE(zip_path.parent.stat().st_mode) == 0o700
    await link.close()
