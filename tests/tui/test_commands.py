import asyncio

import pytest
from screen_text import screen_text, shows, until

from eagle3_console.screens.confirm import ConfirmScreen
from eagle3_core.errors import UserError

SIZE = (120, 36)


async def test_sigkill_asks_and_no_has_the_focus(make_app) -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await shows(pilot, "pid 41233")
        for refuse in ("enter", "escape", "n"):
            await pilot.press("K")
            await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            assert app.focused.id == "no"
            await shows(pilot, "Send SIGKILL?", "pid 41233 on gpu-07")
            await pilot.press(refuse)
            await until(pilot, lambda: app.screen is app.dashboard)
        assert app.fake.sent == []
        await pilot.press("K")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.fake.sent == ["kill_hard"])


@pytest.mark.parametrize(("key", "name"), [("d", "drain"), ("k", "kill"), ("r", "restart")])
async def test_confirm_always_asks_before_every_command(make_app, key: str, name: str) -> None:
    app = make_app(confirm="always")
    async with app.run_test(size=SIZE) as pilot:
        await shows(pilot, "pid 41233")
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.dashboard)
        assert app.fake.sent == []
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: app.fake.sent == [name])


@pytest.mark.parametrize("scenario", ["healthy", "killed"])
async def test_read_only_sends_nothing(make_app, scenario: str) -> None:
    app = make_app(scenario, read_only=True)
    async with app.run_test(size=SIZE) as pilot:
        await shows(pilot, "read-only", "perfectblend")
        await pilot.press("s", "d", "k", "r", "K")
        for name in ("start", "drain", "kill", "restart", "kill_hard"):
            app.action_command(name)
        assert not [worker for worker in app.workers if worker.group == "command"]
        assert app.fake.sent == []
        assert app.screen is app.dashboard
        footer = screen_text(app).splitlines()[-1]
        assert "kill" not in footer
        assert "? help" in footer


async def test_a_command_that_fails_says_why_and_the_console_stays(make_app) -> None:
    app = make_app()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shows(pilot, "pid 41233")
        app.fake.fails = UserError("pid 41233 is not ours [/]", "look with ps")
        await pilot.press("k")
        await shows(pilot, "pid 41233 is not ours [/]", "→ look with ps")
        app.fake.fails = OSError("channel closed")
        await pilot.press("d")
        await shows(pilot, "drain failed: OSError: channel closed")
        assert app.is_running


async def test_a_command_under_way_is_not_sent_twice(make_app) -> None:
    app = make_app()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shows(pilot, "pid 41233")
        app.fake.gate = asyncio.Event()
        await pilot.press("k", "k")
        await shows(pilot, "kill is already under way")
        assert app.fake.sent == ["kill"]
        app.fake.gate.set()
        await shows(pilot, "kill done")


async def test_a_key_that_cannot_act_says_why(make_app) -> None:
    app = make_app("empty")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shows(pilot, "no run")
        await pilot.press("k")
        await shows(pilot, "kill: nothing is running")
        assert app.fake.sent == []


async def test_leaving_closes_the_watch_and_never_touches_the_run(make_app) -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        await shows(pilot, "pid 41233")
        await pilot.press("q")
    assert app.fake.closed
    assert app.fake.sent == []


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("lost", "The run was going on (pid 41233 on gpu-07) when the link was lost"),
        ("finished", "Nothing is running on gpu-07: back to come back"),
        ("empty", "Nothing is running on gpu-07"),
    ],
)
async def test_farewell_says_what_became_of_the_run(make_app, scenario: str, words: str) -> None:
    app = make_app(scenario, come_back="back")
    async with app.run_test(size=SIZE) as pilot:
        await shows(pilot, "gpu-07")
        await pilot.press("q")
    assert app.farewell.startswith(words)
