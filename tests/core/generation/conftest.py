"""The loop in this process, the command in its own, and servers that do what a test says."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from aiohttp import web

import eagle3_core
from eagle3_core.generation import attempt, endpoints, generator, retry
from eagle3_core.generation.concurrency import Concurrency
from eagle3_core.generation.endpoints import Endpoints
from eagle3_core.generation.generator import Generator
from eagle3_core.generation.log import RunLog
from eagle3_core.generation.progress import Progress
from eagle3_core.generation.server_load import ServerLoad
from eagle3_core.generation.stream_choice import StreamChoice
from eagle3_core.journal.append import Journal
from eagle3_core.records import Sample
from eagle3_core.rundir import RunDir
from eagle3_core.settings import RunSettings
from eagle3_core.simulator.faults import Fault
from eagle3_core.simulator.server import Simulator
from eagle3_core.simulator.settings import SimSettings

FAST: dict[str, Any] = {"token_rate": 5000.0, "mean_tokens": 40.0, "prefill_rate": 1e6}
MODEL = "kimi-k2.5"


def question(number: int) -> str:
    return f"What is the sum of {number} and {number + 1}?"


@pytest.fixture
def samples() -> Callable[[int], list[Sample]]:
    """``samples(n)``: n questions with keys ``k0`` and so on."""

    def make(count: int) -> list[Sample]:
        return [
            Sample(f"k{n}", ({"role": "user", "content": question(n)},), str(n))
            for n in range(count)
        ]

    return make


@pytest.fixture
async def simulate() -> AsyncIterator[Callable[..., Awaitable[Simulator]]]:
    """``await simulate(**settings)``: a simulator in this process; ``faults`` as texts."""
    servers: list[Simulator] = []

    async def begin(**settings: Any) -> Simulator:
        faults = tuple(map(Fault.parse, settings.pop("faults", ())))
        server = Simulator(SimSettings(**{**FAST, **settings}, faults=faults))
        servers.append(server)
        await server.start()
        return server

    yield begin
    for server in servers:
        await server.stop()


Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Scripted:
    """A server that answers the n-th request with the n-th reply, the last one for ever."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies
        self.arrivals: list[tuple[float, dict[str, Any]]] = []
        self.healthy = True
        self.probes = 0
        self.url = ""

    async def start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/health", self._health)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.arrivals.append((time.monotonic(), await request.json()))
        return await self.replies[min(len(self.arrivals), len(self.replies)) - 1](request)

    async def _health(self, request: web.Request) -> web.Response:
        self.probes += 1
        return web.Response(status=200 if self.healthy else 503)


@pytest.fixture
async def scripted() -> AsyncIterator[Callable[..., Awaitable[Scripted]]]:
    """``await scripted(reply, …)``: a :class:`Scripted` server."""
    runners: list[web.AppRunner] = []

    async def begin(*replies: Reply) -> Scripted:
        server = Scripted(*replies)
        runners.append(await server.start())
        return server

    yield begin
    for runner in runners:
        await runner.cleanup()


@dataclass
class Bench:
    """A generator with everything around it, and what it has left on disk."""

    generator: Generator
    progress: Progress
    journal: Journal
    endpoints: Endpoints
    run: RunDir
    samples: list[Sample] = field(default_factory=list)

    @property
    def records(self) -> list[dict[str, Any]]:
        return rows(self.run.journal)

    @property
    def failures(self) -> list[dict[str, Any]]:
        return rows(self.run.failures)

    @property
    def log(self) -> list[str]:
        return Path(self.run.log).read_text().splitlines()

    def check_sum(self) -> None:
        """Done + kept + failed + in flight + pending = samples, with none below zero."""
        counts = self.progress.to_json(asyncio.get_running_loop().time())
        parts = [counts[name] for name in ("done", "kept", "failed", "in_flight", "pending")]
        assert min(parts) >= 0, parts
        assert sum(parts) == counts["samples"] == len(self.samples)


