"""``eagle3-core audit FILE``: what a journal holds, and how much of it can be kept."""

from __future__ import annotations

import argparse
import json
import sys

from eagle3_core.errors import UserError
from eagle3_core.journal.audit import Audit, audit
from eagle3_core.journal.audit_beside import coverage, failures_beside
from eagle3_core.journal.audit_sums import to_json, wrong
from eagle3_core.journal.audit_text import report
from eagle3_core.journal.pieces import Problem
from eagle3_core.samples.read import read
from eagle3_core.text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of ``eagle3-core audit``."""
    parser.description = (
        "Say what a raw_responses.jsonl holds, ours or another script's, and how much of it can "
        "be kept. Takes no lock: a run may go on."
    )
    parser.epilog = (
        "Exit code: 0 nothing is wrong; 1 something is (a line that cannot be kept, a loop, a "
        "stray marker, mixed models, …); 2 the file cannot be audited."
    )
    parser.add_argument("file", metavar="FILE", help="raw_responses.jsonl")
    parser.add_argument("--json", action="store_true", help="all numbers as one JSON object")
    parser.add_argument(
        "--prompts", metavar="SET", help="say how much of this prompt set is answered"
    )
    parser.add_argument(
        "--turns",
        choices=("first", "all-user"),
        default="first",
        help="with --prompts: what the questions were (first)",
    )


def run(args: argparse.Namespace) -> int:
    """Audit and print; 0 or 1 as the help says."""
    prompts = read(args.prompts, turns=args.turns) if args.prompts else None
    try:
        result = audit(args.file)
        failures = failures_beside(result)
    except OSError as error:
        raise UserError(
            f"{error.filename} cannot be read ({error.strerror})",
            "name a raw_responses.jsonl that you may read",
        ) from None
    _check(result)
    covered = coverage(result, prompts) if prompts else None
    if args.json:
        sys.stdout.write(json.dumps(to_json(result, failures, covered), indent=1) + "\n")
    else:
        sys.stdout.write(report(result, failures, covered))
    return int(wrong(result))


def _check(result: Audit) -> None:
    """A file that is JSON but no journal at all is a mistake of the command, not of the file."""
    unknown = result.problems.get(Problem.UNKNOWN)
    if unknown and not result.records and unknown.count == result.lines:
        names = ", ".join(map(repr, result.unknown_names)) or "none"
        raise UserError(
            f"{result.path} holds no answers (its rows have the names {printable(names)[:300]})",
            "name the file with the answers; to look at a prompt set use eagle3-core samples",
        )
