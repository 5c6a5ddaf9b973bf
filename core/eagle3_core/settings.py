"""Every knob of a run, in one place: from TOML, JSON or flags, checked with messages that name the key."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from eagle3_core import codec
from eagle3_core.errors import UserError
from eagle3_core.records import KEPT


def _knob(
    help_text: str, default: Any = dataclasses.MISSING, *, choices: tuple[str, ...] = ()
) -> Any:
    metadata = {"help": help_text, "choices": choices}
    if isinstance(default, (list, dict)):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class RunSettings:
    """What a run is. One field is one flag, one TOML key and one row of the settings form."""

    prompts: str = _knob("prompt set: JSON, JSONL or Parquet file, or a hub name")
    output: str = _knob("DIR/prepared/raw_responses.jsonl")
    model: str = _knob("model name as the server knows it")
    base_url: list[str] = _knob("OpenAI-compatible server, with /v1", ["http://127.0.0.1:8000/v1"])
    samples: int | None = _knob("how many samples of the set to answer (default: all)", None)
    turns: str = _knob(
        "the question: first user turns, or all-user", "first", choices=("first", "all-user")
    )
    concurrency: int | str = _knob("requests in flight, or auto", 128)
    max_tokens: int = _knob("longest answer, in tokens, reasoning included", 8000)
    thinking: bool = _knob("ask the model to think", True)
    temperature: float | None = _knob("sampling temperature (default: the server's)", None)
    top_p: float | None = _knob("nucleus sampling (default: the server's)", None)
    seed: int | None = _knob("sampling seed sent with every request", None)
    stream: str = _knob("ask for streams", "auto", choices=("auto", "on", "off"))
    timeout: float = _knob("seconds one request may take in all", 1800.0)
    connect_timeout: float = _knob("seconds to reach the server", 10.0)
    first_token_timeout: float = _knob("seconds until the first text of a stream", 1800.0)
    idle_timeout: float = _knob("seconds between two texts of a stream", 300.0)
    preflight: bool = _knob("ask one short question before the run and check what comes", True)
    attempts: int = _knob("tries a sample gets in one run of the generator", 3)
    stop_after: int = _knob("failures in a row after which the run stops asking", 50)
    redo: list[str] = _knob("kept states to ask again, e.g. truncated,no_reasoning", [])
    api_key_env: str = _knob("environment variable that holds the API key", "OPENAI_API_KEY")
    extra_body: dict[str, Any] = _knob("further top-level fields of every request", {})

    def __post_init__(self) -> None:
        check(self)

    def to_json(self) -> dict[str, Any]:
        """Plain values under the names of the fields."""
        return dataclasses.asdict(self)

    def fingerprint(self) -> str:
        """Hash of what makes answers comparable: prompt set, model, thinking, sampling."""
        values = {name: getattr(self, name) for name in IDENTITY_KEYS}
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


IDENTITY_KEYS = (
    "prompts",
    "turns",
    "model",
    "thinking",
    "temperature",
    "top_p",
    "seed",
    "extra_body",
)
"""Keys that two runs of one journal must agree on."""


def check(settings: RunSettings) -> None:
    """Raise ``UserError`` for the first value that cannot work."""
    hints = get_type_hints(RunSettings)
    for knob in dataclasses.fields(settings):
        value = getattr(settings, knob.name)
        if not _fits(value, hints[knob.name]):
            raise UserError(
                f"{knob.name} = {value!r} is not of the right kind",
                f"give {_kind(hints[knob.name])} ({knob.metadata['help']})",
            )
        choices = knob.metadata["choices"]
        if choices and value not in choices:
            raise UserError(f"{knob.name} = {value!r} is unknown", "use " + " or ".join(choices))
    for name in ("concurrency", "max_tokens", "attempts", "stop_after", "samples"):
        value = getattr(settings, name)
        if isinstance(value, int) and value < 1:
            raise UserError(f"{name} = {value} is too small", "give a whole number from 1 on")
    if isinstance(settings.concurrency, str) and settings.concurrency != "auto":
        raise UserError(
            f"concurrency = {settings.concurrency!r} is unknown", "give a whole number, or auto"
        )
    for name in ("prompts", "output", "model"):
        if not getattr(settings, name).strip():
            raise UserError(f"{name} is empty", f"give {_HELP[name]}")
    for name in ("timeout", "connect_timeout", "first_token_timeout", "idle_timeout"):
        if not 0 < getattr(settings, name) < math.inf:
            raise UserError(
                f"{name} = {getattr(settings, name)} is no time", "give seconds above 0"
            )
    if settings.temperature is not None and not 0 <= settings.temperature <= 2:
        raise UserError(f"temperature = {settings.temperature} is out of range", "give 0 to 2")
    if settings.top_p is not None and not 0 < settings.top_p <= 1:
        raise UserError(
            f"top_p = {settings.top_p} is out of range", "give a number above 0, at most 1"
        )
    try:
        json.dumps(settings.extra_body, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UserError(
            f"extra_body cannot be sent as JSON ({error})", "use texts, numbers, lists and tables"
        ) from None
    if not settings.base_url:
        raise UserError("base_url is empty", "name at least one server")
    for url in settings.base_url:
        if not _is_url(url):
            raise UserError(
                f"base_url = {url!r} is no URL", "write it like http://127.0.0.1:8000/v1"
            )
    for state in settings.redo:
        if state not in {kept.value for kept in KEPT}:
            names = ", ".join(sorted(kept.value for kept in KEPT))
            raise UserError(f"redo = {state!r} is no kept state", f"use some of {names}")


_HELP = {knob.name: knob.metadata["help"] for knob in dataclasses.fields(RunSettings)}
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _kind(hint: Any) -> str:
    """What a field takes, in words."""
    if get_origin(hint) is list:
        return "a list of texts"
    if get_origin(hint) is dict:
        return "a table"
    kinds = get_args(hint) or (hint,)
    return " or ".join(word for kind, word in _KINDS.items() if kind in kinds)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, or a port that is no number
        return False


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is list:
        return isinstance(value, list) and all(_fits(item, get_args(hint)[0]) for item in value)
    if get_origin(hint) is dict:
        return isinstance(value, dict)
    if get_args(hint):
        return any(_fits(value, part) for part in get_args(hint))
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def from_mapping(values: Mapping[str, Any], *, where: str) -> RunSettings:
    """Settings from plain values.

    Args:
        values: field names to values; ``fingerprint`` and ``provenance`` (added to
            ``settings.json`` by the generator) are skipped.
        where: what to name in errors, a file or ``command line``.

    Raises:
        UserError: for an unknown key, a missing one, or a value that cannot work.
    """
    known = {knob.name for knob in dataclasses.fields(RunSettings)}
    given = {
        key: value for key, value in values.items() if key not in ("fingerprint", "provenance")
    }
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1, cutoff=0.0)[0]
            raise UserError(f"{where} has the unknown key {key!r}", f"did you mean {near!r}?")
    for knob in dataclasses.fields(RunSettings):
        required = (
            knob.default is dataclasses.MISSING and knob.default_factory is dataclasses.MISSING
        )
        if required and knob.name not in given:
            raise UserError(f"{where} lacks {knob.name}", f"add it: {knob.metadata['help']}")
    try:
        return RunSettings(**given)
    except UserError as error:
        raise UserError(f"{where}: {error.problem}", error.mend) from None


def read_file(path: str) -> dict[str, Any]:
    """Plain values of a ``.toml`` or ``.json`` settings file. Raises ``UserError``."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror})", "check the path of --settings"
        ) from None
    if path.endswith(".json"):
        try:
            values = codec.loads(data)
        except codec.JSONError as error:
            raise UserError(
                f"{path} is not JSON ({error})", "mend it or write it as .toml"
            ) from None
    else:
        values = _toml(path, data)
    if not isinstance(values, dict):
        raise UserError(f"{path} holds no table of settings", "write one key per setting")
    return values


def _toml(path: str, data: bytes) -> dict[str, Any]:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        try:
            import tomli as tomllib  # type: ignore[import-not-found, no-redef]
        except ImportError:
            raise UserError(
                f"{path} needs Python 3.11 to be read",
                "give the settings as .json, or pip install tomli",
            ) from None
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML ({error})", "mend that line") from None
