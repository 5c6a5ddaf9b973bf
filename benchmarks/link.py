"""What watching a run over SSH costs, and how old its numbers are.

A real sshd on this machine behind a line that delays: the time from a record's last byte on the
host to its count at the client, bytes over the wire, the agent's CPU and memory, and the first
count of a large journal. Targets: p99 <= round trip + 150 ms, idle <= 2 kB/s, the agent <= 2 % of
a core and <= 40 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import getpass
import json
import os
import random
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path, PurePosixPath

from eagle3_core.host.connect import connect
from eagle3_core.host.link import closing
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.events import Picture
from eagle3_core.monitor.tail import Tail
from eagle3_core.monitor.watch import RunWatch
from eagle3_core.records import AnswerState, Record
from eagle3_core.rundir import RunDir
from eagle3_core.simulator.line import Line

SSHD = "/usr/sbin/sshd"
ROUND_TRIPS = (0.0, 0.1)
GROWTH = 5_000_000
"""Bytes a second of a journal that grows as fast as any server could make it."""
TICKS = os.sysconf("SC_CLK_TCK")


def record(number: int, size: int = 6700) -> bytes:
    """A line of the common length."""
    return Record(
        key=f"q{number}:{number:08x}",
        state=AnswerState.OK,
        sample_id=None,
        messages=({"role": "user", "content": "?"},),
        reasoning="x" * (size - 330),
        content="y",
        finish_reason="stop",
        usage=None,
        model="m",
        endpoint="http://127.0.0.1:8000/v1",
        attempt=1,
        started_at="2026-01-01T00:00:00Z",
        first_token_s=None,
        total_s=1.0,
    ).to_line()


@contextlib.contextmanager
def sshd(folder: Path) -> Iterator[int]:
    """A server of our own; its port."""
    for name in ("host", "client"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(keygen, check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(parents=True, exist_ok=True)
    config = folder / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nUsePAM no\n"
        f"AuthorizedKeysFile {folder / 'client.pub'}\nStrictModes no\nPidFile none\n"
    )
    command = [SSHD, "-D", "-f", str(config)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + 10
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            if time.monotonic() > deadline:
                raise SystemExit("sshd does not answer")
            time.sleep(0.05)
        yield port
        server.terminate()


@contextlib.asynccontextmanager
async def host(
    folder: Path, port: int, round_trip: float
) -> AsyncIterator[tuple[HostTarget, Line]]:
    """The server at the end of a line."""
    async with Line(port, delay=round_trip / 2) as line:
        public = (folder / "host.pub").read_text().split()
        known = folder / "known_hosts"
        known.write_text(f"[127.0.0.1]:{line.port} {public[0]} {public[1]}\n")
        config = folder / "config"
        config.write_text("")
        name = f"{getpass.getuser()}@127.0.0.1:{line.port}"
        yield HostTarget(name, config, known, folder / "client"), line


def cpu_seconds(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_bytes()
    fields = stat[stat.rindex(b")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid: int) -> float:
    """The most it ever held."""
    rows = Path(f"/proc/{pid}/status").read_text().split("\n")
    return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) / 1000


async def latency(target: HostTarget, run_dir: Path, samples: int) -> list[float]:
    """Seconds from the last byte of a record to its count here, sorted."""
    journal = str(RunDir(PurePosixPath(run_dir)).journal)
    Path(journal).parent.mkdir(parents=True, exist_ok=True)
    Path(journal).write_bytes(record(0))
    found = []
    async with closing(await connect(target)) as link:
        pieces = Tail(journal, count=True).follow(link)
        while (await anext(pieces)).count < 1:
            pass
        for number in range(1, samples + 1):
            await asyncio.sleep(random.uniform(0.0, 0.25))
            with open(journal, "ab") as file:
                file.write(record(number))
            written = time.perf_counter()
            while (await anext(pieces)).count <= number:
                pass
            found.append(time.perf_counter() - written)
    return sorted(found)


async def grow(journal: Path, rate: int, seconds: float) -> int:
    """Write records at so many bytes a second; how many."""
    began, written, number = time.monotonic(), 0, 0
    with journal.open("ab", buffering=0) as file:
        while (now := time.monotonic() - began) < seconds:
            while written < now * rate:
                written += file.write(record(number))
                number += 1
            await asyncio.sleep(0.01)
    return number


async def watch(target: HostTarget, line: Line, run_dir: Path, rate: int, seconds: float) -> str:
    """A console's own watch of a run; what went over the wire, and what the agent took."""
    journal = run_dir / "prepared" / "raw_responses.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_bytes(b"")
    settings = {f"setting_{n}": "value " * 10 for n in range(60)}
    for name in ("settings.json", "status.json"):
        (run_dir / name).write_text(json.dumps(settings))
    watch = RunWatch(target, str(run_dir))
    newest: list[Picture] = []

    async def look() -> None:
        async for event in watch.events():
            if isinstance(event, Picture):
                newest[:] = [event]

    looking = asyncio.create_task(look())
    while watch._keeper.link is None or not newest or newest[0].snapshot.lines is None:
        await asyncio.sleep(0.05)
    await asyncio.sleep(2.0)
    pid = watch._keeper.link.hello.pid
    began, carried, cpu = time.monotonic(), line.carried, cpu_seconds(pid)
    written = await grow(journal, rate, seconds)
    took = time.monotonic() - began
    wire = (line.carried - carried) / took
    share = (cpu_seconds(pid) - cpu) / took
    deadline = time.monotonic() + 10
    while newest[0].snapshot.lines != written:
        if time.monotonic() > deadline:
            raise SystemExit(f"{written} lines written, {newest[0].snapshot.lines} counted")
        await asyncio.sleep(0.05)
    told = (
        f"{wire / 1000:8.2f} kB/s over the wire, agent {100 * share:4.2f} % of a core, "
        f"{memory_mb(pid):.0f} MB, {written} lines, count exact"
    )
    await watch.close()
    await looking
    return told


