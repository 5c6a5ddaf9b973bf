"""Profiles of other scripts' runs: what they mean, and every mistake in one line."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from eagle3_console import config
from eagle3_console.target import RunTarget, add_arguments, choose
from eagle3_core.errors import UserError
from eagle3_core.host.foreign_run import ForeignRun
from eagle3_core.monitor.log_numbers import ERROR, Patterns
from eagle3_core.rundir import RunDir

HEAD = '[profiles.x]\nhost = "gpu"\nrun = "/data/run"\n'


def chosen(tmp_path: Path, text: str) -> RunTarget:
    file = tmp_path / "config.toml"
    file.write_text(text)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return choose(parser.parse_args(["x"]), config.load(file))


def files(tmp_path: Path, text: str) -> tuple[str, str]:
    found = chosen(tmp_path, HEAD + text).commands().files
    return str(found.journal), str(found.log)


def test_a_whole_profile(tmp_path: Path) -> None:
    target = chosen(
        tmp_path,
        "read_only = true\n"
        + HEAD
        + """
        command = ["python", "01b_generate_synthetic.py", "--resume"]
        cwd = "/opt/eagle3"
        log = "/data/inference.log"
        journal = "out/raw.jsonl"
        env = ["OPENAI_API_KEY", "HF_TOKEN"]
        [profiles.x.patterns]
        progress = '(?P<done>\\d+)/(?P<total>\\d+) \\['
        """,
    )
    command = ("python", "01b_generate_synthetic.py", "--resume")
    patterns = Patterns(progress=r"(?P<done>\d+)/(?P<total>\d+) \[", error=ERROR)
    log, journal = "/data/inference.log", "out/raw.jsonl"
    assert target.foreign == ForeignRun(command, log, journal, "/opt/eagle3", patterns)
    assert (target.env, target.read_only) == (("OPENAI_API_KEY", "HF_TOKEN"), True)
    commands = target.commands()
    assert str(commands.files.journal) == "/opt/eagle3/out/raw.jsonl"
    assert str(commands.files.log) == "/data/inference.log"
    assert commands.read_only
    assert commands.note is not None


def test_a_profile_of_the_generator_is_none_of_anothers(tmp_path: Path) -> None:
    target = chosen(tmp_path, HEAD + 'env = ["KEY"]\n')
    assert (target.foreign, target.env, target.read_only) == (None, ("KEY",), False)
    run = RunDir(target.commands().files.root)
    assert target.commands().files == run


@pytest.mark.parametrize(
    ("text", "journal", "log"),
    [
        ('journal = "a.jsonl"', "/data/run/a.jsonl", "/data/run/inference.log"),
        ('log = "~/l.txt"', "/data/run/prepared/raw_responses.jsonl", "~/l.txt"),
        ('cwd = "sub"\nlog = "l"\njournal = "j"', "/data/run/sub/j", "/data/run/sub/l"),
        ('cwd = "~/x"\nlog = "l"\njournal = "/j"', "/j", "~/x/l"),
    ],
)
def test_where_its_files_are(tmp_path: Path, text: str, journal: str, log: str) -> None:
    assert files(tmp_path, text) == (journal, log)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('command = "python x.py"', ["command = 'python x.py'", "a list of texts"]),
        ('command = ["a"]\n[profiles.x.generate]\nmodel = "m"', ["generate and command"]),
        ('journal = "j"\n[profiles.x.generate]\nmodel = "m"', ["generate and journal"]),
        ('env = ["OPENAI API KEY"]', ["env = 'OPENAI API KEY'", "names alone"]),
        ('[profiles.x.patterns]\nprogress = "("', ["patterns: progress is no regular expression"]),
        ('[profiles.x.patterns]\nprogress = "a"', ["no group done", "(?P<done>", "total"]),
        ("[profiles.x.patterns]\nerror = 7", ["patterns: error = 7", "a text"]),
        ('[profiles.x.patterns]\nerrors = "E"', ["unknown key 'errors'", "error, progress"]),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        chosen(tmp_path, HEAD + text)
    line = str(caught.value)
    assert line.startswith(f"{tmp_path / 'config.toml'}: profiles.x")
    assert "\n" not in line
    for part in parts:
        assert part in line, line


def test_a_secret_in_the_config_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        chosen(tmp_path, HEAD + 'env = ["KEY=sk-secret"]')
    assert "'KEY'" in str(caught.value)
    assert "sk-secret" not in str(caught.value)
