"""``eagle3-console demo``: the whole of it on one machine, through real SSH, gone afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from eagle3_console.console import Look, open_console
from eagle3_console.headless import take_picture
from eagle3_console.target import RunTarget
from eagle3_core.errors import UserError
from eagle3_core.host import run as host_run
from eagle3_core.host.connect import connect
from eagle3_core.host.link import closing
from eagle3_core.settings import from_mapping
from eagle3_core.simulator.questions import write_prompt_set
from eagle3_core.simulator.scenarios import RUN, SCENARIOS
from eagle3_core.simulator.ssh_host import EmbeddedHost

_PATIENCE_S = 30.0


async def run(scenario: str, look: Look) -> int:
    """Open the console on a made-up host until the user is done with it; the exit code."""
    story = SCENARIOS[scenario]
    with tempfile.TemporaryDirectory(prefix="eagle3-demo-") as name:
        home = Path(name)
        prompts = home / "prompts.jsonl"
        write_prompt_set(prompts)
        async with _server(story.server) as url, EmbeddedHost(home) as host:
            run_dir = str(home / "data" / scenario)
            settings = from_mapping(
                {
                    "prompts": str(prompts),
                    "output": f"{run_dir}/prepared/raw_responses.jsonl",
                    "base_url": [url],
                    **RUN,
                    **story.run,
                },
                where=f"the {scenario} scenario",
            ).to_json()
            target = RunTarget(host.target, run_dir, settings, sys.executable, "the demo")
            try:
                return await _until_done(target, look)
            finally:
                await _end_run(target)


async def _until_done(target: RunTarget, look: Look) -> int:
    while True:
        code = await open_console(target, look, say_farewell=False)
        if code:
            return code
        async with closing(await connect(target.host)) as link:
            picture = await take_picture(link, target)
        if not picture.process.alive:
            return 0
        sys.stdout.write(
            f"The run goes on: pid {picture.process.pid}, {picture.lines} lines in {target.run_dir}.\n"
            "enter opens the console again · q and enter ends the demo and removes all it made\n"
        )
        if await _answer() == "q":
            return 0


async def _answer() -> str:
    """One line from the terminal; the end of the input and signals end the demo."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        line = sys.stdin.readline()
        if not answer.done():
            answer.set_result(line.strip().lower() if line else "q")

    def end() -> None:
        if not answer.done():
            answer.set_result("q")

    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, end)
    loop.add_reader(sys.stdin, read)
    try:
        return await answer
    finally:
        loop.remove_reader(sys.stdin)
        for number in signals:
            loop.remove_signal_handler(number)


async def _end_run(target: RunTarget) -> None:
    with contextlib.suppress(UserError):
        async with closing(await connect(target.host)) as link:
            await host_run.kill(link, target.run_dir, grace=2.0)


@contextlib.asynccontextmanager
async def _server(flags: tuple[str, ...]) -> AsyncIterator[str]:
    """The simulated inference server in a process of its own; its URL."""
    argv = ["-m", "eagle3_core", "simulate", "--parent-pid", str(os.getpid()), *flags]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), _PATIENCE_S)
        if not line:
            raise UserError(
                "the simulated server did not start", "run eagle3-core simulate to see why"
            )
        yield line.decode().strip()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
