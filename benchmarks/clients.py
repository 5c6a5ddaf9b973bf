"""One run of one way to ask, in a process of its own; what it cost is its one line of output.

``plain``: the script most people write around ``AsyncOpenAI``. ``ours``: a whole run of the
generation core, with its journal, clocks, states, log and status. ``aiohttp``: no more than must be
done, the limit for what stands on aiohttp. All three write each answer to a file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from by_hand import MAX_TOKENS, Work, messages, plain, raw_aiohttp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))


def ours(work: Work, folder: Path) -> tuple[float, float]:
    """``generate``, as the command runs it; CPU and wall seconds."""
    from eagle3_core.generation.run import generate
    from eagle3_core.settings import RunSettings

    prompts = folder / "prompts.jsonl"
    with prompts.open("w") as file:
        for number in range(work.requests):
            file.write(json.dumps({"id": str(number), "messages": messages(number)}) + "\n")
    settings = RunSettings(
        prompts=str(prompts),
        output=str(folder / "run" / "prepared" / "raw_responses.jsonl"),
        model="stub",
        base_url=[work.url],
        concurrency=work.concurrency,
        max_tokens=MAX_TOKENS,
        stream="on" if work.stream else "off",
        preflight=False,
    )
    cpu, wall = time.process_time(), time.perf_counter()
    generate(settings)
    return time.process_time() - cpu, time.perf_counter() - wall


def read_back(work: Work, folder: Path) -> None:
    """What a run of ours left in its journal."""
    prepared = folder / "run" / "prepared"
    starts, ends = [], []
    for line in (prepared / "raw_responses.jsonl").open("rb"):
        record = json.loads(line)
        assert record["state"] == "ok", record["state"]
        work.took(record["total_s"], record["usage"])
        starts.append(datetime.fromisoformat(record["started_at"]).timestamp())
        ends.append(starts[-1] + record["total_s"])
        work.tokens += record["usage"]["completion_tokens"]
    for line in (prepared / "failures.jsonl").open("rb"):
        name = json.loads(line)["message"][:80]
        work.errors[name] = work.errors.get(name, 0) + 1
    # Slots are filled in the order in which they fall free.
    starts.sort()
    ends.sort()
    gaps = sorted(start - end for start, end in zip(starts[work.concurrency :], ends, strict=False))
    if gaps:
        work.refill_ms = round(max(0.0, gaps[len(gaps) // 2] * 1e3), 1)


def report(work: Work, cpu: float, wall: float, peak: float) -> None:
    added = sorted(work.added)
    print(
        json.dumps(
            {
                "answers": len(added),
                "tokens": work.tokens,
                "cpu_s": round(cpu, 4),
                "wall_s": round(wall, 4),
                "added_p50_ms": round(added[len(added) // 2] * 1e3, 2) if added else None,
                "added_p99_ms": round(added[len(added) * 99 // 100] * 1e3, 2) if added else None,
                "peak_rss_mib": round(peak, 1),
                "refill_ms": work.refill_ms,
                "errors": work.errors,
            }
        ),
        flush=True,
    )


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_hand(client: str, work: Work, seconds: float) -> tuple[float, float]:
    """One of the two scripts; CPU and wall seconds. 0 seconds: until all is answered."""
    import aiohttp, openai, orjson  # noqa: E401, F401, I001  importing is not to be measured

    cpu, wall = time.process_time(), time.perf_counter()

    def stop(*_: Any) -> None:
        # In a signal handler, since an event loop that is behind does not look at its clock.
        work.added.clear()  # the slow ones are missing
        report(work, time.process_time() - cpu, time.perf_counter() - wall, peak_mib())
        os._exit(0)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    asyncio.run(plain(work) if client == "plain" else raw_aiohttp(work))
    signal.setitimer(signal.ITIMER_REAL, 0)
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=("plain", "ours", "aiohttp"))
    parser.add_argument("--url", required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--concurrency", type=int, required=True)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--chunk-tokens", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0, help="stop a script after this time")
    parser.add_argument("--folder", required=True, help="for what is written")
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    folder = Path(args.folder)
    with (folder / "answers.jsonl").open("w") as file:
        work = Work(args.url, args.requests, args.concurrency, args.stream, args.chunk_tokens, file)
        if args.client == "ours":
            cpu, wall = ours(work, folder)
        else:
            cpu, wall = by_hand(args.client, work, args.seconds)
    peak = peak_mib()
    if args.client == "ours":
        read_back(work, folder)
    report(work, cpu, wall, peak)


if __name__ == "__main__":
    main()
