"""What the operator should know before they would find it: pure rules over one snapshot."""

from __future__ import annotations

from collections.abc import Sequence

from eagle3_core.monitor.snapshot import Finding, Progress, Server, Snapshot
from eagle3_core.records import AnswerState, Record

MANY = 0.02
"""Share of failed or odd answers above which they are a finding."""

_LEAST_RECORDS = 5


def find(snapshot: Snapshot, recent: Sequence[Record], behind_s: float) -> tuple[Finding, ...]:
    """All findings, the gravest first.

    Args:
        snapshot: the run as it is.
        recent: the last records of the journal.
        behind_s: seconds for which the journal has had fewer lines than the generator counted.
    """
    rules = (
        _two_writers(snapshot),
        _not_persisting(snapshot, behind_s),
        _reasoning_missing(snapshot, recent),
        _timeouts(snapshot),
        _failing(snapshot),
        _truncated(snapshot.progress),
    )
    order = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted((f for f in rules if f), key=lambda f: order[f.severity]))


def _two_writers(snapshot: Snapshot) -> Finding | None:
    if not snapshot.strays:
        return None
    who = "; ".join(f"pid {one.pid} of {one.user} ({one.command})" for one in snapshot.strays)
    end_it = f"end it on the host (kill {' '.join(str(one.pid) for one in snapshot.strays)})"
    alive = snapshot.process.alive
    return Finding(
        "two writers" if alive else "a stray writer",
        "error" if alive else "warning",
        f"{snapshot.strays[0].path} is written by {who}",
        "another generator, or one that was started by hand, has the journal open",
        f"{end_it}: its lines mix with the run's" if alive else f"{end_it}, or let it end; then s",
    )


def _not_persisting(snapshot: Snapshot, behind_s: float) -> Finding | None:
    if behind_s < 10:
        return None
    return Finding(
        "not persisting",
        "error",
        f"the generator counts answers that {snapshot.lines or 0:,} lines of the journal do not hold",
        "the file was moved, cut or replaced under the run, or the disk is full",
        "look at the disk and at who writes the file; d drains the run",
    )


def _reasoning_missing(snapshot: Snapshot, recent: Sequence[Record]) -> Finding | None:
    if len(recent) < _LEAST_RECORDS or (snapshot.settings or {}).get("thinking") is False:
        return None
    missing = [record for record in recent if record.state is AnswerState.NO_REASONING]
    if len(missing) < max(2, len(recent) * 0.2):
        return None
    return Finding(
        "reasoning missing",
        "error",
        f"{len(missing)} of the last {len(recent)} answers came without reasoning",
        "thinking is off at the server, or it runs without --reasoning-parser",
        "k kills; start the server with its parser (Kimi: --reasoning-parser kimi_k2), then r",
    )


def _timeouts(snapshot: Snapshot) -> Finding | None:
    progress = snapshot.progress
    ended = _ended(progress)
    if not progress.timeouts or progress.timeouts < ended * MANY:
        return None
    clock = max(progress.timeouts_by_clock, key=lambda name: progress.timeouts_by_clock[name])
    limit = _limit(snapshot, clock)
    cause, mend = _why(clock, limit, progress, snapshot.server)
    return Finding(
        "time-outs",
        "error" if progress.timeouts > ended * 0.05 else "warning",
        f"{progress.timeouts:,} of {ended:,} attempts timed out ({progress.timeouts / ended:.1%}), "
        f"mostly on the {clock.replace('_', ' ')} clock{f' of {limit:g} s' if limit else ''}",
        cause,
        mend,
    )


def _limit(snapshot: Snapshot, clock: str) -> float | None:
    name = "timeout" if clock == "total" else f"{clock}_timeout"
    value = (snapshot.settings or {}).get(name)
    return float(value) if isinstance(value, (int, float)) else None


_KNOBS = {"total": "timeout", "request": "the script's time-out"}
"""What sets a clock, where it is not the clock's name; ``request`` is another script's only one."""


def _why(clock: str, limit: float | None, progress: Progress, server: Server) -> tuple[str, str]:
    raise_it = f"raise {_KNOBS.get(clock, clock + '_timeout')}"
    if server.waiting and server.running and server.waiting > server.running * 0.1:
        return (
            f"{server.waiting} requests wait in the server's queue while the clock runs: it batches "
            f"{server.running}, {progress.concurrency} are asked",
            f"lower concurrency to {server.running}, or {raise_it}; then r",
        )
    whys = progress.timeouts_by_why
    if whys.get("looping", 0) > progress.timeouts / 2:
        return (
            "the answers repeat themselves until the clock rings",
            "lower max_tokens, or set a temperature above 0 or a repetition penalty; then r",
        )
    if whys.get("queued", 0) > progress.timeouts / 2:
        return "the server queues requests longer than the clock", (
            f"lower concurrency, or {raise_it}; then r"
        )
    if clock == "connect":
        return "the server does not take connections", "look at the server; the run waits for it"
    if clock == "first_token":
        return "the server queues or prefills too long", f"lower concurrency, or {raise_it}; then r"
    return (
        "answers take longer than the clock allows",
        f"{raise_it} (a full answer needs max_tokens ÷ tokens/s of one stream); then r",
    )


def _failing(snapshot: Snapshot) -> Finding | None:
    progress = snapshot.progress
    # What a clock ended is a finding of its own; the states of clocks are timeout and stalled.
    states = {
        state: count
        for state, count in progress.attempts_by_state.items()
        if state not in (AnswerState.TIMEOUT.value, AnswerState.STALLED.value)
    }
    errors, ended = sum(states.values()), _ended(progress)
    if errors < 3 or errors < ended * 0.05:
        return None
    ordered = sorted(states.items(), key=lambda item: -item[1])
    return Finding(
        "failing requests",
        "warning",
        f"{errors:,} of {ended:,} attempts failed: "
        + ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in ordered),
        "the server, or what is between, breaks off or refuses requests",
        "the log names each one"
        + ("; they are asked again by themselves" if snapshot.settings else ""),
    )


def _ended(progress: Progress) -> int:
    """Attempts that ended, well or not."""
    return progress.done + progress.kept + max(progress.errors, progress.timeouts)


def _truncated(progress: Progress) -> Finding | None:
    cut = progress.kept_by_state.get("truncated", 0)
    answers = progress.done + progress.kept
    if answers < 20 or cut < answers * 0.1:
        return None
    return Finding(
        "truncated answers",
        "warning",
        f"{cut:,} of {answers:,} answers were cut by max_tokens ({cut / answers:.0%})",
        "answers are longer than max_tokens",
        'raise max_tokens and start with redo = ["truncated"]',
    )
