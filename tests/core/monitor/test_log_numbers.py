"""What the lines of a log come to: other scripts' forms, bars, time-outs, runs one after another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.monitor.log_numbers import LogNumbers, Patterns
from eagle3_core.monitor.snapshot import Progress

SAMPLE = "Progress: 2680/25000 (222 errors), 0.5 req/s, avg completion: 1263 tokens, elapsed: 5945s"
TIMED_OUT = "ERROR sample 17004: Request timed out."


def told(*lines: str, patterns: Patterns | None = None, partial: str = "") -> Progress:
    numbers = LogNumbers(patterns)
    numbers.take(lines, partial)
    progress = numbers.progress()
    assert progress is not None
    return progress


def test_the_progress_line() -> None:
    numbers = LogNumbers()
    numbers.take(["loading …", SAMPLE])
    progress = numbers.progress()
    assert progress
    assert (progress.samples, progress.done, progress.failed) == (25_000, 2458, 222)
    assert progress.done + progress.kept + progress.failed + progress.pending == progress.samples
    assert progress.completion_tokens == 2458 * 1263
    assert (progress.elapsed_s, progress.eta_s) == (5945.0, 22_320 / 0.5)
    assert (progress.errors, progress.timeouts) == (222, 0)
    assert (numbers.rate, numbers.mean_tokens) == (0.5, 1263.0)


def test_a_log_without_numbers_has_none() -> None:
    numbers = LogNumbers()
    numbers.take(["", "INFO ready", "5 ERRORS so far", "no progress: 3/4", "MYERROR x"])
    assert numbers.progress() is None
    assert numbers.rate is None


def test_errors_are_counted_and_time_outs_among_them() -> None:
    progress = told(TIMED_OUT, "ERROR sample 3: Connection error.", TIMED_OUT, "WARNING ERRORS")
    assert (progress.failed, progress.errors, progress.timeouts) == (3, 3, 2)
    assert progress.attempts_by_state == {"timeout": 2, "other": 1}


@pytest.mark.parametrize(
    "line",
    [
        "bar 10%ERROR worker: q-5 failed: APITimeoutError: Request timed out.",
        "Processing: 4%|#| 2/50\rProcessing: 6%|#| 3/50ERROR q-5: Request timed out.",
        "\x1b[31mERROR\x1b[0m sample 4: Request timed out.",
        "2025-10-09 08:00:00 ERROR [gen] timeout after 60 s",
        "ERROR: deadline exceeded",
    ],
)
def test_an_error_behind_whatever_stood_on_the_line(line: str) -> None:
    assert told(line).timeouts == 1


def test_the_errors_said_and_those_seen_are_no_sum() -> None:
    """The progress line counts all of them, the lines only those that were read."""
    progress = told(*[TIMED_OUT] * 3, SAMPLE)
    assert progress.attempts_by_state == {"timeout": 3, "of_unknown_cause": 219}
    later = told(SAMPLE, *[TIMED_OUT] * 300)
    assert (later.errors, later.timeouts) == (300, 300)


def test_the_next_run_in_the_same_log_begins_anew() -> None:
    again = "Progress: 10/25000 (1 errors), 0.5 req/s, avg completion: 9 tokens, elapsed: 20s"
    progress = told(*[TIMED_OUT] * 5, SAMPLE, TIMED_OUT, again)
    assert (progress.failed, progress.timeouts, progress.done) == (1, 1, 9)


def test_a_resumed_run_counts_on_with_a_clock_of_its_own() -> None:
    again = "Progress: 3000/25000 (1 errors), 0.5 req/s, avg completion: 9 tokens, elapsed: 20s"
    progress = told(*[TIMED_OUT] * 5, SAMPLE, again)
    assert (progress.failed, progress.timeouts) == (1, 0)


def test_patterns_of_ones_own() -> None:
    bar = Patterns(progress=r"(?P<done>\d+)/(?P<total>\d+) \[", error=r"!! (?P<message>\w+)")
    line = "10%| 5/50 [00:01\r12%| 6/50 [00:02"
    progress = told(line, "!! timeout", "!! refused", TIMED_OUT, patterns=bar)
    assert (progress.samples, progress.pending, progress.failed) == (50, 44, 2)
    assert progress.timeouts == 1
    assert told("!! timeout", patterns=Patterns(error="!! timeout")).timeouts == 1


def test_a_bar_is_read_before_its_line_ends_and_errors_only_once() -> None:
    bar = Patterns(progress=r"(?P<done>\d+)/(?P<total>\d+) \[")
    numbers = LogNumbers(bar)
    numbers.take([], "10%| 5/50 [00:01\r12%| 6/50 [00:02 ERROR x")
    assert numbers.progress() == Progress(samples=50, done=6, pending=44)
    numbers.take(["10%| 5/50 [00:01\r12%| 6/50 [00:02 ERROR x"])
    progress = numbers.progress()
    assert progress
    assert progress.failed == 1


def test_a_log_that_began_anew() -> None:
    numbers = LogNumbers()
    numbers.take([SAMPLE, TIMED_OUT])
    numbers.forget()
    assert numbers.progress() is None


@given(st.lists(st.text(max_size=80)), st.text(max_size=80))
def test_whatever_a_log_holds_the_numbers_can_be_shown(lines: list[str], partial: str) -> None:
    numbers = LogNumbers()
    numbers.take([*lines, *("Progress: 1/" + line for line in lines)], partial)
    progress = numbers.progress()
    assert progress is None or progress.errors >= 0


@pytest.mark.parametrize(
    "line",
    [
        "Progress: " + "9" * 5000 + "/1",
        "Progress: 5/4 (9 errors), 0.0 req/s, avg completion: 1.2.3 tokens",
        "Progress: 5/10, . req/s",
        "Progress: ٣/٤",
    ],
)
def test_numbers_that_are_none(line: str) -> None:
    numbers = LogNumbers()
    numbers.take([line])
    progress = numbers.progress()
    if progress is not None:
        assert min(progress.done, progress.pending, progress.failed) >= 0
        assert max(progress.done, progress.samples) < 1e15
        assert progress.eta_s is None
