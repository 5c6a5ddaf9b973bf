"""Lines that are on their way are told from lines that do not come."""

from __future__ import annotations

from eagle3_core.monitor.late import Late


def late(*looks: tuple[float, int | None, int | None]) -> float:
    """Seconds late right after the last look."""
    watch = Late()
    for at, counted, lines in looks:
        watch.look(at, counted, lines)
    return watch.seconds(looks[-1][0])


def test_a_file_that_stands_still() -> None:
    assert late((0, 5, 5), (1, 6, 5), (11, 9, 5)) == 10


def test_a_file_that_keeps_up_a_little_behind() -> None:
    assert late(*((n, 10 * n + 3, 10 * n) for n in range(60))) <= 1


def test_a_file_that_grows_too_slowly_is_late() -> None:
    assert late(*((n, 10 * n, n) for n in range(2, 20))) >= 10


def test_a_file_that_has_caught_up() -> None:
    assert late((0, 6, 5), (20, 6, 6)) == 0


def test_a_file_with_more_than_was_counted() -> None:
    assert late((0, 3, 5), (60, 3, 5)) == 0


def test_what_is_not_known_is_not_late() -> None:
    assert late((0, None, 5), (60, None, 5)) == 0
    assert late((0, 9, None), (60, 9, None)) == 0
    assert late((0, 6, 5), (5, None, 5), (60, 6, 5)) == 0
