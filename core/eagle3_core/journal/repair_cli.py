"""``eagle3-core repair FILE``: bad lines out of a journal, answers back into the queue."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator

from eagle3_core.errors import UserError
from eagle3_core.journal.repair import SIDES, Repaired, repair
from eagle3_core.journal.repair_plan import Fate
from eagle3_core.records import DONE, AnswerState
from eagle3_core.text import printable

_LINES = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of ``eagle3-core repair``."""
    parser.description = (
        "Move what is no record to FILE.bad; save records that a broken line holds; with the "
        "flags, move answers to be asked again to FILE.redo and repeated ones to FILE.dup. The "
        "file is replaced in one step, and stays untouched when nothing is wrong. Refused while "
        "a run writes it."
    )
    parser.epilog = "Every byte that leaves FILE is in a side file; none is thrown away."
    parser.add_argument("file", metavar="FILE", help="raw_responses.jsonl")
    parser.add_argument(
        "--redo",
        metavar="STATES",
        default="",
        help="move answers of these states aside, to be asked again: truncated,no_reasoning",
    )
    parser.add_argument(
        "--drop-duplicates",
        action="store_true",
        help="keep one record of every key: a done one, else the newest",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(args: argparse.Namespace) -> int:
    """Repair and say what was done."""
    redo = _states(args.redo)
    try:
        result = repair(
            args.file, redo=redo, drop_duplicates=args.drop_duplicates, dry_run=args.dry_run
        )
    except OSError as error:
        raise UserError(
            f"{error.filename or args.file} cannot be read or written ({error.strerror})",
            "check path, permissions and room; the journal itself is as it was",
        ) from None
    lines = [line for text in _report(args.file, result, args.dry_run) for line in _wrap(text)]
    sys.stdout.write(printable("\n".join(lines)) + "\n")
    return 0


def _states(text: str) -> set[AnswerState]:
    states = set()
    allowed = {state.value: state for state in AnswerState if state not in DONE}
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name not in allowed:
            raise UserError(
                f"--redo {name!r} is no state to ask again", "use some of " + ", ".join(allowed)
            )
        states.add(allowed[name])
    return states


def _report(path: str, result: Repaired, dry: bool) -> Iterator[str]:
    if result.swept:
        yield "an earlier repair had been interrupted before it changed anything: swept up"
    for name in result.completed:
        yield f"an earlier repair had been interrupted at its end: completed, see {name}"
    plan = result.plan
    if not plan.needed:
        yield f"{path}: {plan.lines:,} lines, nothing to repair, nothing touched"
        return
    kept = plan.count(Fate.KEEP)
    yield f"{path}: {plan.lines:,} lines; {kept:,} {'would stay' if dry else 'stay'}"
    if plan.broken.count:
        numbers = ", ".join(map(str, plan.broken.lines[:_LINES]))
        more = ", …" if plan.broken.count > _LINES else ""
        yield f"  broken lines  {plan.broken.count:,} (numbers {numbers}{more})"
    if plan.saved:
        records = "record" if plan.saved == 1 else "records"
        yield f"  saved         {plan.saved:,} whole {records} out of them"
    if plan.newline_missing:
        yield "  newline       the last record gets one"
    states = ", ".join(f"{count:,} {state.value}" for state, count in plan.redone.most_common())
    for fate, label, note in (
        (Fate.BAD, "no records", ""),
        (Fate.REDO, "to ask again", f" ({states})"),
        (Fate.DUP, "duplicates", ""),
    ):
        if plan.count(fate):
            place = result.sides.get(fate, f"{path}{SIDES[fate]}")
            yield f"  {label:<12}  {plan.count(fate):,}{note} -> {place}"
    if dry:
        yield "nothing was changed (--dry-run)"


def _wrap(text: str) -> list[str]:
    indent = " " * 16
    return textwrap.wrap(
        text, 80, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
