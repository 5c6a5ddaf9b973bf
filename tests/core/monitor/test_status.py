"""``status.json`` from anybody's hand: what is no number stays at its default, nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.monitor.snapshot import Progress, Rates
from eagle3_core.monitor.status import number, progress_of, rates_of, whole

GOOD = {
    "run_id": "a",
    "phase": "running",
    "message": "",
    "samples": 100,
    "done": 50,
    "kept": 5,
    "failed": 1,
    "in_flight": 8,
    "pending": 36,
    "kept_by_state": {"truncated": 5},
    "attempts_by_state": {"timeout": 3},
    "timeouts_by_clock": {"total": 3},
    "timeouts_by_why": {"slow": 3},
    "completion_tokens": 5000,
    "elapsed_s": 12.5,
    "eta_s": None,
    "concurrency": 8,
    "stream": "on",
    "rates": {"requests_s": 1.5, "tokens_s": 100, "error_share": 0.1},
    "something_new": {"of": "a later version"},
}


def test_all_that_is_said_is_read() -> None:
    progress = progress_of(GOOD)
    for name in Progress.__dataclass_fields__:
        assert getattr(progress, name) == GOOD.get(name, getattr(Progress(), name)), name
    assert (progress.timeouts, progress.errors) == (3, 3)
    assert rates_of(GOOD) == Rates(1.5, 100, 0.1)


def test_nothing_is_said() -> None:
    assert progress_of(None) == progress_of({}) == Progress()
    assert rates_of(None) == rates_of({}) == rates_of({"rates": None}) == Rates()


@pytest.mark.parametrize(
    "wrong", ["7", None, True, -1, 1.5, [1], {"a": 1}, float("nan"), float("inf"), 10**400]
)
def test_a_count_of_the_wrong_kind_is_not_taken(wrong: object) -> None:
    assert progress_of({"done": wrong, "kept": 3}) == Progress(kept=3)


@pytest.mark.parametrize("wrong", [7, None, [], {}])
def test_a_word_of_the_wrong_kind_is_not_taken(wrong: object) -> None:
    assert progress_of({"phase": wrong, "message": wrong}) == Progress()


def test_bad_entries_of_a_table_are_left_out() -> None:
    status = {"attempts_by_state": {"timeout": 2, "cut": "3", "x": None, "y": -1}}
    assert progress_of(status).errors == 2
    assert progress_of({"attempts_by_state": [1, 2]}) == Progress()


@pytest.mark.parametrize("wrong", ["fast", True, -0.1, float("nan"), float("inf"), [1]])
def test_a_rate_of_the_wrong_kind_is_not_taken(wrong: object) -> None:
    assert rates_of({"rates": {"requests_s": wrong, "tokens_s": 5}}) == Rates(None, 5, None)


def test_a_share_is_at_most_all() -> None:
    assert rates_of({"rates": {"error_share": 7}}).error_share == 1.0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(GOOD, json_values)))
def test_whatever_it_holds_can_be_shown(status: dict[str, object]) -> None:
    progress = progress_of(status)
    for name, default in vars(Progress()).items():
        value = getattr(progress, name)
        assert type(value) is type(default) or name in ("eta_s", "elapsed_s")
        assert not isinstance(value, (int, float)) or 0 <= value <= 10**15
    assert progress.errors >= 0
    for rate in vars(rates_of(status)).values():
        assert rate is None or number(rate) is not None


def test_whole_numbers_are_whole() -> None:
    assert (whole(3), whole(3.0), whole(True), number(3.5)) == (3, None, None, 3.5)
