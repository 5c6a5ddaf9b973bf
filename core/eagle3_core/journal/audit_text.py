"""An audit in words: one line that answers the question, then what it rests on."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone

from eagle3_core.journal.audit import BROKEN, DUPLICATE, Audit, Places
from eagle3_core.journal.audit_beside import Coverage, Failures
from eagle3_core.journal.audit_sums import faults, lengths
from eagle3_core.records import AnswerState
from eagle3_core.text import printable

_WIDTH = 80
_LABEL = 14
_LINES = 6
_NAMES = 6
_LONGEST_NAME = 60
_WORDS = {
    AnswerState.NO_REASONING.value: "without reasoning",
    AnswerState.TRUNCATED.value: "cut",
    AnswerState.CUT.value: "cut",
    AnswerState.TIMEOUT.value: "timed out",
    AnswerState.ANSWER_IN_REASONING.value: "with the answer in the reasoning",
    AnswerState.SERVER_ERROR.value: "failed on the server",
    AnswerState.DOUBLE_OPEN.value: "opened twice",
    AnswerState.SPECIAL_TEXT.value: "with control tokens as text",
    AnswerState.PROMPT_MISMATCH.value: "against their prompt",
}
_TAILS = {
    "newline_missing": "the last record has no newline: resume or repair adds it",
    "torn": "torn: {:,} bytes that are no record: resume or repair moves them aside",
    "being_written": "{:,} bytes were just being written",
}


def headline(result: Audit) -> str:
    """``388 lines: 371 can be kept, 17 cannot (9 without reasoning, 5 cut, …)``."""
    said = Counter[str]()
    for name, count in result.lost.items():
        word = "duplicates" if name == DUPLICATE and count > 1 else name.replace("_", " ")
        said[_WORDS.get(name, word)] += count
    why = f" ({_counts(said, len(said))})" if said else ""
    lost = result.lines - result.kept
    lines = "1 line" if result.lines == 1 else f"{result.lines:,} lines"
    return f"{lines}: {result.kept:,} can be kept, {lost:,} cannot{why}"


def report(result: Audit, failures: Failures | None, covered: Coverage | None) -> str:
    """The whole audit, fit for a terminal of 80 columns; only what there is is mentioned.

    The answer itself is one line however long it is, for scripts that read the first.
    """
    out = [headline(result)]
    sections = (_file(result), _texts(result), _origin(result), _look_at(result))
    beside = [*_failures(failures), *_coverage(covered)]
    for section in (*map(list, sections), beside):
        if section:
            out.append("")
            for label, text in section:
                out += _row(label, text)
    return printable("\n".join(out)) + "\n"


def _file(result: Audit) -> Iterator[tuple[str, str]]:
    yield "file", f"{result.path} ({result.size:,} bytes)"
    for form, count in result.forms.most_common():
        yield "form", f"{count:,} {form}"
    if result.states:
        yield "states", _counts({state.value: n for state, n in result.states.items()}, 99)
    if result.repeated.count:
        keys = ", ".join(
            f"{_short(key)} ×{n + 1}" for key, n in result.repeated_keys.most_common(3)
        )
        yield "repeated keys", f"{_at(result.repeated)}; {keys}"
    for problem, places in sorted(result.problems.items()):
        yield BROKEN, f"{problem.value}: {_at(places)}"
    if result.salvageable:
        records = "record stands" if result.salvageable == 1 else "records stand"
        yield BROKEN, f"{result.salvageable:,} whole {records} in there: repair saves it"
    if result.nul_bytes:
        yield BROKEN, f"{result.nul_bytes:,} NUL bytes, as a power loss leaves them"
    if result.tail in _TAILS:
        yield "end of file", _TAILS[result.tail].format(result.tail_bytes)


def _texts(result: Audit) -> Iterator[tuple[str, str]]:
    if result.answers:
        text = f"empty in {_share(result.empty_reasoning.count, result.answers)} answers"
        if result.empty_reasoning.count:
            text += f", {_where(result.empty_reasoning)}"
        if result.no_reasoning_field:
            text += f"; {result.no_reasoning_field:,} rows have no field for it"
        yield "reasoning", text
    rows = [
        ("tokens", lengths(result.tokens)),
        ("reasoning", lengths(result.reasoning_chars)),
        ("content", lengths(result.content_chars)),
    ]
    if any(found for _, found in rows):
        names = ("min", "median", "p90", "p99", "max")
        yield "lengths", "".join(f"{name:>10}" for name in names)
        for label, found in rows:
            if found:
                numbers = "".join(f"{found[name]:>10,}" for name in names)
                if label != "tokens":
                    numbers += " chars"
                elif found["at_max"] > 1:
                    numbers += f", {found['at_max']:,} times"
                yield f"  {label}", numbers


def _origin(result: Audit) -> Iterator[tuple[str, str]]:
    for label, counter in (
        ("finish reasons", result.finish),
        ("models", result.models),
        ("endpoints", result.endpoints),
    ):
        if counter:
            mixed = " (mixed: train on one)" if label == "models" and len(counter) > 1 else ""
            yield label, _counts(counter, _NAMES) + mixed
    if result.with_ids:
        yield "token ids", f"in {_share(result.with_ids, result.records)} records"
    if result.first is not None and result.last is not None:
        spent = result.last - result.first
        rate = f", {result.records / spent * 60:,.1f} records a minute" if spent else ""
        yield (
            "time",
            f"{_time(result.first)} to {_time(result.last)} ({timedelta(seconds=int(spent))}{rate})",
        )


def _look_at(result: Audit) -> Iterator[tuple[str, str]]:
    for name, places in faults(result).items():
        if not places.count:
            continue
        text = f"{name}: {_at(places)}"
        if places is result.loops and result.longest_loop:
            loop = result.longest_loop
            text += (
                f"; {result.loops_at_end:,} to the very end; the longest {loop.end - loop.start:,} "
                f"chars, {loop.turns:,.0f} turns of {loop.unit:,}"
            )
        if places is result.marked:
            text += f"; {_counts(result.markers, _NAMES)}"
        yield "look at", text
    if result.sanitised:
        yield "look at", f"half a surrogate pair was replaced on arrival in {result.sanitised:,}"


def _failures(found: Failures | None) -> Iterator[tuple[str, str]]:
    if found is not None and found.lines:
        attempts = "attempt" if found.lines == 1 else "attempts"
        yield (
            "failures",
            f"{found.lines:,} {attempts} on {found.samples:,} samples, {found.answered:,} of them "
            f"answered by now: {_counts(found.kinds, 99)}",
        )
        if found.bad:
            yield "failures", f"{found.bad:,} lines are no failure"


def _coverage(found: Coverage | None) -> Iterator[tuple[str, str]]:
    if found is None:
        return
    text = f"{_share(found.answered, found.prompts.report.samples)} questions answered"
    if found.kept_only:
        text += f", {found.kept_only:,} with an answer that is not done"
    text += f", {found.missing:,} without any"
    if found.strangers:
        text += f"; {found.strangers:,} keys are no question of this set"
    yield "prompts", text
    for line in found.prompts.report.summary().split("\n"):
        yield "prompts", line


def _row(label: str, text: str) -> list[str]:
    indent = " " * (_LABEL + 2)
    first = f"{label:<{_LABEL}}  "
    if text.startswith(" "):  # a table row, aligned by its maker
        return [first + text]
    # Keys and names come from the file: a newline in one must not look like a row of ours.
    return textwrap.wrap(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,  # a path is to be copied
        break_on_hyphens=False,
    )


def _counts(counter: Mapping[str, int], most: int) -> str:
    named = Counter(counter).most_common()
    parts = [f"{count:,} {_short(name)}" for name, count in named[:most]]
    return ", ".join(parts + [f"{len(named) - most:,} more"] * (len(named) > most))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / whole:.1%})" if whole else "0"


def _at(places: Places) -> str:
    return f"{places.count:,} ({_where(places)})"


def _where(places: Places) -> str:
    numbers = ", ".join(map(str, places.lines[:_LINES]))
    more = ", …" if places.count > _LINES else ""
    return f"{'line' if places.count == 1 else 'lines'} {numbers}{more}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
