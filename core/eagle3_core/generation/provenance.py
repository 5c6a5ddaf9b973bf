"""``settings.json``: what a journal was made with, and the refusal to mix two things in one file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from eagle3_core import __version__, codec
from eagle3_core.errors import UserError
from eagle3_core.generation.runfile import write_atomically
from eagle3_core.generation.server_facts import ServerFacts
from eagle3_core.rundir import RunDir
from eagle3_core.settings import IDENTITY_KEYS, RunSettings


def refuse_a_mix(run: RunDir, settings: RunSettings, force: Collection[str]) -> None:
    """Refuse to resume a journal with another model, sampling, thinking or prompt set.

    Raises:
        UserError: names the keys that differ; ``--force KEY`` overrides each by name.
    """
    before = _read(run)
    journal = Path(run.journal)
    if before is None or not journal.exists() or not journal.stat().st_size:
        return
    differing = [
        key
        for key in IDENTITY_KEYS
        if key in before and before[key] != getattr(settings, key) and key not in force
    ]
    if differing:
        pairs = ", ".join(
            f"{key}: {before[key]!r} there, {getattr(settings, key)!r} now" for key in differing
        )
        raise UserError(
            f"{journal} was made with other settings ({pairs})",
            "use another --output, or " + " ".join(f"--force {key}" for key in differing),
        )


def write(run: RunDir, settings: RunSettings, servers: list[ServerFacts], prompt_set: str) -> None:
    """Write ``settings.json``."""
    provenance: dict[str, Any] = {
        "core": __version__,
        "prompt_set": prompt_set,
        "servers": [vars(server) for server in servers],
    }
    value = settings.to_json() | {"fingerprint": settings.fingerprint(), "provenance": provenance}
    write_atomically(str(run.settings), value)


def _read(run: RunDir) -> dict[str, Any] | None:
    try:
        value = codec.loads(Path(run.settings).read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
