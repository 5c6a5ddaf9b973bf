"""The demo as a newcomer meets it, in a real terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Terminal

DEMO = f"{sys.executable} -m eagle3_console demo"
LINES = r"Lines .*\n +([\d,]+) "


def lines(terminal: Terminal) -> int:
    found = re.search(LINES, terminal.screen())
    return int(found[1].replace(",", "")) if found else 0


def wait_for_lines(terminal: Terminal, more_than: int) -> int:
    def enough() -> re.Match[str] | None:
        found = re.search(LINES, terminal.screen())
        return found if found and int(found[1].replace(",", "")) > more_than else None

    return int(terminal.wait_until(enough, f"more than {more_than} lines")[1].replace(",", ""))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def demo_folders(home: Path) -> list[Path]:
    return list(home.glob("eagle3-demo-*"))


def wait_for_none(home: Path, patience_s: float = 30.0) -> None:
    deadline = time.monotonic() + patience_s
    while demo_folders(home) or demo_processes(home):
        assert time.monotonic() < deadline, (demo_folders(home), demo_processes(home))
        time.sleep(0.1)


def demo_processes(home: Path) -> str:
    """Command lines that name the demo's folder."""
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    return "\n".join(line for line in found.stdout.splitlines() if f"{home}/eagle3-demo" in line)


def demo_process(terminal: Terminal) -> int:
    """The child of the terminal's shell."""
    ps = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)
    rows = [row.split() for row in ps.stdout.splitlines()[1:]]
    (child,) = [int(pid) for pid, parent in rows if int(parent) == terminal.pid()]
    return child


def test_start_kill_restart_leave(terminal: Terminal, tmp_path: Path) -> None:
    """One key each; the lines rise, stay through the kill, and go on; leaving leaves the run."""
    terminal.type(DEMO)
    terminal.wait("● connected")
    terminal.wait("Press s|press s")
    terminal.press("s")
    pid = int(terminal.wait(r"▶ running pid (\d+)")[1])
    assert wait_for_lines(terminal, 5) > 5
    terminal.wait(r"Reasoning")

    terminal.press("k")
    terminal.wait(r"■ killed \(TERM\)")
    assert not alive(pid)
    journal = next(tmp_path.glob("eagle3-demo-*/data/healthy/prepared/raw_responses.jsonl"))
    kept = journal.read_bytes()
    terminal.wait_until(
        lambda: re.match("kept", "kept") if lines(terminal) == kept.count(b"\n") else None,
        "the line count of the file",
    )

    terminal.press("r")
    again = int(terminal.wait(r"▶ running pid (\d+)")[1])
    assert again != pid
    wait_for_lines(terminal, kept.count(b"\n"))
    assert journal.read_bytes().startswith(kept)

    terminal.press("q")
    terminal.wait(rf"The run goes on: pid {again}")
    assert terminal.flag("alternate_on") == "0"
    before = journal.read_bytes().count(b"\n")
    assert alive(again)
    deadline = time.monotonic() + 30
    while journal.read_bytes().count(b"\n") <= before:
        assert time.monotonic() < deadline, "the run does not go on"
        time.sleep(0.1)

    terminal.press("q", "Enter")
    wait_for_none(tmp_path)
    assert not alive(again)


@pytest.mark.parametrize(
    ("scenario", "pattern"),
    [
        ("timeouts", r"time-outs.*\n(?:.*\n)*.*(queue|clock)"),
        ("no-reasoning", r"(?i)reasoning missing"),
    ],
)
def test_a_story_shows_its_cause(terminal: Terminal, scenario: str, pattern: str) -> None:
    """The seed's faults are on the screen, named, while the run is young."""
    terminal.type(f"{DEMO} --scenario {scenario}")
    terminal.wait("● connected")
    terminal.press("s")
    terminal.wait(pattern, 90.0)
    if scenario == "no-reasoning":
        assert lines(terminal) <= 40


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal_and_leaves_nothing(
    terminal: Terminal, tmp_path: Path, number: signal.Signals
) -> None:
    terminal.type(f"{DEMO}; echo ended with $?")
    terminal.wait("● connected")
    terminal.press("s")
    terminal.wait(r"▶ running pid (\d+)")
    os.kill(demo_process(terminal), number)
    wait_for_none(tmp_path)
    terminal.wait(rf"ended with {128 + number}")
    assert terminal.flag("alternate_on") == "0"
    assert terminal.flag("mouse_any_flag") == "0"


@pytest.mark.parametrize("moment", ["while the console is open", "after it was left"])
def test_a_terminal_that_goes_away_leaves_nothing(
    terminal: Terminal, tmp_path: Path, moment: str
) -> None:
    """The window is closed, the SSH session to the laptop breaks: everything ends."""
    terminal.type(DEMO)
    terminal.wait("● connected")
    terminal.press("s")
    terminal.wait(r"▶ running pid (\d+)")
    if moment == "after it was left":
        terminal.press("q")
        terminal.wait(r"\$ |# |connecting|The run goes on", 20.0)
    demo = demo_process(terminal)
    terminal.close()
    wait_for_none(tmp_path)
    deadline = time.monotonic() + 20
    while alive(demo):
        assert time.monotonic() < deadline, "the console spins on a terminal that is gone"
        time.sleep(0.1)
