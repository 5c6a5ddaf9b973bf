"""Host keys: unknown ones are asked for, changed and revoked ones refused, never passed over."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host.connect import connect

Sshd = Any
NewSshd = Callable[..., Sshd]
Asker = Callable[..., Any]
Refused = Callable[..., Awaitable[UserError]]


def fingerprint(public_key: Path) -> str:
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(public_key)], capture_output=True, text=True, check=True
    )
    return shown.stdout.split()[1]


async def test_unknown_key_is_refused_when_nobody_answers(
    sshd: Sshd, tmp_path: Path, refused: Refused
) -> None:
    error = await refused(sshd.client(tmp_path, known=""))
    assert fingerprint(sshd.folder / "host_ed25519.pub") in str(error)
    assert "gpu" in error.problem
    assert "ssh gpu" in error.mend
    assert (tmp_path / "known_hosts").read_text() == ""


async def test_unknown_key_is_asked_for_written_and_then_known(
    sshd: Sshd, tmp_path: Path, person: Asker
) -> None:
    target = sshd.client(tmp_path, known="other.example ssh-ed25519 torn line")
    asked = person()
    link = await connect(target, asked)
    await link.close()
    (question,) = asked.asked
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
    link = await connect(target, asked)
    await link.close()
    assert len(asked.asked) == 1


async def test_unknown_key_is_hashed_when_the_config_says_so(
    sshd: Sshd, tmp_path: Path, person: Asker
) -> None:
    target = sshd.client(tmp_path, known="", extra="  HashKnownHosts yes\n")
    link = await connect(target, person())
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


async def test_a_no_is_a_no(sshd: Sshd, tmp_path: Path, person: Asker, refused: Refused) -> None:
    asked = person(yes=False)
    await refused(sshd.client(tmp_path, known=""), asked)
    assert len(asked.asked) == 1
    assert (tmp_path / "known_hosts").read_text() == ""


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
async def test_changed_key_is_refused_without_a_question(
    sshd: Sshd, tmp_path: Path, kind: str, person: Asker, refused: Refused
) -> None:
    """Another key on file, of the same type or of another, is no unknown key."""
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(other)], check=True)
    algorithm, blob = (tmp_path / "other.pub").read_text().split()[:2]
    known = f"# a comment\n[127.0.0.1]:{sshd.port} {algorithm} {blob}\n"
    asked = person()
    error = await refused(sshd.client(tmp_path, known=known), asked)
    assert f"{tmp_path / 'known_hosts'}:2" in error.problem
    assert f"-R '[127.0.0.1]:{sshd.port}'" in error.mend
    assert asked.asked == []


@pytest.mark.parametrize("also_known", [False, True])
async def test_revoked_key_is_refused_without_a_question(
    sshd: Sshd, tmp_path: Path, also_known: bool, person: Asker, refused: Refused
) -> None:
    asked = person()
    known = "@revoked " + sshd.host_key_line()
    if also_known:  # for the host without its port, where asyncssh looks next
        known += "127.0.0.1 " + sshd.host_key_line().split(" ", 1)[1]
    error = await refused(sshd.client(tmp_path, known=known), asked)
    assert "revoked" in error.problem
    assert asked.asked == []


async def test_none_as_known_hosts_file_does_not_switch_the_check_off(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    target = sshd.client(tmp_path)
    config = tmp_path / "config"
    config.write_text(config.read_text().replace(str(tmp_path / "known_hosts"), "none"))
    error = await refused(target)
    assert "unknown host key" in error.problem
