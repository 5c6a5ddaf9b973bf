"""What lies beside a journal: its failures, and the prompt set that it answers."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePath

from eagle3_core import codec
from eagle3_core.journal.audit import Audit
from eagle3_core.rundir import RunDir
from eagle3_core.samples.read import PromptSet

_SHOWN = 20


@dataclass
class Failures:
    """The account of ``failures.jsonl``."""

    path: str
    lines: int = 0
    bad: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """State, and the clock that rang: ``timeout (total)``."""
    samples: int = 0
    """Samples that failed at least once."""
    answered: int = 0
    """Those of them with a done answer in the journal."""


@dataclass
class Coverage:
    """How much of a prompt set a journal answers."""

    prompts: PromptSet
    answered: int = 0
    kept_only: int = 0
    """Questions with a record that is not done."""
    missing: int = 0
    """Questions without any record."""
    missing_keys: list[str] = field(default_factory=list)
    """The first of them."""
    strangers: int = 0
    """Keys of the journal that are no question of the set."""


def failures_beside(result: Audit) -> Failures | None:
    """Read ``failures.jsonl`` in the folder of the journal; ``None`` where there is none."""
    name = RunDir.of_output("raw_responses.jsonl").failures.name
    path = str(PurePath(result.path).with_name(name))
    if not os.path.exists(path) or os.path.samefile(path, result.path):
        return None
    found = Failures(path)
    keys: set[str] = set()
    with open(path, "rb") as file:
        for line in file:
            found.lines += 1
            try:
                row = codec.loads(line)
                key, kind, clock = row["key"], row["state"], row.get("clock")
            except (ValueError, KeyError, TypeError, AttributeError):
                found.bad += 1
                continue
            found.kinds[f"{kind} ({clock})" if clock else str(kind)] += 1
            keys.add(str(key))
    found.samples = len(keys)
    found.answered = sum(map(result.is_done, keys))
    return found


def coverage(result: Audit, prompts: PromptSet) -> Coverage:
    """Compare a journal with its prompt set.

    Records of ours are known by the sample's key; another script's by the set's own id, or by
    the hash of the question where its rows have no id.
    """
    found = Coverage(prompts)
    known = 0
    for sample in prompts.samples:
        names = {sample.key, sample.sample_id or sample.key, sample.key.rpartition(":")[2]}
        there = [name for name in names if result.has(name)]
        known += len(there)
        if any(map(result.is_done, there)):
            found.answered += 1
        elif there:
            found.kept_only += 1
        else:
            found.missing += 1
            if len(found.missing_keys) < _SHOWN:
                found.missing_keys.append(sample.key)
    found.strangers = max(0, len(result.keys) - known)
    return found
