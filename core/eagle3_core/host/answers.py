"""One person for all connections: one question at a time, the same secret only once."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence

from eagle3_core.host.prompts import HostKeyQuestion, Prompts


class Answers:
    """Implements ``Prompts`` over another.

    Passphrases and passwords are kept in memory, never on disk, so that a reconnect needs nobody.
    One-time codes are not: a second use of one is always wrong.

    Args:
        person: whom to ask; may be exchanged, as when the terminal gives way to dialogs.
    """

    def __init__(self, person: Prompts) -> None:
        self.person = person
        self._secrets: dict[tuple[str, ...], str] = {}
        self._told: set[str] = set()
        self._turn = asyncio.Lock()
        self._open = 0
        self._answered = float("-inf")

    @classmethod
    def of(cls, prompts: Prompts) -> Answers:
        """``prompts`` itself when it remembers already."""
        return prompts if isinstance(prompts, Answers) else cls(prompts)

    def idle(self) -> float:
        """Seconds since the last question was answered; 0 while one is open."""
        return 0.0 if self._open else time.monotonic() - self._answered

    @contextlib.asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        self._open += 1
        try:
            async with self._turn:
                yield
        finally:
            self._open -= 1
            self._answered = time.monotonic()

    async def confirm_host_key(self, question: HostKeyQuestion) -> bool:
        async with self._asking():
            return await self.person.confirm_host_key(question)

    async def passphrase(self, key_file: str, attempt: int) -> str | None:
        async with self._asking():
            known = self._known(("passphrase", key_file), attempt)
            if known is None:
                known = await self.person.passphrase(key_file, attempt)
            return self._keep(("passphrase", key_file), known)

    async def password(self, user: str, host: str, attempt: int) -> str | None:
        async with self._asking():
            known = self._known(("password", user, host), attempt)
            if known is None:
                known = await self.person.password(user, host, attempt)
            return self._keep(("password", user, host), known)

    async def challenge(
        self, host: str, title: str, instructions: str, questions: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        async with self._asking():
            return await self.person.challenge(host, title, instructions, questions)

    def tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self.person.tell(text)

    def _known(self, what: tuple[str, ...], attempt: int) -> str | None:
        """What was answered before, unless the host has just said that it is wrong."""
        return None if attempt else self._secrets.get(what)

    def _keep(self, what: tuple[str, ...], secret: str | None) -> str | None:
        if secret is None:
            self._secrets.pop(what, None)
        else:
            self._secrets[what] = secret
        return secret
