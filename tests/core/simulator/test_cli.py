"""The server as a process of its own."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import eagle3_core
from eagle3_core.errors import UserError
from eagle3_core.simulator.cli import add_arguments, run

CORE = str(Path(eagle3_core.__file__).parents[1])

PROGRAM = """
import argparse, sys
from eagle3_core.simulator.cli import add_arguments, run
parser = argparse.ArgumentParser()
add_arguments(parser)
sys.exit(run(parser.parse_args()))
"""

ENVIRONMENT = {**os.environ, "PYTHONPATH": CORE}


def spawn(*flags, program=PROGRAM):
    return subprocess.Popen(
        [sys.executable, "-c", program, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_its_url_and_ends_on_a_signal(number):
    process = spawn("--model", "tiny", "--fault", "hang:0.1", "--max-num-seqs", "8")
    url = process.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/v1")
    with urllib.request.urlopen(f"{url}/models", timeout=5) as response:
        assert b'"id":"tiny"' in response.read()
    process.send_signal(number)
    rest, errors = process.communicate(timeout=5)
    assert (process.returncode, rest, errors) == (0, "", "")


def test_it_ends_when_the_process_it_belongs_to_is_gone():
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = spawn("--parent-pid", str(owner.pid))
    url = process.stdout.readline().strip()
    assert process.poll() is None
    owner.kill()
    owner.communicate()
    process.communicate(timeout=5)
    assert process.returncode == 0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/models", timeout=5)


def test_it_ends_with_its_own_parent_even_before_that_is_reaped():
    starter = (
        "import os, subprocess, sys\n"
        "flags = ['--parent-pid', str(os.getpid())]\n"
        "child = subprocess.Popen([sys.executable, '-c', sys.argv[1], *flags],"
        " stdout=subprocess.PIPE)\n"
        "print(child.pid, child.stdout.readline().decode(), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    parent = spawn(PROGRAM, program=starter)
    pid, url = parent.stdout.readline().split()
    assert url.startswith("http://127.0.0.1:")
    deadline = time.monotonic() + 5
    while alive(int(pid)):
        assert time.monotonic() < deadline, "the server outlives its parent"
        time.sleep(0.02)
    parent.communicate()


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--fault", "burn:1"], "--fault burn:1 names no kind"),
        (["--fault", "hang:0.7", "--fault", "500:0.7"], "add up to 1.4"),
        (["--max-num-seqs", "0"], "--max-num-seqs 0 is too small"),
    ],
)
def test_flags_that_cannot_work_are_user_errors(flags, said):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(UserError, match=said):
        run(parser.parse_args(flags))
