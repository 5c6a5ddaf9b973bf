"""The headless twins over a real sshd, and every wrong input in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from eagle3_core.host.target import HostTarget

from .conftest import Sshd


def console(*words: str, config: Path | None = None) -> subprocess.CompletedProcess[str]:
    extra = ["--ssh-config", str(config)] if config else []
    return subprocess.run(
        [sys.executable, "-m", "eagle3_console", *words, *extra],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def one_line(run: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert run.returncode not in (0, -9), run.stdout
    assert run.stderr.count("\n") == 1, run.stderr
    for part in parts:
        assert part in run.stderr


def test_a_run_that_is_not_there_has_no_lines_and_says_why(
    target: HostTarget, tmp_path: Path
) -> None:
    run = console("status", "--host", "gpu", "--run", str(tmp_path / "none"), config=target.config)
    assert run.returncode == 0, run.stderr
    assert f"0 lines (no such directory {tmp_path / 'none'})" in run.stdout


def test_status_for_programs(target: HostTarget, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "prepared"
    folder.mkdir(parents=True)
    (folder / "raw_responses.jsonl").write_text('{"key":"a","state":"ok"}\n' * 3)
    run = console(
        "status", "--json", "--host", "gpu", "--run", str(tmp_path / "run"), config=target.config
    )
    picture = json.loads(run.stdout)
    assert (picture["lines"], picture["process"]["state"], picture["host"]) == (3, "none", "gpu")


def test_logs_and_samples_without_a_run(target: HostTarget, tmp_path: Path) -> None:
    for command, expected in (("logs", ""), ("samples", "no records yet\n")):
        run = console(command, "--host", "gpu", "--run", str(tmp_path), config=target.config)
        assert (run.returncode, run.stdout) == (0, expected), run.stderr


def test_the_log_reaches_the_terminal_defused(target: HostTarget, tmp_path: Path) -> None:
    (tmp_path / "inference.log").write_bytes(b"one\n\x1b]0;title\x07two \xff\n")
    run = console("logs", "--host", "gpu", "--run", str(tmp_path), config=target.config)
    assert run.stdout == "one\n␛]0;title␇two �\n"


def test_unknown_host_key(sshd: Sshd, tmp_path: Path) -> None:
    target = sshd.client(tmp_path, known="")
    run = console("status", "--host", "gpu", "--run", "/x", config=target.config)
    one_line(run, "gpu", "unknown host key SHA256:", "ssh gpu")


def test_host_without_python(sshd: Sshd, tmp_path: Path) -> None:
    target = sshd.client(tmp_path)
    config = tmp_path / "console.toml"
    config.write_text('[profiles.p]\nhost = "gpu"\nrun = "/x"\nprefix = ["env", "PATH=/nowhere"]\n')
    run = subprocess.run(
        [sys.executable, "-m", "eagle3_console", "status", "p", "--ssh-config", str(target.config)],
        capture_output=True,
        text=True,
        env={"EAGLE3_CONSOLE_CONFIG": str(config), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        | {"PYTHONPATH": ":".join(sys.path)},
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    one_line(run, "gpu", "python")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["status"], ["--host", "demo"]),
        (["status", "nobody"], ["no profile 'nobody'"]),
        (["status", "--host", "gpu"], ["--run"]),
        (["status", "--host", "no.such.host.invalid", "--run", "/x"], ["no.such.host.invalid"]),
        (["status", "--host", "127.0.0.1:1", "--run", "/x"], ["127.0.0.1", "sshd"]),
        (["--host", "local", "--run", "/x"], ["terminal", "status"]),
        (["kill", "--host", "local", "--run", "/no/such/run"], ["/no/such/run"]),
        (["start", "--host", "local", "--run", "/proc/nope"], ["/proc/nope"]),
    ],
)
def test_wrong_words(
    words: list[str], parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    one_line(console(*words), *parts)
