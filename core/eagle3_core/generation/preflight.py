"""Everything that is checked before a run: each server, one real request, the disk, the clocks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from eagle3_core.errors import UserError
from eagle3_core.generation import checks
from eagle3_core.generation.checks import PASS, REFUSE, WARN, Check
from eagle3_core.generation.endpoints import Endpoint, Endpoints
from eagle3_core.generation.proof import marker_ids, prove
from eagle3_core.generation.server_facts import ServerFacts, look_at
from eagle3_core.generation.server_load import ServerLoad
from eagle3_core.rundir import RunDir
from eagle3_core.settings import RunSettings

UNKNOWN_MEAN = 0.25
"""Share of ``max_tokens`` that an answer has at the best guess, before any came."""


@dataclass(frozen=True)
class Preflight:
    """What was found."""

    servers: list[ServerFacts]
    checks: list[Check]
    opening_id: int | None = None
    """Id of ``<think>`` where all servers have the same; tells whether a prompt opened the block."""

    @property
    def token_ids(self) -> bool:
        """Whether to ask for token ids: vLLM takes the field, others may reject it."""
        return all(server.version for server in self.servers)

    def refusal(self) -> UserError | None:
        """The first thing that must be mended, if any."""
        for check in self.checks:
            if check.verdict == REFUSE:
                return UserError(
                    f"preflight, {check.name}: {check.detail}", check.mend or "see above"
                )
        return None


async def preflight(
    settings: RunSettings,
    endpoints: Endpoints,
    load: ServerLoad,
    run: RunDir,
    *,
    todo: int,
    mean_tokens: float | None = None,
) -> Preflight:
    """Check a run.

    Args:
        settings: the run.
        endpoints: its servers; one of several that cannot be reached is rested.
        load: what the servers say.
        run: its directory; it need not exist.
        todo: how many samples are still to be asked.
        mean_tokens: completion tokens of an answer so far; ``None``: not known.

    Raises:
        UserError: no server can be reached, or one serves another model.
    """
    found: list[Check] = []
    servers = []
    openings: set[int | None] = set()
    for endpoint in endpoints.all:
        try:
            facts = await look_at(endpoint.client, settings)
        except UserError as error:
            if len(endpoints.all) == 1:
                raise
            found.append(
                Check(endpoint.url, WARN, error.problem, "the others do its share until it is back")
            )
            endpoints.rest(endpoint, error.problem)
            continue
        servers.append(facts)
        markers = await marker_ids(endpoint.client, settings.model) if facts.version else None
        openings.add(markers[0] if markers else None)
        found += await _server(endpoint, facts, settings, markers)
    if not servers:
        raise UserError(
            "none of the servers can be used", "; ".join(check.detail for check in found)
        )
    await load.read()
    if todo:
        found.append(_load(load, settings))
        expected = mean_tokens or settings.max_tokens * UNKNOWN_MEAN
        found.append(checks.disk(_free(run), todo, expected))
    return Preflight(servers, found, openings.pop() if len(openings) == 1 else None)


async def _server(
    endpoint: Endpoint,
    facts: ServerFacts,
    settings: RunSettings,
    markers: tuple[int, int] | None,
) -> list[Check]:
    version = f" {facts.version}" if facts.version else ""
    found = [
        Check("server", PASS, f"{facts.url}{version} serves {facts.model}"),
        checks.context(facts.max_model_len, settings.max_tokens),
    ]
    if not settings.preflight or found[-1].verdict == REFUSE:
        return found
    asked = facts.version is not None
    proof, trouble = await prove(endpoint, settings, token_ids=asked)
    if trouble:
        return [*found, trouble]
    assert proof is not None
    concurrency = settings.concurrency if isinstance(settings.concurrency, int) else 1
    return [
        *found,
        checks.reasoning(proof, thinking=settings.thinking),
        checks.token_ids(proof, asked=asked),
        checks.think_tokens(proof, markers, thinking=settings.thinking),
        checks.clock(
            proof,
            max_tokens=settings.max_tokens,
            timeout=settings.timeout,
            concurrency=concurrency,
        ),
    ]


def _load(load: ServerLoad, settings: RunSettings) -> Check:
    numbers = load.numbers
    concurrency = settings.concurrency if isinstance(settings.concurrency, int) else 1
    return checks.load(numbers.running, numbers.waiting, concurrency)


def _free(run: RunDir) -> int:
    """Free bytes where the run is or will be."""
    folder = Path(run.root)
    while not folder.exists():
        folder = folder.parent
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize
