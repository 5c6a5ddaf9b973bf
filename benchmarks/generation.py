"""What asking costs: the plain script, ours and the limit, interleaved on one machine in one run.

    python benchmarks/generation.py [--quick] [--json FILE]

Each cell is a fresh process pinned to the last core, against a fresh stub (``stub.c``) on the first.
The main figure is CPU of the client's process alone: it means the same on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stub import CLIENT_CORE, CORES, SERVER_CORE, stub

CLIENTS = ("plain", "ours", "aiohttp")
NAMES = {"plain": "plain AsyncOpenAI", "ours": "eagle3-core", "aiohttp": "aiohttp + orjson"}
TOKENS = 1263
"""The mean answer of a real run."""


@dataclass(frozen=True)
class Cell:
    """One way of asking at one concurrency."""

    mode: str
    """``streamed``, ``streamed_8`` (eight tokens a chunk) or ``whole``."""
    concurrency: int
    requests: dict[str, int]
    """By client: enough that connections and caches are not what is measured."""
    plain_seconds: float
    """The plain script is stopped after this time; what had come counts."""
    tokens: int = TOKENS

    @property
    def chunk_tokens(self) -> int:
        return 8 if self.mode == "streamed_8" else 1


@dataclass
class Result:
    """All runs of one client in one cell."""

    cell: Cell
    client: str
    runs: list[dict[str, Any]] = field(default_factory=list)

    def median(self, name: str) -> float | None:
        values = [run[name] for run in self.runs if run[name] is not None]
        return statistics.median(values) if values else None

    @property
    def answers_per_core(self) -> float:
        """Answers/s that one core of the client can take: 1000 ÷ CPU seconds for 1,000."""
        return (
            statistics.median(run["tokens"] / run["cpu_s"] for run in self.runs) / self.cell.tokens
        )

    @property
    def tokens_per_core(self) -> float:
        return self.answers_per_core * self.cell.tokens


def cells(quick: bool) -> list[Cell]:
    """What is measured."""

    def requests(plain: int, ours: int, aiohttp: int) -> dict[str, int]:
        return {"plain": plain, "ours": ours, "aiohttp": aiohttp}

    if quick:
        return [
            Cell("streamed", 128, requests(128, 384, 384), 9),
            Cell("streamed", 1024, requests(1024, 1024, 1024), 12, tokens=421),
            Cell("streamed", 4096, requests(4096, 4096, 4096), 16, tokens=158),
            Cell("streamed_8", 128, requests(128, 1280, 1280), 5),
            Cell("whole", 128, requests(640, 2560, 2560), 12),
            Cell("whole", 1024, requests(1024, 4096, 4096), 12),
            Cell("whole", 4096, requests(4096, 8192, 8192), 27),
        ]
    return [
        Cell("streamed", 128, requests(256, 1280, 1280), 40),
        Cell("streamed", 1024, requests(1024, 2048, 2048), 60),
        Cell("streamed", 4096, requests(4096, 4096, 4096), 75),
        Cell("streamed_8", 128, requests(512, 5120, 5120), 20),
        Cell("streamed_8", 1024, requests(1024, 5120, 5120), 30),
        Cell("whole", 128, requests(1920, 8192, 8192), 30),
        Cell("whole", 1024, requests(3072, 12288, 12288), 40),
        Cell("whole", 4096, requests(8192, 16384, 16384), 75),
    ]


def run(client: str, url: str, cell: Cell, *, boxed: bool = True) -> dict[str, Any]:
    """One client in a process of its own."""
    command = [
        sys.executable,
        str(Path(__file__).with_name("clients.py")),
        client,
        f"--url={url}",
        f"--requests={cell.requests[client]}",
        f"--concurrency={cell.concurrency}",
        f"--chunk-tokens={cell.chunk_tokens}",
    ]
    if cell.mode != "whole":
        command.append("--stream")
    if client == "plain" and boxed:
        command.append(f"--seconds={cell.plain_seconds}")
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([*command, f"--folder={folder}"], stdout=subprocess.PIPE)
        os.sched_setaffinity(process.pid, {CLIENT_CORE})
        out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    found: dict[str, Any] = json.loads(out)
    return found


def measure(quick: bool, repeats: int) -> list[Result]:
    results = [Result(cell, client) for cell in cells(quick) for client in CLIENTS]
    for _ in range(repeats):
        for result in results:
            cell = result.cell
            with stub(tokens=cell.tokens, chunk_tokens=cell.chunk_tokens) as server:
                result.runs.append(run(result.client, server.url, cell))
                found = result.runs[-1]
                found["connections"] = server.stats()["connections"]
            say(
                f"{cell.mode} at {cell.concurrency}, {NAMES[result.client]}: "
                f"{found['tokens']} tokens for {found['cpu_s']:.2f} CPU s "
                f"in {found['wall_s']:.1f} s {found['errors'] or ''}"
            )
    return results


def refill(quick: bool) -> list[dict[str, Any]]:
    """How soon a slot is filled again at 1,024, below saturation: answers take seconds, as real ones do.

    Seen from the server, from the last byte of an answer to the next request on its connection; and
    for ours also from its journal, from one attempt's end to the start of the next.
    """
    rows = []
    ways = [("whole", {"hold_ms": 4000}, 1792 if quick else 10240)]
    if not quick:
        # 20 tokens/s a stream, no two streams in step: 20,000 tokens/s in all, each chunk alone
        ways.append(("streamed", {"hold_ms": 4000, "step_ms": 50, "tokens": 300}, 4096))
    for mode, options, requests in ways:
        for client in ("ours",) if quick else CLIENTS:
            if client == "plain" and mode == "streamed":
                continue  # it cannot take 20,000 tokens/s: a queue would be measured
            cell = Cell(mode, 1024, {client: requests}, 0, tokens=options.get("tokens", TOKENS))
            with stub(**{"tokens": TOKENS, **options}) as server:
                found = run(client, server.url, cell, boxed=False)
                seen = server.stats()
            rows.append({"mode": mode, "client": client, **found, **seen})
            say(f"refill, {mode}, {NAMES[client]}: p50 {seen['refill_us_p50'] / 1000:.2f} ms")
    return rows


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def ratios(results: list[Result], against: str) -> dict[str, dict[str, float]]:
    """Answers per core of ours against another's, by mode and concurrency."""
    by = {(r.cell.mode, r.cell.concurrency, r.client): r.answers_per_core for r in results}
    found: dict[str, dict[str, float]] = {}
    for (mode, concurrency, client), rate in by.items():
        other = by[mode, concurrency, against]
        if client == "ours" and other:  # the plain script may have been stopped before its first
            found.setdefault(mode, {})[str(concurrency)] = round(rate / other, 3)
    return found


