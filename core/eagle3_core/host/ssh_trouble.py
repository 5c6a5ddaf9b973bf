"""What can go wrong on the way to a host: each a line that names the machine and the mend."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_core.errors import UserError
from eagle3_core.host.known_hosts import entry_name

if TYPE_CHECKING:
    import asyncssh

    from eagle3_core.host.ssh_config import Hop

UNREACHABLE = 69
"""sysexits.h: EX_UNAVAILABLE."""

REFUSED = 77
"""sysexits.h: EX_NOPERM."""


class UnansweredError(UserError):
    """A question was not answered: asking again at once would only be a nuisance."""


def unanswered(hop: Hop, what: str) -> UserError:
    return UnansweredError(
        f"{hop.name} was not entered: {what} was asked for and not given",
        "load the key into ssh-agent with ssh-add, or answer in the console",
        exit_code=REFUSED,
    )


def strict_unknown_key(hop: Hop, key: asyncssh.SSHKey, file: Path) -> UserError:
    return UserError(
        f"{hop.name} shows an unknown host key {key.get_fingerprint()} ({key.get_algorithm()}), "
        "and StrictHostKeyChecking is yes",
        f"compare it, then add it to {file}",
        exit_code=REFUSED,
    )


def unknown_key(hop: Hop, key: asyncssh.SSHKey) -> UserError:
    return UnansweredError(
        f"{hop.name} shows an unknown host key {key.get_fingerprint()} ({key.get_algorithm()})",
        f"compare it, then accept it with ssh {hop.name} once, or answer yes in the console",
        exit_code=REFUSED,
    )


def changed_key(hop: Hop, key: asyncssh.SSHKey, places: Sequence[str], file: Path) -> UserError:
    where = ", ".join(places) or str(file)
    name = entry_name(hop.key_name, hop.key_port)
    path = places[0].rpartition(":")[0] if places else str(file)
    return UserError(
        f"{hop.name} shows the host key {key.get_fingerprint()}, not the one in {where}",
        f"somebody may be listening; if the host was set up anew: ssh-keygen -f {path} -R '{name}'",
        exit_code=REFUSED,
    )


def revoked_key(hop: Hop, key: asyncssh.SSHKey) -> UserError:
    return UserError(
        f"{hop.name} shows the host key {key.get_fingerprint()}, which is marked as revoked",
        "do not connect; ask who runs the host",
        exit_code=REFUSED,
    )


def cannot_write(file: Path, error: OSError) -> UserError:
    return UserError(f"{file} cannot be written ({error.strerror})", "mend its permissions")


def translate(hop: Hop, error: Exception) -> UserError:
    """The line for an exception out of connecting."""
    import asyncssh

    where = f"{hop.name} ({hop.host}:{hop.port})" if hop.host != hop.name else hop.name
    text = str(error) or type(error).__name__
    if isinstance(error, asyncssh.PermissionDenied):
        return UserError(
            f"{where} does not let {hop.user} in ({text})",
            f"check user and key: ssh {hop.name} must work without questions, or use the console",
            exit_code=REFUSED,
        )
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return UserError(
            f"{where}: its host key is not trusted ({text})",
            f"see ssh -v {hop.name}",
            exit_code=REFUSED,
        )
    if isinstance(error, (asyncssh.KeyImportError, asyncssh.KeyEncryptionError)):
        return UserError(
            f"a private key for {where} cannot be used ({text})",
            "load it into ssh-agent with ssh-add, or check IdentityFile",
        )
    if isinstance(error, asyncssh.ChannelOpenError):
        return UserError(
            f"the jump host before {where} does not pass the connection on ({text})",
            "check that the name is right seen from there and that forwarding is allowed",
            exit_code=UNREACHABLE,
        )
    if isinstance(error, socket.gaierror):
        return UserError(
            f"host name {hop.host} is not known ({error.strerror})",
            "check the spelling, or add it to ~/.ssh/config",
            exit_code=UNREACHABLE,
        )
    if isinstance(error, ConnectionRefusedError):
        return UserError(
            f"{where} refuses the connection on port {hop.port}",
            "check that sshd runs there and that the port is right",
            exit_code=UNREACHABLE,
        )
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return UserError(
            f"{where} does not answer",
            "check the network, the VPN and the port",
            exit_code=UNREACHABLE,
        )
    return UserError(
        f"{where} cannot be reached ({text})", f"try ssh {hop.name}", exit_code=UNREACHABLE
    )
