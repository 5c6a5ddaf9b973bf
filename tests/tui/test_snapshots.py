"""Pictures of the console; redraw them with ``pytest tests/tui --snapshot-update`` and look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from screen_text import shows
from textual.pilot import Pilot

MIDDLE = (120, 36)
READY = {
    "healthy": ("pid 41233", "Progress: 2560/25000", "✔ ok", "nothing to report"),
    "lost": ("link lost 12 s ago", "trying again in 4 s", "✔ ok"),
    "empty": ("no run", "No log yet", "0 lines"),
    "timeouts": ("! 222", "✖ time-outs climb", "Request timed out", "✔ ok"),
    "no-reasoning": ("✖ no reasoning", "(empty)"),
}


def _wait_for(*texts: str) -> Callable[[Pilot], Awaitable[None]]:
    async def wait(pilot: Pilot) -> None:
        await shows(pilot, *texts)

    return wait


@pytest.mark.parametrize("scenario", READY)
def test_scenario(snap_compare, make_app, scenario: str) -> None:
    """All panels of a run of this kind, dark, on a terminal of common size."""
    app = make_app(scenario)
    assert snap_compare(app, terminal_size=MIDDLE, run_before=_wait_for(*READY[scenario]))


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_size(snap_compare, make_app, size: tuple[int, int]) -> None:
    """Time-outs told with cause and mend on the smallest and on a large terminal."""
    app = make_app("timeouts")
    assert snap_compare(app, terminal_size=size, run_before=_wait_for("! 222", "→ restart", "✔ ok"))


@pytest.mark.parametrize("theme", ["okabe-ito-light", "high-contrast", "mono"])
def test_theme(snap_compare, make_app, theme: str) -> None:
    """The same run in the other themes: nothing is told by colour alone."""
    app = make_app("timeouts", theme=theme)
    assert snap_compare(app, terminal_size=MIDDLE, run_before=_wait_for(*READY["timeouts"]))


def test_help(snap_compare, make_app) -> None:
    """Every key with its help, over the dimmed dashboard."""
    app = make_app()
    ready = _wait_for(*READY["healthy"])
    assert snap_compare(app, press=["question_mark"], terminal_size=(120, 50), run_before=ready)


def test_confirm(snap_compare, make_app) -> None:
    """SIGKILL asks, names pid, host and run, and No has the focus."""
    app = make_app()
    ready = _wait_for(*READY["healthy"])
    assert snap_compare(app, press=["K"], terminal_size=MIDDLE, run_before=ready)
