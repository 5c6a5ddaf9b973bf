"""An audit as numbers: what is wrong, how long the answers are, and all of it as JSON."""

from __future__ import annotations

from array import array
from typing import Any

from eagle3_core.journal.audit import Audit, Places
from eagle3_core.journal.audit_beside import Coverage, Failures


def faults(result: Audit) -> dict[str, Places]:
    """What a person should look at besides lines that cannot be kept, by what it is."""
    return {
        "repetition loops": result.loops,
        "runs of !!!!": result.marks,
        "stray markers": result.marked,
        "characters lost (U+FFFD)": result.replaced,
        "same answer to different questions": result.twins,
        "token ids do not match usage": result.ids_differ,
        "answer reads like an error": result.error_texts,
        "record without a key": result.keyless,
    }


def wrong(result: Audit) -> bool:
    """Whether anything is: a line that cannot be kept, a fault, a bad end, or mixed models."""
    return bool(
        result.kept < result.lines
        or any(places.count for places in faults(result).values())
        or result.tail in ("newline_missing", "torn")
        or len(result.models) > 1
    )


def lengths(values: array[int]) -> dict[str, int] | None:
    """min, median, p90, p99, max and how many have that maximum; ``None`` for no values."""
    if not values:
        return None
    order = sorted(values)
    last = len(order) - 1
    return {
        "count": len(order),
        "min": order[0],
        "median": order[round(last * 0.5)],
        "p90": order[round(last * 0.9)],
        "p99": order[round(last * 0.99)],
        "max": order[-1],
        "at_max": order.count(order[-1]) if order[-1] else 0,
    }


def to_json(result: Audit, failures: Failures | None, covered: Coverage | None) -> dict[str, Any]:
    """Plain values for ``--json``. Line numbers are the first hundred of each kind."""
    return {
        "path": result.path,
        "bytes": result.size,
        "lines": result.lines,
        "records": result.records,
        "kept": result.kept,
        "lost": dict(result.lost),
        "wrong": wrong(result),
        "forms": dict(result.forms),
        "states": {state.value: count for state, count in result.states.items()},
        "broken": {problem.value: _places(at) for problem, at in result.problems.items()},
        "salvageable": result.salvageable,
        "nul_bytes": result.nul_bytes,
        "tail": {"verdict": result.tail, "bytes": result.tail_bytes},
        "repeated_keys": _places(result.repeated) | {"keys": dict(result.repeated_keys)},
        "faults": {name: _places(places) for name, places in faults(result).items()},
        "markers": dict(result.markers),
        "loops_at_end": result.loops_at_end,
        "sanitised": result.sanitised,
        "answers": result.answers,
        "empty_reasoning": _places(result.empty_reasoning),
        "no_reasoning_field": result.no_reasoning_field,
        "lengths": {
            "completion_tokens": lengths(result.tokens),
            "reasoning_chars": lengths(result.reasoning_chars),
            "content_chars": lengths(result.content_chars),
        },
        "finish_reasons": dict(result.finish),
        "models": dict(result.models),
        "endpoints": dict(result.endpoints),
        "with_token_ids": result.with_ids,
        "time": {"first": result.first, "last": result.last},
        "failures": failures and _failures(failures),
        "prompts": covered and _coverage(covered),
    }


def _places(places: Places) -> dict[str, Any]:
    return {"count": places.count, "lines": places.lines}


def _failures(found: Failures) -> dict[str, Any]:
    return {
        "path": found.path,
        "lines": found.lines,
        "bad": found.bad,
        "kinds": dict(found.kinds),
        "samples": found.samples,
        "answered": found.answered,
    }


def _coverage(found: Coverage) -> dict[str, Any]:
    report = found.prompts.report
    return {
        "source": report.source,
        "fingerprint": found.prompts.fingerprint,
        "questions": report.samples,
        "answered": found.answered,
        "kept_only": found.kept_only,
        "missing": found.missing,
        "missing_keys": found.missing_keys,
        "strangers": found.strangers,
        "rows": report.rows,
        "skipped": {reason.value: tally.count for reason, tally in report.skipped.items()},
        "malformed": report.malformed.count,
        "duplicates": report.duplicates.count,
    }
