"""The console on a fake watch, with the environment that pictures depend on taken out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fake_watch import FakeWatch
from scenarios import NOW

from eagle3_console.app import ConsoleApp


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_app(clock: Clock) -> Callable[..., ConsoleApp]:
    """``make_app("healthy", read_only=True)``: the app, its watch under ``app.fake``."""

    def make(scenario: str = "healthy", **options: Any) -> ConsoleApp:
        fake = FakeWatch(scenario)
        app = ConsoleApp(fake, clock=clock, **options)
        app.fake = fake
        return app

    return make
