"""Settings: every mistake gives one message that names the key; what is right comes through."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.errors import UserError
from eagle3_core.generation import cli
from eagle3_core.settings import IDENTITY_KEYS, RunSettings, from_mapping, read_file

GOOD = {"prompts": "p.jsonl", "output": "run/prepared/raw_responses.jsonl", "model": "toy"}

MISTAKES: list[tuple[str, Any, str]] = [
    ("concurrency", 0, "too small"),
    ("concurrency", -3, "too small"),
    ("concurrency", 1.5, "not of the right kind: give a whole number"),
    ("concurrency", "8", "is unknown: give a whole number, or auto"),
    ("concurrency", True, "not of the right kind"),
    ("max_tokens", 0, "too small"),
    ("attempts", 0, "too small"),
    ("stop_after", 0, "too small"),
    ("samples", 0, "too small"),
    ("samples", "all", "not of the right kind: give a whole number"),
    ("timeout", 0, "is no time"),
    ("timeout", -1.0, "is no time"),
    ("timeout", float("nan"), "is no time"),
    ("timeout", float("inf"), "is no time"),
    ("connect_timeout", 0, "is no time"),
    ("first_token_timeout", 0, "is no time"),
    ("idle_timeout", 0, "is no time"),
    ("idle_timeout", None, "not of the right kind: give a number"),
    ("temperature", -0.1, "out of range"),
    ("temperature", 2.1, "out of range"),
    ("temperature", float("nan"), "out of range"),
    ("temperature", "hot", "not of the right kind"),
    ("top_p", 0, "out of range"),
    ("top_p", 1.01, "out of range"),
    ("seed", 1.0, "not of the right kind"),
    ("thinking", "yes", "not of the right kind: give true or false"),
    ("thinking", 1, "not of the right kind"),
    ("preflight", "no", "not of the right kind: give true or false"),
    ("turns", "last", "unknown: use first or all-user"),
    ("stream", "maybe", "unknown: use auto or on or off"),
    ("base_url", [], "is empty"),
    ("base_url", "http://127.0.0.1:8000/v1", "not of the right kind: give a list of texts"),
    ("base_url", [7], "not of the right kind"),
    ("base_url", ["127.0.0.1:8000"], "is no URL"),
    ("base_url", ["ftp://127.0.0.1/v1"], "is no URL"),
    ("base_url", ["http:///v1"], "is no URL"),
    ("base_url", ["http://[::1"], "is no URL"),
    ("base_url", ["http://h:port/v1"], "is no URL"),
    ("base_url", ["http://h:99999/v1"], "is no URL"),
    ("redo", ["truncated", "ok"], "is no kept state"),
    ("redo", "truncated", "not of the right kind: give a list of texts"),
    ("prompts", "", "is empty"),
    ("prompts", 7, "not of the right kind: give text"),
    ("output", " ", "is empty"),
    ("model", "", "is empty"),
    ("model", None, "not of the right kind"),
    ("extra_body", [1], "not of the right kind: give a table"),
    ("extra_body", {"x": float("nan")}, "cannot be sent as JSON"),
    ("extra_body", {"x": {1}}, "cannot be sent as JSON"),
]


@pytest.mark.parametrize(
    ("key", "value", "word"), MISTAKES, ids=[f"{k}={v}"[:40] for k, v, _ in MISTAKES]
)
def test_mistakes_name_the_key(key: str, value: Any, word: str) -> None:
    with pytest.raises(UserError) as caught:
        from_mapping(GOOD | {key: value}, where="run.toml")
    said = str(caught.value)
    assert said.startswith(f"run.toml: {key} ")
    assert word in said
    assert "\n" not in said
    assert caught.value.exit_code == 2


def test_every_key_can_be_wrong() -> None:
    """A knob that is added gets a row in the table (``api_key_env`` may be any text)."""
    names = {knob.name for knob in dataclasses.fields(RunSettings)} - {"api_key_env"}
    assert {key for key, _, _ in MISTAKES} == names


@pytest.mark.parametrize("key", ["prompts", "output", "model"])
def test_what_must_be_given(key: str) -> None:
    with pytest.raises(UserError, match=f"^run.toml lacks {key}: add it: "):
        from_mapping({k: v for k, v in GOOD.items() if k != key}, where="run.toml")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("temprature", "temperature"), ("max-tokens", "max_tokens"), ("base_urls", "base_url")],
)
def test_an_unknown_key_gets_the_nearest_one(wrong: str, meant: str) -> None:
    with pytest.raises(UserError, match=f"unknown key '{wrong}': did you mean '{meant}'"):
        from_mapping(GOOD | {wrong: 1}, where="run.toml")


TOML = """
prompts = "p.jsonl"
output = "run/prepared/raw_responses.jsonl"
model = "toy"
base_url = ["http://a:1/v1", "http://b:2/v1"]
temperature = 1
redo = ["truncated"]
[extra_body]
top_k = 5
"""


def test_toml_and_json_give_the_same(tmp_path: Path) -> None:
    toml = tmp_path / "run.toml"
    toml.write_text(TOML)
    values = read_file(str(toml))
    settings = from_mapping(values, where=str(toml))
    assert settings.base_url == ["http://a:1/v1", "http://b:2/v1"]
    assert settings.extra_body == {"top_k": 5}
    assert (settings.temperature, settings.concurrency) == (1, 128)
    again = tmp_path / "settings.json"
    again.write_text(
        json.dumps(settings.to_json() | {"fingerprint": "x", "provenance": {"core": "0"}})
    )
    assert from_mapping(read_file(str(again)), where="x") == settings


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("none.toml", None, "cannot be read (No such file or directory)"),
        ("a.toml", b"x = = 1", "is not TOML"),
        ("a.toml", b"x = '\xff'", "is not TOML"),
        ("a.json", b"{", "is not JSON"),
        ("a.json", b"[1]", "holds no table"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, data: bytes | None, word: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError) as caught:
        read_file(str(path))
    assert caught.value.problem.startswith(f"{path} ")
    assert word in caught.value.problem


def test_the_fingerprint_is_of_what_makes_answers_comparable() -> None:
    base = RunSettings(**GOOD)  # type: ignore[arg-type]
    others: dict[str, Any] = {
        "prompts": "q.jsonl", "output": "o", "model": "other", "base_url": ["http://x/v1"],
        "samples": 5, "turns": "all-user", "concurrency": 5, "max_tokens": 5, "thinking": False,
        "temperature": 0.5, "top_p": 0.5, "seed": 5, "stream": "on", "timeout": 5.0,
        "connect_timeout": 5.0, "first_token_timeout": 5.0, "idle_timeout": 5.0, "attempts": 5,
        "stop_after": 5, "redo": ["empty"], "preflight": False, "api_key_env": "KEY", "extra_body": {"k": 1},
    }  # fmt: skip
    assert set(others) == {knob.name for knob in dataclasses.fields(RunSettings)}
    changing = {
        name
        for name, value in others.items()
        if dataclasses.replace(base, **{name: value}).fingerprint() != base.fingerprint()
    }
    assert changing == set(IDENTITY_KEYS)


def flags(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return parser.parse_args(argv)


def ask(monkeypatch: pytest.MonkeyPatch, *argv: str) -> RunSettings:
    """The settings that ``generate`` is called with."""
    asked: list[RunSettings] = []

    def generate(settings: RunSettings, force: list[str]) -> int:
        asked.append(settings)
        return 0

    monkeypatch.setattr(cli, "generate", generate)
    cli.run(flags(*argv))
    return asked[0]


NEEDED = ("--prompts", "p", "--output", "o", "--model", "m")


def test_flags_for_every_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ask(
        monkeypatch, *NEEDED, "--base-url", "http://a/v1", "--base-url", "http://b/v1",
        "--samples", "25000", "--turns", "all-user", "--concurrency", "64", "--max-tokens", "9",
        "--no-thinking", "--temperature", "0.6", "--top-p", "0.9", "--seed", "1",
        "--stream", "off", "--timeout", "60", "--connect-timeout", "1",
        "--first-token-timeout", "2", "--idle-timeout", "3", "--attempts", "4",
        "--stop-after", "5", "--redo", "truncated, no_reasoning", "--api-key-env", "K",
        "--no-preflight",
        "--extra-body", '{"top_k": 5}',
    )  # fmt: skip
    assert settings == RunSettings(
        prompts="p", output="o", model="m", base_url=["http://a/v1", "http://b/v1"],
        samples=25000, turns="all-user", concurrency=64, max_tokens=9, thinking=False,
        temperature=0.6, top_p=0.9, seed=1, stream="off", timeout=60.0, connect_timeout=1.0,
        first_token_timeout=2.0, idle_timeout=3.0, attempts=4, stop_after=5,
        redo=["truncated", "no_reasoning"], api_key_env="K", preflight=False,
        extra_body={"top_k": 5},
    )  # fmt: skip


def test_flags_override_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(TOML)
    assert ask(monkeypatch, "--settings", str(path)).thinking is True
    settings = ask(monkeypatch, "--settings", str(path), "--no-thinking", "--model", "other")
    assert (settings.model, settings.thinking, settings.prompts) == ("other", False, "p.jsonl")


def test_whose_mistake_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("colour = 1\n" + TOML)
    with pytest.raises(UserError, match=r"run\.toml with the flags given has the unknown key"):
        ask(monkeypatch, "--settings", str(path), "--seed", "1")
    with pytest.raises(UserError, match=r"run\.toml has the unknown key 'colour'"):
        ask(monkeypatch, "--settings", str(path))
    with pytest.raises(UserError, match=r"^--model is missing: "):
        ask(monkeypatch, *NEEDED[:4])
    with pytest.raises(UserError, match=r"^command line: top_p = 2"):
        ask(monkeypatch, *NEEDED, "--top-p", "2")


@pytest.mark.parametrize(
    "wrong",
    [
        ("--samples", "many"),
        ("--turns", "last"),
        ("--extra-body", "[1]"),
        ("--extra-body", "{"),
        ("--force", "colour"),
        ("--temperature", "hot"),
    ],
)
def test_flags_that_cannot_be_read(wrong: tuple[str, str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        flags(*NEEDED, *wrong)
    assert caught.value.code == 2
    assert wrong[0] in capsys.readouterr().err
