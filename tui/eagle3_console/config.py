"""The user's configuration: TOML in the XDG place, checked, every mistake named by file and key."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from eagle3_core.errors import UserError
from eagle3_core.settings import RunSettings, from_mapping

CONFIRM = ("", "always")


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


def run_settings(profile: Profile) -> dict[str, Any] | None:
    """What the profile's ``generate`` table asks for, checked; ``None`` when it has none.

    Raises:
        UserError: a key is unknown or a value cannot work.
    """
    if not profile.generate:
        return None
    output = f"{profile.run.rstrip('/')}/prepared/raw_responses.jsonl"
    values: dict[str, Any] = {"output": output} | profile.generate
    return from_mapping(values, where="the generate table").to_json()


def _profile(name: str, table: Any, file: Path) -> Profile:
    where = f"{file}: profiles.{name}"
    if not isinstance(table, dict):
        raise UserError(f"{where} is no table", f"write [profiles.{name}]")
    for key in ("host", "run"):
        if key not in table:
            raise UserError(f"{where} lacks {key}", f'add {key} = "…"')
    profile: Profile = _fill(Profile, table, where)
    known = {knob.name for knob in fields(RunSettings)}
    for key in profile.generate:
        if key not in known:
            raise UserError(
                f"{where}.generate has the unknown key {key!r}",
                f"use some of {', '.join(sorted(known))}",
            )
    return profile


def _fill(kind: type[Any], values: Mapping[str, Any], where: str) -> Any:
    hints = get_type_hints(kind)
    for key, value in values.items():
        if key not in hints:
            known = ", ".join(sorted(hints))
            raise UserError(f"{where} has the unknown key {key!r}", f"use some of {known}")
        plain = getattr(hints[key], "__origin__", hints[key])
        if not isinstance(value, plain):
            raise UserError(f"{where}: {key} = {value!r} is no {_NAMES[plain]}", "mend its value")
    return kind(**values)


_NAMES = {str: "text", bool: "true or false", list: "list", dict: "table"}
