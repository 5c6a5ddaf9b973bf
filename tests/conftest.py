"""What every test needs: nothing of it lands in the home of who runs it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_trail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The trail of commands goes into a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
