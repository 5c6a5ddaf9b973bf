"""The user's configuration: TOML in the XDG place, checked, every mistake named by file and key."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from eagle3_core.errors import UserError
from eagle3_core.host.foreign_run import ForeignRun
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor.log_numbers import GROUPS, Patterns
from eagle3_core.settings import from_mapping

CONFIRM = ("", "always")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Profile:
    """A named host and run."""

    host: str
    run: str
    python: str = ""
    """The generator's Python on the host; empty: the host's ``python3``."""
    identity: str = ""
    prefix: list[str] = field(default_factory=list)
    generate: dict[str, Any] = field(default_factory=dict)
    """Settings of the run; ``output`` is the run's own when it is not given."""
    command: list[str] = field(default_factory=list)
    """What is started in place of the generator."""
    cwd: str = ""
    log: str = ""
    journal: str = ""
    patterns: dict[str, Any] = field(default_factory=dict)
    env: list[str] = field(default_factory=list)
    """Names of environment variables that a start passes on from here."""

    @property
    def foreign(self) -> ForeignRun | None:
        """What is run in place of the generator; ``None``: nothing is."""
        if not (self.command or self.cwd or self.log or self.journal or self.patterns):
            return None
        patterns = Patterns(**self.patterns)
        return ForeignRun(tuple(self.command), self.log, self.journal, self.cwd, patterns)


@dataclass(frozen=True)
class Config:
    """What the config file says."""

    theme: str = ""
    confirm: str = ""
    read_only: bool = False
    profiles: dict[str, Profile] = field(default_factory=dict)


def config_dir() -> Path:
    """``$XDG_CONFIG_HOME/eagle3-console``, usually ``~/.config/eagle3-console``."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "eagle3-console"


def config_path() -> Path:
    """The file; ``$EAGLE3_CONSOLE_CONFIG`` names another one."""
    named = os.environ.get("EAGLE3_CONSOLE_CONFIG")
    return Path(named) if named else config_dir() / "config.toml"


def load(path: Path | None = None) -> Config:
    """Read the configuration; a file that is not there gives the defaults.

    Raises:
        UserError: names the file and the key or line, and the mend.
    """
    file = path or config_path()
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        if "EAGLE3_CONSOLE_CONFIG" in os.environ and path is None:
            raise UserError(
                f"{file} does not exist", "mend or unset EAGLE3_CONSOLE_CONFIG"
            ) from None
        return Config()
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror})", "mend its permissions"
        ) from None
    try:
        values = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not TOML ({error})", "mend that line") from None
    profiles = values.pop("profiles", {})
    if not isinstance(profiles, dict):
        raise UserError(f"{file}: profiles is no table", "write [profiles.NAME]")
    config: Config = _fill(Config, values, str(file))
    if config.confirm not in CONFIRM:
        raise UserError(
            f'{file}: confirm = "{config.confirm}" is unknown', 'use "always" or leave it out'
        )
    named = {name: _profile(name, table, file) for name, table in profiles.items()}
    return Config(config.theme, config.confirm, config.read_only, named)


def run_settings(
    values: Mapping[str, Any], run_dir: str, *, where: str = "the generate table"
) -> dict[str, Any]:
    """Settings of a run, checked; ``output`` is the run's own when it is not given.

    Raises:
        UserError: a key is unknown or missing, or a value cannot work; names ``where``.
    """
    output = f"{run_dir.rstrip('/')}/prepared/raw_responses.jsonl"
    return from_mapping({"output": output} | dict(values), where=where).to_json()


def _profile(name: str, table: Any, file: Path) -> Profile:
    where = f"{file}: profiles.{name}"
    if not isinstance(table, dict):
        raise UserError(f"{where} is no table", f"write [profiles.{name}]")
    for key in ("host", "run"):
        if not table.get(key, ""):
            raise UserError(f"{where} lacks {key}", f'add {key} = "…"')
    profile: Profile = _fill(Profile, table, where)
    try:
        HostTarget(profile.host)
    except UserError as error:
        raise UserError(f"{where}: {error.problem}", error.mend) from None
    for key in ("command", "journal"):
        if profile.generate and table.get(key):
            raise UserError(f"{where} has both generate and {key}", "leave out one of them")
    if profile.generate:
        run_settings(profile.generate, profile.run, where=f"{where}.generate")
    _check_patterns(profile.patterns, f"{where}.patterns")
    for name in profile.env:
        if not _VARIABLE.fullmatch(name):
            # What stands behind a = may be a secret.
            raise UserError(
                f"{where}: env = {name.partition('=')[0]!r} is no name of a variable",
                'write names alone, as env = ["OPENAI_API_KEY"]; values come from the environment',
            )
    return profile


def _check_patterns(patterns: dict[str, Any], where: str) -> None:
    _fill(Patterns, patterns, where)
    for name, pattern in patterns.items():
        try:
            groups = re.compile(pattern).groupindex
        except re.error as error:
            raise UserError(
                f"{where}: {name} is no regular expression ({error})", "mend it"
            ) from None
        if name == "progress" and "done" not in groups:
            raise UserError(
                f"{where}: progress has no group done",
                f"write (?P<done>\\d+), and what else there is of {', '.join(GROUPS[1:])}",
            )


def _fill(kind: type[Any], values: Mapping[str, Any], where: str) -> Any:
    hints = get_type_hints(kind)
    for key, value in values.items():
        if key not in hints:
            known = ", ".join(sorted(hints))
            raise UserError(f"{where} has the unknown key {key!r}", f"use some of {known}")
        plain = getattr(hints[key], "__origin__", hints[key])
        words = value if plain is list and isinstance(value, list) else []
        if not isinstance(value, plain) or not all(isinstance(word, str) for word in words):
            raise UserError(
                f"{where}: {key} = {value!r} is of the wrong kind", f"give {_NAMES[plain]}"
            )
    return kind(**values)


_NAMES = {str: "a text", bool: "true or false", list: "a list of texts", dict: "a table"}
