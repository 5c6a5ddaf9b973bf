"""One writer a journal, known by name, gone with its process."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from eagle3_core.errors import UserError
from eagle3_core.journal.append import Journal
from eagle3_core.journal.lock import JournalLock
from eagle3_core.rundir import RunDir

HOLD = """
import sys
from eagle3_core.journal.lock import JournalLock
with JournalLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""

OPEN = """
import sys
from pathlib import PurePosixPath
from eagle3_core.errors import UserError
from eagle3_core.journal.append import Journal
from eagle3_core.rundir import RunDir
try:
    with Journal(RunDir(PurePosixPath(sys.argv[1]))):
        print("opened")
except UserError as error:
    sys.stderr.write(str(error))
    sys.exit(error.exit_code)
"""

Program = Callable[..., subprocess.Popen[str]]


def held(process: subprocess.Popen[str]) -> bool:
    assert process.stdout
    return process.stdout.readline() == "held\n"


def test_a_second_writer_is_refused_with_the_first_ones_name(
    tmp_path: Path, program: Program
) -> None:
    journal = RunDir(PurePosixPath(tmp_path)).journal
    os.makedirs(journal.parent)
    holder = program(HOLD, str(journal))
    assert held(holder)
    second = program(OPEN, str(tmp_path))
    _, said = second.communicate(timeout=20)
    assert second.returncode == 73
    host = re.escape(socket.gethostname())
    assert re.match(
        rf"{re.escape(str(journal))} is being written by pid {holder.pid} on {host} "
        r"since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00: ",
        said,
    ), said
    assert not (tmp_path / "prepared" / "raw_responses.jsonl").exists(), "it touched nothing"


def test_the_lock_dies_with_its_holder(tmp_path: Path, program: Program) -> None:
    journal = str(tmp_path / "raw_responses.jsonl")
    holder = program(HOLD, journal)
    assert held(holder)
    holder.send_signal(signal.SIGKILL)
    holder.wait(timeout=20)
    with JournalLock(journal):
        assert f'"pid":{os.getpid()}' in Path(journal + ".lock").read_text()
    assert Path(journal + ".lock").read_text() == "", "nobody holds it now"


def test_the_lock_is_free_after_the_block(tmp_path: Path) -> None:
    journal = str(tmp_path / "raw_responses.jsonl")
    for _ in range(2):
        with JournalLock(journal), pytest.raises(UserError) as caught, JournalLock(journal):
            pass
        assert caught.value.exit_code == 73
        assert f"pid {os.getpid()} " in caught.value.problem


@pytest.mark.parametrize("words", [b"", b"{}", b"\xff", b"[1]"])
def test_a_holder_that_left_no_name(tmp_path: Path, words: bytes) -> None:
    journal = str(tmp_path / "raw_responses.jsonl")
    with JournalLock(journal):
        Path(journal + ".lock").write_bytes(words)
        with pytest.raises(UserError, match="written by another process"), JournalLock(journal):
            pass


def test_a_journal_that_cannot_be_opened_leaves_no_lock(tmp_path: Path) -> None:
    run = RunDir(PurePosixPath(tmp_path))
    Path(run.failures).mkdir(parents=True)
    for _ in range(2):
        with (
            pytest.raises(UserError, match=r"failures\.jsonl cannot be written") as caught,
            Journal(run),
        ):
            pass
        assert caught.value.exit_code != 73
