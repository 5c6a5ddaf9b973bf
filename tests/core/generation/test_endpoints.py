"""Servers that die in mid-run, and come back."""

from __future__ import annotations

import asyncio
from typing import Any

from eagle3_core.simulator.server import Simulator


async def test_one_of_two_servers_dies_and_comes_back(
    bench: Any, samples: Any, simulate: Any, until: Any
) -> None:
    first: Simulator = await simulate(token_rate=400.0)
    second: Simulator = await simulate(token_rate=400.0)
    with bench(samples(60), first.url, second.url, concurrency=6, attempts=2) as b:
        running = asyncio.create_task(b.generator.run())
        await until(lambda: first.stats.arrivals > 3 and second.stats.arrivals > 3)
        assert abs(first.stats.in_flight - second.stats.in_flight) <= 2, "least loaded first"
        await first.stop()
        await until(lambda: b.endpoints.all[0].resting)
        assert b.generator.pause == "", "one is awake"
        gone = b.endpoints.all[0].finished
        port = int(first.url.split(":")[2].partition("/")[0])
        again: Simulator = await simulate(token_rate=400.0, port=port)
        await until(lambda: again.stats.arrivals)
        await asyncio.wait_for(running, 20)
        b.check_sum()
        await b.endpoints.close()
    assert b.progress.done == 60
    assert b.progress.failed == 0
    assert b.endpoints.all[0].finished > gone
    by_server = {row["endpoint"] for row in b.records}
    assert by_server == {first.url, second.url}
    assert not b.endpoints.all[0].resting


async def test_a_server_that_is_killed_and_restarted_costs_what_was_in_flight(
    bench: Any, samples: Any, command: Any, until: Any
) -> None:
    commands = command(1)
    slow = ("--token-rate", "300", "--mean-tokens", "40", "--prefill-rate", "1e6")

    async def serve(port: str) -> tuple[Any, str]:
        process = await commands.start("simulate", "--port", port, *slow)
        url = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
        assert url, await process.stderr.read()
        return process, url

    server, url = await serve("0")
    with bench(samples(40), url, concurrency=5, attempts=2) as b:
        running = asyncio.create_task(b.generator.run())
        await until(lambda: len(b.records) >= 5)
        server.kill()
        await until(lambda: b.generator.pause)
        counted = len(b.records)
        await until(lambda: not b.progress.in_flight)
        b.check_sum()
        _, same = await serve(url.split(":")[2].partition("/")[0])
        assert same == url
        await asyncio.wait_for(running, 30)
        await b.endpoints.close()
    assert counted >= 5
    assert sorted(row["key"] for row in b.records) == sorted(s.key for s in b.samples)
    assert b.progress.done == 40
    # Each slot fails once for what was in flight, and once or twice to find out that nobody is
    # there: the kernel may take a connection for a process that is dying, before it refuses one.
    assert 5 <= len(b.failures) <= 15
    for failure in b.failures:
        assert failure["state"] in ("cut", "connection")
        assert failure["will_retry"]
