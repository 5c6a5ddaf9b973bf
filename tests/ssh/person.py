"""A person who is asked, as a test has it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from eagle3_core.host.prompts import Headless, HostKeyQuestion


class Person(Headless):
    """Answers as told and notes what was asked."""

    def __init__(
        self,
        *,
        yes: bool = True,
        passphrases: Sequence[str] = (),
        passwords: Sequence[str] = (),
        codes: Sequence[str] = (),
        thinks: float = 0.0,
    ) -> None:
        self.yes = yes
        self.asked: list[HostKeyQuestion] = []
        self.passphrases = list(passphrases)
        self.passwords = list(passwords)
        self.codes = list(codes)
        self.thinks = thinks
        self.attempts: list[int] = []
        self.password_attempts: list[tuple[str, str, int]] = []
        self.challenges: list[tuple[str, bool]] = []
        self.told: list[str] = []

    async def confirm_host_key(self, question: HostKeyQuestion) -> bool:
        await asyncio.sleep(self.thinks)
        self.asked.append(question)
        return self.yes

    async def passphrase(self, key_file: str, attempt: int) -> str | None:
        await asyncio.sleep(self.thinks)
        self.attempts.append(attempt)
        return self.passphrases.pop(0) if self.passphrases else None

    async def password(self, user: str, host: str, attempt: int) -> str | None:
        await asyncio.sleep(self.thinks)
        self.password_attempts.append((user, host, attempt))
        return self.passwords.pop(0) if self.passwords else None

    async def challenge(
        self, host: str, title: str, instructions: str, questions: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        await asyncio.sleep(self.thinks)
        self.challenges += questions
        if len(self.codes) < len(questions):
            return None
        return [self.codes.pop(0) for _ in questions]

    def tell(self, text: str) -> None:
        self.told.append(text)
