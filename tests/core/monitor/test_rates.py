"""A meter: growth per second, whatever the counter and the readings do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.monitor.rates import Meter


def rate(window_s: float, *readings: tuple[float, float]) -> float | None:
    meter = Meter(window_s)
    for at, value in readings:
        meter.add(at, value)
    return meter.rate


def test_two_readings_are_needed() -> None:
    assert rate(10) is None
    assert rate(10, (0, 5)) is None
    assert rate(10, (0, 5), (2, 9)) == 2.0


def test_a_restart_counts_from_nought() -> None:
    assert rate(10, (0, 100), (1, 110), (2, 4)) == 7.0
    assert rate(10, (0, 100), (1, 0)) == 0.0


def test_what_is_older_than_the_window_does_not_count() -> None:
    burst = (0.0, 0.0), (1.0, 1000.0)
    assert rate(10, *burst, *((n, 1000.0) for n in range(2, 11))) == 100.0
    assert rate(10, *burst, *((n, 1000.0) for n in range(2, 12))) == 0.0


def test_a_window_without_readings_is_spanned_by_the_last_one_before_it() -> None:
    assert rate(10, (0, 0), (1, 1), (100, 100)) == 1.0


def test_a_gap_that_is_forgotten_is_not_in_the_rate() -> None:
    meter = Meter(10)
    for at, value in ((0, 0), (1, 5)):
        meter.add(at, value)
    meter.forget()
    assert meter.rate is None
    meter.add(1000, 900)
    assert meter.rate is None
    meter.add(1001, 903)
    assert meter.rate == 3.0


def test_a_clock_that_was_set_back_does_not_stop_the_meter() -> None:
    assert rate(10, (5000, 0), (5001, 2), (1000, 4), (1001, 6)) == 2.0
    assert rate(10, (5, 1), (5, 2)) is None


def test_memory_is_bounded_by_the_window() -> None:
    meter = Meter(10)
    for n in range(5000):
        meter.add(n, n)
    assert len(meter._points) <= 12


steps = st.lists(st.tuples(st.floats(0.01, 5), st.integers(0, 10**6)), min_size=1, max_size=40)


@given(st.floats(1, 1000), steps)
def test_rate_times_span_is_growth(window: float, grown: list[tuple[float, int]]) -> None:
    readings, at, value = [(0.0, 0.0)], 0.0, 0.0
    for wait, growth in grown:
        at, value = at + wait, value + growth
        readings.append((at, value))
    begin = max((r for r in readings[:-1] if r[0] <= at - window), default=readings[0])
    found = rate(window, *readings)
    assert found is not None
    assert found * (at - begin[0]) == pytest.approx(value - begin[1], abs=1e-6)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1e9)), max_size=30))
def test_never_negative(readings: list[tuple[float, float]]) -> None:
    found = rate(10, *readings)
    assert found is None or found >= 0
