"""Whether memory stays flat: one run of 100,000 samples, looked at from outside as it goes.

    python benchmarks/memory.py [--samples 100000]

The questions themselves are held in memory from the start, so a small run is shown beside it; what
grows with the answers would be a leak. The exit code is 1 when it grew by more than a fifth.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stub import stub

FIRST = 1000
GROWTH = 1.2


def watch(url: str, samples: int) -> list[tuple[int, float]]:
    """Answers so far and MiB, about ten times a second."""
    looks = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).with_name("clients.py")), "ours"]
        command += [
            f"--url={url}",
            f"--requests={samples}",
            "--concurrency=128",
            f"--folder={folder}",
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        status = Path(folder) / "run" / "status.json"
        while process.poll() is None:
            try:
                found = json.loads(status.read_bytes())
                pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            except (OSError, ValueError, IndexError):
                found = {"phase": "starting"}
            if found["phase"] == "running":
                looks.append((found["done"], pages * resource.getpagesize() / 2**20))
            time.sleep(0.1)
    return looks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100_000)
    args = parser.parse_args()
    with stub(tokens=100) as server:
        small = watch(server.url, FIRST * 4)
        looks = watch(server.url, args.samples)
    early = next(mib for answers, mib in looks if answers >= FIRST)
    most = max(mib for _, mib in looks)
    print(f"{FIRST * 4:,} samples: {max(mib for _, mib in small):.0f} MiB")
    print(f"{args.samples:,} samples: {early:.0f} MiB after {FIRST:,} answers, {most:.0f} at most")
    for share in (0.25, 0.5, 0.75, 1):
        answers, mib = next(each for each in looks if each[0] >= looks[-1][0] * share)
        print(f"    {mib:.0f} MiB after {answers:,}")
    return 0 if most <= early * GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
