"""The config file: every mistake is one line that names the file, the key and the mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_console.config import Config, Profile, config_dir, config_path, load, run_settings
from eagle3_core.errors import UserError

CONFIGS = Path(__file__).parent / "data" / "configs"

MISTAKES = {
    "not_toml": ["is not TOML", "line 2"],
    "latin1": ["is not TOML", "utf-8"],
    "unknown_key": ["unknown key 'colour'", "theme"],
    "theme_number": ["theme = 7", "a text"],
    "confirm_unknown": ['confirm = "sometimes"', '"always"'],
    "read_only_text": ["read_only = 'yes'", "true or false"],
    "profiles_list": ["profiles is no table", "[profiles.NAME]"],
    "profile_text": ["profiles.gpu is no table", "[profiles.gpu]"],
    "no_host": ["profiles.gpu lacks host"],
    "empty_run": ["profiles.gpu lacks run"],
    "host_is_none": ["profiles.gpu: host 'gpu 07'", "user@host"],
    "host_port": ["profiles.gpu: host 'gpu-07:99999'", "user@host:port"],
    "profile_key": ["profiles.gpu has the unknown key 'user'", "identity"],
    "prefix_text": ["profiles.gpu: prefix = 'docker", "a list of texts"],
    "prefix_numbers": ["profiles.gpu: prefix = ['nice', 5]", "a list of texts"],
    "generate_text": ["profiles.gpu: generate = 'fast'", "a table"],
    "generate_key": ["profiles.gpu.generate has the unknown key 'max_token'", "'max_tokens'"],
    "generate_lacks": ["profiles.gpu.generate lacks model"],
    "generate_value": ["profiles.gpu.generate: concurrency = 0", "from 1 on"],
    "generate_kind": ["profiles.gpu.generate: timeout = 'long'", "a number"],
}


def test_every_broken_config_is_in_the_table() -> None:
    assert {file.stem for file in CONFIGS.iterdir()} == set(MISTAKES)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_file_key_and_mend(name: str) -> None:
    file = CONFIGS / f"{name}.toml"
    with pytest.raises(UserError) as caught:
        load(file)
    line = str(caught.value)
    assert line.startswith(str(file))
    assert "\n" not in line
    assert caught.value.mend
    for part in MISTAKES[name]:
        assert part in line, line


def test_a_whole_config(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        """
        theme = "mono"
        confirm = "always"
        read_only = true

        [profiles.gpu]
        host = "me@gpu-07:2222"
        run = "/data/run"
        python = "/opt/vllm/bin/python"
        identity = "~/.ssh/gpu"
        prefix = ["docker", "exec", "-i", "vllm"]
        [profiles.gpu.generate]
        prompts = "mlabonne/open-perfectblend"
        model = "kimi-k2.5"

        [profiles.here]
        host = "local"
        run = "~/run"
        """
    )
    generate = {"prompts": "mlabonne/open-perfectblend", "model": "kimi-k2.5"}
    prefix = ["docker", "exec", "-i", "vllm"]
    python = "/opt/vllm/bin/python"
    gpu = Profile("me@gpu-07:2222", "/data/run", python, "~/.ssh/gpu", prefix, generate)
    assert load(file) == Config(
        "mono", "always", True, {"gpu": gpu, "here": Profile("local", "~/run")}
    )


def test_no_file_and_an_empty_file_give_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").touch()
    assert load(tmp_path / "none.toml") == load(tmp_path / "empty.toml") == Config()


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"^{tmp_path} cannot be read \(Is a directory\)"):
        load(tmp_path)


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EAGLE3_CONSOLE_CONFIG", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_path() == tmp_path / ".config" / "eagle3-console" / "config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert config_dir() == tmp_path / "xdg" / "eagle3-console"
    assert load() == Config()
    config_dir().mkdir(parents=True)
    config_path().write_text('theme = "xdg"\n')
    assert load().theme == "xdg"
    named = tmp_path / "mine.toml"
    monkeypatch.setenv("EAGLE3_CONSOLE_CONFIG", str(named))
    with pytest.raises(UserError, match=r"mine\.toml does not exist: .*EAGLE3_CONSOLE_CONFIG"):
        load()
    named.write_text('theme = "named"\n')
    assert load().theme == "named"
    assert config_dir() == tmp_path / "xdg" / "eagle3-console"


def test_settings_of_a_run() -> None:
    values = {"prompts": "set.jsonl", "model": "kimi-k2.5", "concurrency": "auto"}
    settings = run_settings(values, "/data/run/")
    assert settings["output"] == "/data/run/prepared/raw_responses.jsonl"
    assert (settings["concurrency"], settings["max_tokens"]) == ("auto", 8000)
    own = run_settings(values | {"output": "/other/prepared/raw_responses.jsonl"}, "/data/run")
    assert own["output"] == "/other/prepared/raw_responses.jsonl"
    with pytest.raises(UserError, match=r"^here lacks prompts"):
        run_settings({"model": "m"}, "/data/run", where="here")