def rows(path: PurePosixPath) -> list[dict[str, Any]]:
    data = Path(path).read_bytes() if Path(path).exists() else b""
    assert not data or data.endswith(b"\n"), "whole lines only"
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop cut down; their proportions stay."""
    monkeypatch.setattr(generator, "LOOK_S", 0.02)
    monkeypatch.setattr(retry, "_FIRST_S", 0.02)
    monkeypatch.setattr(endpoints, "_FIRST_PROBE_S", 0.05)
    monkeypatch.setattr(attempt, "END_GRACE_S", 0.1)


@pytest.fixture
def bench(tmp_path: Path, quick: None) -> Callable[..., Any]:
    """``with bench(samples, url, …, **settings) as b: await b.generator.run()``."""

    @contextmanager
    def make(asked: list[Sample], *urls: str, **settings: Any) -> Iterator[Bench]:
        run = RunDir(PurePosixPath(tmp_path / "run"))
        values: dict[str, Any] = {"stream": "on", "concurrency": 4} | settings
        knobs = RunSettings(
            prompts="-", output=str(run.journal), model=MODEL, base_url=list(urls), **values
        )
        with Journal(run) as journal:
            log = RunLog(str(run.log))
            progress = Progress(len(asked), asyncio.get_running_loop().time())
            servers = Endpoints(knobs, log.info)
            loop = Generator(
                knobs, asked, journal, progress, servers, log,
                concurrency=Concurrency(knobs.concurrency), choice=StreamChoice(knobs.stream),
                load=ServerLoad(servers), token_ids=True,
            )  # fmt: skip
            yield Bench(loop, progress, journal, servers, run, asked)
            log.close()

    return make


@pytest.fixture
def until() -> Callable[..., Awaitable[None]]:
    """``await until(condition, seconds)``: poll, and fail when the time is over."""

    async def wait(condition: Callable[[], bool], seconds: float = 15.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            await asyncio.sleep(0.005)

    return wait


@dataclass
class Command:
    """``eagle3-core`` in processes of its own, for one run directory."""

    folder: Path
    prompts: Path
    running: list[asyncio.subprocess.Process] = field(default_factory=list)

    @property
    def run(self) -> RunDir:
        return RunDir(PurePosixPath(self.folder / "run"))

    def arguments(self, url: str, *more: str, model: str = MODEL) -> list[str]:
        return [
            "generate", "--prompts", str(self.prompts), "--output", str(self.run.journal),
            "--base-url", url, "--model", model, "--max-tokens", "500", "--stream", "on",
            "--no-preflight", *more,
        ]  # fmt: skip

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "eagle3_core", *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(Path(eagle3_core.__file__).parents[1])},
        )
        self.running.append(process)
        return process

    async def whole(self, *arguments: str) -> tuple[int, str]:
        """Run to the end: exit code and standard error."""
        process = await self.start(*arguments)
        _, errors = await asyncio.wait_for(process.communicate(), 60)
        return process.returncode or 0, errors.decode()

    def status(self) -> dict[str, Any]:
        """The newest status, its sum checked; empty before there is any."""
        path = Path(self.run.status)
        if not path.exists():
            return {}
        value: dict[str, Any] = json.loads(path.read_bytes())
        parts = [value[name] for name in ("done", "kept", "failed", "in_flight", "pending")]
        assert min(parts) >= 0, parts
        assert sum(parts) == value["samples"]
        return value

    @property
    def records(self) -> list[dict[str, Any]]:
        return rows(self.run.journal)

    @property
    def log(self) -> list[str]:
        return Path(self.run.log).read_text().splitlines()


@pytest.fixture
async def command(tmp_path: Path) -> AsyncIterator[Callable[[int], Command]]:
    """``command(n)``: the commands of a run with n questions."""
    made: list[Command] = []

    def make(count: int) -> Command:
        prompts = tmp_path / "prompts.jsonl"
        with prompts.open("w") as file:
            for number in range(count):
                turn = {"role": "user", "content": question(number)}
                file.write(json.dumps({"id": f"q{number}", "messages": [turn]}) + "\n")
        made.append(Command(tmp_path, prompts))
        return made[-1]

    yield make
    for each in made:
        for process in each.running:
            if process.returncode is None:
                process.kill()
            await process.communicate()
