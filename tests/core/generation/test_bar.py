"""The progress bar: one line, only on a terminal, with nothing in it that commands one."""

from __future__ import annotations

import io
import sys

import pytest

from eagle3_core.generation.bar import Bar, clock
from eagle3_core.generation.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def progress() -> Progress:
    found = Progress(2000, started=0.0)
    found.failed = 500
    found.in_flight = 64
    return found


def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch, progress: Progress) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    bar = Bar()
    bar.draw(progress, 1.0, "")
    bar.draw(progress, 2.0, "http://x: HTTP 503:\n\x1b[2Jsick")
    bar.close()
    first, second = screen.getvalue().removesuffix("\n").split("\r\x1b[K")[1:]
    assert first == (
        "█" * 6 + "░" * 18 + " 500/2,000 · 0.0 req/s · 0 tok/s · 64 in flight · 500 errors · ETA –"
    )
    assert second.endswith(" · http://x: HTTP 503: \u241b[2Jsick")
    monkeypatch.setenv("COLUMNS", "40")
    bar.draw(progress, 2.0, "")
    assert len(screen.getvalue().rpartition("\x1b[K")[2]) == 39


def test_elsewhere_nothing(monkeypatch: pytest.MonkeyPatch, progress: Progress) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    bar = Bar()
    bar.draw(progress, 1.0, "")
    bar.close()
    assert pipe.getvalue() == ""


def test_clock() -> None:
    assert [clock(s) for s in (0, 65.9, 3599, 47229)] == ["0:00", "1:05", "59:59", "13:07:09"]
