"""Every state of a run is told in words, with the next step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scenarios import HEALTHY, LOST, NOW, RUN, TIMEOUTS, record
from screen_text import screen_text, shows, until

from eagle3_console import words
from eagle3_core.monitor.events import LogLines, NewRecords, Picture
from eagle3_core.monitor.snapshot import LinkState, Process, ProcessState
from eagle3_core.records import AnswerState

STATES = {
    "healthy": (
        "● connected",
        "▶ running pid 41233",
        "live",
        "server 128 running · 14 waiting",
        "2,460 done + 31 kept + 0 failed + 128 in flight + 22,381 pending = 25,000",
        "11 h 52 min",
        "✔ nothing to report",
    ),
    "empty": (
        "· no run",
        f"0 lines: no such directory {RUN}",
        "No run here yet: no log. Press s to start generation.",
        "No run here yet: no throughput.",
        "→ press s to start generation",
    ),
    "connecting": ("◐ connecting", "Connecting to gpu-07 …", "no data yet"),
    "lost": (
        "○ link lost 12 s ago",
        "was running",
        "connection reset by peer",
        "trying again in 4 s",
        "data 14 s old",
        "Throughput · 14 s old",
        "Log · 14 s old",
        "latest · 14 s old",
        "Findings · 1 · 14 s old",
    ),
    "failed": ("✖ link failed", "the host key of gpu-07 is not the one", "press R to connect"),
    "finished": ("■ finished", "24,960 / 25,000", "99.8 %", "done", "in 13 h 30 min"),
    "timeouts": (
        "! 222",
        "8.3 % of",
        "✖ time-outs climb",
        "→ restart with --concurrency 64",
        "failed tries: 222 timeout (190 total, 32 first token)",
        "✖ ERROR sample 17029: Request timed out.",
        "failed/s",
    ),
    "no-reasoning": (
        "✖ no reasoning",
        "✖ (empty)",
        "Thinking was asked for and no reasoning",
        "10 of the first 10",
        "kept, not done: 10 no reasoning",
    ),
    "killed": ("■ killed (KILL)", "press s to go on; nothing finished is lost"),
    "drained": ("■ stopped", "drained: 2,460 done, 22,509 pending", "press s to go on"),
}


@pytest.mark.parametrize("scenario", STATES)
async def test_state(make_app, scenario: str) -> None:
    app = make_app(scenario)
    async with app.run_test(size=(160, 44)) as pilot:
        await shows(pilot, *STATES[scenario])
        if scenario == "lost":
            for tile in ("lines", "requests", "tokens", "timeouts", "left", "done"):
                assert "14 s old" in app.screen.query_one(f"#{tile}").text


async def test_data_grows_old_before_the_eyes_and_comes_back_to_life(make_app, clock) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await shows(pilot, "live")
        clock.now += 60
        await shows(pilot, "data 1 min old", "Log · 1 min old")
        lost = replace(LOST, link=replace(LOST.link, since=clock.now - 1, retry_at=clock.now + 3))
        app.fake.tell(Picture(lost))
        await shows(pilot, "link lost 1 s ago", "trying again in 3 s")
        clock.now += 3
        await shows(pilot, "link lost 4 s ago", "trying again now")
        app.fake.tell(Picture(replace(HEALTHY, data_at=clock.now)))
        await shows(pilot, "● connected", "live")
        await until(pilot, lambda: " old" not in screen_text(app))


async def test_the_end_of_the_watch_is_an_error_not_silence(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await shows(pilot, "live")
        app.fake.end()
        await shows(pilot, "✖ the watch ended", "leave with q and come back")


async def test_samples_from_before_the_console_came_are_fetched(make_app) -> None:
    app = make_app("connecting")
    app.fake.older = [record(1), record(2)]
    async with app.run_test(size=(120, 36)) as pilot:
        app.fake.tell(Picture(HEALTHY))
        await shows(pilot, record(2).key, "latest")
        await pilot.press("left_square_bracket")
        await shows(pilot, record(1).key, "1 of 2")


async def test_older_samples_that_cannot_be_read_are_told(make_app) -> None:
    app = make_app("connecting")
    app.fake.fails = RuntimeError()
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        app.fake.tell(Picture(HEALTHY))
        await shows(pilot, "older samples were not read")


async def test_unreadable_lines_in_the_journal_are_counted(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        app.fake.tell(NewRecords((), bad_lines=3))
        await shows(pilot, "! 3 unreadable lines in the journal")


async def test_a_followed_sample_stays_long_enough_to_be_read(make_app, clock) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await shows(pilot, record(39).key)
        app.fake.tell(NewRecords((record(40),)))
        await until(pilot, lambda: len(app.dashboard.store.listed()) == 41)
        assert record(39).key in screen_text(app)
        clock.now += 3
        await shows(pilot, record(40).key)


@pytest.mark.parametrize("state", list(AnswerState))
def test_every_answer_has_a_glyph_and_a_word(state: AnswerState) -> None:
    word = words.answer_word(state)
    assert word.glyph in "✔!✖"
    assert word.word == state.value.replace("_", " ")


@pytest.mark.parametrize("state", list(ProcessState))
@pytest.mark.parametrize("code", [None, 0, 137])
def test_every_process_has_a_glyph_and_a_word(state: ProcessState, code: int | None) -> None:
    word = words.process_word(Process(state, exit_code=code))
    assert len(word.glyph) == 1
    assert word.word
    assert word.tone in words.TONES


@pytest.mark.parametrize("state", list(LinkState))
def test_no_two_links_look_alike_without_colour(state: LinkState) -> None:
    link = replace(HEALTHY.link, state=state)
    others = [words.link_word(replace(link, state=s), NOW) for s in LinkState if s is not state]
    mine = words.link_word(link, NOW)
    assert all(other.glyph != mine.glyph and other.word != mine.word for other in others)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"state": AnswerState.OK_NON_THINKING}, "thinking was switched off"),
        ({"state": AnswerState.NO_REASONING}, "Thinking was asked for"),
    ],
)
def test_missing_reasoning(changes: dict, text: str) -> None:
    assert text in words.missing_text(record(1, reasoning=None, **changes), "reasoning")[0]


def test_missing_content_says_where_it_was_cut() -> None:
    cut = record(
        1,
        state=AnswerState.TRUNCATED,
        content=None,
        finish_reason="length",
        flags={"cut_in": "reasoning"},
    )
    assert "cut while thinking" in words.missing_text(cut, "content")[0]
    assert "no answer text" in words.missing_text(record(1, content=""), "content")[0]


async def test_resizing_keeps_everything_in_its_place(make_app) -> None:
    app = make_app("timeouts")
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "✖ time-outs climb", "2,427 done", "3 Sample", "? help")
        await pilot.resize_terminal(200, 50)
        await shows(pilot, "Throughput", "failed/s", "How long until it is full?", "x random")
        await pilot.resize_terminal(80, 24)
        await shows(pilot, "✖ time-outs climb", "→ restart with --concurrency 64", "q leave")
        assert "Throughput" not in screen_text(app)
        await pilot.press("1")
        await shows(pilot, "Throughput", "failed/s")
        await pilot.resize_terminal(120, 36)
        await shows(pilot, "failed/s", "−10 min")


async def test_nothing_is_drawn_when_nothing_changes(make_app, monkeypatch) -> None:
    app = make_app("timeouts")
    async with app.run_test(size=(120, 36)) as pilot:
        await shows(pilot, "✖ time-outs climb", "✔ ok", "Request timed out")
        await pilot.pause(0.5)
        drawn: list[str] = []
        real = type(app)._display
        monkeypatch.setattr(
            type(app), "_display", lambda self, *a: (drawn.append("x"), real(self, *a))
        )
        app.fake.tell(Picture(TIMEOUTS), LogLines(()), Picture(replace(TIMEOUTS, at=NOW + 1)))
        await pilot.pause(2.5)
        assert drawn == []
        app.fake.tell(Picture(replace(TIMEOUTS, lines=2459)))
        await shows(pilot, "2,459")
        assert drawn


async def test_noughts_before_the_first_answer_are_words_not_a_chart(make_app) -> None:
    app = make_app("connecting")
    begun = replace(HEALTHY.progress, done=0, kept=0, pending=24_872, kept_by_state={})
    noughts = tuple(replace(point, requests_s=0.0, tokens_s=0.0) for point in HEALTHY.points)
    async with app.run_test(size=(120, 36)) as pilot:
        app.fake.tell(Picture(replace(HEALTHY, lines=0, progress=begun, points=noughts)))
        await shows(pilot, "No throughput yet: the run goes on, nothing has come so far.")
        app.fake.tell(Picture(HEALTHY))
        await shows(pilot, "req/s now 0.55")
