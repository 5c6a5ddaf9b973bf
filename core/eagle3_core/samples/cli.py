"""``eagle3-core samples FILE``: what a prompt set holds, before a run is spent on it."""

from __future__ import annotations

import argparse
import sys

from eagle3_core.samples.read import read
from eagle3_core.text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of ``eagle3-core samples``."""
    parser.add_argument("prompts", metavar="FILE", help="prompt set: file, directory or hub name")
    parser.add_argument(
        "--turns",
        choices=("first", "all-user"),
        default="first",
        help="ask up to the first answer of the set, or up to the last user turn",
    )
    parser.add_argument("-n", type=int, default=3, metavar="N", help="questions to show (3)")
    parser.add_argument("--limit", type=int, metavar="N", help="stop after N questions")


def run(args: argparse.Namespace) -> int:
    """Print the report and the first questions, with control characters made visible."""
    prompts = read(args.prompts, turns=args.turns, limit=args.limit)
    lines = [prompts.report.summary(), f"fingerprint {prompts.fingerprint}"]
    for sample in prompts.samples[: args.n]:
        lines.append(f"\n{sample.key}")
        lines += (f"{message['role']}: {message['content']}" for message in sample.messages)
    sys.stdout.write(printable("\n".join(lines)) + "\n")
    return 0
