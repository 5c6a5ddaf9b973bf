"""Questions of a connection, asked on the plain terminal as ``ssh`` would."""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Sequence

from eagle3_core.host.prompts import Headless, HostKeyQuestion, Prompts
from eagle3_core.text import printable


class TerminalPrompts:
    """Implements ``host.prompts.Prompts`` on standard input; secrets are not echoed."""

    async def confirm_host_key(self, question: HostKeyQuestion) -> bool:
        known = "".join(f"\n  the same key is known as {place}" for place in question.also_known_as)
        _say(
            f"{question.host} port {question.port} shows an unknown host key\n"
            f"  {question.algorithm} {question.fingerprint}{known}\n"
            f"It would be written to {question.file}."
        )
        answer = await _plain("Trust it? (yes/no) ")
        return answer is not None and answer.strip().lower() == "yes"

    async def passphrase(self, key_file: str, attempt: int) -> str | None:
        again = "wrong; " if attempt else ""
        return await _secret(f"{again}passphrase for {key_file}: ") or None

    async def password(self, user: str, host: str, attempt: int) -> str | None:
        again = "wrong; " if attempt else ""
        return await _secret(f"{again}password for {user}@{host}: ") or None

    async def challenge(
        self, host: str, title: str, instructions: str, questions: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        for line in (title, instructions):
            if line.strip():
                _say(line)
        answers: list[str] = []
        for text, echo in questions:
            answer = await (_plain if echo else _secret)(text)
            if answer is None:
                return None
            answers.append(answer)
        return answers

    def tell(self, text: str) -> None:
        _say(text)


class Nobody(Headless):
    """In a script: every question is refused, what is told goes to standard error."""

    def tell(self, text: str) -> None:
        _say(text)


def prompts() -> Prompts:
    """Whom to ask: the person at the terminal, or nobody where there is none."""
    return TerminalPrompts() if sys.stdin.isatty() and sys.stderr.isatty() else Nobody()


async def _plain(text: str) -> str | None:
    """One line from the terminal; ``None`` at its end. Standard output is for answers alone."""
    sys.stderr.write(printable(text))
    sys.stderr.flush()
    line = await asyncio.to_thread(sys.stdin.readline)
    return line.rstrip("\n") if line else None


async def _secret(text: str) -> str | None:
    try:
        return await asyncio.to_thread(getpass.getpass, printable(text))
    except EOFError:
        return None


def _say(text: str) -> None:
    sys.stderr.write(printable(text) + "\n")
