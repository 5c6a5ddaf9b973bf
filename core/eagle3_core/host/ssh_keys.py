"""Private keys to offer to a hop, encrypted ones unlocked no sooner than they are needed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import asyncssh

DEFAULT_NAMES = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk")
"""In the order of ``ssh``, under ``~/.ssh``."""


class Keys(list["str | asyncssh.SSHKey"]):
    """True even when empty: asyncssh takes an empty list for leave to look for keys by itself."""

    def __bool__(self) -> bool:
        return True


def default_files() -> list[str]:
    """The usual keys that are there."""
    paths = [str(Path.home() / ".ssh" / name) for name in DEFAULT_NAMES]
    return [path for path in paths if os.access(path, os.R_OK)]


async def offered(files: Sequence[str], passphrase: Callable[[str], Awaitable[str | None]]) -> Keys:
    """What asyncssh is to offer.

    It asks for a passphrase only once a host takes the key, but for that it must know the public
    half. Old formats without a ``.pub`` beside them hide it, so those are unlocked here; ones for
    which there is no passphrase are left out.
    """
    keys = Keys()
    for file in files:
        if not _is_locked(file) or _shows_public_half(file):
            keys.append(file)
            continue
        answer = await passphrase(file)
        if answer is not None:
            keys.append(asyncssh.read_private_key(file, answer))
    return keys


def _is_locked(file: str) -> bool:
    try:
        asyncssh.read_private_key(file)
    except asyncssh.KeyImportError as error:
        return "assphrase" in str(error)
    return False


def _shows_public_half(file: str) -> bool:
    for path in (file + ".pub", file):
        try:
            asyncssh.read_public_key(path)
        except (OSError, asyncssh.KeyImportError):
            continue
        return True
    return False
