"""A signal ends the console with the terminal as it was: a real process on a real pty."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from fake_watch import FakeWatch
from eagle3_console.app import ConsoleApp
app = ConsoleApp(FakeWatch())
app.run()
print(app.farewell)
raise SystemExit(app.return_code)
"""
LEAVE_ALTERNATE_SCREEN = b"\x1b[?1049l"
MOUSE_OFF = b"\x1b[?1000l"


@pytest.mark.parametrize(("way", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (b"q", 0)])
def test_the_terminal_is_given_back(way: signal.Signals | bytes, code: int) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", CODE, str(Path(__file__).parent)]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    try:
        seen = _read_until(ours, lambda text: b"41233" in text)
        assert b"\x1b[?1049h" in seen
        if isinstance(way, bytes):
            os.write(ours, way)
        else:
            process.send_signal(way)
        rest = _read_until(ours, lambda text: b"The run goes on" in text)
        assert process.wait(timeout=20) == code
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert LEAVE_ALTERNATE_SCREEN in rest
    assert MOUSE_OFF in rest
    assert rest.index(LEAVE_ALTERNATE_SCREEN) < rest.index(b"The run goes on")


def _read_until(terminal: int, enough, seconds: float = 30) -> bytes:
    text, deadline = b"", time.monotonic() + seconds
    while not enough(text):
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"did not come: {text[-2000:]!r}"
        try:
            text += os.read(terminal, 65536)
        except OSError:
            break
    assert enough(text), text[-2000:]
    return text
