import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_console.widgets.block_chart import axis, bars, ceiling, columns, time_axis


def test_newest_is_at_the_right_and_a_gap_stays_a_gap() -> None:
    times = [0.0, 1.0, 2.0, 8.0, 9.0]
    means, step = columns(times, [1, 2, 3, 4, 5], 10)
    assert step == 1.0
    assert means == [1, 2, 3, None, None, None, None, None, 4, 5]


def test_jitter_leaves_no_holes() -> None:
    times = [n + (0.3 if n % 2 else -0.3) for n in range(60)]
    means, _ = columns(times, [1.0] * 60, 60)
    first = next(n for n, mean in enumerate(means) if mean is not None)
    assert first < 30
    assert None not in means[first:]


@given(
    st.lists(st.tuples(st.floats(0.01, 50), st.floats(0, 1e6)), max_size=80), st.integers(1, 120)
)
def test_columns_are_means_of_their_points(steps: list[tuple[float, float]], width: int) -> None:
    times, at = [], 0.0
    for step, _ in steps:
        at += step
        times.append(at)
    values = [value for _, value in steps]
    means, _ = columns(times, values, width)
    assert len(means) == width
    for mean in means:
        assert mean is None or min(values) - 1e-6 <= mean <= max(values) + 1e-6


@pytest.mark.parametrize(
    ("top", "expected"), [(0, 1), (0.52, 0.6), (0.61, 0.8), (1, 1), (657, 800), (4120, 5000)]
)
def test_ceiling_is_round(top: float, expected: float) -> None:
    assert ceiling([None, top]) == pytest.approx(expected)


@given(st.lists(st.one_of(st.none(), st.floats(0, 10)), max_size=30), st.integers(1, 12))
def test_bars_never_hide_a_value(values: list[float | None], height: int) -> None:
    rows = bars(values, 10.0, height)
    assert len(rows) == height
    for n, value in enumerate(values):
        assert (rows[-1][n] != " ") == bool(value)
    assert bars([10.0], 10.0, 3) == ["█", "█", "█"]


def test_axis_says_top_middle_and_nought() -> None:
    labels = [label.strip(" ┤│") for label in axis(0.8, 6)]
    assert labels == ["0.80", "", "", "0.40", "", "0"]


def test_time_axis_fits_its_width() -> None:
    assert time_axis(5.0, 20) == "−100 s" + " " * 11 + "now"
    assert len(time_axis(5.0, 4)) == 4
