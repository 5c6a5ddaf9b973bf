"""Connect as ``ssh`` would: every hop of the way verified and authenticated by us."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_core.host import ssh_config, ssh_trouble
from eagle3_core.host.known_hosts import KnownHosts, Trust
from eagle3_core.host.prompts import HostKeyQuestion, Prompts
from eagle3_core.host.ssh_config import Hop
from eagle3_core.host.target import HostTarget

if TYPE_CHECKING:
    import asyncssh

KEEPALIVE = 15.0
"""Seconds of silence after which the host is asked for a sign of life."""

KEEPALIVE_MISSES = 3

CONNECT_TIMEOUT = 15.0
LOGIN_TIMEOUT = 300.0
"""Seconds; a person may have to find a telephone with a code on it."""

PASSWORD_TRIES = 3

KEY_TYPES = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "rsa-sha2-512",
    "rsa-sha2-256",
)


async def open_connection(target: HostTarget, prompts: Prompts) -> asyncssh.SSHClientConnection:
    """Connect to ``target`` through its jump hosts.

    Raises:
        UserError: in one line what failed, at which machine, and what to do.
    """
    configs = ssh_config.config_files(target)
    connection: asyncssh.SSHClientConnection | None = None
    try:
        for hop in ssh_config.route(target, configs):
            connection = await _open_hop(hop, target, configs, prompts, connection)
    except BaseException:
        if connection is not None:
            connection.close()
        raise
    assert connection is not None
    return connection


async def _open_hop(
    hop: Hop,
    target: HostTarget,
    configs: Sequence[Path],
    prompts: Prompts,
    tunnel: asyncssh.SSHClientConnection | None,
) -> asyncssh.SSHClientConnection:
    """Open one hop; asks about an unknown key and then connects again."""
    import asyncssh

    known = KnownHosts(ssh_config.known_hosts_files(hop, target))
    shown: list[tuple[str, asyncssh.SSHKey]] = []
    options: dict[str, Any] = dict(
        hop.overrides,
        config=[str(path) for path in configs],
        known_hosts=known.database,  # None would switch the check off
        server_host_key_algs=_key_types(hop, known),
        passphrase=_passphrases(prompts),
        keepalive_interval=KEEPALIVE,
        keepalive_count_max=KEEPALIVE_MISSES,
        connect_timeout=CONNECT_TIMEOUT,
        login_timeout=LOGIN_TIMEOUT,
        command=None,  # a RemoteCommand of the config is not for us
    )
    keys = ssh_config.identity_files(hop, target)
    if keys is not None:
        options["client_keys"] = keys
    if tunnel is not None:
        options["tunnel"] = tunnel
    for _ in range(2):
        try:
            connection, _client = await asyncssh.create_connection(
                _client_factory(hop, prompts, shown), hop.alias, **options
            )
        except asyncssh.HostKeyNotVerifiable as error:
            if not shown:
                raise ssh_trouble.translate(hop, error) from None
            await _learn(hop, target, prompts, known, *shown[-1])
        except (asyncssh.Error, OSError, ValueError, asyncio.TimeoutError) as error:
            raise ssh_trouble.translate(hop, error) from None
        else:
            if tunnel is not None:
                connection.set_tunnel(tunnel)  # the hop before ends with this one
            _refuse_revoked(hop, known, connection)
            return connection
    raise ssh_trouble.unknown_key(hop, shown[-1][1])


def _refuse_revoked(hop: Hop, known: KnownHosts, connection: asyncssh.SSHClientConnection) -> None:
    """A key that is revoked for the port and known for the host passes asyncssh, but not us."""
    key = connection.get_server_host_key()
    address = connection.get_extra_info("peername", ("",))[0]
    if key is not None and known.trust(hop.key_name, address, hop.port, key) is Trust.REVOKED:
        connection.abort()
        raise ssh_trouble.revoked_key(hop, key)


async def _learn(
    hop: Hop,
    target: HostTarget,
    prompts: Prompts,
    known: KnownHosts,
    address: str,
    key: asyncssh.SSHKey,
) -> None:
    """Write an unknown key down if the user says so. Raises ``UserError`` in every other case."""
    trust = known.trust(hop.key_name, address, hop.port, key)
    if trust is Trust.REVOKED:
        raise ssh_trouble.revoked_key(hop, key)
    if trust is not Trust.UNKNOWN:
        places = known.places_of(known.keys_of(hop.key_name, address, hop.port))
        raise ssh_trouble.changed_key(hop, key, places, known.files[0])
    question = HostKeyQuestion(
        host=hop.key_name,
        port=hop.port,
        algorithm=key.get_algorithm(),
        fingerprint=key.get_fingerprint(),
        file=known.files[0],
        also_known_as=known.places_of([key]),
    )
    if not await prompts.confirm_host_key(question):
        raise ssh_trouble.unknown_key(hop, key)
    hashed = await ssh_config.hashes_known_hosts(hop, target)
    try:
        known.add(hop.key_name, hop.port, key, hashed=hashed)
    except OSError as error:
        raise ssh_trouble.cannot_write(known.files[0], error) from None


def _key_types(hop: Hop, known: KnownHosts) -> list[str]:
    """Types to ask for: those on file first, then all, so that a changed type shows as changed."""
    from asyncssh.public_key import get_default_certificate_algs

    types = []
    if known.has_authority(hop.key_name, "", hop.port):
        types += [name.decode() for name in get_default_certificate_algs()]
    for key in known.keys_of(hop.key_name, "", hop.port):
        types += [name.decode() for name in key.sig_algorithms if name.decode() in KEY_TYPES]
    return list(dict.fromkeys([*types, *KEY_TYPES]))


def _passphrases(prompts: Prompts) -> Callable[[str], Awaitable[str | None]]:
    """Asked for by asyncssh when an encrypted key is needed; it would not ask twice, so we do."""
    import asyncssh

    async def ask(key_file: str) -> str | None:
        for attempt in range(PASSWORD_TRIES):
            passphrase = await prompts.passphrase(key_file, attempt)
            if passphrase is None:
                return None
            try:
                await asyncio.to_thread(asyncssh.read_private_key, key_file, passphrase)
            except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
                continue
            return passphrase
        return None

    return ask


def _client_factory(
    hop: Hop, prompts: Prompts, shown: list[tuple[str, asyncssh.SSHKey]]
) -> Callable[[], asyncssh.SSHClient]:
    """A client that notes the key it was shown and passes questions on to ``prompts``."""
    import asyncssh

    class Client(asyncssh.SSHClient):
        passwords = 0

        def validate_host_public_key(
            self, host: str, addr: str, port: int, key: asyncssh.SSHKey
        ) -> bool:
            # It cannot wait for a person: refuse, ask, connect again.
            shown.append((addr, key))
            return False

        async def password_auth_requested(self) -> str | None:
            self.passwords += 1
            if self.passwords > PASSWORD_TRIES:
                return None
            return await prompts.password(hop.user, hop.name, self.passwords - 1)

        def kbdint_auth_requested(self) -> str:
            return ""

        async def kbdint_challenge_received(
            self, name: str, instructions: str, lang: str, prompts_: Sequence[tuple[str, bool]]
        ) -> list[str] | None:
            if not prompts_:
                return []  # servers end with an empty round, which wants an empty answer
            return await prompts.challenge(hop.name, name, instructions, prompts_)

    return Client
