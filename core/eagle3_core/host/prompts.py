"""What a connection may have to ask a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class HostKeyQuestion:
    """An unknown host key, to be compared with what the host's owner says."""

    host: str
    port: int
    algorithm: str
    fingerprint: str
    """As ``ssh`` prints it: ``SHA256:…``."""
    file: Path
    """Where the key will be written."""
    also_known_as: tuple[str, ...] = ()
    """``file:line`` of entries with the same key under other names."""


class Prompts(Protocol):
    """Asked while connecting. ``None`` as an answer gives up."""

    async def confirm_host_key(self, question: HostKeyQuestion) -> bool: ...

    async def passphrase(self, key_file: str, attempt: int) -> str | None: ...

    async def password(self, user: str, host: str, attempt: int) -> str | None: ...

    async def challenge(
        self, host: str, title: str, instructions: str, questions: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        """Answer keyboard-interactive questions: each a text and whether the answer may be seen."""
        ...

    def tell(self, text: str) -> None:
        """Something worth knowing that needs no answer."""
        ...


class Headless:
    """Nobody is there to ask: every question is refused."""

    async def confirm_host_key(self, question: HostKeyQuestion) -> bool:
        return False

    async def passphrase(self, key_file: str, attempt: int) -> str | None:
        return None

    async def password(self, user: str, host: str, attempt: int) -> str | None:
        return None

    async def challenge(
        self, host: str, title: str, instructions: str, questions: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        return None

    def tell(self, text: str) -> None:
        """Nobody is there to read it."""
