"""What the user must mend: one line that names the thing and the mend, and no traceback."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from eagle3_core.__main__ import main
from eagle3_core.journal.lock import JournalLock
from eagle3_core.simulator.server import Simulator


async def told(capsys: Any, arguments: list[str]) -> tuple[int, str]:
    """Exit code and the one line on standard error."""
    code = await asyncio.to_thread(main, arguments)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("eagle3-core: ")
    assert said.err.endswith("\n")
    assert said.err.count("\n") == 1, said.err
    assert code != 0
    return code, said.err


async def test_a_server_that_is_not_there(command: Any, capsys: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        run = command(2)
        code, said = await told(capsys, run.arguments(url))
    assert code == 2
    assert f"{url} cannot be reached (" in said
    assert "start the server, or mend --base-url" in said
    status = run.status()
    assert status["phase"] == "failed"
    assert f"{url} cannot be reached" in status["message"]
    assert json.loads(Path(run.run.run).read_bytes())["exit"] == 2


async def test_a_model_that_is_not_served(command: Any, simulate: Any, capsys: Any) -> None:
    server: Simulator = await simulate()
    arguments = command(2).arguments(server.url, model="kimi-k3")
    _, said = await told(capsys, arguments)
    assert (
        f"{server.url} does not serve the model 'kimi-k3': give --model one of: kimi-k2.5" in said
    )
    assert server.stats.arrivals == 0


async def test_a_url_without_v1(command: Any, simulate: Any, capsys: Any) -> None:
    server: Simulator = await simulate()
    url = server.url.removesuffix("/v1")
    _, said = await told(capsys, command(2).arguments(url))
    assert f"{url}/models answers HTTP 404 (Not Found): mend --base-url" in said


async def test_a_key_that_is_missing(
    command: Any, simulate: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: Simulator = await simulate(api_key="secret")
    arguments = [*command(2).arguments(server.url), "--api-key-env", "EAGLE_TEST_KEY"]
    _, said = await told(capsys, arguments)
    assert "refuses us (HTTP 401: Unauthorized)" in said
    assert "environment variable EAGLE_TEST_KEY" in said
    monkeypatch.setenv("EAGLE_TEST_KEY", "wrong")
    await told(capsys, arguments)


@pytest.mark.parametrize("place", ["a file/run", "/proc/run"])
async def test_a_folder_that_cannot_be_written(command: Any, capsys: Any, place: str) -> None:
    run = command(2)
    (run.folder / "a file").touch()
    output = Path(run.folder, place, "prepared", "raw_responses.jsonl")
    arguments = run.arguments("http://127.0.0.1:9/v1")
    arguments[arguments.index("--output") + 1] = str(output)
    _, said = await told(capsys, arguments)
    assert str(Path(run.folder, place)) in said
    assert "cannot be written" in said
    assert "--output" in said


@pytest.mark.parametrize("name", ["inference.log", "run.json"])
async def test_a_file_of_the_run_that_cannot_be_written(
    command: Any, capsys: Any, name: str
) -> None:
    run = command(2)
    (Path(run.run.root) / name).mkdir(parents=True)
    _, said = await told(capsys, run.arguments("http://127.0.0.1:9/v1"))
    assert name in said
    assert "cannot be written (Is a directory): mend its permissions" in said


async def test_an_output_of_another_name(command: Any, capsys: Any) -> None:
    run = command(2)
    for name in ("answers.jsonl", "my_raw_responses.jsonl"):
        arguments = run.arguments("http://127.0.0.1:9/v1")
        arguments[arguments.index("--output") + 1] = str(run.folder / name)
        _, said = await told(capsys, arguments)
        assert "DIR/prepared/raw_responses.jsonl" in said
        assert name in said


async def test_prompts_that_are_missing(command: Any, capsys: Any) -> None:
    run = command(2)
    run.prompts.unlink()
    _, said = await told(capsys, run.arguments("http://127.0.0.1:9/v1"))
    assert str(run.prompts) in said
    assert not Path(run.run.root).exists(), "nothing was made"


async def test_a_second_writer(command: Any, simulate: Any, capsys: Any) -> None:
    server: Simulator = await simulate()
    run = command(2)
    Path(run.run.journal).parent.mkdir(parents=True)
    with JournalLock(str(run.run.journal)):
        code, said = await told(capsys, run.arguments(server.url))
    assert code == 73
    assert "is being written by pid " in said
    assert not Path(run.run.log).exists(), "it touched nothing of the other's"


async def test_two_things_are_not_mixed_in_one_journal(
    command: Any, simulate: Any, capsys: Any
) -> None:
    server: Simulator = await simulate()
    run = command(3)
    arguments = [*run.arguments(server.url), "--temperature", "0.6"]
    code, _ = await run.whole(*arguments)
    assert code == 0
    before = Path(run.run.journal).read_bytes()
    settings = Path(run.run.settings).read_bytes()
    assert json.loads(settings)["provenance"]["servers"][0]["model"] == "kimi-k2.5"
    other = [*run.arguments(server.url), "--temperature", "0.7", "--no-thinking"]
    _, said = await told(capsys, other)
    assert "thinking: True there, False now" in said
    assert "temperature: 0.6 there, 0.7 now" in said
    assert "--force thinking --force temperature" in said
    _, said = await told(capsys, [*other, "--force", "thinking"])
    assert "thinking" not in said
    assert "--force temperature" in said
    assert Path(run.run.journal).read_bytes() == before
    assert Path(run.run.settings).read_bytes() == settings
    code, errors = await run.whole(*other, "--force", "thinking", "--force", "temperature")
    assert (code, errors) == (0, "")
    assert json.loads(Path(run.run.settings).read_bytes())["temperature"] == 0.7


async def test_a_key_that_is_no_choice_and_a_real_process(command: Any) -> None:
    run = command(1)
    code, errors = await run.whole(*run.arguments("http://127.0.0.1:9/v1"), "--concurrency", "0")
    assert code == 2
    assert errors == (
        "eagle3-core: command line: concurrency = 0 is too small: give a whole number from 1 on\n"
    )


async def test_rejected_requests_end_the_run_with_exit_code_1(command: Any, simulate: Any) -> None:
    server: Simulator = await simulate(max_model_len=2000)
    run = command(30)
    more = ("--stop-after", "4", "--concurrency", "2", "--extra-body", '{"max_tokens": 100000}')
    arguments = run.arguments(server.url, *more)
    code, _ = await run.whole(*arguments)
    assert code == 1
    assert server.stats.refused <= 6
    status = run.status()
    assert status["phase"] == "failed"
    assert status["message"].startswith("the server rejected 4 requests in a row: HTTP 400: ")
    assert "max_tokens" in status["message"]
