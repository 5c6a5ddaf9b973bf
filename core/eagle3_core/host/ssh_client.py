"""One attempt to log in at one hop: the host key that was shown, and the questions it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import asyncssh

from eagle3_core.host.prompts import Prompts

if TYPE_CHECKING:
    from eagle3_core.host.ssh_config import Hop

Answer = TypeVar("Answer")

TRIES = 3
"""For a passphrase, a password or a code, as ``ssh`` has it."""


class Client(asyncssh.SSHClient):
    """Passes questions on to ``prompts`` until one of them gets no answer; then it asks no more."""

    def __init__(self, hop: Hop, prompts: Prompts) -> None:
        self._hop = hop
        self._prompts = prompts
        self._passwords = 0
        self._challenges = 0
        self.shown: tuple[str, asyncssh.SSHKey] | None = None
        """Address and key of a host that no file vouches for."""
        self.unanswered = ""
        """What was asked for and not given."""

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        # It cannot wait for a person: refuse, ask, connect again.
        self.shown = (addr, key)
        return False

    async def passphrase(self, key_file: str) -> str | None:
        """asyncssh would take one answer, right or wrong, so the key is tried here."""
        for attempt in range(TRIES):
            answer = self._given(
                None if self.unanswered else await self._prompts.passphrase(key_file, attempt),
                f"the passphrase of {key_file}",
            )
            if answer is None:
                return None
            try:
                await asyncio.to_thread(asyncssh.read_private_key, key_file, answer)
            except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
                continue
            return answer
        return None

    async def password_auth_requested(self) -> str | None:
        self._passwords += 1
        if self.unanswered or self._passwords > TRIES:
            return None
        hop = self._hop
        answer = await self._prompts.password(hop.user, hop.name, self._passwords - 1)
        return self._given(answer, f"the password of {hop.user}")

    def kbdint_auth_requested(self) -> str | None:
        self._challenges += 1
        return None if self.unanswered or self._challenges > TRIES else ""

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        if not prompts:
            return []  # servers end with an empty round, which wants an empty answer
        answers = await self._prompts.challenge(self._hop.name, name, instructions, prompts)
        asked = ", ".join(text.strip(" :") for text, _ in prompts)
        return self._given(answers, asked or "an answer")

    def _given(self, answer: Answer | None, what: str) -> Answer | None:
        if answer is None:
            self.unanswered = self.unanswered or what
        return answer
