"""Which host is meant: ``local``, an alias of the ssh config, ``user@host:port`` or ``ssh://…``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from eagle3_core.errors import UserError

LOCAL = "local"

_PLAIN = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[[^\]\s]+\]|[^:@\s]+)(?::(?P<port>\d+))?")


@dataclass(frozen=True)
class HostTarget:
    """A host and how to reach it.

    Args:
        name: what the user wrote.
        config: ssh config to read in place of ``~/.ssh/config`` and ``/etc/ssh/ssh_config``.
        known_hosts: file in place of the config's ``UserKnownHostsFile``.
        identity: private key to offer in place of the config's ``IdentityFile``.
        python: Python on the host; ``None``: the first ``python3`` of its PATH.
        prefix: words before the agent's command, e.g. ``("docker", "exec", "-i", "vllm")``.

    Raises:
        UserError: when ``name`` is no host.
    """

    name: str
    config: Path | None = None
    known_hosts: Path | None = None
    identity: Path | None = None
    python: str | None = None
    prefix: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.address  # noqa: B018 - a wrong name is told at once

    @property
    def is_local(self) -> bool:
        return self.name == LOCAL

    @property
    def address(self) -> tuple[str | None, str, int | None]:
        """User, host or alias, and port, as far as ``name`` gives them."""
        return parse_address(self.name)


def parse_address(text: str) -> tuple[str | None, str, int | None]:
    """Split ``user@host:port``; the parts that are not given are ``None``. Raises ``UserError``."""
    mend = "write local, an alias of ~/.ssh/config, user@host, user@host:port or ssh://user@host"
    if text.startswith("ssh://"):
        parts = urlsplit(text)
        try:
            user, host, port = parts.username, parts.hostname, parts.port
        except ValueError:
            raise UserError(f"host {text!r} has no usable port", mend) from None
    else:
        found = _PLAIN.fullmatch(text)
        user, host, port = (None, None, None)
        if found:
            user, host = found["user"], found["host"].strip("[]")
            port = int(found["port"]) if found["port"] else None
    if not host or host.startswith("-") or (port is not None and not 0 < port < 65536):
        raise UserError(f"host {text!r} is no host", mend)
    return user, host, port
