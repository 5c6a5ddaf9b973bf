"""The headless twins as processes, on this machine: output for pipes, and logs that go on."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scenarios import record

CONSOLE = [sys.executable, "-m", "eagle3_console"]


def here(command: str, run: Path, *words: str) -> list[str]:
    return [*CONSOLE, command, "--host", "local", "--run", str(run), *words]


def output(command: str, run: Path, *words: str) -> str:
    done = subprocess.run(here(command, run, *words), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def run(tmp_path: Path) -> Path:
    journal = tmp_path / "prepared" / "raw_responses.jsonl"
    journal.parent.mkdir()
    journal.write_bytes(b"".join(record(n).to_line() for n in range(5)) + b"no record\n")
    return tmp_path


def test_status(run: Path) -> None:
    assert output("status", run).splitlines()[:3] == [f"local · {run}", "6 lines", "· no run"]


def test_a_journal_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "prepared" / "raw_responses.jsonl").mkdir(parents=True)
    assert "0 lines (" in output("status", tmp_path)
    assert "raw_responses.jsonl is a directory)" in output("status", tmp_path)


def test_samples(run: Path) -> None:
    shown = output("samples", run, "-n", "3")
    assert shown.count("── pb-") == 2
    assert shown.endswith("1 lines hold no record\n")
    lines = output("samples", run, "-n", "3", "--json").splitlines()
    assert [json.loads(line)["key"] for line in lines[:2]] == [record(3).key, record(4).key]
    assert lines[2] == "no record"


@pytest.fixture
def follow(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """``logs -f -n 2`` on a log whose last line is still being written."""
    (tmp_path / "inference.log").write_bytes(b"1\n2\n3\nhal")
    argv = here("logs", tmp_path, "-f", "-n", "2")
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True) as process:
        yield process
        process.kill()


def test_a_followed_log_has_no_gap_and_no_half_line(
    follow: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert follow.stdout
    assert follow.stderr
    assert [follow.stdout.readline() for _ in range(2)] == ["2\n", "3\n"]
    log = tmp_path / "inference.log"
    with log.open("ab") as file:
        file.write(b"f\nnext \x1b[2J\n")
    assert [follow.stdout.readline() for _ in range(2)] == ["half\n", "next ␛[2J\n"]
    (tmp_path / "new").write_bytes(b"new\n")
    (tmp_path / "new").replace(log)
    assert follow.stdout.readline() == "new\n"
    assert follow.stderr.readline() == f"{log}: the file was replaced\n"


def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "inference.log").write_bytes(b"a line of the log\n" * 50_000)
    argv = here("logs", tmp_path, "-n", "50000")
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdout=pipe, stderr=pipe) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


def test_what_is_for_programs_does_not_command_a_terminal(tmp_path: Path) -> None:
    journal = tmp_path / "prepared" / "raw_responses.jsonl"
    journal.parent.mkdir()
    journal.write_bytes(b"\x1b]0;title\x07\n")
    assert output("samples", tmp_path, "--json") == "\x1b]0;title\x07\n"
    ours, theirs = pty.openpty()
    argv = here("samples", tmp_path, "--json")
    with subprocess.Popen(argv, stdout=theirs, stdin=subprocess.DEVNULL) as process:
        assert process.wait(60) == 0
    os.close(theirs)
    assert b"\x1b" not in os.read(ours, 4096)
    os.close(ours)


ASK = """
import asyncio
from pathlib import Path
from eagle3_console.ask import prompts
from eagle3_core.host.prompts import HostKeyQuestion

async def main():
    ask = prompts()
    question = HostKeyQuestion("gpu\\x1b", 22, "ssh-ed25519", "SHA256:abc", Path("/k"), ("/k:3",))
    print(await ask.confirm_host_key(question))
    print(await ask.challenge("gpu", "Title", "", [("Code: ", True)]))
    print(await ask.confirm_host_key(question))

asyncio.run(main())
"""


def test_questions_go_to_the_terminal_and_answers_alone_to_the_pipe() -> None:
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-c", ASK]
    with subprocess.Popen(argv, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        shown = b""
        for mark, answer in ((b"(yes/no) ", b"yes\n"), (b"Code: ", b"42\n"), (b"no) ", b"\x04")):
            seen = len(shown)
            deadline = time.monotonic() + 30
            while mark not in shown[seen:]:
                assert time.monotonic() < deadline, shown
                shown += os.read(ours, 4096)
            os.write(ours, answer)
        assert process.stdout
        assert process.stdout.read() == b"True\n['42']\nFalse\n"
        assert process.wait(30) == 0
    os.close(ours)
    assert b"SHA256:abc" in shown
    assert b"known as /k:3" in shown
    assert b"\x1b" not in shown


def test_nobody_is_asked_without_a_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, stdin=subprocess.DEVNULL
    )
    assert done.stdout == b"False\nNone\nFalse\n"
    assert done.stderr == b""
