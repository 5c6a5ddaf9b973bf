"""``eagle3-core generate``: one flag for every setting."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any, get_args, get_type_hints

from eagle3_core import codec
from eagle3_core.errors import UserError
from eagle3_core.generation.run import generate
from eagle3_core.settings import IDENTITY_KEYS, RunSettings, from_mapping, read_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every field of ``RunSettings``; what is not given is not set."""
    parser.add_argument(
        "--settings", metavar="FILE", help="settings from a .toml or .json file; flags override"
    )
    parser.add_argument(
        "--force",
        action="append",
        default=[],
        choices=IDENTITY_KEYS,
        metavar="KEY",
        help=f"resume although KEY differs from before ({', '.join(IDENTITY_KEYS)})",
    )
    hints = get_type_hints(RunSettings)
    for knob in dataclasses.fields(RunSettings):
        flag = "--" + knob.name.replace("_", "-")
        how: dict[str, Any] = {"help": knob.metadata["help"], "default": argparse.SUPPRESS}
        kind = hints[knob.name]
        if kind is bool:
            how["action"] = argparse.BooleanOptionalAction
        elif knob.name == "base_url":
            how |= {"action": "append", "metavar": "URL"}
        elif knob.name == "concurrency":
            how |= {"type": _number_or_word, "metavar": "N"}
        elif knob.name == "redo":
            how |= {"type": _names, "metavar": "STATES"}
        elif knob.name == "extra_body":
            how |= {"type": _json, "metavar": "JSON"}
        elif knob.metadata["choices"]:
            how["choices"] = knob.metadata["choices"]
        else:
            plain = next(part for part in (get_args(kind) or (kind,)) if part is not type(None))
            how |= {"type": plain, "metavar": {str: "TEXT", int: "N", float: "X"}[plain]}
        if isinstance(knob.default, (int, float, str)) and knob.default is not True:
            how["help"] += f" (default: {knob.default})"
        parser.add_argument(flag, **how)


def settings_of(args: argparse.Namespace) -> RunSettings:
    """The settings file and the flags of ``args`` together. Raises ``UserError``."""
    names = {knob.name for knob in dataclasses.fields(RunSettings)}
    flags = {name: value for name, value in vars(args).items() if name in names}
    values = read_file(args.settings) if args.settings else {}
    where = args.settings or "command line"
    if args.settings and flags:
        where = f"{args.settings} with the flags given"
    try:
        return from_mapping(values | flags, where=where)
    except UserError as error:
        if not args.settings and " lacks " in error.problem:
            name = error.problem.rpartition(" ")[2].replace("_", "-")
            raise UserError(f"--{name} is missing", error.mend) from None
        raise


def run(args: argparse.Namespace) -> int:
    """Run ``generate`` with the settings of ``args``."""
    return generate(settings_of(args), args.force)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _number_or_word(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdecimal() else text


def _json(text: str) -> dict[str, Any]:
    try:
        value = codec.loads(text.encode())
    except codec.JSONError as error:
        raise argparse.ArgumentTypeError(f"is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("is no JSON object")
    return value
