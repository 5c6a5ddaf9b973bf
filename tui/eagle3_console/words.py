"""Every state as a glyph, a word and a tone: nothing is told by colour alone."""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_console import format as fmt
from eagle3_core.monitor.snapshot import Finding, Link, LinkState, Process, ProcessState, Snapshot
from eagle3_core.records import AnswerState, Record

TONES = {
    "plain": "$foreground",
    "dim": "$text-muted",
    "ok": "$text-success",
    "warning": "$text-warning",
    "error": "$text-error",
    "accent": "$text-accent",
}
"""Tone to theme token; a tone always stands beside a glyph or a word."""

STALE_AFTER_S = 5.0
"""Data older than this is shown with its age."""


@dataclass(frozen=True)
class Word:
    """A state as it is written."""

    glyph: str
    word: str
    tone: str

    def __str__(self) -> str:
        return f"{self.glyph} {self.word}"


def link_word(link: Link, now: float) -> Word:
    """How we stand with the host."""
    match link.state:
        case LinkState.CONNECTED:
            return Word("●", "connected", "ok")
        case LinkState.CONNECTING:
            return Word("◐", "connecting", "warning")
        case LinkState.LOST:
            return Word("○", f"link lost {fmt.duration(now - link.since)} ago", "error")
        case LinkState.FAILED:
            return Word("✖", "link failed", "error")


def process_word(process: Process, phase: str = "") -> Word:
    """What the generator's process is doing, or how it ended."""
    match process.state:
        case ProcessState.NONE:
            return Word("·", "no run", "dim")
        case ProcessState.RUNNING if phase in ("starting", "paused"):
            return Word("▶", phase, "warning")
        case ProcessState.RUNNING:
            return Word("▶", "running", "ok")
        case ProcessState.DRAINING:
            return Word("▽", "draining", "warning")
        case ProcessState.EXITED if process.exit_code == 0:
            return Word("■", "finished" if phase == "finished" else "stopped", "plain")
        case ProcessState.EXITED:
            code = "" if process.exit_code is None else f" (exit {process.exit_code})"
            return Word("✖", f"failed{code}", "error")
        case ProcessState.KILLED:
            return Word("■", f"killed ({process.signal or 'signal'})", "warning")
        case ProcessState.GONE:
            return Word("✖", "gone: host rebooted", "error")
        case ProcessState.REUSED:
            return Word("✖", "gone: pid is another's", "error")
        case ProcessState.LEFTOVERS:
            return Word("!", "leftovers of a dead run", "warning")
        case ProcessState.FAILED:
            return Word("✖", "could not start", "error")
        case ProcessState.UNKNOWN:
            return Word("?", "state unknown", "dim")


def answer_word(state: AnswerState) -> Word:
    """What became of a sample."""
    word = state.value.replace("_", " ")
    glyph, tone = {
        "done": ("✔", "ok"),
        "kept": ("!", "warning"),
        "retryable": ("✖", "error"),
        "final": ("✖", "error"),
    }[state.group]
    if state in (AnswerState.NO_REASONING, AnswerState.EMPTY):
        glyph, tone = "✖", "error"
    return Word(glyph, word, tone)


def severity_word(severity: str) -> Word:
    """A finding's severity."""
    glyph, tone = {"error": ("✖", "error"), "warning": ("!", "warning")}.get(
        severity, ("·", "accent")
    )
    return Word(glyph, severity, tone)


def data_age(snapshot: Snapshot, now: float) -> float | None:
    """Seconds since the host last told us anything; ``None`` when it never did."""
    return None if snapshot.data_at is None else max(0.0, now - snapshot.data_at)


def age_words(snapshot: Snapshot, now: float) -> str:
    """``live``, ``12 s old`` or ``no data yet``: stands on every panel when it is not live."""
    age = data_age(snapshot, now)
    if age is None:
        return "no data yet"
    if age < STALE_AFTER_S and snapshot.link.state is LinkState.CONNECTED:
        return "live"
    return f"{fmt.duration(age)} old"


def stale_words(snapshot: Snapshot | None, now: float) -> str:
    """``12 s old`` for what is not live any more; empty for live data and before there is any."""
    age = "" if snapshot is None else age_words(snapshot, now)
    return age if age.endswith("old") else ""


