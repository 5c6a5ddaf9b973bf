"""Who writes a file: found by its inode in every process, never by a name in a command line."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import re
import stat
from typing import Any, Dict, Iterable, Sequence, Tuple

from eagle3_core.host.agent import proc, record

Writer = Dict[str, Any]
"""``pid``, ``user``, ``command`` and ``path``: the name under which it has the file open now."""

Inode = Tuple[int, int]

LOCK = ".lock"
LONGEST_COMMAND = 200
_DELETED = " (deleted)"
_FLOCK = re.compile(r"\d+: FLOCK +\S+ +WRITE (\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ")


def files_of(run_dir: str, journal: str | None) -> list[str]:
    """The files of a run that must have one writer: those of a journal, or a foreign command's."""
    if journal:
        return [record.absolute(journal)]
    folder = os.path.join(run_dir, "prepared")
    return [os.path.join(folder, name) for name in ("raw_responses.jsonl", "failures.jsonl")]


def find(paths: Sequence[str], except_pids: Iterable[int] = ()) -> dict[str, Any]:
    """The processes that have one of ``paths`` open for writing, or hold its lock.

    A file that was renamed beside its old name (``raw_responses.jsonl.1``) or deleted is found as
    well: its writer goes on, and nobody sees what it writes.

    Returns:
        ``found``: a list of writers; ``hidden``: how many processes of other users could not be
        looked at, ``None`` where the system tells nothing at all (macOS).
    """
    if not proc.HAS_PROC:
        return {"found": [], "hidden": None}
    paths = [os.path.realpath(path) for path in paths]
    locks = [path + LOCK for path in paths]
    wanted = {inode for path in (*paths, *locks) if (inode := _inode(path)) is not None}
    skipped = {os.getpid(), *except_pids}
    found, hidden = [], 0
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in skipped:
            continue
        try:
            path = _written_by(name, wanted, paths)
        except PermissionError:
            hidden += not _is_of_kernel(int(name))
        except OSError:
            continue  # it has ended
        else:
            if path:
                found.append(_writer(int(name), path))
    known = {writer["pid"] for writer in found} | skipped
    for pid, path in _lock_holders(locks):
        if pid not in known and proc.stat_of(pid) is not None:
            found.append(_writer(pid, path))
    return {"found": sorted(found, key=lambda writer: int(writer["pid"])), "hidden": hidden}


def _written_by(pid: str, wanted: set[Inode], paths: Sequence[str]) -> str:
    """The name of what ``pid`` writes of ``wanted`` or ``paths``; empty for nothing."""
    folder = f"/proc/{pid}/fd"
    for fd in os.listdir(folder):
        try:
            link = os.readlink(f"{folder}/{fd}")
            if not link.startswith("/"):
                continue  # a socket or a pipe
            facts = os.stat(f"{folder}/{fd}")
            ours = (facts.st_dev, facts.st_ino) in wanted or _was_one_of(link, paths)
            if ours and stat.S_ISREG(facts.st_mode) and _writes(pid, fd):
                return link
        except FileNotFoundError:
            continue  # closed meanwhile
    return ""


def _was_one_of(link: str, paths: Sequence[str]) -> bool:
    """Whether ``link`` is one of ``paths`` deleted, or renamed by something put behind its name."""
    name = link[: -len(_DELETED)] if link.endswith(_DELETED) else link
    return any(name == path or _is_renamed(name, path) for path in paths)


def _is_renamed(name: str, path: str) -> bool:
    rest = name[len(path) :] if name.startswith(path) else ""
    return bool(rest) and rest[0] in ".-~_" and "/" not in rest


def _writes(pid: str, fd: str) -> bool:
    with open(f"/proc/{pid}/fdinfo/{fd}") as file:
        for line in file:
            if line.startswith("flags:"):
                return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def _lock_holders(locks: Sequence[str]) -> list[tuple[int, str]]:
    """Holders of ``flock`` that the kernel names, other users' processes too."""
    by_inode = {inode: path for path in locks if (inode := _inode(path)) is not None}
    holders = []
    try:
        with open("/proc/locks") as file:
            rows = [found for line in file if (found := _FLOCK.match(line))]
    except OSError:
        return []
    for row in rows:
        inode = (os.makedev(int(row[2], 16), int(row[3], 16)), int(row[4]))
        if inode in by_inode and int(row[1]) > 0:
            holders.append((int(row[1]), by_inode[inode]))
    return holders


def lock_holder(paths: Sequence[str]) -> str:
    """What the lock file of one of ``paths`` says when it is held; ``""`` when none is.

    The holder may be in another container, or on a shared disk on another host.
    """
    for path in paths:
        try:
            fd = os.open(path + LOCK, os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return os.pread(fd, 400, 0).decode("utf-8", "replace").strip() or "nobody named"
        finally:
            os.close(fd)
    return ""


def _inode(path: str) -> Inode | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _is_of_kernel(pid: int) -> bool:
    found = proc.stat_of(pid)
    return pid == 2 or found is None or found.ppid == 2


def _writer(pid: int, path: str) -> Writer:
    return {"pid": pid, "user": _user_of(pid), "command": _command_of(pid), "path": path}


def _user_of(pid: int) -> str:
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return "?"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _command_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4096).replace(b"\0", b" ").decode("utf-8", "replace").strip()
        if not words:
            with open(f"/proc/{pid}/comm", "rb") as file:
                words = "[" + file.read(64).decode("utf-8", "replace").strip() + "]"
    except OSError:
        return "?"
    flat = " ".join(words.split())
    return flat if len(flat) <= LONGEST_COMMAND else flat[: LONGEST_COMMAND - 1] + "…"