async def first_count(target: HostTarget, line: Line, run_dir: Path, size: int) -> str:
    """A large journal that nobody has counted yet."""
    journal = run_dir / "prepared" / "raw_responses.jsonl"
    block = b"".join(record(n) for n in range(10_000))
    with journal.open("wb", buffering=0) as file:
        for _ in range(size // len(block)):
            file.write(block)
    async with closing(await connect(target)) as link:
        carried, began, cpu = line.carried, time.monotonic(), cpu_seconds(link.hello.pid)
        async for piece in Tail(str(journal), count=True).follow(link):
            if piece.count == 10_000 * (size // len(block)):
                break
        took = time.monotonic() - began
        cpu = cpu_seconds(link.hello.pid) - cpu
        told = (
            f"{journal.stat().st_size / 1e9:.1f} GB in {took:.2f} s ({cpu:.2f} s CPU), "
            f"{(line.carried - carried) / 1000:.0f} kB over the wire, "
            f"{memory_mb(link.hello.pid):.0f} MB"
        )
    journal.unlink()
    return told


async def measure(quick: bool, folder: Path, port: int) -> None:
    samples, seconds = (100, 10.0) if quick else (400, 20.0)
    for round_trip in ROUND_TRIPS:
        print(f"round trip {1000 * round_trip:.0f} ms")
        async with host(folder, port, round_trip) as (target, line):
            found = await latency(target, folder / "latency", samples)
            p50, p99 = statistics.median(found), found[int(0.99 * len(found))]
            print(f"  last byte to count  p50 {1000 * p50:.0f} ms, p99 {1000 * p99:.0f} ms")
            print("  idle     ", await watch(target, line, folder / "run", 0, seconds))
            print("  5 MB/s   ", await watch(target, line, folder / "run", GROWTH, seconds))
    async with host(folder, port, 0.0) as (target, line):
        size = 1_000_000_000 if quick else 10_000_000_000
        print("first count ", await first_count(target, line, folder / "run", size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="1 GB in place of 10, a minute in all")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name, sshd(Path(name)) as port:
        asyncio.run(measure(quick, Path(name), port))


if __name__ == "__main__":
    main()
