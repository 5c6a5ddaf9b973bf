"""Text of a model, a log or a host is shown as it is: never markup, never a command."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scenarios import HEALTHY, TIMEOUTS, record
from screen_text import screen_text, shows, until

from eagle3_core.errors import UserError
from eagle3_core.monitor.events import LogLines, NewRecords, Picture
from eagle3_core.monitor.snapshot import Finding, Link, LinkState, Process, ProcessState
from eagle3_core.text import printable

MARKUP = [
    "route {region}/{zone}[/{rackId}]/list",
    "close [/] here",
    "path [/srv/models/toy] loaded",
    "ends with [/",
    "[bold]not bold",
    "a[0] = b[i]",
    "[@click=app.quit]press[/]",
    "[THINK]plan[/THINK]ok",
    "C:\\[dir]\\",
    "[link=file:///srv]x[/link]",
    "100% [====>   ]",
    "[$primary]x[/]",
]
ESCAPES = [
    "A\x1b]52;c;ZXZpbA==\x07B",
    "A\x1b]0;new title\x07B",
    "A\x1b]8;;http://bad.example\x1b\\link\x1b]8;;\x1b\\B",
    "A\x1b[2J\x1b[HB",
    "A\x1b[6nB",
    "A\x9b2JB",
    "A\x9d52;c;ZXZpbA==\x9cB",
    "A\x1bcB",
    "A\x1b]unterminated B",
    "A\x1bP+q544e\x1b\\B",
    "A\x07\x08\x0b\x0c\x7fB",
    "A\u202egnp.exe\u202cB",
    "A\x1b[31mred\x1b[0mB",
    "A\x00B",
]
SIZE = (160, 44)


def _no_live_controls(text: str) -> bool:
    bidi = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}
    codes = {ord(character) for character in text if character != "\n"}
    return not any(code < 32 or 0x7F <= code < 0xA0 or code in bidi for code in codes)


@pytest.mark.parametrize("text", [*MARKUP, *ESCAPES])
async def test_in_every_place(make_app, text: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = make_app("connecting")
    shown = printable(text)
    in_log = shown.replace("␛[31m", "").replace("␛[0m", "")
    sample = record(
        1,
        key=text[:28],
        messages=({"role": "user", "content": f"Q {text}"},),
        reasoning=f"R {text}",
        content=f"C {text}",
        finish_reason=text,
        flags={"odd": text},
    )
    snapshot = replace(
        TIMEOUTS,
        host=text,
        run=f"/run/{text}",
        server=replace(HEALTHY.server, error=text),
        findings=(Finding(text, "error", f"E {text}", f"K {text}", f"M {text}"),),
    )
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        app.fake.tell(Picture(snapshot), LogLines((f"L {text}",), partial=f"P {text}"))
        app.fake.tell(NewRecords((sample,)))
        squeezed = " ".join(shown.split())
        places = [f"Q {squeezed}", f"R {shown}", f"C {shown}", f"L {in_log}", f"P {in_log}"]
        await shows(pilot, *places, f"✖ {shown}", f"→ M {shown}"[:24], printable(text[:28]))
        app.fake.fails = UserError(text, f"mend {text}")
        await pilot.press("k")
        await until(pilot, lambda: shown[:20] in "\n".join(n.message for n in app._notifications))
        await pilot.press("K")
        await shows(pilot, "Send SIGKILL?")
        await pilot.press("escape", "left_square_bracket")
        await pilot.press("o")
        await until(pilot, lambda: list(tmp_path.iterdir()))
        assert _no_live_controls(screen_text(app))
        assert app.is_running
    (saved,) = tmp_path.iterdir()
    assert saved.read_bytes() == sample.to_line()


@pytest.mark.parametrize("text", ["close [/] here", "A\x1b]52;c;ZXZpbA==\x07B"])
@pytest.mark.parametrize("state", [LinkState.LOST, LinkState.FAILED])
async def test_in_the_reason_of_a_broken_link(make_app, text: str, state: LinkState) -> None:
    app = make_app("connecting")
    async with app.run_test(size=SIZE) as pilot:
        link = Link(state, HEALTHY.at, text)
        app.fake.tell(Picture(replace(HEALTHY, link=link, points=())))
        await shows(pilot, printable(text))
        process = Process(ProcessState.FAILED, detail=text)
        app.fake.tell(Picture(replace(HEALTHY, process=process)))
        await shows(pilot, "could not start", printable(text))
        assert _no_live_controls(screen_text(app))


async def test_a_theme_that_is_not_there_is_told_as_it_was_written(make_app) -> None:
    app = make_app(theme="[/] no such")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shows(pilot, "no theme is called '[/] no such'")
        assert app.theme == "okabe-ito"
