import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_console.log_fold import CUT_CELLS, Row, fold
from eagle3_console.log_rows import KEEP_ROWS, LogRows

PROGRESS_BARS = [
    "start\r",
    "\r" + "\r".join(f"Processing: {n * 2:3d}%|{'#' * (n // 5):<10}| {n}/50" for n in range(51)),
    "\x1b[32mINFO\x1b[0m ready",
    "\router 1/3",
    "\rinner 1/9\x1b[A\router 2/3",
    "\rinner 9/9\x1b[A\router 3/3",
    "",
    "\rbar 10%\rERROR worker: q-5 failed: APITimeoutError: Request timed out.",
    "L" * 70_000,
]


def test_progress_bars_become_one_row_each() -> None:
    rows = LogRows()
    rows.add(map(fold, PROGRESS_BARS), fold("tail without newline"))
    assert rows.texts[:3] == ["start", "Processing: 100%|##########| 50/50", "INFO ready"]
    assert rows.texts[3] == "inner 9/9 · outer 3/3"
    assert rows.texts[4] == "ERROR worker: q-5 failed: APITimeoutError: Request timed out."
    assert rows.texts[5] == "L" * CUT_CELLS + " … 66,000 more characters"
    assert rows.texts[6:] == ["tail without newline"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("ERROR sample 17004: Request timed out.", "error"),
        ("2025-10-09 08:00:00 ERROR x", "error"),
        ("openai.APITimeoutError: Request timed out.", "error"),
        ("WARNING slow", "warning"),
        ("Progress: 2680/25000 (222 errors), 0.5 req/s", "plain"),
        ("INFO no errors", "plain"),
    ],
)
def test_kind(line: str, kind: str) -> None:
    assert fold(line).kind == kind


@given(st.text(st.characters(exclude_characters="\n"), max_size=300))
def test_a_row_never_commands_the_terminal(text: str) -> None:
    shown = fold(text).text
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in shown)


def test_the_partial_row_is_replaced_not_added() -> None:
    rows = LogRows()
    rows.add([Row("one")], Row("tw"))
    rows.add([], Row("two"))
    assert rows.texts == ["one", "two"]
    rows.add([Row("two!")], None)
    assert rows.texts == ["one", "two!"]
    assert [piece.text for piece in rows.pieces] == ["one", "two!"]


def test_the_ring_keeps_the_newest_rows_under_their_numbers() -> None:
    rows = LogRows()
    rows.add((Row(str(n)) for n in range(KEEP_ROWS)), None)
    place = rows.place_of(5000)
    added, pruned = rows.add((Row(str(n)) for n in range(KEEP_ROWS, KEEP_ROWS + 300)), None)
    assert (added, pruned) == (300, 300)
    assert len(rows) == len(rows.pieces) == KEEP_ROWS
    assert rows.place_of(5000) == place - 300
    assert rows.pieces[rows.place_of(5000)].text == "5000"


@given(
    st.lists(st.text("ab 漢字\u0301", max_size=90), max_size=30),
    st.integers(10, 40),
)
def test_wrapping_loses_nothing(lines: list[str], width: int) -> None:
    rows = LogRows()
    rows.add(map(Row, lines), None)
    rows.lay_out(width)
    for number, line in enumerate(lines):
        parts = [piece.text for piece in rows.pieces if piece.number == number]
        assert "".join(parts) == line
    rows.lay_out(None)
    assert [piece.text for piece in rows.pieces] == lines
