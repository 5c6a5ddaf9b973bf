"""``eagle3-core samples``."""

import argparse

import pytest

from eagle3_core.samples import cli


@pytest.fixture
def call(capsys):
    def call_(*words):
        parser = argparse.ArgumentParser()
        cli.add_arguments(parser)
        assert cli.run(parser.parse_args(words)) == 0
        return capsys.readouterr().out

    return call_


def test_report_and_first_questions(call, write):
    chat = [{"role": "system", "content": "S"}, {"role": "user", "content": "one"}]
    path = write("set.jsonl", [{"id": 1, "messages": chat}, {"prompt": "two"}, {"prompt": "three"}])
    out = call(path, "-n", "2").split("\n")
    assert out[0] == f"3 questions from 3 rows of {path} (JSON Lines)"
    assert out[1].startswith("fingerprint ")
    assert out[3].startswith("1:")
    assert out[4:6] == ["system: S", "user: one"]
    assert out[-2] == "user: two"


def test_nothing_in_a_set_commands_the_terminal(call, write):
    evil = "A\x1b]52;c;ZXZpbA==\x07\x9b2J\u202eB"
    rows = [{"id": evil, "prompt": evil}, {"prompt": "", evil: 1}, {"messages": [{"role": evil}]}]
    out = call(write("set.jsonl", [*rows, {"id": evil, "prompt": "x"}]))
    assert "A␛]52;c;ZXZpbA==␇\\x9b2J\\u202eB" in out
    assert not set(out) & set("\x1b\x07\x9b\u202e")


def test_turns_and_limit(call, write):
    turns = [{"role": role, "content": role[0]} for role in ("user", "assistant", "user")]
    path = write("set.jsonl", [{"messages": turns}, {"prompt": "b"}])
    assert "assistant: a" not in call(path)
    assert "assistant: a" in call(path, "--turns", "all-user")
    assert call(path, "--limit", "1").startswith("1 questions from the first 1 rows of ")
