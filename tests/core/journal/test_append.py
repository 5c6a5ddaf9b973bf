"""Appending on a disk that fills up, and when the process is killed in mid-write."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from eagle3_core.errors import UserError
from eagle3_core.journal import append as module
from eagle3_core.journal.append import AppendFile, Journal
from eagle3_core.journal.index import scan
from eagle3_core.rundir import RunDir

Program = Callable[..., subprocess.Popen[str]]

FILL = """
import errno, resource, signal, sys
from eagle3_core.journal.append import AppendFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, limit = sys.argv[1], int(sys.argv[2])
file = AppendFile(path)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
refused = 0
for number in range(40):
    try:
        file.append(b'{"number":%d,"text":"%s"}\\n' % (number, b"x" * (number % 7) * 9))
    except OSError as error:
        assert error.errno == errno.EFBIG, error
        refused += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
file.append(b'{"number":99,"text":""}\\n')
file.close()
print(refused)
"""


@pytest.mark.parametrize("limit", [500, 501, 517, 533, 1000])
def test_half_a_line_never_stays(tmp_path: Path, program: Program, limit: int) -> None:
    """A real limit of the kernel: the write that meets it is a short one, the next one fails."""
    path = tmp_path / "raw_responses.jsonl"
    said, errors = program(FILL, str(path), str(limit)).communicate(timeout=20)
    assert not errors
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert rows[-1] == {"number": 99, "text": ""}, "there is room again, and it goes on"
    assert len(rows) - 1 + int(said) == 40
    assert int(said) > 0
    assert path.stat().st_size > limit - 80, "it was full"


KILLED = """
import os, signal, sys
import eagle3_core.journal.append as append
path, bytes_before_death = sys.argv[1], int(sys.argv[2])
file = append.AppendFile(path)
file.append(b'{"key":"a","state":"ok"}\\n')
def die(fd, line):
    os.write(fd, line[:bytes_before_death])
    os.kill(os.getpid(), signal.SIGKILL)
append.write_all = die
file.append(b'{"key":"b","state":"ok"}\\n')
"""


@pytest.mark.parametrize("place", [0, 1, 8, 23, 24, 25])
def test_killed_in_mid_write(tmp_path: Path, program: Program, place: int) -> None:
    path = tmp_path / "raw_responses.jsonl"
    process = program(KILLED, str(path), str(place))
    process.communicate(timeout=20)
    assert process.returncode == -9
    file = AppendFile(str(path))
    file.append(b'{"key":"c","state":"ok"}\n')
    file.close()
    index = scan(str(path))
    assert index.done == ({"a", "b", "c"} if place >= 24 else {"a", "c"})
    assert not index.bad_lines


def test_synced_once_for_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(module.os, "fdatasync", synced.append)
    file = AppendFile(str(tmp_path / "x.jsonl"))
    file.sync()
    assert synced == [], "nothing was written"
    file.append(b"{}\n")
    file.append(b"{}\n")
    file.sync()
    file.sync()
    assert len(synced) == 1


def test_a_failed_sync_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def fail_once(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 1:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(module.os, "fdatasync", fail_once)
    file = AppendFile(str(tmp_path / "x.jsonl"))
    file.append(b"{}\n")
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    file.close()
    assert len(calls) == 2


def test_both_files_side_by_side(tmp_path: Path) -> None:
    run = RunDir(PurePosixPath(tmp_path / "new" / "run"))
    for number in range(2):
        with Journal(run) as journal:
            journal.records.append(b'{"key":"%d"}\n' % number)
            journal.failures.append(b'{"key":"f%d"}\n' % number)
    assert Path(run.journal).read_bytes() == b'{"key":"0"}\n{"key":"1"}\n'
    assert Path(run.failures).read_bytes() == b'{"key":"f0"}\n{"key":"f1"}\n'


@pytest.mark.parametrize("place", ["a file/run", "/proc/run"])
def test_a_folder_that_cannot_be_made(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").touch()
    run = RunDir(PurePosixPath(os.path.join(tmp_path, place)))
    with pytest.raises(UserError, match="cannot be written") as caught, Journal(run):
        pass
    assert "run" in caught.value.problem
    assert "--output" in caught.value.mend
