import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_console import format as fmt


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (0.518, "0.52"), (9.996, "10.0"), (12.44, "12.4"), (1234.5, "1,234")],
)
def test_rate(value: float | None, text: str) -> None:
    assert fmt.rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0 %"),
        (0.0004, "<0.1 %"),
        (0.0834, "8.3 %"),
        (0.83, "83 %"),
        (0.9984, "99.8 %"),
        (0.99999, "99.9 %"),
        (1, "100 %"),
    ],
)
def test_share(value: float | None, text: str) -> None:
    assert fmt.share(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (-3, "0 s"),
        (59.4, "59 s"),
        (65, "1 min 5 s"),
        (120, "2 min"),
        (3_599, "1 h"),
        (42_740, "11 h 52 min"),
        (86_400, "1 d"),
        (100_000, "1 d 3 h"),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert fmt.duration(seconds) == text


@pytest.mark.parametrize(
    ("octets", "text"),
    [(None, "–"), (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (18_204_331, "18.2 MB")],
)
def test_size(octets: int | None, text: str) -> None:
    assert fmt.size(octets) == text


@given(st.floats(0, 1), st.integers(0, 200))
def test_bar_fills_its_width_and_shows_any_progress(part: float, width: int) -> None:
    filled, empty = fmt.bar(part, width)
    assert len(filled + empty) == width
    assert (len(filled) > 0) == (part > 0 and width > 0)
    assert not (part < 1 and width > 1) or len(empty) > 0


@given(st.text(max_size=60), st.integers(0, 40))
def test_middle_keeps_both_ends_and_the_width(text: str, width: int) -> None:
    cut = fmt.middle(text, width)
    assert len(cut) <= width
    if len(text) > width >= 3:
        assert cut[-1] == text[-1]
        assert "…" in cut
