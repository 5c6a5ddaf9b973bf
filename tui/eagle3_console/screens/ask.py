"""Questions of a connection while the console is drawn: a host key, a secret, a one-time code."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, TypeVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from eagle3_console.screens.confirm import ConfirmScreen
from eagle3_core.host.prompts import HostKeyQuestion
from eagle3_core.text import printable

Answer = TypeVar("Answer")

SHOWN_LINES, SHOWN = 8, 400
"""Lines and characters of a server's own words; it may send as many as it likes."""


class AnswerScreen(ModalScreen[str | None]):
    """Ends with what was typed, or ``None``.

    Args:
        question: what is wanted.
        words: of the server, or what was wrong before; shown as they are.
        secret: whether what is typed is hidden.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, question: str, words: str, *, secret: bool) -> None:
        super().__init__()
        self._question = question
        self._words = words
        self._field = Input(password=secret, id="reply")
        self._field.cursor_blink = False

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(Content.styled(_brief(self._question), "bold"), id="question")
            yield self._field
            words = f"{_brief(self._words)}\n" if self._words.strip() else ""
            yield Static(Content(f"{words}enter answers, esc gives up"), id="effect")

    def on_mount(self) -> None:
        self._field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


def _brief(text: str) -> str:
    return printable("\n".join(text.strip().split("\n")[:SHOWN_LINES])[:SHOWN])


class DialogPrompts:
    """Implements ``host.prompts.Prompts`` over the app's screens; may be called from any task."""

    def __init__(self, app: App[None]) -> None:
        self._app = app

    async def confirm_host_key(self, question: HostKeyQuestion) -> bool:
        known = "".join(f"\nThe same key is known as {place}." for place in question.also_known_as)
        screen = ConfirmScreen(
            f"{question.host} port {question.port} shows an unknown host key. Trust it?",
            f"{question.algorithm} {question.fingerprint}\n"
            f"Compare it with what the host's owner says.{known}\n"
            f"It would be written to {question.file}.",
            "Trust it",
        )
        return await self._show(screen) is True

    async def passphrase(self, key_file: str, attempt: int) -> str | None:
        return await self._secret(f"Passphrase for {key_file}", attempt)

    async def password(self, user: str, host: str, attempt: int) -> str | None:
        return await self._secret(f"Password for {user}@{host}", attempt)

    async def challenge(
        self, host: str, title: str, instructions: str, questions: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        words = "\n".join(line for line in (title, instructions) if line.strip())
        answers: list[str] = []
        for text, echo in questions:
            screen = AnswerScreen(f"{host} asks: {text.strip()}", words, secret=not echo)
            answer = await self._show(screen)
            if answer is None:
                return None
            answers.append(answer)
        return answers

    def tell(self, text: str) -> None:
        self._app.call_later(self._app.notify, printable(text), markup=False, timeout=15)

    async def _secret(self, question: str, attempt: int) -> str | None:
        words = "That was wrong." if attempt else ""
        return await self._show(AnswerScreen(question, words, secret=True)) or None

    async def _show(self, screen: ModalScreen[Answer]) -> Answer | None:
        """Show ``screen`` and wait; it goes away when nobody waits for the answer any more."""
        if not self._app.is_running:
            return None
        answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()

        def given(value: Answer | None) -> None:
            if not answer.done():
                answer.set_result(value)

        # From the app's own task: this one may belong to a connection.
        self._app.call_later(self._app.push_screen, screen, given)
        try:
            return await answer
        except asyncio.CancelledError:
            self._app.call_later(self._withdraw, screen)
            raise

    def _withdraw(self, screen: ModalScreen[Answer]) -> None:
        if screen.is_active:
            screen.dismiss(None)
        elif screen in self._app.screen_stack:
            # Another page lies over it: only the top one can be taken away.
            self._app.set_timer(0.1, partial(self._withdraw, screen))
