"""A real terminal: tmux on a socket of its own, driven by keys, read by its screen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


class Terminal:
    """One tmux window with a shell in it."""

    def __init__(self, home: Path, columns: int = 120, rows: int = 36) -> None:
        self._socket = f"eagle3-{uuid.uuid4().hex[:8]}"
        self._env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TMPDIR": str(home),
            "PS1": "$ ",
        }
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "/bin/sh"
        )  # fmt: skip

    def _tmux(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-L", self._socket, *words],
            env=self._env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def type(self, text: str) -> None:
        """Type text and press enter."""
        self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        """Press keys, in tmux's names."""
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        """What is to be seen."""
        return self._tmux("capture-pane", "-p")

    def flag(self, name: str) -> str:
        """A tmux variable of the window, e.g. ``alternate_on``."""
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip()

    def pid(self) -> int:
        """The shell's process."""
        return int(self.flag("pane_pid"))

    def wait(self, pattern: str, patience_s: float = 60.0) -> re.Match[str]:
        """Wait until the screen matches a regular expression."""
        return self.wait_until(lambda: re.search(pattern, self.screen()), pattern, patience_s)

    def wait_until(
        self, probe: Callable[[], re.Match[str] | None], what: str, patience_s: float = 60.0
    ) -> re.Match[str]:
        """Wait until ``probe`` gives something."""
        deadline = time.monotonic() + patience_s
        while True:
            if found := probe():
                return found
            assert time.monotonic() < deadline, f"waited for {what} on\n{self.screen()}"
            time.sleep(0.1)

    def close(self) -> None:
        """End tmux and all that runs in it."""
        subprocess.run(
            ["tmux", "-L", self._socket, "kill-server"], capture_output=True, check=False
        )


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()
