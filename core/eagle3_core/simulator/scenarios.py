"""The demo's stories: a simulated server and a run against it, each with its own trouble."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Scenario:
    """One story.

    The preflight would refuse two of them, which is its purpose and would end the story.
    ``server``: flags of ``eagle3-core simulate``; ``run``: settings of the run.
    """

    server: tuple[str, ...]
    run: dict[str, Any] = field(default_factory=dict)


_SERVER = ("--max-num-seqs", "48", "--token-rate", "70", "--mean-tokens", "320")

SCENARIOS = {
    "healthy": Scenario(_SERVER),
    # The clock of the first try, scaled to the demo's short answers, against a queue that is too long.
    "timeouts": Scenario(
        ("--max-num-seqs", "24", "--token-rate", "70", "--mean-tokens", "320"),
        {
            "preflight": False,
            "timeout": 14.0,
            "first_token_timeout": 14.0,
            "attempts": 1,
            "concurrency": 48,
        },
    ),
    "no-reasoning": Scenario((*_SERVER, "--reasoning-field", "none"), {"preflight": False}),
    "overload": Scenario(
        ("--max-num-seqs", "16", "--max-num-queued-reqs", "16", *_SERVER[2:]),
        {"concurrency": 64},
    ),
}

RUN: dict[str, Any] = {"model": "kimi-k2.5", "concurrency": 32, "max_tokens": 8000, "samples": 2000}
"""What all stories share."""
