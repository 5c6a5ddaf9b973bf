"""The stub server as a process: compiled when its source is newer, pinned to the first core."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = CORES[0], CORES[-1]
"""The same one where there is only one: the figures are CPU seconds of the client alone."""


class Stub:
    """A running stub."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}"
        self.url = self._root + "/v1"

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(self._root + "/stats", timeout=30) as page:
            found: dict[str, Any] = json.load(page)
        return found


def binary() -> Path:
    """The compiled stub. Needs a C compiler as ``cc``."""
    found = Path(tempfile.gettempdir()) / f"eagle3-stub-{os.getuid()}"
    sources = [HERE / "stub.c", HERE / "stub_answers.h"]
    newest = max(source.stat().st_mtime for source in sources)
    if not found.exists() or found.stat().st_mtime < newest:
        fresh = found.with_suffix(f".{os.getpid()}")
        subprocess.run(["cc", "-O2", "-o", str(fresh), str(sources[0])], check=True)
        fresh.replace(found)
    return found


@contextmanager
def stub(**options: int) -> Iterator[Stub]:
    """``with stub(tokens=1263, chunk_tokens=8) as server:`` options are those of ``stub.c``."""
    flags = [
        word
        for name, value in options.items()
        for word in ("--" + name.replace("_", "-"), str(value))
    ]
    process = subprocess.Popen([binary(), *flags], stdout=subprocess.PIPE, text=True)
    try:
        os.sched_setaffinity(process.pid, {SERVER_CORE})
        assert process.stdout is not None
        yield Stub(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
