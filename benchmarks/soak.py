"""A long run against a server that fails in every way it knows: nothing may be lost, doubled or leaked.

    python benchmarks/soak.py [--samples 20000] [--concurrency 1024]

Twelve kinds of fault, 5 % of the requests each, against ``eagle3-core simulate``. Prints what it saw;
the exit code is 1 when something is off.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))

from eagle3_core.generation.http1 import Connection
from eagle3_core.generation.run import generate
from eagle3_core.settings import RunSettings
from eagle3_core.simulator.faults import KINDS

KINDS_HELD = (asyncio.Task, Connection)
CORE = Path(__file__).resolve().parents[1] / "core"
SHARE = 0.05
PARAMETERS = {"slow_first_token": 20, "slow": 2, "429": 1}
CLOCKS = {"timeout": 30.0, "first_token_timeout": 10.0, "idle_timeout": 10.0}
SPARE_FILES = 64
"""Descriptors beside one for each request in flight."""
GROWTH = 1.2
"""Memory at the end may be this much of what it was when a fifth was done."""


@dataclass
class Look:
    """The process at one moment."""

    seconds: float
    files: int
    threads: int
    rss_mib: float


def look(since: float) -> Look:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Look(
        time.monotonic() - since,
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        pages * resource.getpagesize() / 2**20,
    )


@contextmanager
def watched() -> Iterator[list[Look]]:
    """A look a second, taken from another thread."""
    looks: list[Look] = []
    over = threading.Event()
    began = time.monotonic()

    def watch() -> None:
        while not over.wait(1):
            looks.append(look(began))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield looks
    finally:
        over.set()
        thread.join()


@contextmanager
def simulator() -> Iterator[str]:
    """``eagle3-core simulate`` with every fault; its URL."""
    command = [sys.executable, "-m", "eagle3_core", "simulate", "--parent-pid", str(os.getpid())]
    command += ["--max-num-seqs", "4096", "--token-rate", "400", "--batch-cost", "0"]
    command += ["--mean-tokens", "40", "--prefill-rate", "1e9", "--chunk-tokens", "8"]
    for kind in KINDS:
        parameter = f":{PARAMETERS[kind]}" if kind in PARAMETERS else ""
        command += ["--fault", f"{kind}:{SHARE}{parameter}"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(CORE)}
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def left_over() -> dict[str, int]:
    """Tasks and connections that something still holds."""
    gc.collect()
    found = Counter(
        type(each).__name__ for each in gc.get_objects() if isinstance(each, KINDS_HELD)
    )
    return {kind.__name__: found[kind.__name__] for kind in KINDS_HELD}


def run(folder: Path, url: str, samples: int, concurrency: int) -> Path:
    """One whole run; its directory."""
    folder.mkdir()
    prompts = folder / "prompts.jsonl"
    with prompts.open("w") as file:
        for number in range(samples):
            messages = [{"role": "user", "content": f"What is {number} and {number}?"}]
            file.write(json.dumps({"id": str(number), "messages": messages}) + "\n")
    generate(
        RunSettings(
            prompts=str(prompts),
            output=str(folder / "prepared" / "raw_responses.jsonl"),
            model="kimi-k2.5",
            base_url=[url],
            concurrency=concurrency,
            max_tokens=200,
            stream="on",
            preflight=False,
            **CLOCKS,
        )
    )
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=1024)
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    with tempfile.TemporaryDirectory(prefix="eagle3-soak-") as name, simulator() as url:
        run(Path(name) / "first", url, 256, 128)  # imports and caches are no leak
        held, before = left_over(), look(0)
        began = time.monotonic()
        with watched() as looks:
            folder = run(Path(name) / "soak", url, args.samples, args.concurrency)
        spent = time.monotonic() - began
        held_after, after = left_over(), look(0)
        status = json.loads((folder / "status.json").read_bytes())
        lines = (folder / "prepared" / "raw_responses.jsonl").read_bytes().splitlines()
        keys = Counter(json.loads(line)["key"] for line in lines)
        failures = (folder / "prepared" / "failures.jsonl").read_bytes().splitlines()

    counts = {name: status[name] for name in ("done", "kept", "failed", "in_flight", "pending")}
    early = [each.rss_mib for each in looks if each.seconds >= spent / 5]
    most_files = max((each.files for each in looks), default=0)
    print(f"{args.samples:,} samples at {args.concurrency:,} in {spent:.0f} s: {counts}")
    print(f"kept: {status['kept_by_state']}")
    print(f"failed attempts: {status['attempts_by_state']}, clocks {status['timeouts_by_clock']}")
    print(f"journal: {len(lines):,} lines, {len(keys):,} keys; failures: {len(failures):,} lines")
    print(f"descriptors: {before.files} before, {most_files:,} at most, {after.files} after")
    print(f"threads: {before.threads} before, {after.threads} after; held {held} → {held_after}")
    print(
        f"memory: {before.rss_mib:.0f} MiB before, {early[0]:.0f} at a fifth, "
        f"{early[-1]:.0f} at the end, {after.rss_mib:.0f} after"
    )
    checks = {
        "done + kept + failed = samples": counts["done"] + counts["kept"] + counts["failed"]
        == args.samples,
        "nothing in flight or pending": counts["in_flight"] == counts["pending"] == 0,
        "a record for each answer": len(lines) == counts["done"] + counts["kept"],
        "no key twice": len(keys) == len(lines),
        "every failed attempt on disk": len(failures) == sum(status["attempts_by_state"].values()),
        "no connection without a request": most_files <= args.concurrency + SPARE_FILES,
        "no descriptor left": after.files <= before.files,
        "no task or connection left": all(held_after[kind] <= held[kind] for kind in held),
        "memory flat": early[-1] <= early[0] * GROWTH,
    }
    for name, good in checks.items():
        print(f"{'ok   ' if good else 'WRONG'} {name}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
