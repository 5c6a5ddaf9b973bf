"""The trail of commands: whole lines for its owner alone, shown without harm."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from eagle3_console import cli, trail
from eagle3_core.monitor.events import Outcome


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "eagle3-console" / "commands.log"


def note(name: str = "kill", **changes: object) -> str:
    values = {"ok": True, "message": "1 process ended", "command": "kill -TERM 7"}
    outcome = Outcome(**(values | changes))  # type: ignore[arg-type]
    return trail.note_for("gpu", "/data/run", ["API_KEY"])(name, outcome)


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert cli.main(["trail", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_command_is_one_line(state: Path) -> None:
    assert note() == ""
    assert note("start", message="started\nas pid 7") == ""
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    kill, start = (json.loads(line) for line in state.read_text().splitlines())
    assert kill.pop("time").endswith("+00:00")
    assert kill == {
        "host": "gpu",
        "run": "/data/run",
        "action": "kill",
        "command": "kill -TERM 7",
        "env": [],
        "ok": True,
        "result": "1 process ended",
    }
    assert (start["env"], start["result"]) == (["API_KEY"], "started\nas pid 7")


def test_it_is_shown_newest_last(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(5):
        note(command=f"kill -TERM {number}")
    note("start", ok=False, message="busy", command="")
    *_, before, last = shown(capsys, "-n", "3")
    assert before.endswith("gpu /data/run kill · 1 process ended · kill -TERM 4")
    assert last.endswith("gpu /data/run start · failed: busy · with API_KEY")
    assert len(shown(capsys, "-n", "3")) == 3
    assert json.loads(shown(capsys, "--json")[0])["command"] == "kill -TERM 0"


def test_words_of_a_host_do_not_command_the_terminal(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note(message="\x1b]0;title\x07")
    state.write_bytes(state.read_bytes() + b"\xff torn {\x1b[2J\n[1]\n")
    lines = shown(capsys)
    assert len(lines) == 3
    assert "\x1b" not in "".join(lines)


def test_nothing_was_sent_yet(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys) == [f"nothing was sent yet: {state} does not exist"]


def test_a_trail_that_cannot_be_written_or_read(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command has gone out: it is told that it stands nowhere."""
    state.mkdir(parents=True)
    assert note() == f"not noted in {state}: Is a directory"
    assert cli.main(["trail"]) == 2
    assert f"{state} cannot be read" in capsys.readouterr().err


def test_two_consoles_write_whole_lines(state: Path) -> None:
    def many(name: str) -> None:
        for _ in range(200):
            note(name, message=name * 500)

    threads = [threading.Thread(target=many, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = [json.loads(line) for line in state.read_text().splitlines()]
    assert len(entries) == 400
    assert all(entry["result"] == entry["action"] * 500 for entry in entries)


def test_its_usual_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert trail.path() == tmp_path / ".local" / "state" / "eagle3-console" / "commands.log"
    note()
    assert os.listdir(tmp_path / ".local" / "state" / "eagle3-console") == ["commands.log"]
