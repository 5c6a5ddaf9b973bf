"""Loops: every exact one of the promised size is found, wherever it stands; honest text has none."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.journal.loops import LONGEST_UNIT, SHORTEST, TURNS, find_loop

LETTERS = "abcdefghijklmnopqrstuvwxyz "


def noise(seed: int, size: int) -> str:
    return "".join(random.Random(seed).choices(LETTERS, k=size))


@given(
    st.integers(0, 1 << 30),
    st.one_of(st.integers(1, LONGEST_UNIT), st.sampled_from([1, 333, 334, 480, 512, 513, 1024])),
    st.integers(0, 3000),
    st.integers(0, 3000),
    st.integers(0, 2000),
)
def test_every_loop_of_the_promised_size_is_found(
    seed: int, unit: int, before: int, after: int, more: int
) -> None:
    size = max(SHORTEST, TURNS * unit) + more
    said = noise(seed, unit)
    text = noise(seed + 1, before) + (said * (size // unit + 1))[:size] + noise(seed + 2, after)
    loop = find_loop(text)
    assert loop is not None
    body = text[loop.start : loop.end]
    assert body[loop.unit :] == body[: -loop.unit], "each character equals the one a unit before"
    assert loop.start <= before
    assert loop.end >= before + size, "it is measured to its ends"
    assert loop.turns >= TURNS


@given(st.integers(0, 1 << 30), st.integers(1, 4000), st.integers(1, 400))
def test_noise_and_short_repeats_are_no_loops(seed: int, size: int, unit: int) -> None:
    assert find_loop(noise(seed, size)) is None
    twice = noise(seed, 1200) * 2
    assert find_loop(twice) is None, "said twice is no loop"
    short = noise(seed, unit) * (900 // unit)
    assert find_loop(noise(seed + 1, 500) + short + noise(seed + 2, 500)) is None


@pytest.mark.parametrize(
    "text",
    ["!" * 1000, "wait, " * 300, "嗯" * 1000, "x" * 5000 + "end", "start" + "ab" * 600],
)
def test_one_sign_or_word_for_ever(text: str) -> None:
    assert find_loop(text) is not None


@pytest.mark.parametrize("unit", ["a", "ab" * 600 + "c", "a" * 31 + "b", " " * 31])
def test_a_hard_text_takes_time_in_proportion(unit: str) -> None:
    """Near misses at every probe; quadratic work would take minutes."""
    text = "".join(f"{unit * 40}{number}" for number in range(2_000_000 // (len(unit) * 40)))
    began = time.process_time()
    find_loop(text)
    assert time.process_time() - began < 5
