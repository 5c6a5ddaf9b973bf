"""The link over sshd, over the embedded host and here: the same behaviour."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from eagle3_core.host.follow import Data, Opened
from eagle3_core.host.link import AgentError, Link, LinkLost


async def test_hello_says_who_answers(link: Link) -> None:
    assert link.hello.pid > 0
    assert tuple(int(part) for part in link.hello.python.split(".")[:2]) >= (3, 8)
    assert link.hello.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert Path(link.hello.core_zip).name.startswith("eagle3_core-")
    assert Path(link.hello.core_zip).is_file()


async def test_two_connections_share_one_zip(link: Link) -> None:
    zip_path = Path(link.hello.core_zip)
    before = zip_path.stat()
    assert await link.call("ping") > 0
    assert zip_path.stat().st_mtime_ns == before.st_mtime_ns


async def test_unknown_operation_is_an_error_and_the_link_lives(link: Link) -> None:
    with pytest.raises(AgentError) as caught:
        await link.call("fly")
    assert caught.value.kind == "unknown"
    assert await link.call("ping") > 0


async def test_wrong_arguments_are_an_error_and_the_link_lives(link: Link) -> None:
    with pytest.raises(AgentError) as caught:
        await link.call("count", wrong=1)
    assert caught.value.kind == "error"
    assert await link.call("ping") > 0


async def test_bad_bytes_arrive_as_they_are(link: Link, tmp_path: Path) -> None:
    """One stray byte must not cost the connection (asyncssh decodes strictly by default)."""
    raw = b"ok line\ncaf\xe9 latin1\nafter\n\xe4\xb8\x96\xe7\x95\n\xff\xfe\x00bin\nend\n"
    log = tmp_path / "remote.log"
    log.write_bytes(raw)
    got = b""
    async for event in link.follow(str(log)):
        if isinstance(event, Data):
            got += event.text
        if got == raw:
            break
    assert got.decode("utf-8", "replace").split("\n")[:-1] == [
        "ok line",
        "caf\ufffd latin1",
        "after",
        "\u4e16\ufffd",
        "\ufffd\ufffd\u0000bin",
        "end",
    ]
    assert await link.call("ping") > 0


async def test_large_bodies_come_whole(link: Link, tmp_path: Path) -> None:
    lines = [os.urandom(1_000_000).replace(b"\n", b".") for _ in range(4)]
    path = tmp_path / "big.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    sizes, body = await link.call_bytes("last", path=str(path), lines=3)
    assert sizes == [1_000_001] * 3
    assert body == b"".join(line + b"\n" for line in lines[1:])


async def test_a_reader_that_never_reads_stalls_nobody(link: Link, tmp_path: Path) -> None:
    path = tmp_path / "grows.jsonl"
    path.write_bytes(b"")
    idle = link.follow(str(path))
    assert isinstance(await anext(idle), Opened)
    busy = link.follow(str(path))
    assert isinstance(await anext(busy), Opened)
    total = 0
    for number in range(40):
        with path.open("ab") as file:
            file.write(b"%06d\n" % number * 10)
        event = await asyncio.wait_for(anext(busy), 5)
        assert isinstance(event, Data)
        total += event.new_lines
        await link.call("ping")
    assert total == 400
    # the idle one has missed no line either, only chances to look
    seen = 0
    while seen < 400:
        event = await asyncio.wait_for(anext(idle), 5)
        assert isinstance(event, Data)
        seen += event.new_lines
        assert event.lines == seen
    await idle.aclose()
    await busy.aclose()


async def test_close_ends_calls_and_follows_with_a_reason(link: Link, tmp_path: Path) -> None:
    async def follow() -> None:
        async for _ in link.follow(str(tmp_path / "none.log")):
            pass

    following = asyncio.create_task(follow())
    await link.call("ping")
    await link.close()
    with pytest.raises(LinkLost):
        await following
    with pytest.raises(LinkLost):
        await link.call("ping")
    assert await link.closed() == "closed"
