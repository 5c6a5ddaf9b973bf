"""Repair loses no byte, does nothing twice, and can be killed at every step."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.errors import UserError
from eagle3_core.journal import repair as module
from eagle3_core.journal.audit import audit
from eagle3_core.journal.index import scan
from eagle3_core.journal.lock import JournalLock
from eagle3_core.journal.pieces import Problem
from eagle3_core.journal.repair import repair
from eagle3_core.records import AnswerState

Program = Callable[..., subprocess.Popen[str]]
STATES = [AnswerState.OK, AnswerState.TRUNCATED, AnswerState.NO_REASONING]
TORN = b'{"key":"torn","sta'


def row(key: str, state: AnswerState = AnswerState.OK, n: int = 0) -> bytes:
    return json.dumps({"key": key, "state": state.value, "content": "x", "n": n}).encode()


LINE = st.one_of(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(STATES)).map(lambda got: [row(*got)]),
    st.sampled_from([b' {"key": "a", "state": "ok"} \r', b" \r"]).map(lambda data: [data]),
    st.sampled_from([b"", b"\0\0", TORN, b"\xff", b"[]", b'{"colour":"red"}']).map(
        lambda junk: [junk]
    ),
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(
        lambda keys: [TORN, *(row(key) for key in keys)]
    ),
)


def sides(path: Path) -> list[Path]:
    return [file for file in path.parent.iterdir() if file not in (path, Path(f"{path}.lock"))]


def everything(path: Path) -> Counter[bytes]:
    """Every line of the journal and its side files."""
    return Counter(
        line for file in (path, *sides(path)) for line in file.read_bytes().split(b"\n")[:-1]
    )


@given(
    st.lists(LINE, max_size=20),
    st.booleans(),
    st.sets(st.sampled_from(STATES[1:])),
    st.booleans(),
)
def test_no_byte_is_lost_and_a_second_repair_does_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[list[bytes]],
    newline: bool,
    redo: set[AnswerState],
    drop: bool,
) -> None:
    path = tmp_path_factory.mktemp("repair") / "raw_responses.jsonl"
    data = b"\n".join(b"".join(pieces) for pieces in lines) + b"\n" * bool(newline or not lines)
    path.write_bytes(data)
    before = scan(str(path)).done
    pieces = Counter(piece for line in lines for piece in line)
    if not lines:
        pieces[b""] += 1
    elif not newline and lines[-1] == [b""]:
        pieces[b""] -= 1  # a file that ends in its newline has no line after it
    repair(str(path), redo=redo, drop_duplicates=drop)
    assert everything(path) == +pieces
    assert before <= scan(str(path)).done, "what was done stays done"
    after = path.read_bytes()
    inode = path.stat().st_ino
    there = set(path.parent.iterdir())
    repair(str(path), redo=redo, drop_duplicates=drop)
    assert (path.read_bytes(), path.stat().st_ino) == (after, inode)
    assert set(path.parent.iterdir()) == there

    result = audit(str(path))
    assert set(result.problems) <= {Problem.UNKNOWN}
    assert not {state for state in result.states if state in redo}
    assert not (drop and result.repeated.count)
    assert result.tail == "whole"


def mixed(path: Path) -> bytes:
    data = b"\n".join(
        [
            row("a"),
            TORN + row("b"),
            row("c", AnswerState.TRUNCATED),
            row("d", AnswerState.NO_REASONING),
            row("a", AnswerState.TRUNCATED),
            row("d", AnswerState.NO_REASONING, 1),
            b"\0" * 9,
            row("e"),
            b"",
        ]
    )
    path.write_bytes(data)
    return data


def test_each_line_goes_where_it_belongs(tmp_path: Path) -> None:
    path = tmp_path / "raw_responses.jsonl"
    mixed(path)
    os.chmod(path, 0o640)
    result = repair(str(path), redo={AnswerState.TRUNCATED}, drop_duplicates=True)
    kept = [row("a"), row("b"), row("d", AnswerState.NO_REASONING, 1), row("e")]
    assert path.read_bytes() == b"\n".join([*kept, b""]), "in their order"
    assert Path(f"{path}.bad").read_bytes() == TORN + b"\n" + b"\0" * 9 + b"\n"
    redone = [row("c", AnswerState.TRUNCATED), row("a", AnswerState.TRUNCATED)]
    assert Path(f"{path}.redo").read_bytes() == b"\n".join([*redone, b""])
    assert Path(f"{path}.dup").read_bytes() == row("d", AnswerState.NO_REASONING) + b"\n"
    assert result.plan.broken.lines == [2, 7]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.[bd]*")} == {0o640}
    assert "c" not in scan(str(path)).states, "it is asked again"


@pytest.mark.parametrize("worst", [AnswerState.TRUNCATED, AnswerState.EMPTY])
def test_the_done_record_of_a_key_stays_wherever_it_stands(
    tmp_path: Path, worst: AnswerState
) -> None:
    for order in ((0, 1, 2), (1, 0, 2), (1, 2, 0)):
        rows = [row("a"), row("a", worst), row("a", worst, 1)]
        path = tmp_path / "raw_responses.jsonl"
        path.write_bytes(b"".join(rows[n] + b"\n" for n in order))
        repair(str(path), drop_duplicates=True)
        assert path.read_bytes() == row("a") + b"\n"


def test_side_files_never_grow(tmp_path: Path) -> None:
    path = tmp_path / "raw_responses.jsonl"
    for number in range(3):
        path.write_bytes(row("a") + b"\n" + b"junk %d\n" % number)
        repair(str(path))
    names = ["raw_responses.jsonl.bad", "raw_responses.jsonl.bad.2", "raw_responses.jsonl.bad.3"]
    for number, name in enumerate(names):
        assert (tmp_path / name).read_bytes() == b"junk %d\n" % number


def test_a_live_writer_is_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "raw_responses.jsonl"
    data = mixed(path)
    with JournalLock(str(path)):
        with pytest.raises(UserError, match=str(os.getpid())) as caught:
            repair(str(path))
        assert caught.value.exit_code == 73
        assert repair(str(path), dry_run=True).plan.needed, "looking is allowed"
    assert path.read_bytes() == data
    assert not sides(path)


def test_a_writer_without_a_lock_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "raw_responses.jsonl"
    data = mixed(path)
    sync = module._sync_folder

    def meanwhile(name: str) -> None:
        with open(path, "ab") as file:
            file.write(row("new") + b"\n")
        sync(name)

    monkeypatch.setattr(module, "_sync_folder", meanwhile)
    with pytest.raises(UserError, match="another program"):
        repair(str(path))
    assert path.read_bytes().startswith(data)
    assert scan(str(path)).states["new"] is AnswerState.OK
    assert not sides(path)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "big disk"
    real.mkdir()
    mixed(real / "r.jsonl")
    link = tmp_path / "raw_responses.jsonl"
    link.symlink_to(real / "r.jsonl")
    repair(str(link))
    assert link.is_symlink()
    assert not audit(str(link)).problems


FULL = """
import resource, signal, sys
from eagle3_core.journal.repair import repair
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
try:
    repair(sys.argv[1])
