"""A time-out explains itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eagle3_core.generation.why import LOOPING, QUEUED, SILENT, SLOW, Pace, why, words

PACE = Pace(
    clock="total",
    streamed=True,
    elapsed_s=1800.0,
    first_token_s=10.0,
    tokens=3580,
    needed_s=4.4,
    text="Every sentence of this text is a new one. " + " ".join(map(str, range(2000))),
)


@pytest.mark.parametrize(
    ("changes", "word", "part"),
    [
        ({}, SLOW, "3580 tokens at 2.0/s, a full answer needs 4.4/s"),
        ({"clock": "first_token", "first_token_s": None, "tokens": 0}, QUEUED, "still queued"),
        ({"text": "Let me think again. " * 200}, LOOPING, "the text repeats itself"),
        ({"clock": "idle"}, SILENT, "3580 tokens"),
        ({"clock": "idle", "streamed": False}, SILENT, "1800 s"),
        ({"streamed": False}, "", "1800 s"),
        ({"tokens": 17900}, SLOW, "17900 tokens at 10.0/s"),
    ],
)
def test_why(changes: dict[str, object], word: str, part: str) -> None:
    pace = replace(PACE, **changes)
    assert why(pace) == word
    assert part in words(pace)


def test_no_text_divides_by_nothing() -> None:
    assert "0 s" in words(replace(PACE, elapsed_s=0.0, first_token_s=0.0))
