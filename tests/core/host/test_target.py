"""What a user may write for a host."""

from __future__ import annotations

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host.handshake import command_line
from eagle3_core.host.target import HostTarget


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu", (None, "gpu", None)),
        ("me@gpu", ("me", "gpu", None)),
        ("me@gpu:2222", ("me", "gpu", 2222)),
        ("gpu:22", (None, "gpu", 22)),
        ("me@10.0.0.7", ("me", "10.0.0.7", None)),
        ("[::1]:22", (None, "::1", 22)),
        ("ssh://me@gpu:2222", ("me", "gpu", 2222)),
        ("ssh://gpu", (None, "gpu", None)),
    ],
)
def test_addresses(text: str, expected: tuple[str | None, str, int | None]) -> None:
    target = HostTarget(text)
    assert target.address == expected
    assert not target.is_local


def test_local() -> None:
    assert HostTarget("local").is_local


@pytest.mark.parametrize(
    "text", ["", "a b", "gpu:", "gpu:port", "gpu:99999", "me@", "-oProxyCommand=x", "ssh://gpu:x"]
)
def test_what_is_no_host(text: str) -> None:
    with pytest.raises(UserError) as caught:
        HostTarget(text)
    assert repr(text) in caught.value.problem


def test_prefix_words_are_quoted_for_every_shell() -> None:
    command = command_line(["python3"], ["docker", "exec", "-i", "my box"])
    assert command.startswith("exec docker exec -i 'my box' /bin/sh -c 'for p in python3;")
    assert command.count("'") == 4
    assert not any(character in command for character in "!\\\n`")


@pytest.mark.parametrize("word", ["it's", "a!b", "a\\b", "a\nb", "`id`"])
def test_words_that_no_quoting_carries_are_refused(word: str) -> None:
    with pytest.raises(UserError):
        command_line(["python3"], [word])
    with pytest.raises(UserError):
        command_line([word])


def test_a_python_with_a_blank_in_its_path() -> None:
    assert 'for p in "/opt/my tools/python"; do' in command_line(["/opt/my tools/python"])
    assert "for p in ~/venv/bin/python; do" in command_line(["~/venv/bin/python"])
