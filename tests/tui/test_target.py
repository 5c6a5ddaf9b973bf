"""Which run the command line and the config mean together."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest

from eagle3_console.config import Config, Profile
from eagle3_console.target import RunTarget, add_arguments, choose
from eagle3_core.errors import UserError

GENERATE = {"prompts": "set.jsonl", "model": "kimi-k2.5"}
GPU = Profile("gpu-07", "/data/run", "/opt/python", "~/.ssh/gpu", ["docker", "exec"], GENERATE)
HERE = Profile("local", "/tmp/run")


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)


def chosen(*words: str, **profiles: Profile) -> RunTarget:
    return choose(parse(*words), Config(profiles=profiles))


def test_a_profile_says_all() -> None:
    target = chosen("gpu", gpu=GPU, here=HERE)
    assert (target.host.name, target.run_dir, target.python) == (
        "gpu-07",
        "/data/run",
        "/opt/python",
    )
    assert target.host.identity == Path.home() / ".ssh" / "gpu"
    assert target.host.prefix == ("docker", "exec")
    assert target.settings
    assert target.settings["output"] == "/data/run/prepared/raw_responses.jsonl"


def test_flags_say_all() -> None:
    target = chosen("--host", "me@gpu", "--run", "/r", gpu=GPU)
    assert (target.host.name, target.run_dir) == ("me@gpu", "/r")
    assert (target.python, target.settings, target.host.prefix) == (None, None, ())


def test_flags_win_over_the_profile() -> None:
    flags = ["--run", "/other", "--python", "/p", "--identity", "~/k", "--ssh-config", "~/c"]
    target = chosen("gpu", *flags, gpu=GPU)
    assert (target.host.name, target.run_dir, target.python) == ("gpu-07", "/other", "/p")
    assert target.host.identity == Path.home() / "k"
    assert target.host.config == Path.home() / "c"
    assert target.settings
    assert target.settings["output"] == "/other/prepared/raw_responses.jsonl"
    assert chosen("gpu", "--host", "local", gpu=GPU).host.name == "local"


def test_the_only_profile_needs_no_name() -> None:
    assert chosen(gpu=GPU).host.name == "gpu-07"


@pytest.mark.parametrize(
    ("words", "profiles", "line"),
    [
        ((), {}, "--host is missing: name a profile"),
        ((), {"gpu": GPU, "here": HERE}, "--host is missing"),
        (("--host", "gpu"), {}, "--run is missing"),
        (("--host", "gpu"), {"gpu": GPU}, "--run is missing"),
        (("--run", "/r"), {"gpu": GPU}, "--host is missing"),
        (
            ("gp",),
            {"gpu": GPU, "here": HERE},
            "no profile 'gp': profiles in the config file: gpu, here",
        ),
        (("gp",), {}, "no profile 'gp': profiles in the config file: none yet"),
        (("--host", "a b", "--run", "/r"), {}, "host 'a b' is no host"),
        (("gpu", "--settings", "/no/such.toml"), {"gpu": GPU}, "/no/such.toml cannot be read"),
    ],
)
def test_what_is_missing_is_named(
    words: tuple[str, ...], profiles: dict[str, Profile], line: str
) -> None:
    with pytest.raises(UserError) as caught:
        chosen(*words, **profiles)
    assert line in str(caught.value)


def test_a_settings_file_is_taken_in_place_of_the_profiles(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('prompts = "other.jsonl"\nmodel = "m"\nmax_tokens = 5\n')
    settings = chosen("gpu", "--settings", str(file), gpu=GPU).settings
    assert settings
    assert (settings["prompts"], settings["max_tokens"]) == ("other.jsonl", 5)
    assert settings["output"] == "/data/run/prepared/raw_responses.jsonl"
    file.write_text('prompts = "other.jsonl"\nmodell = "m"\n')
    with pytest.raises(UserError, match=rf"^{file} has the unknown key 'modell'"):
        chosen("gpu", "--settings", str(file), gpu=GPU)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("gpu",),
        ("gpu", "--run", "/other"),
        ("--host", "gpu", "--run", "/data/my run's"),
        ("gpu", "--settings", "a.json", "--python", "/p q", "--identity", "k", "--ssh-config", "c"),
    ],
)
def test_the_way_back_means_the_same_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    if "--settings" in words:
        (tmp_path / "a.json").write_text('{"prompts": "p", "model": "m"}')
        words = tuple(str(tmp_path / "a.json") if word == "a.json" else word for word in words)
    target = chosen(*words, gpu=GPU)
    program, *again = shlex.split(target.come_back)
    assert program == "eagle3-console"
    assert chosen(*again, gpu=GPU) == target