except OSError as error:
    print(error.errno)
"""


def test_a_full_disk_changes_nothing(tmp_path: Path, program: Program) -> None:
    path = tmp_path / "raw_responses.jsonl"
    data = mixed(path)
    said, errors = program(FULL, str(path)).communicate(timeout=20)
    assert (said.strip(), errors) == ("27", "")
    assert path.read_bytes() == data
    assert not sides(path)


KILLED = """
import builtins, os, signal, sys
from eagle3_core.journal import repair as module
from eagle3_core.records import AnswerState
steps = int(sys.argv[2])
def counted(work):
    def step(*args, **more):
        global steps
        if steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        steps -= 1
        return work(*args, **more)
    return step
for name in ("fsync", "replace", "rename", "unlink", "fchmod"):
    setattr(os, name, counted(getattr(os, name)))
module.open = counted(open)
module.repair(sys.argv[1], redo={AnswerState.TRUNCATED}, drop_duplicates=True)
"""
STEPS = 22


def test_killed_at_every_step(tmp_path: Path, program: Program) -> None:
    """Whatever the step, the file is the old one or the new one, and the next repair completes."""
    flags: dict[str, Any] = {"redo": {AnswerState.TRUNCATED}, "drop_duplicates": True}
    (tmp_path / "whole").mkdir()
    whole = tmp_path / "whole" / "raw_responses.jsonl"
    mixed(whole)
    repair(str(whole), **flags)
    seen = set()
    for step in range(STEPS + 20):
        folder = tmp_path / str(step)
        folder.mkdir()
        path = folder / "raw_responses.jsonl"
        old = mixed(path)
        process = program(KILLED, str(path), str(step))
        assert process.communicate(timeout=20)[1] == ""
        assert path.read_bytes() in (old, whole.read_bytes())
        seen.add(path.read_bytes())
        repair(str(path), **flags)
        assert path.read_bytes() == whole.read_bytes()
        assert everything(path) == everything(whole), "every line once, in a file with its name"
        assert {file.name for file in folder.iterdir()} == {
            file.name for file in whole.parent.iterdir()
        }
        if process.returncode == 0:
            break
        assert process.returncode == -9
    assert step == STEPS, "the steps are those of a whole repair"
    assert len(seen) == 2, "some died before the rename, some after"


@pytest.mark.parametrize("step", [9, 19])
def test_killed_again_while_it_recovers(tmp_path: Path, program: Program, step: int) -> None:
    """Once before the rename, once after; then at each step of sweeping up or completing."""
    (tmp_path / "whole").mkdir()
    whole = tmp_path / "whole" / "raw_responses.jsonl"
    mixed(whole)
    flags: dict[str, Any] = {"redo": {AnswerState.TRUNCATED}, "drop_duplicates": True}
    repair(str(whole), **flags)
    for second in range(5):
        folder = tmp_path / str(second)
        folder.mkdir()
        path = folder / "raw_responses.jsonl"
        old = mixed(path)
        for steps in (step, second):
            process = program(KILLED, str(path), str(steps))
            process.communicate(timeout=20)
            assert path.read_bytes() == (old if step == 9 else whole.read_bytes())
        repair(str(path), **flags)
        assert everything(path) == everything(whole)
        assert path.read_bytes() == whole.read_bytes()
