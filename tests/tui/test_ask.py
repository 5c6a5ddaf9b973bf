"""Questions of a connection as dialogs: over any screen, hidden where secret, never markup."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from screen_text import screen_text, shows, until

from eagle3_console.app import ConsoleApp
from eagle3_console.screens.ask import DialogPrompts
from eagle3_console.screens.confirm import ConfirmScreen
from eagle3_console.screens.help import HelpScreen
from eagle3_core.host.prompts import HostKeyQuestion

Make = Callable[..., ConsoleApp]
SIZE = (100, 30)
KEY = HostKeyQuestion(
    host="gpu.example",
    port=2222,
    algorithm="ssh-ed25519",
    fingerprint="SHA256:abcdefgh",
    file=Path("/home/me/.ssh/known_hosts"),
    also_known_as=("/home/me/.ssh/known_hosts:7",),
)


@pytest.mark.parametrize(
    ("keys", "trusted"),
    [(["enter"], False), (["escape"], False), (["tab", "enter"], True), (["y"], True)],
)
async def test_host_key(make_app: Make, keys: list[str], trusted: bool) -> None:
    """No has the focus: enter alone never trusts a host."""
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        asked = asyncio.create_task(DialogPrompts(app).confirm_host_key(KEY))
        await shows(pilot, "gpu.example port 2222", "SHA256:abcdefgh", "known_hosts:7", "Trust it")
        await pilot.press(*keys)
        assert await asyncio.wait_for(asked, 5) is trusted
        assert not isinstance(app.screen, ConfirmScreen)


async def test_a_secret_is_hidden_and_a_wrong_one_said(make_app: Make) -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        prompts = DialogPrompts(app)
        first = asyncio.create_task(prompts.passphrase("/home/me/.ssh/id", 0))
        await shows(pilot, "Passphrase for /home/me/.ssh/id", "esc gives up")
        assert "That was wrong" not in screen_text(app)
        await pilot.press(*"sesame")
        await shows(pilot, "••••••")
        assert "sesame" not in screen_text(app)
        await pilot.press("enter")
        assert await asyncio.wait_for(first, 5) == "sesame"
        again = asyncio.create_task(prompts.password("me", "gpu", 1))
        await shows(pilot, "Password for me@gpu", "That was wrong.")
        await pilot.press("escape")
        assert await asyncio.wait_for(again, 5) is None


async def test_keys_of_the_console_do_nothing_while_a_secret_is_typed(make_app: Make) -> None:
    """A password with k and q in it kills nothing."""
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        asked = asyncio.create_task(DialogPrompts(app).password("me", "gpu", 0))
        await shows(pilot, "Password for me@gpu")
        await pilot.press(*"kqKrds", "enter")
        assert await asyncio.wait_for(asked, 5) == "kqKrds"
        assert app.fake.sent == []
        assert app.is_running


async def test_codes_one_after_another_echoed_as_the_server_says(make_app: Make) -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        questions = [("Verification code: ", True), ("Password: ", False)]
        asked = asyncio.create_task(DialogPrompts(app).challenge("gpu", "PAM", "Look", questions))
        await shows(pilot, "gpu asks: Verification code:", "PAM", "Look")
        await pilot.press(*"123456")
        await shows(pilot, "123456")
        await pilot.press("enter")
        await shows(pilot, "gpu asks: Password:")
        await pilot.press(*"hunter2")
        assert "hunter2" not in screen_text(app)
        await pilot.press("enter")
        assert await asyncio.wait_for(asked, 5) == ["123456", "hunter2"]


async def test_a_servers_words_are_neither_markup_nor_escapes(make_app: Make) -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        words = "[red]look[/red] \x1b[2J\x9b31m" + "x" * 100_000 + "\n" * 50
        asked = asyncio.create_task(
            DialogPrompts(app).challenge("gpu", "", words, [("[b]code\x1b]0;t\x07", False)])
        )
        await shows(pilot, "[red]look[/red]", "␛[2J\\x9b31m", "[b]code␛]0;t␇")
        await pilot.press("escape")
        assert await asyncio.wait_for(asked, 5) is None


@pytest.mark.parametrize("covered", [False, True])
async def test_a_question_goes_when_its_connection_does(make_app: Make, covered: bool) -> None:
    """Also from under a page that was opened over it."""
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        asked = asyncio.create_task(DialogPrompts(app).password("me", "gpu", 0))
        await shows(pilot, "Password for me@gpu")
        if covered:
            app.action_help()
            await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        asked.cancel()
        if covered:
            await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        await pilot.press("k")
        await until(pilot, lambda: app.fake.sent == ["kill"])


async def test_what_is_told_is_a_note(make_app: Make) -> None:
    app = make_app()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shows(pilot, "pid 41233")
        DialogPrompts(app).tell("gpu: host key [b]SHA256[/b] was written")
        await shows(pilot, "gpu: host key [b]SHA256[/b]")