def tables(results: list[Result], refills: list[dict[str, Any]]) -> str:
    plain = ratios(results, "plain")
    limit = ratios(results, "aiohttp")
    lines = [
        "| mode | concurrency | client | answers/s a core | tokens/s a core | added p99, ms "
        "| peak RSS, MiB | ours ÷ this | failed |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for result in results:
        cell = result.cell
        ratio = {
            "plain": plain.get(cell.mode, {}).get(str(cell.concurrency)),
            "aiohttp": limit.get(cell.mode, {}).get(str(cell.concurrency)),
        }.get(result.client)
        added = result.median("added_p99_ms")
        failed = {}
        for each in result.runs:
            failed.update(each["errors"])
        lines.append(
            f"| {cell.mode} | {cell.concurrency:,} | {NAMES[result.client]} "
            f"| {result.answers_per_core:,.1f} | {result.tokens_per_core:,.0f} "
            f"| {'stopped' if added is None else f'{added:,.0f}'} "
            f"| {result.median('peak_rss_mib'):,.0f} "
            f"| {'' if ratio is None else f'{ratio:.2f}'} "
            f"| {', '.join(f'{count} {name}' for name, count in failed.items())} |"
        )
    lines += [
        "",
        "| at 1,024, below saturation | client | slot refilled p50, ms, seen by the server | p99 "
        "| seen by the client p50 | added p50, ms | added p99, ms | core used |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['mode']} | {NAMES[row['client']]} | {row['refill_us_p50'] / 1000:.2f} "
        f"| {row['refill_us_p99'] / 1000:.1f} | {row['refill_ms'] if row['refill_ms'] is not None else ''} "
        f"| {row['added_p50_ms']:.1f} | {row['added_p99_ms']:.0f} "
        f"| {row['cpu_s'] / row['wall_s']:.0%} |"
        for row in refills
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests, under three minutes")
    parser.add_argument("--repeats", type=int, default=1, help="all cells once, then all again")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    args = parser.parse_args()
    began, load = time.time(), os.getloadavg()[0]
    results = measure(args.quick, args.repeats)
    refills = refill(args.quick)
    print(tables(results, refills))
    print(
        f"\n{len(CORES)} vCPU, stub on core {SERVER_CORE}, client on core {CLIENT_CORE}, "
        f"Python {platform.python_version()}, load {load:.1f} before and {os.getloadavg()[0]:.1f} "
        f"after (two of it are ours), {time.time() - began:.0f} s"
    )
    if args.json:
        value = {
            "quick": args.quick,
            "ratio_to_plain_openai": ratios(results, "plain"),
            "ratio_to_raw_aiohttp": ratios(results, "aiohttp"),
            "slot_refill": refills,
            "cells": [
                {
                    **asdict(result.cell),
                    "client": result.client,
                    "answers_per_core": result.answers_per_core,
                    "tokens_per_core": result.tokens_per_core,
                    "runs": result.runs,
                }
                for result in results
            ],
        }
        Path(args.json).write_text(json.dumps(value, indent=2) + "\n")


if __name__ == "__main__":
    main()
