"""``eagle3-core preflight``: check a run without starting it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from eagle3_core.generation import cli
from eagle3_core.generation.checks import Check
from eagle3_core.generation.endpoints import Endpoints
from eagle3_core.generation.preflight import Preflight, preflight
from eagle3_core.generation.server_load import ServerLoad
from eagle3_core.journal.index import scan
from eagle3_core.rundir import RunDir
from eagle3_core.samples.read import read
from eagle3_core.settings import RunSettings

_GLYPHS = {"pass": "✔", "warn": "!", "refuse": "✖"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of ``generate``."""
    cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print every check; 0 when the run may start, 1 when it would be refused."""
    settings = cli.settings_of(args)
    prompts = read(settings.prompts, turns=settings.turns, limit=settings.samples)
    paths = RunDir.of_output(os.path.abspath(settings.output))
    done = scan(str(paths.journal)).done
    todo = sum(sample.key not in done for sample in prompts.samples)
    sys.stdout.write(prompts.report.summary() + "\n")
    found = asyncio.run(_check(settings, paths, todo))
    for check in found.checks:
        sys.stdout.write(_line(check) + "\n")
    return 1 if found.refusal() else 0


async def _check(settings: RunSettings, paths: RunDir, todo: int) -> Preflight:
    endpoints = Endpoints(settings, lambda _: None)
    try:
        return await preflight(settings, endpoints, ServerLoad(endpoints), paths, todo=todo)
    finally:
        await endpoints.close()


def _line(check: Check) -> str:
    line = f"{_GLYPHS[check.verdict]} {check.verdict:<6}  {check.name:<12}  {check.detail}"
    return f"{line}\n          {'':<12}  → {check.mend}" if check.mend else line
