"""Start a run: refused while one is alive, in a session of its own, back within two seconds."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Sequence

from eagle3_core.host.agent import proc, record, run, strays, writers
from eagle3_core.host.agent.wire import Refused

SHIM = """
import sys
sys.path.insert(0, sys.argv[1])
from eagle3_core.host.agent.shim import main
main()
"""

CHECK = """
import importlib.util, json, sys
missing = [name for name in ("openai", "aiohttp") if importlib.util.find_spec(name) is None]
print(json.dumps({"version": sys.version_info[:2], "missing": missing}))
"""

OLDEST = (3, 10)
"""Python that the generator needs."""


def launch(
    zip_path: str,
    run_dir: str,
    settings: Mapping[str, Any] | None = None,
    python: str | None = None,
    argv: list[str] | None = None,
    env: Mapping[str, str] | None = None,
    log: str | None = None,
    journal: str | None = None,
    cwd: str | None = None,
    needs: Sequence[str] = (),
) -> dict[str, Any]:
    """Start the generator, or ``argv``, for ``run_dir`` and return its ``run.json``.

    The answer has ``hidden`` too: how many processes could not be looked at for stray writers.

    Args:
        zip_path: the core, as deployed.
        run_dir: made when it is missing.
        settings: written to ``launch.json``; ``None``: go on with what the run has.
        python: interpreter of the generator; ``None``: the agent's own.
        argv: a foreign command to run in place of the generator.
        env: further environment variables.
        log: file for its output; ``None``: ``inference.log`` in the run.
        journal: the file that ``argv`` writes; ``None``: the run's own.
        cwd: where ``argv`` is started; ``None``: in the run.
        needs: environment variables without which it is not started.

    Raises:
        Refused: ``busy``, ``folder``, ``python``, ``settings``, ``environment``, ``start``.
    """
    run_dir = record.absolute(run_dir)
    make_folder(run_dir)
    with claim(run_dir):
        files = writers.files_of(run_dir, journal)
        refuse_second(run_dir, files)
        hidden = strays.refuse(files)
        refuse_unset(needs, env or {})
        environ = environment("" if argv else zip_path, env or {})
        if argv is None:
            python = os.path.expanduser(python or sys.executable)
            path = settings_file(run_dir, settings)
            check_python(python, environ, run_dir)
            argv = [python, "-m", "eagle3_core", "generate", "--settings", path]
        order: dict[str, Any] = {
            "argv": argv,
            "cwd": record.absolute(cwd) if cwd else run_dir,
            "run_dir": run_dir,
            "log": record.absolute(log) if log else os.path.join(run_dir, "inference.log"),
            "run_id": uuid.uuid4().hex,
        }
        order["env"] = dict(environ, **{proc.RUN_ID: order["run_id"]})
        return dict(start_shim(zip_path, order), hidden=hidden)


def make_folder(run_dir: str) -> None:
    try:
        os.makedirs(run_dir, exist_ok=True)
    except OSError as error:
        raise cannot_write(run_dir, error) from None
    if not os.access(run_dir, os.W_OK | os.X_OK):
        raise Refused(
            "folder", f"{run_dir} cannot be written", "choose a folder that you may write to"
        )


def cannot_write(path: str, error: OSError) -> Refused:
    reason = error.strerror or str(error)
    return Refused(
        "folder",
        f"{path} cannot be written ({reason})",
        "choose a folder that you may write to",
    )


@contextmanager
def claim(run_dir: str) -> Iterator[None]:
    """Two consoles must not both find the run stopped and both start it."""
    fd = os.open(run_dir, os.O_RDONLY)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                "busy", f"{run_dir} is being started by another console", "look again in a moment"
            ) from None
        except OSError:
            pass  # a file system without locks; the journal's own lock still guards the answers
        yield
    finally:
        os.close(fd)


def refuse_second(run_dir: str, files: Sequence[str]) -> None:
    entry = record.load(run_dir)
    if entry is None:
        return
    leader = run.find_leader(entry)
    if leader == "elsewhere" and not any(os.path.exists(path + writers.LOCK) for path in files):
        # Of a journal with a lock, the lock tells whether the run goes on.
        raise Refused(
            "busy",
            f"{run_dir} was started in another container, or on {entry.get('host')}, and may go on",
            f"look from there; when that is gone, remove {record.path_of(run_dir)}",
        )
    if leader == "running":
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.get("started_at", 0)))
        raise Refused(
            "busy",
            f"{run_dir} already runs as pid {entry['pid']} since {since}",
            "drain or kill it first",
        )
    left = run.leftovers(entry, leader)
    if left:
        pids = ", ".join(str(pid) for pid in left)
        raise Refused("busy", f"{run_dir} has processes left over ({pids})", "kill them first")


def refuse_unset(needs: Sequence[str], given: Mapping[str, str]) -> None:
    missing = [name for name in needs if name not in given and name not in os.environ]
    if missing:
        raise Refused(
            "environment",
            f"{' and '.join(missing)} is set neither there nor on the host",
            "export it in the shell that the console is started from",
        )


def environment(zip_path: str, extra: Mapping[str, str]) -> dict[str, str]:
    """What is added to the environment that the agent has; a foreign command gets no zip."""
    added = {"PYTHONUNBUFFERED": "1"}  # a log that is followed must not wait in a buffer
    if zip_path:
        before = os.environ.get("PYTHONPATH")
        added["PYTHONPATH"] = zip_path + os.pathsep + before if before else zip_path
    added.update(extra)
    return added


def check_python(python: str, environ: Mapping[str, str], cwd: str) -> None:
    """The generator needs a Python that has its two libraries."""
    mend = "set python to one that has openai and aiohttp, e.g. that of your vLLM environment"
    try:
        done = subprocess.run(
            [python, "-c", CHECK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(os.environ, **environ),
            cwd=cwd,
            timeout=30,
            check=True,
        )
        found = json.loads(done.stdout.decode())
    except OSError as error:
        raise Refused("python", f"{python} cannot be run ({error.strerror})", mend) from None
    except (subprocess.SubprocessError, ValueError):
        raise Refused("python", f"{python} does not work as a Python", mend) from None
    if tuple(found["version"]) < OLDEST:
        version = ".".join(str(part) for part in found["version"])
        raise Refused("python", f"{python} is Python {version}, the generator needs 3.10", mend)
    if found["missing"]:
        names = " and ".join(found["missing"])
        packages = " ".join(found["missing"])
        install = f"{python} -m pip install {packages}, or {mend}"
        raise Refused("python", f"{python} cannot import {names}", install)


def settings_file(run_dir: str, settings: Mapping[str, Any] | None) -> str:
    """The file that the generator is to read; ``launch.json`` holds the wish of a console."""
    asked = os.path.join(run_dir, "launch.json")
    if settings is not None:
        # The console cannot know where ``~`` and relative paths lead to here.
        wanted = dict(settings, output=os.path.join(run_dir, run.JOURNAL))
        if "prompts" in wanted:
            wanted["prompts"] = os.path.expanduser(wanted["prompts"])
        try:
            record.save_json(asked, wanted)
        except OSError as error:
            raise cannot_write(asked, error) from None
        return asked
    accepted = os.path.join(run_dir, "settings.json")
    for path in (accepted, asked):
        if os.path.exists(path):
            return path
    raise Refused("settings", f"{run_dir} has no settings yet", "start it with settings")


def start_shim(zip_path: str, order: Mapping[str, Any]) -> dict[str, Any]:
    environ = dict(os.environ)
    for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "SSH_AUTH_SOCK"):
        environ.pop(name, None)
    shim = subprocess.Popen(
        [sys.executable, "-c", SHIM, zip_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        cwd="/",
        start_new_session=True,
    )
    assert shim.stdin is not None
    assert shim.stdout is not None
    assert shim.stderr is not None
    shim.stdin.write(json.dumps(order).encode())
    shim.stdin.close()
    answer = shim.stdout.readline()
    if not answer:
        error = shim.stderr.read().decode("utf-8", "replace").strip()
        shim.wait()
        raise Refused(
            "start", "the run could not be started", error.splitlines()[-1] if error else ""
        )
    entry: dict[str, Any] = json.loads(answer.decode())
    if entry.get("error"):
        raise Refused("start", f"{order['argv'][0]} cannot be started", entry["error"])
    return entry
