"""What stands between sshd and the agent: shells, start-up files, Pythons, prefixes, limits."""

from __future__ import annotations

import shutil
import stat
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host.connect import connect

Sshd = Any
NewSshd = Callable[..., Sshd]
Asker = Callable[..., Any]
Refused = Callable[..., Awaitable[UserError]]


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


async def test_no_python_on_the_host(new_sshd: NewSshd, tmp_path: Path, refused: Refused) -> None:
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


async def test_old_python_says_so(new_sshd: NewSshd, tmp_path: Path, refused: Refused) -> None:
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


async def test_closed_account_says_what_the_host_said(
    new_sshd: NewSshd, tmp_path: Path, refused: Refused
) -> None:
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
