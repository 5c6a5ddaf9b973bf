"""Themes from TOML files: every key and colour is checked before the terminal sees it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

DEFAULT = "okabe-ito"
COLOURS = (
    "primary",
    "secondary",
    "accent",
    "success",
    "warning",
    "error",
    "foreground",
    "background",
    "surface",
    "panel",
)
VARIABLES = (
    "text-muted",
    "text-accent",
    "text-success",
    "text-warning",
    "text-error",
    "border",
    "border-blurred",
    "reasoning",
    "content",
    "match",
    "match-current",
    "chart-requests",
    "chart-tokens",
    "chart-errors",
    "footer-key-foreground",
)
"""Variables that a theme file may set beside the colours."""


@dataclass(frozen=True)
class ThemeFiles:
    """What came of reading theme files: themes by name, and one line for each that is broken."""

    themes: dict[str, Theme]
    problems: list[str]


def theme_dir() -> Traversable:
    """Where our theme files are: in the installed package, else at the top of the repository."""
    packaged = files("eagle3_console") / "themes"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "themes"


def load_themes(*folders: Traversable) -> ThemeFiles:
    """Read ``*.toml`` of all folders; a later folder may replace an earlier one's theme."""
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    for folder in folders:
        if not folder.is_dir():
            continue
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if not entry.name.endswith(".toml"):
                continue
            try:
                theme = parse_theme(entry.read_bytes())
            except (ValueError, OSError) as error:
                problems.append(f"theme {entry.name}: {error}")
            else:
                themes[theme.name] = theme
    return ThemeFiles(themes, problems)


def parse_theme(raw: bytes) -> Theme:
    """A theme from the text of its file. Raises ``ValueError`` that names the key."""
    try:
        table = tomllib.loads(raw.decode())
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not TOML: {error}") from None
    variables = table.pop("variables", {})
    if not isinstance(variables, dict):
        raise ValueError("variables is not a table: write [variables]")
    _known(table, ("name", "dark", *COLOURS), "")
    _known(variables, VARIABLES, "variables.")
    name = table.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("name is missing")
    dark = table.get("dark", True)
    if not isinstance(dark, bool):
        raise ValueError(f"dark = {dark!r} is not true or false")
    if "primary" not in table:
        raise ValueError("primary is missing")
    colours: dict[str, Any] = {key: _colour(key, table[key]) for key in COLOURS if key in table}
    own = {key: _colour(f"variables.{key}", value) for key, value in variables.items()}
    return Theme(name=name, dark=dark, variables=own, **colours)


def variable_defaults(current: dict[str, str]) -> dict[str, str]:
    """Our own variables for a theme that does not set them, from Textual's ``current`` ones."""
    return {
        "reasoning": current.get("text-secondary", "#cccccc"),
        "content": current.get("text-primary", "#cccccc"),
        "match": current.get("panel", "#444444"),
        "match-current": current.get("warning", "#ffcc00"),
        "chart-requests": current.get("primary", "#cccccc"),
        "chart-tokens": current.get("success", "#cccccc"),
        "chart-errors": current.get("error", "#cccccc"),
    }


def _known(table: dict[str, Any], names: Iterable[str], prefix: str) -> None:
    for key in table:
        if key not in names:
            raise ValueError(f"{prefix}{key} is unknown: it may set {', '.join(names)}")


def _colour(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f'{key} = {value!r} is no colour: write it like "#56B4E9"')
    try:
        Color.parse(value)
    except ColorParseError:
        raise ValueError(f'{key} = {value!r} is no colour: write it like "#56B4E9"') from None
    return value
