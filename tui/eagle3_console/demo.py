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
    """Open the console on a made-up host until the user is done with it; the exit code.

    A signal or a terminal that goes away ends the demo at any moment, and it cleans up as it
    does when asked to.
    """
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    _listen(ended)
    story = asyncio.create_task(_story(scenario, look, ended))
    await asyncio.wait((story, ended), return_when=asyncio.FIRST_COMPLETED)
    if story.done():
        return story.result()
    story.cancel()
    await asyncio.wait((story,))
    return 128 + ended.result()


async def _story(scenario: str, look: Look, ended: asyncio.Future[int]) -> int:
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
                return await _until_done(target, look, ended)
            finally:
                await _end_run(target)


def _listen(ended: asyncio.Future[int]) -> None:
    """Take the signals; the console has its own handlers while it is open and drops them after."""

    def end(number: int) -> None:
        if not ended.done():
            ended.set_result(number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end, number)


async def _until_done(target: RunTarget, look: Look, ended: asyncio.Future[int]) -> int:
    while True:
        code = await open_console(target, look, say_farewell=False)
        _listen(ended)
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
    """One line from the terminal; the end of the input is a ``q``."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        line = sys.stdin.readline()
        if not answer.done():
            answer.set_result(line.strip().lower() if line else "q")

    loop.add_reader(sys.stdin, read)
    try:
        return await answer
    finally:
        loop.remove_reader(sys.stdin)


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