def notices(snapshot: Snapshot, now: float) -> tuple[Finding, ...]:
    """What stands between the operator and the data, then the monitor's own findings."""
    own: list[Finding] = []
    link, process = snapshot.link, snapshot.process
    if link.state is LinkState.LOST:
        again = "trying again"
        if link.retry_at is not None:
            wait = link.retry_at - now
            again = f"trying again in {fmt.duration(wait)}" if wait >= 0.5 else "trying again now"
        lost = f"{link.detail or 'the connection ended'}. The run on the host goes on without us."
        name = f"link lost {fmt.duration(now - link.since)} ago"
        own.append(Finding(name, "error", lost, "", again))
    elif link.state is LinkState.FAILED:
        mend = "put it right, then press R to connect"
        own.append(Finding("link failed", "error", link.detail or "no reason given", "", mend))
    elif process.state is ProcessState.FAILED or process_word(process).tone == "error":
        evidence = process.detail or str(process_word(process))
        mend = "press s to go on where it ended; nothing finished is lost"
        own.append(Finding("the run ended", "error", evidence, "", mend))
    elif process.state is ProcessState.LEFTOVERS:
        evidence = process.detail or "processes of an earlier run are still there"
        own.append(Finding("leftovers", "warning", evidence, "", "press K to end them"))
    elif process.state is ProcessState.UNKNOWN and process.detail:
        own.append(Finding("state unknown", "warning", process.detail, "", "look on the host"))
    elif process.state in (ProcessState.EXITED, ProcessState.KILLED):
        own.append(_ended(snapshot))
    if snapshot.lines == 0 and snapshot.lines_detail:
        mend = "press s to start generation" if not process.alive else "wait for the first answer"
        own.append(Finding("0 lines", "info", snapshot.lines_detail, "", mend))
    if process.alive and snapshot.progress.message:
        own.append(
            Finding(snapshot.progress.phase or "run", "info", snapshot.progress.message, "", "")
        )
    return (*own, *snapshot.findings)


def _ended(snapshot: Snapshot) -> Finding:
    """A run that came to its end, or was brought to it."""
    progress, process = snapshot.progress, snapshot.process
    word = process_word(process, progress.phase).word
    counts = f"{progress.done:,} done, {progress.pending:,} pending"
    evidence = f"{process.detail}: {counts}" if process.detail else counts
    if progress.phase == "finished":
        return Finding(word, "info", evidence, "", "")
    return Finding(word, "info", evidence, "", "press s to go on; nothing finished is lost")


def has_not_begun(snapshot: Snapshot) -> bool:
    """No attempt has ended yet: noughts in a chart would tell nothing."""
    progress = snapshot.progress
    return not (progress.done or progress.kept or progress.errors)


def nothing_yet(snapshot: Snapshot | None, what: str) -> str:
    """What a panel says while it has nothing to show, with the next step."""
    if snapshot is None:
        return "Connecting …"
    link, process = snapshot.link, snapshot.process
    if link.state is LinkState.CONNECTING:
        return f"Connecting to {snapshot.host} …"
    if link.state is LinkState.FAILED:
        return f"Not connected to {snapshot.host}: {link.detail}"
    if link.state is LinkState.LOST:
        return f"Link lost before any {what} came: {link.detail}"
    if process.alive:
        return f"No {what} yet: the run goes on, nothing has come so far."
    if process.state is ProcessState.NONE:
        return f"No run here yet: no {what}. Press s to start generation."
    return f"No {what}. Press s to start generation."


def missing_text(record: Record, part: str) -> tuple[str, str]:
    """Why ``reasoning`` or ``content`` is empty, and the tone to say it in."""
    if part == "reasoning":
        if record.state is AnswerState.OK_NON_THINKING:
            return "(none: thinking was switched off)", "dim"
        return "✖ (empty)\nThinking was asked for and no reasoning came back.", "error"
    if record.finish_reason == "length":
        where = "while thinking" if record.flags.get("cut_in") == "reasoning" else "by the limit"
        return f"✖ (empty)\nThe answer was cut {where}: max_tokens was used up.", "error"
    return "✖ (empty)\nThe server sent no answer text.", "error"
