"""Programs that run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import eagle3_core

CORE = str(Path(eagle3_core.__file__).parents[1])


@pytest.fixture
def program() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """``program(source, *arguments)``: Python source, running, with pipes."""
    running: list[subprocess.Popen[str]] = []

    def start(source: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", source, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": CORE},
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()
