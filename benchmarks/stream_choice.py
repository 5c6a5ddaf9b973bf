"""``--stream auto`` against ``on`` and ``off``, on a slow and on a fast server.

The simulator charges a streamed chunk what it costs a real server's API process. ``auto`` must
lose neither side: on the slow server it streams (and shows life) at no cost, on the fast one it
asks for whole answers and keeps the throughput. Judged by the server's own token counter.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from eagle3_core.simulator.questions import questions

SERVERS = {
    "slow": ["--token-rate", "50", "--batch-cost", "0.005", "--max-num-seqs", "48"],
    "fast": ["--token-rate", "200", "--batch-cost", "0.002", "--max-num-seqs", "64",
             "--stream-cost", "100"],
}  # fmt: skip


def tokens_per_second(server: str, choice: str, samples: int) -> float:
    """Server tokens/s over one run of the real generator."""
    with tempfile.TemporaryDirectory() as name:
        prompts = Path(name) / "prompts.jsonl"
        rows = ({"id": str(n), "prompt": text} for n, text in enumerate(questions(samples)))
        prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
        simulate = [sys.executable, "-m", "eagle3_core", "simulate", "--mean-tokens", "400"]
        with subprocess.Popen(
            [*simulate, *SERVERS[server]], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            url = process.stdout.readline().strip()
            generate = [
                *(sys.executable, "-m", "eagle3_core", "generate", "--prompts", str(prompts)),
                *("--output", f"{name}/run/prepared/raw_responses.jsonl", "--base-url", url),
                *("--model", "kimi-k2.5", "--concurrency", "64", "--max-tokens", "4000"),
                *("--stream", choice, "--no-preflight"),
            ]
            subprocess.run(generate, check=True, stderr=subprocess.DEVNULL)
            status = json.loads((Path(name) / "run" / "status.json").read_bytes())
            page = urllib.request.urlopen(url.replace("/v1", "/metrics")).read().decode()
            process.terminate()
        counted = sum(
            float(line.rpartition(" ")[2])
            for line in page.splitlines()
            if line.startswith("vllm:generation_tokens_total")
        )
        return counted / status["elapsed_s"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    began = time.monotonic()
    for server in SERVERS:
        rates: dict[str, list[float]] = {"on": [], "off": [], "auto": []}
        for _ in range(args.repeats):
            for choice, found in rates.items():
                found.append(tokens_per_second(server, choice, args.samples))
        best = max(max(found) for found in rates.values())
        for choice, found in rates.items():
            typical = sorted(found)[len(found) // 2]
            print(
                f"{server:<5} {choice:<5} {typical:>8,.0f} tokens/s  {typical / best:.2f} of the best"
            )
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
