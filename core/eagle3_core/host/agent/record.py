"""``run.json``: who the process of a run is. Written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict

Record = Dict[str, Any]
"""Keys: run_id, pid, pgid, start (ticks), boot, host, pidns, argv, log, cwd, started_at (epoch
seconds); from a shim also shim, shim_start; at the end exit (negative: the signal), ended_at,
all_ended; error when the process could not be started."""


def path_of(run_dir: str) -> str:
    return os.path.join(run_dir, "run.json")


def absolute(path: str) -> str:
    """``path`` as the host means it: ``~`` is its user's home."""
    return os.path.abspath(os.path.expanduser(path))


def load_json(path: str) -> Any | None:
    """The JSON value of a small file; ``None`` when it is missing or no JSON."""
    try:
        with open(path, "rb") as file:
            return json.loads(file.read().decode("utf-8", "replace"))
    except (OSError, ValueError):
        return None


_KINDS: dict[str, Any] = {
    "run_id": str,
    "boot": str,
    "host": str,
    "argv": list,
    "started_at": (int, float),
    **dict.fromkeys(("pid", "pgid", "start", "pidns", "shim", "shim_start"), int),
}


def load(run_dir: str) -> Record | None:
    """The record; ``None`` when there is none, or none that says what it must in its own kinds."""
    record = load_json(path_of(run_dir))
    if not isinstance(record, dict):
        return None
    for key, kind in _KINDS.items():
        if record.get(key) is not None and not isinstance(record[key], kind):
            return None
    return record


def save_json(path: str, value: Any) -> None:
    """Replace ``path`` atomically and durably. Raises ``OSError``."""
    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=name + ".")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
