"""``known_hosts`` as OpenSSH reads and writes it: strict, tolerant of lines it cannot read."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncssh

DEFAULT_PORT = 22


class Trust(Enum):
    """What the files say about a key that a host showed."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


class KnownHosts:
    """All known-hosts files of one host. New keys go to the first one.

    Args:
        files: user files first, then global ones; missing ones are skipped.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        import asyncssh

        self.files = list(files)
        self.database = asyncssh.SSHKnownHosts()
        # asyncssh forgets what is revoked for [host]:port when only that is on file for it
        self._revoked = asyncssh.SSHKnownHosts()
        self._lines: list[tuple[str, str]] = []
        for file in self.files:
            try:
                text = file.read_text(errors="replace")
            except OSError:
                continue
            for number, line in enumerate(text.split("\n"), 1):
                try:
                    self.database.load(line)
                except ValueError:
                    continue  # OpenSSH skips what it cannot read, too
                if line.startswith("@revoked"):
                    self._revoked.load(line.partition("@revoked")[2])
                self._lines.append((f"{file}:{number}", line))

    def keys_of(self, host: str, address: str, port: int) -> list[asyncssh.SSHKey]:
        """Keys on file for a host, whatever their type."""
        return list(self.database.match(host, address, _port(port))[0])

    def has_authority(self, host: str, address: str, port: int) -> bool:
        """Whether a ``@cert-authority`` line speaks for the host."""
        return bool(self.database.match(host, address, _port(port))[1])

    def trust(self, host: str, address: str, port: int, key: asyncssh.SSHKey) -> Trust:
        """Judge a key. Another key on file, of any type, makes it changed, as OpenSSH has it."""
        if key in self._revoked.match(host, address, _port(port))[0]:
            return Trust.REVOKED
        keys = self.keys_of(host, address, port)
        if key in keys:
            return Trust.KNOWN
        return Trust.CHANGED if keys else Trust.UNKNOWN

    def places_of(self, keys: Sequence[asyncssh.SSHKey]) -> tuple[str, ...]:
        """``file:line`` of every entry that holds one of ``keys``."""
        blobs = [base64.b64encode(key.public_data).decode() for key in keys]
        return tuple(place for place, line in self._lines if any(blob in line for blob in blobs))

    def add(self, host: str, port: int, key: asyncssh.SSHKey, *, hashed: bool) -> None:
        """Append a key to the first file, as ``ssh`` would. Raises ``OSError``."""
        name = entry_name(host, port)
        if hashed:
            name = hashed_name(name, secrets.token_bytes(20))
        blob = base64.b64encode(key.public_data).decode()
        line = f"{name} {key.get_algorithm()} {blob}"
        file = self.files[0]
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            size = os.fstat(fd).st_size
            # A last line without its newline must not swallow ours.
            torn = size and os.pread(fd, 1, size - 1) != b"\n"
            os.write(fd, (("\n" if torn else "") + line + "\n").encode())
        finally:
            os.close(fd)
        self.database.load(line)


def _port(port: int) -> int | None:
    return None if port == DEFAULT_PORT else port


def entry_name(host: str, port: int) -> str:
    """How a host is written in the file, and what ``ssh-keygen -R`` wants."""
    return host if port == DEFAULT_PORT else f"[{host}]:{port}"


def hashed_name(name: str, salt: bytes) -> str:
    """``|1|salt|HMAC-SHA1``, so that the file does not tell where its owner logs in."""
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in (salt, digest))
