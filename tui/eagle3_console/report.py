"""A run and its records as plain text, for pipes and scripts."""

from __future__ import annotations

from eagle3_console import format as fmt
from eagle3_console.words import answer_word, process_word
from eagle3_core.monitor.snapshot import Snapshot
from eagle3_core.records import Record
from eagle3_core.text import printable


def status_text(picture: Snapshot) -> str:
    """A few lines on how a run is."""
    progress, process = picture.progress, picture.process
    lines = f"{fmt.count(picture.lines)} lines"
    if picture.lines_detail:
        lines += f" ({picture.lines_detail})"
    rows = [f"{picture.host} · {picture.run}", lines]
    word = str(process_word(process, progress.phase))
    rows.append(f"{word} · pid {process.pid}" if process.pid else word)
    rows[-1] += "".join(f" · {text}" for text in (process.detail, progress.message) if text)
    if progress.samples:
        ended = progress.done + progress.kept + progress.failed
        rows.append(
            f"{ended:,} of {progress.samples:,}: {progress.done:,} done, {progress.kept:,} kept, "
            f"{progress.failed:,} failed; {progress.in_flight:,} in flight, {progress.pending:,} pending"
        )
        rows.append(f"{progress.errors:,} failed attempts, {progress.timeouts:,} of them time-outs")
    if process.alive:
        rows.append(
            f"{fmt.rate(picture.rates.requests_s)} req/s · {fmt.rate(picture.rates.tokens_s)} tok/s · "
            f"ETA {fmt.duration(progress.eta_s)}"
        )
    server = picture.server
    if server.running is not None:
        rows.append(f"server: {server.running} running, {fmt.count(server.waiting)} waiting")
    elif server.error and process.alive:
        rows.append(f"server: {server.error}")
    if picture.disk_free is not None:
        rows.append(
            f"journal {fmt.size(picture.journal_bytes)}, disk {fmt.size(picture.disk_free)} free"
        )
    rows.extend(
        f"! {finding.name}: {finding.evidence}; {finding.cause}; {finding.mend}"
        for finding in picture.findings
    )
    return printable("\n".join(rows))


def record_text(record: Record) -> str:
    """One record, its question, reasoning and content."""
    tokens = (record.usage or {}).get("completion_tokens")
    head = (
        f"── {record.key} · {answer_word(record.state)} · {record.finish_reason} · "
        f"{fmt.count(tokens)} tokens · {fmt.duration(record.total_s)}"
    )
    parts = [head, f"question: {record.messages[-1]['content']}"]
    parts.append(f"reasoning: {record.reasoning or '(empty)'}")
    parts.append(f"content: {record.content or '(empty)'}")
    return printable("\n".join(parts))
