"""What the ssh config says of one hop, and which hops lead to a host."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_core.errors import UserError
from eagle3_core.host.known_hosts import DEFAULT_PORT
from eagle3_core.host.target import HostTarget, parse_address

if TYPE_CHECKING:
    import asyncssh

GLOBAL_CONFIG = Path("/etc/ssh/ssh_config")
GLOBAL_KNOWN_HOSTS = (Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2"))

CONNECT_TIMEOUT = 15.0
"""Seconds, where the config sets no ``ConnectTimeout``."""

KEEPALIVE = 15.0
"""Seconds, where the config sets no ``ServerAliveInterval``: a dead link must not look alive."""


@dataclass(frozen=True)
class Hop:
    """One machine on the way: as written, and as the config resolves it."""

    name: str
    alias: str
    overrides: dict[str, Any]
    """User and port where the name itself gives them."""
    options: asyncssh.SSHClientConnectionOptions

    @property
    def host(self) -> str:
        return str(self.options.host)

    @property
    def port(self) -> int:
        return int(self.options.port)

    @property
    def user(self) -> str:
        return str(self.options.username)

    @property
    def key_name(self) -> str:
        """The name under which its key is on file."""
        return self.options.host_key_alias or self.host

    @property
    def key_port(self) -> int:
        """The port that is on file with it: an alias stands without one."""
        return DEFAULT_PORT if self.options.host_key_alias else self.port

    @property
    def connect_timeout(self) -> float:
        """Seconds without an answer, a person's time not counted."""
        return self.options.connect_timeout or CONNECT_TIMEOUT

    @property
    def keepalive(self) -> tuple[float, int]:
        """Seconds of silence before a sign of life is asked for, and how often in vain."""
        return self.options.keepalive_interval or KEEPALIVE, self.options.keepalive_count_max

    def listed(self, option: str) -> list[str]:
        """The words of a config option that takes several."""
        value = self.options.config.get(option)
        return [str(word) for word in value] if isinstance(value, (list, tuple)) else []


def config_files(target: HostTarget) -> list[Path]:
    """The configs to read, the stronger first. Raises ``UserError``."""
    if target.config is not None:
        if not target.config.is_file():
            raise UserError(f"ssh config {target.config} cannot be read", "check its path")
        return [target.config]
    home = Path.home() / ".ssh" / "config"
    return [path for path in (home, GLOBAL_CONFIG) if os.access(path, os.R_OK)]


def resolve(name: str, configs: Sequence[Path]) -> Hop:
    """Look one hop up. Raises ``UserError`` for a config that cannot be used."""
    import asyncssh

    user, alias, port = parse_address(name)
    overrides: dict[str, Any] = {}
    if user:
        overrides["username"] = user
    if port:
        overrides["port"] = port
    paths = [str(path) for path in configs]
    try:
        options = asyncssh.SSHClientConnectionOptions(
            host=alias, config=paths, client_keys=None, known_hosts=(), **overrides
        )
    except asyncssh.ConfigParseError as error:
        raise UserError(f"the ssh config cannot be used ({error})", "mend that line") from None
    return Hop(name, alias, overrides, options)


def route(target: HostTarget, configs: Sequence[Path]) -> list[Hop]:
    """Every machine on the way to ``target``, the target last. Raises ``UserError``."""
    hops = [resolve(target.name, configs)]
    while isinstance(hops[0].options.tunnel, str):
        names = [name.strip() for name in hops[0].options.tunnel.split(",")]
        if names == ["none"]:
            break
        if names[0] in [hop.name for hop in hops]:
            raise UserError(f"ProxyJump of {target.name} goes in a circle at {names[0]}", "mend it")
        hops[:0] = [resolve(name, configs) for name in names]
    return hops


def known_hosts_files(hop: Hop, target: HostTarget) -> list[Path]:
    """The files that vouch for a hop; ``none`` in the config does not switch the check off."""
    if target.known_hosts is not None:
        return [target.known_hosts]
    user = [word for word in hop.listed("UserKnownHostsFile") if word != "none"]
    user = user or ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"]
    shared = [word for word in hop.listed("GlobalKnownHostsFile") if word != "none"]
    return [Path(word).expanduser() for word in user] + (
        [Path(word).expanduser() for word in shared] or list(GLOBAL_KNOWN_HOSTS)
    )


def identity_files(hop: Hop, target: HostTarget) -> list[str] | None:
    """Private keys to offer that are there; ``None``: the usual ones of ``~/.ssh``.

    The profile's key is the target's; a jump host gets it when the config names none for it.
    """
    named = hop.listed("IdentityFile")
    if target.identity is not None and (hop.name == target.name or not named):
        return [str(target.identity)]
    if not named:
        return None
    paths = [os.path.expanduser(name) for name in named]
    return [path for path in paths if os.access(path, os.R_OK)]


@dataclass(frozen=True)
class KeyPolicy:
    """What to do with a host key that is not on file."""

    strict: str
    """``yes``: refuse; ``ask``; ``accept-new``: write it down; ``no``: the same, for a key that
    has changed is refused here in any case."""
    hashed: bool
    """Whether names are written as hashes."""


_STRICT = {"true": "yes", "false": "no", "off": "no"}


async def key_policy(hop: Hop, target: HostTarget) -> KeyPolicy:
    """``StrictHostKeyChecking`` and ``HashKnownHosts``, which asyncssh does not read.

    ``ssh -G`` tells them, without a connection; where there is no ``ssh``, its defaults hold.
    """
    told = await _told_by_ssh(hop, target)
    strict = told.get("stricthostkeychecking", "ask").lower()
    return KeyPolicy(_STRICT.get(strict, strict), told.get("hashknownhosts") == "yes")


async def _told_by_ssh(hop: Hop, target: HostTarget) -> dict[str, str]:
    tool = shutil.which("ssh")
    if tool is None:
        return {}
    config = ["-F", str(target.config)] if target.config is not None else []
    process = await asyncio.create_subprocess_exec(
        *(tool, "-G", *config, "-l", hop.user, "-p", str(hop.port), "--", hop.alias),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await process.communicate()
    rows = (line.partition(" ") for line in output.decode(errors="replace").splitlines())
    return {name.lower(): value for name, _, value in rows}
