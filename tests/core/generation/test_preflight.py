"""The preflight against real server processes' worth of trouble, and the run that it guards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eagle3_core.__main__ import main
from eagle3_core.simulator.server import Simulator


def told(capsys: Any, run: Any, url: str, *more: str) -> tuple[int, str]:
    arguments = run.arguments(url, *more)
    arguments[0] = "preflight"
    arguments.remove("--no-preflight")
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.fixture
def in_thread() -> Any:
    import asyncio

    return asyncio.to_thread


async def test_a_healthy_server_passes_every_check(
    capsys: Any, command: Any, simulate: Any, in_thread: Any
) -> None:
    server: Simulator = await simulate(token_rate=300.0)
    run = command(5)
    code, said = await in_thread(told, capsys, run, server.url)
    assert code == 0, said
    for name in (
        "server",
        "context",
        "reasoning",
        "token ids",
        "think tokens",
        "clock",
        "load",
        "disk",
    ):
        assert f"✔ pass    {name}" in said, said
    assert "<think> 163606, </think> 163607: opened in the prompt, closed once" in said
    assert not Path(run.run.root).exists(), "a check makes nothing"
    assert server.stats.arrivals == 1


@pytest.mark.parametrize(
    ("knobs", "flags", "word"),
    [
        ({"reasoning_field": "none"}, (), "--reasoning-parser"),
        ({}, ("--timeout", "5", "--max-tokens", "9000"), "raise --timeout"),
        ({"max_model_len": 400}, (), "does not fit a context of 400"),
    ],
)
async def test_what_cannot_work_is_refused_before_the_first_question(
    command: Any, simulate: Any, knobs: dict[str, Any], flags: tuple[str, ...], word: str
) -> None:
    server: Simulator = await simulate(token_rate=300.0, **knobs)
    run = command(5)
    arguments = run.arguments(server.url, *flags)
    arguments.remove("--no-preflight")
    code, said = await run.whole(*arguments)
    assert code == 2
    assert said.count("\n") == 1
    assert word in said
    assert run.records == []
    assert server.stats.arrivals <= 1
    assert "preflight refuse" in Path(run.run.log).read_text()


async def test_thinking_off_is_proved_too(
    capsys: Any, command: Any, simulate: Any, in_thread: Any
) -> None:
    server: Simulator = await simulate(token_rate=300.0)
    code, said = await in_thread(told, capsys, command(2), server.url, "--no-thinking")
    assert code == 0, said
    assert "none, as asked" in said


async def test_one_of_two_servers_down_is_a_warning(
    capsys: Any, command: Any, simulate: Any, in_thread: Any
) -> None:
    server: Simulator = await simulate(token_rate=300.0)
    dead = "http://127.0.0.1:9/v1"
    code, said = await in_thread(told, capsys, command(2), server.url, "--base-url", dead)
    assert code == 0, said
    assert f"! warn    {dead}" in said
    code, said = await in_thread(told, capsys, command(2), dead, "--base-url", dead)
    assert code == 2
    assert "none of the servers" in said


async def test_turned_while_it_goes(command: Any, simulate: Any, until: Any) -> None:
    """``control.json`` reaches a running generator; its status says what it does now."""
    server: Simulator = await simulate(token_rate=60.0, max_num_seqs=64)
    run = command(400)
    process = await run.start(*run.arguments(server.url, "--concurrency", "4"))
    await until(lambda: run.status().get("in_flight") == 4)
    assert server.stats.peak == 4
    (Path(run.run.root) / "control.json").write_text('{"concurrency": 12}')
    await until(lambda: run.status().get("concurrency") == 12 and server.stats.in_flight == 12)
    (Path(run.run.root) / "control.json").write_text('{"concurrency": 2}')
    await until(lambda: server.stats.in_flight == 2)
    assert "concurrency: 2 from now on" in Path(run.run.log).read_text()
    process.terminate()
    await process.wait()
