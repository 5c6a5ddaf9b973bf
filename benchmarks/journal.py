"""How fast a journal is read: the resume scan, and the looks that the console takes at a long one.

    python benchmarks/journal.py [--quick] [--json FILE]

Records of 10 KB with texts that all differ. The scan is of 1 GB in the page cache, judged by its CPU
seconds, once of prose and once of formulas, whose braces it must tell from records glued to others.
The looks are at 10 GB (--quick: 1 GB), "warm" meaning that the same look was taken before. The files
are in the folder for temporary files and deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))

from eagle3_core.host.agent import read
from eagle3_core.journal.index import scan
from eagle3_core.records import AnswerState, Record

RECORD_BYTES = 10_000
GB = 1_000_000_000
PROSE = ["so", "we", "need", "the", "sum", "of", "both", "naïve", "“≤”", "then\n", "check:", "it"]
FORMULAS = [*PROSE, "\\frac{x}{y}"]
"""A brace in every 50 characters."""
TIMES = 5


def record(number: int, words: list[str]) -> bytes:
    """One line of a journal, about 10 KB."""
    luck = random.Random(number)
    text = " ".join(luck.choices(words, k=RECORD_BYTES // 5))
    half = int(len(text) * 0.6)
    return Record(
        key=f"{number:07}:{luck.getrandbits(64):016x}",
        state=AnswerState.TRUNCATED if number % 20 == 0 else AnswerState.OK,
        sample_id=str(number),
        messages=({"role": "user", "content": f"What is the sum of {number} and 1?"},),
        reasoning=text[:half],
        content=text[half:],
        finish_reason="stop",
        usage={"prompt_tokens": 20, "completion_tokens": 2500, "total_tokens": 2520},
        model="stub",
        endpoint="http://127.0.0.1:8000/v1",
        attempt=1,
        started_at="2026-01-01T00:00:00.000+00:00",
        first_token_s=0.5,
        total_s=25.0,
    ).to_line()


def write(path: Path, size: int, words: list[str]) -> int:
    """Fill ``path`` with about ``size`` bytes of different records; how many."""
    count = 0
    with path.open("wb", buffering=1 << 22) as file:
        while file.tell() < size:
            file.write(record(count, words))
            count += 1
    return count


def repeat(source: Path, path: Path, times: int) -> None:
    """``source`` so many times over: enough for looks, which do not ask for keys."""
    with path.open("wb") as out:
        for _ in range(times):
            with source.open("rb") as file:
                shutil.copyfileobj(file, out, 1 << 22)


def timed(
    look: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, list[float]]:
    """Seconds of the first look, and of those after it."""
    spent = []
    for _ in range(TIMES + 1):
        start = clock()
        look()
        spent.append(clock() - start)
    return spent[0], spent[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="looks at 1 GB, not at 10")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="eagle3-journal-") as name:
        small, large = Path(name) / "small.jsonl", Path(name) / "large.jsonl"
        rates = {}
        print("| resume scan, page cache | records | GB/s a core, best | median |")
        print("| --- | ---: | ---: | ---: |")
        for kind, words in (("formulas", FORMULAS), ("prose", PROSE)):
            count = write(small, GB, words)
            size = small.stat().st_size
            _, spent = timed(lambda: scan(str(small)), time.process_time)
            index = scan(str(small))
            assert (index.lines, len(index.states), index.bad_lines) == (count, count, [])
            rates[kind] = size / statistics.median(spent) / GB
            print(f"| {kind} | {count:,} | {size / min(spent) / GB:.2f} | {rates[kind]:.2f} |")
        if args.quick:
            large = small
        else:
            repeat(small, large, 10)
        looks: dict[str, Callable[[], Any]] = {
            "last 20": lambda: read.last(str(large), 20),
            "last 200": lambda: read.last(str(large), 200),
            "random 10, the same": lambda: read.sample(str(large), 10, seed=7),
            "random 100, the same": lambda: read.sample(str(large), 100, seed=7),
            "random 10, others each time": lambda: read.sample(str(large), 10),
        }
        length = os.path.getsize(large)
        print(f"\nlooks at {length / GB:.1f} GB:\n")
        print("| look | first, ms | warm median, ms | warm worst, ms |")
        print("| --- | ---: | ---: | ---: |")
        rows = {}
        for label, look in looks.items():
            first, warm = timed(look)
            rows[label] = {
                "first_ms": first * 1e3,
                "warm_ms": statistics.median(warm) * 1e3,
                "worst_ms": max(warm) * 1e3,
            }
            print(
                f"| {label} | "
                + " | ".join(f"{value:.1f}" for value in rows[label].values())
                + " |"
            )
    if args.json:
        value = {"scan_gb_s": rates, "bytes": length, "looks": rows}
        Path(args.json).write_text(json.dumps(value, indent=2) + "\n")


if __name__ == "__main__":
    main()
