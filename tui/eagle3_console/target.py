"""Which run is meant: from a profile, flags, or both."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eagle3_console import trail
from eagle3_console.config import Config, Profile, run_settings
from eagle3_core.errors import UserError
from eagle3_core.host.commands import Commands
from eagle3_core.host.foreign_run import ForeignRun
from eagle3_core.host.target import HostTarget
from eagle3_core.settings import read_file


@dataclass(frozen=True)
class RunTarget:
    """A run and how to reach it."""

    host: HostTarget
    run_dir: str
    settings: dict[str, Any] | None
    python: str | None
    come_back: str
    """The command line that opens this run again."""
    foreign: ForeignRun | None = None
    """What is run in place of the generator."""
    env: tuple[str, ...] = ()
    """Names of environment variables that a start passes on."""
    read_only: bool = False

    def commands(self) -> Commands:
        """What may be sent to the run; each command is noted in the trail."""
        return Commands(
            self.run_dir,
            self.settings,
            self.python,
            self.foreign or ForeignRun(),
            self.env,
            self.read_only,
            trail.note_for(self.host.name, self.run_dir, self.env),
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that name a run, the same for the console and every headless command."""
    parser.add_argument("profile", nargs="?", help="a profile of the config file")
    parser.add_argument("--host", help="user@host, an alias of ~/.ssh/config, or local")
    parser.add_argument("--run", metavar="DIR", help="run directory on the host")
    parser.add_argument(
        "--settings", metavar="FILE", help="settings of the run (.toml or .json), for start"
    )
    parser.add_argument("--python", metavar="PATH", help="the generator's Python on the host")
    parser.add_argument("--identity", metavar="FILE", help="private key to offer")
    parser.add_argument("--ssh-config", metavar="FILE", help="read this in place of ~/.ssh/config")


def choose(args: argparse.Namespace, config: Config) -> RunTarget:
    """The run that the command line and the config mean.

    Raises:
        UserError: nothing, or not enough, is named.
    """
    profile = _profile(args, config)
    host = args.host or (profile.host if profile else "")
    run = args.run or (profile.run if profile else "")
    if not host or not run:
        missing = "--host" if not host else "--run"
        raise UserError(
            f"{missing} is missing",
            "name a profile, or both --host and --run; eagle3-console demo needs neither",
        )
    python = args.python or (profile.python if profile else "") or None
    identity = args.identity or (profile.identity if profile else "")
    host_target = HostTarget(
        host,
        config=Path(args.ssh_config).expanduser() if args.ssh_config else None,
        identity=Path(identity).expanduser() if identity else None,
        prefix=tuple(profile.prefix) if profile else (),
    )
    return RunTarget(
        host_target,
        run,
        _settings(args, profile, run),
        python,
        _come_back(args),
        profile.foreign if profile else None,
        tuple(profile.env) if profile else (),
        config.read_only,
    )


def _come_back(args: argparse.Namespace) -> str:
    words = ["eagle3-console", *([args.profile] if args.profile else [])]
    for name in ("host", "run", "settings", "python", "identity", "ssh_config"):
        value = getattr(args, name)
        if value:
            words += [f"--{name.replace('_', '-')}", value]
    return shlex.join(words)


def _profile(args: argparse.Namespace, config: Config) -> Profile | None:
    if args.profile:
        if args.profile not in config.profiles:
            known = ", ".join(sorted(config.profiles)) or "none yet"
            raise UserError(
                f"there is no profile {args.profile!r}", f"profiles in the config file: {known}"
            )
        return config.profiles[args.profile]
    if not args.host and not args.run and len(config.profiles) == 1:
        return next(iter(config.profiles.values()))
    return None


def _settings(args: argparse.Namespace, profile: Profile | None, run: str) -> dict[str, Any] | None:
    if args.settings:
        return run_settings(read_file(args.settings), run, where=args.settings)
    return run_settings(profile.generate, run) if profile and profile.generate else None
