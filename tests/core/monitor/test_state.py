"""Facts in, pictures out: lines, progress, rates, points and findings of one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from eagle3_core.host.run import RunState
from eagle3_core.metrics import ServerNumbers
from eagle3_core.monitor.snapshot import Link, LinkState, ProcessState, Progress, Rates, Server
from eagle3_core.monitor.state import RunView
from eagle3_core.records import AnswerState, Record

Make = Callable[..., RunState]


@pytest.fixture
def view(clock: Any) -> RunView:
    made = RunView("gpu", "~/run", clock)
    made.link = Link(LinkState.CONNECTED, clock())
    return made


def counted(done: int, run_id: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "phase": "running",
        "samples": 1000,
        "done": done,
        "lines": done,
        **more,
    }


def test_before_anything_is_known(view: RunView) -> None:
    picture = view.snapshot()
    assert (picture.lines, picture.data_at, picture.disk_free) == (None, None, None)
    assert (picture.process.state, picture.run) == (ProcessState.UNKNOWN, "~/run")
    assert (picture.progress, picture.rates, picture.findings) == (Progress(), Rates(), ())


def test_why_there_are_no_lines(view: RunView, run_state: Make) -> None:
    view.take_state(run_state(alive=False, journal=False, exists=False))
    picture = view.snapshot()
    assert (picture.lines, picture.lines_detail) == (0, "no such directory /data/run")
    assert picture.run == "/data/run"
    view.take_state(run_state(alive=False, journal=False))
    assert view.snapshot().lines_detail == "no raw_responses.jsonl yet"
    view.take_records([], 0)
    view.take_state(run_state())
    assert (view.snapshot().lines, view.snapshot().lines_detail) == (0, "")


def test_a_journal_that_may_not_be_read_says_so(view: RunView, run_state: Make) -> None:
    view.take_records([], 0, "missing: /data/run/x: Permission denied")
    view.take_state(run_state())
    assert view.snapshot().lines_detail == "missing: /data/run/x: Permission denied"
    view.take_records([], 3)
    view.take_state(run_state())
    assert (view.snapshot().lines, view.snapshot().lines_detail) == (3, "")


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"run_id": 7, "lines": "many", "done": None, "rates": [1], "streamed_tokens": "x"},
        {"run_id": "a", "lines": "many", "done": "5", "rates": "fast", "streamed_tokens": None},
        {"run_id": "a", "timeouts_by_clock": {"total": 5}, "eta_s": float("inf")},
        {"run_id": "a", "kept_by_state": [], "attempts_by_state": 5, "phase": 5},
    ],
)
def test_a_status_of_the_wrong_kinds_breaks_nothing(
    view: RunView, run_state: Make, clock: Any, status: dict[str, Any]
) -> None:
    for _ in range(3):
        view.take_records([], 1)
        view.take_state(run_state(status))
        clock.now += 1
    assert view.snapshot().progress.done == 0


def test_what_is_shown_is_what_the_generator_says(view: RunView, run_state: Make) -> None:
    rates = {"requests_s": 0.5, "tokens_s": 600.0, "error_share": 0.25}
    view.take_state(run_state(counted(7, rates=rates, later="a key of tomorrow")))
    picture = view.snapshot()
    assert (picture.progress.samples, picture.progress.done) == (1000, 7)
    assert (picture.rates.requests_s, picture.rates.error_share) == (0.5, 0.25)


def test_data_has_the_age_of_this_machine(view: RunView, run_state: Make, clock: Any) -> None:
    """The host's clock may be years away: it says nothing on how old the data is."""
    view.take_state(run_state(counted(1), host_time=5.0))
    clock.now += 3
    assert view.snapshot().data_at == clock.now - 3


def grow(view: RunView, run_state: Make, clock: Any, seconds: int, **more: Any) -> None:
    """A run that answers twice a second."""
    done = view.snapshot().progress.done
    for _ in range(seconds):
        done += 2
        view.take_state(run_state(counted(done, completion_tokens=done * 100, **more)))
        clock.now += 1


