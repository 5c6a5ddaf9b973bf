"""Who writes a file: real processes that hold it open, under whatever name it has now."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.host.agent import strays, writers
from eagle3_core.host.agent.wire import Refused

HOLD = "import sys, os; f = open(sys.argv[1], sys.argv[2]); print('open', flush=True); sys.stdin.read()"


@pytest.fixture
def hold() -> Iterator[Callable[[Path, str], int]]:
    """``hold(path, mode)``: a process that has ``path`` open until the test ends; its pid."""
    held: list[subprocess.Popen[bytes]] = []

    def start(path: Path, mode: str) -> int:
        argv = [sys.executable, "-c", HOLD, str(path), mode]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        held.append(process)
        assert process.stdout
        assert process.stdout.readline() == b"open\n"
        return process.pid

    yield start
    for process in held:
        process.communicate()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "raw_responses.jsonl"
    path.touch()
    return path


def pids(path: Path, **more: Any) -> list[int]:
    return [writer["pid"] for writer in writers.find([str(path)], **more)["found"]]


def test_a_writer_is_named_and_a_reader_is_not(
    hold: Callable[[Path, str], int], journal: Path
) -> None:
    hold(journal, "r")
    assert pids(journal) == []
    pid = hold(journal, "a")
    found = writers.find([str(journal)])["found"]
    assert [(w["pid"], w["path"]) for w in found] == [(pid, str(journal))]
    assert "sys.stdin.read()" in found[0]["command"]
    assert found[0]["user"]
    assert pids(journal, except_pids=[pid]) == []
    both = hold(journal, "r+")
    assert pids(journal) == sorted([pid, both])


@pytest.mark.parametrize("new_name", ["raw_responses.jsonl.1", "raw_responses.jsonl~", None])
def test_a_writer_of_what_was_renamed_or_deleted(
    hold: Callable[[Path, str], int], journal: Path, new_name: str | None
) -> None:
    pid = hold(journal, "a")
    if new_name:
        journal.rename(journal.with_name(new_name))
    else:
        journal.unlink()
    journal.write_text("a new one\n")
    assert pids(journal) == [pid]


def test_other_files_of_the_folder_are_no_journal(
    hold: Callable[[Path, str], int], journal: Path
) -> None:
    for name in ("raw_responses.jsonl2", "other.jsonl"):
        hold(journal.with_name(name), "a")
    assert pids(journal) == []


def test_another_name_of_the_same_file(hold: Callable[[Path, str], int], journal: Path) -> None:
    hard, soft = journal.with_name("hard"), journal.with_name("soft")
    hard.hardlink_to(journal)
    soft.symlink_to(journal)
    pid = hold(hard, "a")
    assert pids(journal) == pids(soft) == [pid]


def test_who_holds_the_lock(journal: Path) -> None:
    """The kernel names the holder, though its file is open elsewhere only."""
    lock = journal.with_name(journal.name + ".lock")
    fd = os.open(lock, os.O_RDONLY | os.O_CREAT)
    assert writers._lock_holders([str(lock)]) == []
    fcntl.flock(fd, fcntl.LOCK_EX)
    assert writers._lock_holders([str(lock)]) == [(os.getpid(), str(lock))]
    os.close(fd)
    assert writers._lock_holders([str(lock)]) == []


def test_a_lock_whose_holder_cannot_be_seen(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a shared disk, locked from another host."""
    lock = journal.with_name(journal.name + ".lock")
    lock.write_text('{"host":"gpu-9","pid":77}\n')
    fd = os.open(lock, os.O_RDONLY)
    assert strays.refuse([str(journal)]) is not None
    fcntl.flock(fd, fcntl.LOCK_EX)
    monkeypatch.setattr(writers, "_lock_holders", lambda locks: [])
    with pytest.raises(Refused) as caught:
        strays.refuse([str(journal)])
    os.close(fd)
    assert "gpu-9" in str(caught.value)
    assert str(journal) in str(caught.value)
    assert caught.value.mend


def test_a_refusal_names_them_all(hold: Callable[[Path, str], int], journal: Path) -> None:
    held = [hold(journal, "a"), hold(journal, "w")]
    with pytest.raises(Refused) as caught:
        strays.refuse([str(journal)])
    assert all(f"pid {pid} of " in str(caught.value) for pid in held)
    assert all(str(pid) in caught.value.mend for pid in held)
    assert caught.value.kind == "busy"


def test_processes_that_cannot_be_looked_at_are_counted(journal: Path) -> None:
    """Seen by a user who is nobody, everybody else's processes are shut."""
    journal.parent.chmod(0o755)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        os.write(write, json.dumps(writers.find([str(journal)])).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        seen = json.load(answer)
    os.waitpid(child, 0)
    assert seen["hidden"] > 0
    assert seen["found"] == []


def test_where_the_system_tells_nothing(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers.proc, "HAS_PROC", False)
    assert writers.find([str(journal)]) == {"found": [], "hidden": None}
    assert strays.refuse([str(journal)]) is None
