"""A follow that is turned by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eagle3_core.host.agent.follow import Follow


class Reader:
    """A follow with what it told, turned by hand."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.events: list[tuple[dict[str, Any], bytes]] = []
        self.follow = Follow(
            {"path": str(path), **options}, lambda h, b: self.events.append((h, b))
        )

    def turn(self) -> list[tuple[dict[str, Any], bytes]]:
        """What one look tells, looks that are due at once included."""
        before = len(self.events)
        for _ in range(1000):
            self.follow.turn(1.0)
            if self.follow.due > 1.0:
                break
        return self.events[before:]

    def text(self) -> bytes:
        return b"".join(body for _, body in self.events)

    def words(self) -> list[str]:
        return [header["ev"] for header, _ in self.events]

    @property
    def data(self) -> dict[str, Any]:
        return [header for header, _ in self.events if header["ev"] == "data"][-1]

    def close(self) -> None:
        self.follow.close()


@pytest.fixture(scope="session")
def follow_by_hand() -> type[Reader]:
    return Reader