def test_one_point_a_second_with_the_rates(view: RunView, run_state: Make, clock: Any) -> None:
    for n in range(100):
        view.take_state(run_state(counted(n // 10 * 2, completion_tokens=n // 10 * 200)))
        clock.now += 0.1
    points = view.snapshot().points
    assert 9 <= len(points) <= 11
    assert points[-1].requests_s == pytest.approx(2, rel=0.3)
    assert points[-1].tokens_s == pytest.approx(200, rel=0.3)


def test_a_clock_that_was_set_back_does_not_stop_the_points(
    view: RunView, run_state: Make, clock: Any
) -> None:
    grow(view, run_state, clock, 5)
    clock.now -= 3600
    before = len(view.snapshot().points)
    grow(view, run_state, clock, 5)
    assert len(view.snapshot().points) >= before + 4
    assert view.snapshot().points[-1].requests_s == 2


def test_rates_end_with_the_process(view: RunView, run_state: Make, clock: Any) -> None:
    grow(view, run_state, clock, 5, rates={"requests_s": 2.0})
    assert view.snapshot().rates.requests_s == 2
    assert view.snapshot().rates.tokens_s == pytest.approx(200)
    view.take_state(run_state(counted(10, rates={"requests_s": 2.0}), alive=False))
    clock.now += 1
    assert view.snapshot().rates == Rates()
    view.take_state(run_state(counted(10), alive=False))
    assert view.snapshot().points[-1].requests_s == 0


def test_a_resume_is_no_burst(view: RunView, run_state: Make, clock: Any) -> None:
    """What earlier runs have answered is on the counter of the next one: it is no growth."""
    grow(view, run_state, clock, 50)
    view.take_records([], 105)
    view.take_state(run_state(counted(100), alive=False))
    clock.now += 1
    new = {"record": {"run_id": "b", "pid": 101}}
    for status in (counted(100), counted(105, "b"), counted(106, "b"), counted(107, "b")):
        view.take_state(run_state(status, **new))
        clock.now += 1
        assert view.snapshot().points[-1].requests_s <= 2


def test_asking_kept_answers_again_is_no_burst(view: RunView, run_state: Make, clock: Any) -> None:
    """``redo`` makes the counter of answers fall: to a meter, a counter that began anew."""
    grow(view, run_state, clock, 50)
    for done in (70, 70, 71):
        status = counted(done, "b")
        view.take_state(run_state(status, record={"run_id": "b"}))
        clock.now += 1
        assert view.snapshot().points[-1].requests_s <= 1


def test_the_numbers_of_the_run_before_are_no_rates_of_this_one(
    view: RunView, run_state: Make
) -> None:
    old = counted(100, rates={"requests_s": 9.0})
    view.take_state(run_state(old, record={"run_id": "b"}))
    assert view.snapshot().rates == Rates()
    assert view.snapshot().progress.done == 100


def test_a_run_without_a_status_is_measured_by_its_lines(
    view: RunView, run_state: Make, clock: Any
) -> None:
    for n in range(5):
        view.take_records([], 100 + 3 * n)
        view.take_state(run_state(None))
        clock.now += 1
    assert view.snapshot().rates.requests_s == 3


def test_a_lost_link_is_a_gap(view: RunView, run_state: Make, clock: Any) -> None:
    grow(view, run_state, clock, 5)
    view.take_server(ServerNumbers(generation_tokens=0))
    view.lost()
    clock.now += 600
    view.take_server(ServerNumbers(generation_tokens=60_000))
    view.take_state(run_state(counted(900)))
    assert view.snapshot().points[-1].requests_s == 0
    assert view.snapshot().rates == Rates()


def test_the_servers_tokens_are_preferred(view: RunView, run_state: Make, clock: Any) -> None:
    for n in range(3):
        view.take_server(ServerNumbers(64.0, 3.0, 5000.0 * n, 2.0, 0.5))
        grow(view, run_state, clock, 1)
    assert view.snapshot().server == Server(64, 3, 0.5, 5000.0, 2)
    assert view.snapshot().rates.tokens_s == 5000
    view.no_server("http://x does not answer")
    assert view.snapshot().server == Server(error="http://x does not answer")
    assert view.snapshot().rates.tokens_s == pytest.approx(200)


@pytest.mark.parametrize(
    ("settings", "launch", "urls"),
    [
        ({"base_url": ["http://a:1/v1", "http://b:2/"]}, None, ["http://a:1", "http://b:2"]),
        (None, {"base_url": ["http://a:1/v1/"]}, ["http://a:1"]),
        (None, None, []),
        ({"base_url": "http://a:1/v1"}, None, []),
        ({"base_url": [7, None, "http://a:1"]}, None, ["http://a:1"]),
    ],
)
def test_where_the_servers_are(
    view: RunView, run_state: Make, settings: Any, launch: Any, urls: list[str]
) -> None:
    view.take_state(run_state(settings=settings, launch=launch))
    assert view.server_urls() == [f"{url}/metrics" for url in urls]


def names(view: RunView) -> list[str]:
    return [finding.name for finding in view.snapshot().findings]


def test_a_journal_behind_the_count_is_told_after_ten_seconds(
    view: RunView, run_state: Make, clock: Any
) -> None:
    view.take_records([], 5)
    for _ in range(10):
        view.take_state(run_state(counted(6)))
        assert names(view) == []
        clock.now += 1
    assert names(view) == ["not persisting"]
    view.take_records([], 6)
    view.take_state(run_state(counted(6)))
    assert names(view) == []


def test_a_lost_link_is_no_lost_answer(view: RunView, run_state: Make, clock: Any) -> None:
    view.take_records([], 5)
    view.take_state(run_state(counted(6)))
    view.lost()
    clock.now += 60
    assert names(view) == []


def test_missing_reasoning_is_told_within_ten_records(
    view: RunView, run_state: Make, record: Callable[..., Record]
) -> None:
    view.take_state(run_state(counted(10), settings={"thinking": True}))
    view.take_records([record(n, state=AnswerState.NO_REASONING) for n in range(10)], 10)
    assert names(view) == ["reasoning missing"]
    view.take_records([record(0)], 1)
    assert names(view) == [], "a journal that began anew holds other answers"


def test_only_the_newest_records_are_looked_at(
    view: RunView, record: Callable[..., Record]
) -> None:
    view.take_records([record(n, state=AnswerState.NO_REASONING) for n in range(50)], 50)
    assert names(view) == ["reasoning missing"]
    view.take_records([record(n) for n in range(50)], 100)
    assert names(view) == []
    assert len(view.recent) == 50


def test_a_late_answer_does_not_undo_the_count(
    view: RunView, run_state: Callable[..., RunState], record: Callable[..., Record]
) -> None:
    """The host looked before the file came; the tail that saw it come was quicker."""
    view.take_state(run_state(journal=False))
    view.take_records([record()], 2000)
    view.take_state(run_state(journal=False))
    assert view.snapshot().lines == 2000
    view.take_records([], 0, "missing: no raw_responses.jsonl yet")
    view.take_state(run_state(journal=False))
    assert view.snapshot().lines == 0
    assert view.snapshot().lines_detail == "no raw_responses.jsonl yet"
