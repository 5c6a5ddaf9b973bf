"""Repair of a journal: bad, unwanted and repeated lines moved to side files, in one atomic step.

The new file grows beside the old one (``<file>.repairing``) and takes its place by one rename,
which is the moment of truth: before it nothing has changed, after it all has. The side files
exist until then only as ``<file>.bad.repairing`` and the like, and get their names after it. So a
repair that is interrupted leaves the old file or the new one, whole, and the next one sweeps up
or completes by looking at which of these names exist:

- ``<file>.repairing`` is there: it had not come to the rename; what it wrote is thrown away;
- only ``<file>.bad.repairing``, ``.redo.repairing`` or ``.dup.repairing``: it had; they get
  their names.

A side file never grows: each repair writes new ones (``.bad``, ``.bad.2``, …), so that no line is
in two of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from eagle3_core.errors import UserError
from eagle3_core.journal.lock import JournalLock
from eagle3_core.journal.meter import Meter
from eagle3_core.journal.repair_plan import MOVED, Fate, Plan, Planner
from eagle3_core.records import AnswerState

SIDES = {Fate.BAD: ".bad", Fate.REDO: ".redo", Fate.DUP: ".dup"}
_NEW = ".repairing"


@dataclass
class Repaired:
    """What was done, or would be."""

    plan: Plan
    sides: dict[Fate, str] = field(default_factory=dict)
    """Where the moved pieces are."""
    swept: bool = False
    """An interrupted repair had left half-written files; they were removed."""
    completed: list[str] = field(default_factory=list)
    """Side files of an interrupted repair that now have their names."""


def repair(
    path: str,
    *,
    redo: Collection[AnswerState] = (),
    drop_duplicates: bool = False,
    dry_run: bool = False,
) -> Repaired:
    """Put a journal right. A file without fault stays untouched.

    Args:
        path: the journal; a link is followed.
        redo: move records of these states aside, so that a resume asks them again.
        drop_duplicates: move all but the best record of every key aside.
        dry_run: only say what would be done; takes no lock and changes nothing.

    Raises:
        UserError: a writer is alive, or the file changed meanwhile.
        OSError: it cannot be read, or the folder not written; the old file is as it was.
    """
    real = os.path.realpath(path)
    if dry_run:
        with open(real, "rb") as file:
            return Repaired(_plan(file, redo, drop_duplicates))
    os.stat(real)  # before a lock file is left beside nothing
    with JournalLock(path):
        swept, completed = _recover(real)
        with open(real, "rb") as file:
            result = Repaired(_plan(file, redo, drop_duplicates), {}, swept, completed)
            if result.plan.needed:
                try:
                    _rewrite(real, file, result.plan)
                except BaseException:
                    _recover(real)
                    raise
                result.sides = _name_sides(real)
    return result


def _plan(file: BinaryIO, redo: Collection[AnswerState], drop: bool) -> Plan:
    return Planner(os.fstat(file.fileno()).st_size, redo, drop).read(file)


def _rewrite(path: str, old: BinaryIO, plan: Plan) -> None:
    before = os.fstat(old.fileno())
    old.seek(0)
    with contextlib.ExitStack() as stack:
        # First, and swept last: while it is there, the rename has not been.
        files = {Fate.KEEP: stack.enter_context(open(path + _NEW, "wb"))}
        _sync_folder(path)
        for fate in MOVED:
            if plan.count(fate):
                files[fate] = stack.enter_context(open(path + SIDES[fate] + _NEW, "wb"))
        with Meter("writing", plan.size) as meter:
            for data, fate in plan.pieces(old):
                files[fate].write(data + b"\n")
                meter.add(len(data) + 1)
        for file in files.values():
            file.flush()
            os.fchmod(file.fileno(), before.st_mode & 0o7777)
            with contextlib.suppress(OSError):  # another's file, and we are not root
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.fsync(file.fileno())
    _sync_folder(path)
    now = os.stat(path)
    if (now.st_ino, now.st_size, now.st_mtime_ns) != (
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    ):
        raise UserError(
            f"{path} was changed by another program during the repair",
            "stop what writes it, then repair again; nothing was changed here",
        )
    os.replace(path + _NEW, path)
    _sync_folder(path)


def _name_sides(path: str) -> dict[Fate, str]:
    """Give the finished side files of a repair their names."""
    named = {}
    for fate in MOVED:
        waiting = path + SIDES[fate] + _NEW
        if os.path.exists(waiting):
            named[fate] = _free(path + SIDES[fate])
            os.rename(waiting, named[fate])
    _sync_folder(path)
    return named


def _recover(path: str) -> tuple[bool, list[str]]:
    """Sweep up after a repair that did not come to its rename, or complete one that did."""
    if not os.path.exists(path + _NEW):
        return False, list(_name_sides(path).values())
    for fate in MOVED:
        Path(path + SIDES[fate] + _NEW).unlink(missing_ok=True)
    _sync_folder(path)
    os.unlink(path + _NEW)
    return True, []


def _free(name: str) -> str:
    """``name``, or the first of ``name.2``, ``name.3``, … that is not taken."""
    number, free = 1, name
    while os.path.exists(free):
        number += 1
        free = f"{name}.{number}"
    return free


def _sync_folder(path: str) -> None:
    fd = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
