"""What stands on the screen, as plain text, and waiting for it."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import App
from textual.pilot import Pilot


def screen_text(app: App) -> str:
    """All cells of the screen, one line a row."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def until(pilot: Pilot, true: Callable[[], object], *, seconds: float = 10) -> None:
    """Let the app work until ``true()`` holds; fail at the deadline, showing the screen."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not come true; screen:\n{screen_text(pilot.app)}")
        await pilot.pause(0.02)


async def shows(pilot: Pilot, *texts: str) -> None:
    """Wait until each text stands on the screen."""
    for text in texts:
        await until(pilot, lambda text=text: text in screen_text(pilot.app))
