"""Stands in for the generator: appends lines; INT drains, TERM flushes and ends."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType

run_dir = Path(sys.argv[1])
out = (run_dir / "out.jsonl").open("a")
draining = False


def drain(number: int, frame: FrameType | None) -> None:
    global draining
    draining = True
    (run_dir / "status.json").write_text(json.dumps({"phase": "draining"}))


def term(number: int, frame: FrameType | None) -> None:
    out.write("flushed\n")
    out.flush()
    sys.exit(0)


signal.signal(signal.SIGINT, drain)
signal.signal(signal.SIGTERM, term)
print("ready", flush=True)
for line in range(100_000):
    out.write(f"line {line}\n")
    out.flush()
    time.sleep(0.01)
    if draining and (run_dir / "answered").exists():
        sys.exit(7)
