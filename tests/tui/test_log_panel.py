import pytest
from screen_text import screen_text, shows, until
from textual.geometry import Offset
from textual.selection import Selection

from eagle3_console import log_rows
from eagle3_console.widgets.tail_log import TailLog
from eagle3_core.monitor.events import LogLines

SIZE = (120, 36)


def _lines(first: int, last: int) -> LogLines:
    return LogLines(tuple(f"row {n:05d}" for n in range(first, last)))


async def test_follow_hold_and_follow_again(make_app) -> None:
    app = make_app("empty")
    async with app.run_test(size=SIZE) as pilot:
        app.fake.tell(_lines(0, 200))
        await shows(pilot, "row 00199", "following")
        await pilot.press("pageup")
        await shows(pilot, "held")
        before = app.screen.query_one(TailLog).visible_text()
        app.fake.tell(_lines(200, 300))
        await shows(pilot, "+100 new lines · f to follow")
        assert app.screen.query_one(TailLog).visible_text() == before
        await pilot.press("end")
        await shows(pilot, "row 00299", "following")
        app.fake.tell(_lines(300, 310))
        await shows(pilot, "row 00309")
        assert "new lines" not in screen_text(app)


async def test_pruning_does_not_move_the_text_under_the_reader(make_app, monkeypatch) -> None:
    monkeypatch.setattr(log_rows, "KEEP_ROWS", 300)
    app = make_app("empty")
    async with app.run_test(size=SIZE) as pilot:
        app.fake.tell(_lines(0, 300))
        await shows(pilot, "row 00299")
        for _ in range(4):
            await pilot.press("pageup")
        await shows(pilot, "held")
        tail = app.screen.query_one(TailLog)
        before = tail.visible_text()
        app.fake.tell(_lines(300, 350))
        await until(pilot, lambda: tail.rows.texts[0] == "row 00050")
        assert tail.visible_text() == before
        assert len(tail.rows) == 300


async def test_search_goes_round_and_escape_forgets_it(make_app) -> None:
    app = make_app("empty")
    async with app.run_test(size=SIZE) as pilot:
        app.fake.tell(_lines(0, 120))
        await shows(pilot, "row 00119")
        await pilot.press("slash", *"ROW 0000", "enter")
        await shows(pilot, "match 10 of 10", "row 00009")
        await pilot.press("n")
        await shows(pilot, "match 1 of 10", "row 00000")
        await pilot.press("N")
        await shows(pilot, "match 10 of 10")
        await pilot.press("slash", *"x[", "enter")
        await shows(pilot, "no match")
        await pilot.press("slash", *"abc", "escape")
        await until(pilot, lambda: "match" not in screen_text(app))
        assert app.focused.id == "tail"
        assert app.fake.sent == []


async def test_the_column_stays_while_following(make_app) -> None:
    app = make_app("empty")
    async with app.run_test(size=SIZE) as pilot:
        app.fake.tell(LogLines(("ab" * 200,)))
        await shows(pilot, "abab")
        tail = app.screen.query_one(TailLog)
        tail.scroll_to(x=50, animate=False)
        await until(pilot, lambda: tail.scroll_offset.x == 50)
        app.fake.tell(_lines(0, 60))
        await until(pilot, lambda: tail.rows.texts[-1] == "row 00059")
        assert tail.scroll_offset.x == 50


async def test_wrap_keeps_the_top_row(make_app) -> None:
    app = make_app("empty")
    async with app.run_test(size=SIZE) as pilot:
        lines = tuple(f"row {n:05d} " + "x" * 300 for n in range(100))
        app.fake.tell(LogLines(lines))
        await shows(pilot, "row 00099")
        await pilot.press("g", "pagedown", "pagedown")
        tail = app.screen.query_one(TailLog)
        top = tail.visible_text()[:9]
        await pilot.press("w")
        await shows(pilot, "wrapped")
        assert tail.visible_text()[:9] == top
        await pilot.press("w")
        assert tail.visible_text()[:9] == top


async def test_selected_text_is_copied_without_glyphs(make_app) -> None:
    app = make_app("empty")
    async with app.run_test(size=SIZE) as pilot:
        app.fake.tell(LogLines(("INFO one", "ERROR two", "漢字 three")))
        await shows(pilot, "✖ ERROR two")
        tail = app.screen.query_one(TailLog)
        app.screen.selections = {tail: Selection(Offset(5, 0), Offset(5, 1))}
        await pilot.press("y")
        assert app.clipboard == "one\nERROR"


async def test_the_mouse_selects_what_it_covers(make_app) -> None:
    app = make_app("empty")
    async with app.run_test(size=SIZE) as pilot:
        app.fake.tell(LogLines(("INFO one", "ERROR two")))
        await shows(pilot, "✖ ERROR two")
        await pilot.mouse_down("#tail", offset=(2, 1))
        await pilot.hover("#tail", offset=(6, 1))
        await pilot.mouse_up("#tail", offset=(6, 1))
        await pilot.press("y")
        assert app.clipboard == "ERROR"


@pytest.mark.parametrize("note", ["truncated", "replaced"])
async def test_a_break_in_the_file_is_shown(make_app, note: str) -> None:
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        app.fake.tell(LogLines(("after",), note=note))
        await shows(pilot, f"· {note}", "after")


async def test_a_missing_log_says_where_it_should_be(make_app) -> None:
    app = make_app("empty")
    async with app.run_test(size=SIZE) as pilot:
        await shows(pilot, "No log yet, /data/eagle3/kimi-k2/perfectblend/inference.log")
