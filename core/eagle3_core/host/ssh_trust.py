"""Whether a host is who it says: its key against the known-hosts files, and who may add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagle3_core.host import ssh_config, ssh_trouble
from eagle3_core.host.known_hosts import KnownHosts, Trust
from eagle3_core.host.prompts import HostKeyQuestion, Prompts
from eagle3_core.host.ssh_config import Hop
from eagle3_core.host.target import HostTarget

if TYPE_CHECKING:
    import asyncssh

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


def key_types(hop: Hop, known: KnownHosts) -> list[str]:
    """Types to ask for: those on file first, then all, so that a changed type shows as changed."""
    from asyncssh.public_key import get_default_certificate_algs

    types = []
    if known.has_authority(hop.key_name, "", hop.key_port):
        types += [name.decode() for name in get_default_certificate_algs()]
    for key in known.keys_of(hop.key_name, "", hop.key_port):
        types += [name.decode() for name in key.sig_algorithms if name.decode() in KEY_TYPES]
    return list(dict.fromkeys([*types, *KEY_TYPES]))


def refuse_revoked(hop: Hop, known: KnownHosts, connection: asyncssh.SSHClientConnection) -> None:
    """A key that is revoked for the port and known for the host passes asyncssh, but not us."""
    key = connection.get_server_host_key()
    address = connection.get_extra_info("peername", ("",))[0]
    if key is None or known.trust(hop.key_name, address, hop.key_port, key) is not Trust.REVOKED:
        return
    connection.abort()
    raise ssh_trouble.revoked_key(hop, key)


async def learn(
    hop: Hop,
    target: HostTarget,
    prompts: Prompts,
    known: KnownHosts,
    address: str,
    key: asyncssh.SSHKey,
) -> None:
    """Write an unknown key down if config or person say so. Raises ``UserError`` otherwise."""
    trust = known.trust(hop.key_name, address, hop.key_port, key)
    if trust is Trust.REVOKED:
        raise ssh_trouble.revoked_key(hop, key)
    if trust is not Trust.UNKNOWN:
        places = known.places_of(known.keys_of(hop.key_name, address, hop.key_port))
        raise ssh_trouble.changed_key(hop, key, places, known.files[0])
    policy = await ssh_config.key_policy(hop, target)
    if policy.strict == "yes":
        raise ssh_trouble.strict_unknown_key(hop, key, known.files[0])
    if policy.strict == "ask":
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
    try:
        known.add(hop.key_name, hop.key_port, key, hashed=policy.hashed)
    except OSError as error:
        raise ssh_trouble.cannot_write(known.files[0], error) from None
    if policy.strict != "ask":
        prompts.tell(
            f"{hop.name}: host key {key.get_fingerprint()} ({key.get_algorithm()}) was written to "
            f"{known.files[0]} without a question (StrictHostKeyChecking {policy.strict}); "
            "one that changes is refused all the same"
        )
