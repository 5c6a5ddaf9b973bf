"""Draws the pictures of the README: the console on a made-up run, in the default theme."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "tui"))

from fake_watch import FakeWatch  # noqa: E402
from scenarios import NOW  # noqa: E402

from eagle3_console.app import ConsoleApp  # noqa: E402

PICTURES = {"console.svg": ("healthy", (140, 40)), "timeouts.svg": ("timeouts", (140, 40))}


async def draw(folder: Path, name: str, scenario: str, size: tuple[int, int]) -> None:
    """Write one picture into ``folder``."""
    app = ConsoleApp(FakeWatch(scenario), clock=lambda: NOW)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause(0.5)
        svg = app.export_screenshot(title="eagle3-console")
    (folder / name).write_text(svg)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, (scenario, size) in PICTURES.items():
        asyncio.run(draw(folder, name, scenario, size))


if __name__ == "__main__":
    main()
