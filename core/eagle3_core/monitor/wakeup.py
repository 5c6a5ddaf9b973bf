"""Whether this machine was asleep: the clock on the wall went on while its own counter stood."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

SLEPT_S = 30.0
"""Shorter naps leave a connection whole."""
LOOK_EVERY_S = 1.0


async def slept(wall: Callable[[], float]) -> float:
    """Wait until this machine has slept; for how many seconds.

    Args:
        wall: epoch seconds. One that is set forward looks like sleep, too.
    """
    apart = wall() - time.monotonic()
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        before, apart = apart, wall() - time.monotonic()
        if apart - before > SLEPT_S:
            return apart - before
