"""Every key of the table does its thing, pressed for real."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from scenarios import KILLED, NOW, record
from screen_text import screen_text, shows, until
from textual.pilot import Pilot

from eagle3_console.actions import ACTIONS
from eagle3_console.screens.concurrency import ConcurrencyScreen
from eagle3_console.screens.confirm import ConfirmScreen
from eagle3_console.screens.help import HelpScreen
from eagle3_core.monitor.events import LogLines, NewRecords, Picture
from eagle3_core.records import AnswerState

SIZE = (120, 36)
Check = Callable[[Pilot], Awaitable[None]]
CHECKS: dict[str, Check] = {}


def check(name: str) -> Callable[[Check], Check]:
    def keep(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return keep


def test_every_action_has_its_check() -> None:
    assert set(CHECKS) == {action.id for action in ACTIONS}


@pytest.mark.parametrize("name", [action.id for action in ACTIONS])
async def test_key(name: str, make_app, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = make_app()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shows(pilot, "pid 41233", "Progress: 2560/25000", "✔ ok")
        await CHECKS[name](pilot)


def _sent(name: str, key: str) -> Check:
    async def sends(pilot: Pilot) -> None:
        await pilot.press(key)
        await until(pilot, lambda: pilot.app.fake.sent == [name])
        await shows(pilot, f"{name} done", f"kill -TERM -41233 # {name}")

    return sends


for command, command_key in (("drain", "d"), ("kill", "k"), ("restart", "r")):
    CHECKS[command] = _sent(command, command_key)


@check("start")
async def _(pilot: Pilot) -> None:
    await pilot.press("s")
    await shows(pilot, "start: the run goes on already (pid 41233)")
    assert pilot.app.fake.sent == []
    pilot.app.fake.tell(Picture(KILLED))
    await shows(pilot, "killed (KILL)")
    await _sent("start", "s")(pilot)


@check("kill_hard")
async def _(pilot: Pilot) -> None:
    await pilot.press("K")
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
    assert pilot.app.fake.sent == []
    await pilot.press("y")
    await until(pilot, lambda: pilot.app.fake.sent == ["kill_hard"])


@check("concurrency")
async def _(pilot: Pilot) -> None:
    await pilot.press("c")
    await until(pilot, lambda: isinstance(pilot.app.screen, ConcurrencyScreen))
    await shows(pilot, "now 128")
    await pilot.press("0", "enter")
    await shows(pilot, "give a whole number from 1 to 4,096, or auto")
    assert pilot.app.fake.sent == []
    await pilot.press("backspace", *"auto", "enter")
    await until(pilot, lambda: pilot.app.fake.sent == ["concurrency auto"])
    await pilot.press("c")
    await until(pilot, lambda: isinstance(pilot.app.screen, ConcurrencyScreen))
    await pilot.press("escape")
    await until(pilot, lambda: not isinstance(pilot.app.screen, ConcurrencyScreen))
    assert pilot.app.fake.sent == ["concurrency auto"]


def _alone(name: str, key: str, number: int) -> Check:
    async def alone(pilot: Pilot) -> None:
        names = ("throughput", "log", "sample", "findings")
        await pilot.press(key)
        await until(pilot, lambda: _seen(pilot) == {name})
        assert pilot.app.screen.query_one(f"#{name}").size.width >= 110
        assert f" {number} " in screen_text(pilot.app)
        await pilot.press(key)
        await until(pilot, lambda: _seen(pilot) == set(names))

    return alone


def _seen(pilot: Pilot) -> set[str]:
    return {panel.id for panel in pilot.app.screen.query("#panels > *") if panel.region.area}


for panel_number, panel_name in enumerate(("throughput", "log", "sample", "findings"), 1):
    CHECKS[panel_name] = _alone(panel_name, str(panel_number), panel_number)


@check("overview")
async def _(pilot: Pilot) -> None:
    for key in ("escape", "0"):
        await pilot.press("3")
        await until(pilot, lambda: _seen(pilot) == {"sample"})
        await pilot.press(key)
        await until(pilot, lambda: len(_seen(pilot)) == 4)


@check("next_panel")
async def _(pilot: Pilot) -> None:
    seen = []
    for _press in range(4):
        seen.append(pilot.app.focused.id)
        await pilot.press("tab")
    assert seen == ["tail", "reasoning", "content", "findings-scroll"]
    assert pilot.app.focused.id == "tail"


@check("search")
async def _(pilot: Pilot) -> None:
    await pilot.press("slash", *"max_tok", "enter")
    await shows(pilot, "match 1 of 1", "“max_tok”")
    await pilot.press("escape")
    await until(pilot, lambda: "match" not in screen_text(pilot.app))


@check("next_match")
async def _(pilot: Pilot) -> None:
    await pilot.press("n")
    await shows(pilot, "press / first")
    await pilot.press("slash", *"progress", "enter")
    await shows(pilot, "match 5 of 5")
    await pilot.press("n")
    await shows(pilot, "match 1 of 5")
    await pilot.press("n")
    await shows(pilot, "match 2 of 5")


@check("previous_match")
async def _(pilot: Pilot) -> None:
    await pilot.press("slash", *"PROGRESS", "enter")
    await shows(pilot, "match 5 of 5")
    await pilot.press("N")
    await shows(pilot, "match 4 of 5")


@check("follow")
async def _(pilot: Pilot) -> None:
    await pilot.press("pageup")
    await shows(pilot, "held")
    pilot.app.fake.tell(LogLines(("a new line", "and another")))
    await shows(pilot, "+2 new lines")
    assert "and another" not in screen_text(pilot.app)
    await pilot.press("f")
    await shows(pilot, "following", "and another")


@check("top")
async def _(pilot: Pilot) -> None:
    await pilot.press("g")
    await shows(pilot, "INFO model moonshotai", "held")


@check("bottom")
async def _(pilot: Pilot) -> None:
    await pilot.press("g", "G")
    await shows(pilot, "Progress: 2560/25000", "following")
    pilot.app.screen.query_one("#reasoning").focus()
    await pilot.press("G")
    await shows(pilot, "Yes, nine hours.")


@check("wrap")
async def _(pilot: Pilot) -> None:
    pilot.app.fake.tell(LogLines(("x" * 130 + "END",)))
    await shows(pilot, "xxxxx")
    assert "xEND" not in screen_text(pilot.app)
    await pilot.press("w")
    await shows(pilot, "wrapped", "xEND")
    await pilot.press("w")
    await until(pilot, lambda: "xEND" not in screen_text(pilot.app))


@check("previous_sample")
async def _(pilot: Pilot) -> None:
    await pilot.press("left_square_bracket")
    await shows(pilot, "39 of 40", record(38).key)


@check("next_sample")
async def _(pilot: Pilot) -> None:
    await pilot.press("left_square_bracket", "left_square_bracket", "right_square_bracket")
    await shows(pilot, "39 of 40", record(38).key)


@check("latest")
async def _(pilot: Pilot) -> None:
    await pilot.press("left_square_bracket")
    pilot.app.fake.tell(NewRecords((record(77),)))
    await shows(pilot, "39 of 41")
    await pilot.press("l")
    await shows(pilot, "latest", record(77).key)


@check("random")
async def _(pilot: Pilot) -> None:
    await pilot.press("x")
    await shows(pilot, "random", record(900).key)


@check("flagged")
async def _(pilot: Pilot) -> None:
    bad = record(50, state=AnswerState.TRUNCATED, finish_reason="length")
    pilot.app.fake.tell(NewRecords((bad, record(51))))
    await shows(pilot, record(39).key)
    await until(pilot, lambda: len(pilot.app.dashboard.store.listed()) == 42)
    await pilot.press("exclamation_mark")
    await shows(pilot, "flagged only", bad.key, "! truncated", "finish length")
    await pilot.press("exclamation_mark")
    await until(pilot, lambda: "flagged only" not in screen_text(pilot.app))


@check("copy")
async def _(pilot: Pilot) -> None:
    await pilot.press("y")
    await until(pilot, lambda: "Progress: 2560/25000" in pilot.app.clipboard)
    await pilot.press("tab", "y")
    await until(pilot, lambda: pilot.app.clipboard.startswith("[reasoning]\nThe tank is half"))
    assert "[content]\n**9 hours.**" in pilot.app.clipboard
    await shows(pilot, "copied: sample")


@check("save")
async def _(pilot: Pilot) -> None:
    await pilot.press("o", "o")
    await shows(pilot, "saved to")
    await until(pilot, lambda: len(list(Path.cwd().iterdir())) == 2)
    first, second = sorted(Path.cwd().iterdir())
    assert first.name == "sample-pb-017039_4f1c9a0027-2.json"
    assert first.read_bytes() == second.read_bytes() == record(39).to_line()


@check("reconnect")
async def _(pilot: Pilot) -> None:
    await pilot.press("R")
    await until(pilot, lambda: pilot.app.fake.sent == ["reconnect"])
    await shows(pilot, "connecting anew")


@check("freeze")
async def _(pilot: Pilot) -> None:
    await pilot.press("p")
    await shows(pilot, "‖ frozen")
    pilot.app.fake.tell(Picture(KILLED), LogLines(("while frozen",)))
    await asyncio.sleep(0.6)
    assert "killed" not in screen_text(pilot.app)
    await pilot.press("p")
    await shows(pilot, "killed (KILL)", "while frozen", "live")


@check("theme")
async def _(pilot: Pilot) -> None:
    names = pilot.app.theme_names
    seen = []
    for _press in names:
        seen.append(pilot.app.theme)
        await pilot.press("T")
    assert sorted(seen) == sorted(names)
    assert pilot.app.theme == "okabe-ito"


@check("help")
async def _(pilot: Pilot) -> None:
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    await shows(pilot, "end the run now (TERM)")
    await pilot.press("k")
    await pilot.press("escape")
    await until(pilot, lambda: pilot.app.screen is pilot.app.dashboard)
    assert pilot.app.fake.sent == []


@check("palette")
async def _(pilot: Pilot) -> None:
    await pilot.press("ctrl+p", *"drain")
    await shows(pilot, "drain (d)")
    await pilot.press("down", "enter")
    await until(pilot, lambda: pilot.app.fake.sent == ["drain"])


@check("leave")
async def _(pilot: Pilot) -> None:
    await pilot.press("q")
    await until(pilot, lambda: pilot.app._exit)
    app = pilot.app
    assert app.farewell == (
        "The run goes on (pid 41233 on gpu-07): eagle3-console --host gpu-07 "
        "--run /data/eagle3/kimi-k2/perfectblend to come back"
    )
    assert app.dashboard.snapshot.at == NOW
