"""A followed file over a real agent: no line twice, none lost, none in halves."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from eagle3_core.host.connect import connect
from eagle3_core.host.link import Link, LinkLost
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor import tail as tail_module
from eagle3_core.monitor.tail import Piece, Tail

Until = Callable[..., Awaitable[None]]


class Reader:
    """A tail, read over one link after another."""

    def __init__(self, path: Path, *, lines_back: int | None = None) -> None:
        self.tail = Tail(str(path), count=True, lines_back=lines_back)
        self.pieces: list[Piece] = []
        self.link: Link | None = None
        self._job: asyncio.Task[None] | None = None

    @property
    def lines(self) -> list[bytes]:
        return [line for piece in self.pieces for line in piece.lines]

    @property
    def count(self) -> int:
        return self.pieces[-1].count if self.pieces else -1

    @property
    def notes(self) -> list[str]:
        return [piece.note for piece in self.pieces if piece.note]

    async def connect(self) -> None:
        self.link = await connect(HostTarget("local"))
        self._job = asyncio.create_task(self._read(self.link))

    async def _read(self, link: Link) -> None:
        async for piece in self.tail.follow(link):
            self.pieces.append(piece)

    async def lose(self) -> None:
        """The agent is killed; the link tells."""
        assert self.link is not None
        assert self._job is not None
        os.kill(self.link.hello.pid, signal.SIGKILL)
        with pytest.raises(LinkLost):
            await self._job
        await self.link.close()

    async def close(self) -> None:
        if self._job:
            self._job.cancel()
            await asyncio.gather(self._job, return_exceptions=True)
        if self.link:
            await self.link.close()


@pytest.fixture
async def read() -> AsyncIterator[Callable[..., Awaitable[Reader]]]:
    """``await read(path)``: a reader that is connected."""
    readers: list[Reader] = []

    async def begin(path: Path, **options: int) -> Reader:
        readers.append(Reader(path, **options))
        await readers[-1].connect()
        return readers[-1]

    yield begin
    for reader in readers:
        await reader.close()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


async def test_lines_that_are_split_anywhere(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.touch()
    reader = await read(path)
    await until(lambda: reader.pieces)
    dice = random.Random(7)
    rest = "".join(f"line {n} of größe ✓\n" for n in range(300)).encode()
    whole = rest
    while rest:
        size = dice.randint(1, 600)
        append(path, rest[:size])
        rest = rest[size:]
        seen = len(reader.pieces)
        await until(lambda seen=seen: len(reader.pieces) > seen)
    await until(lambda: reader.count == 300)
    assert reader.lines == whole.split(b"\n")[:-1]
    assert reader.tail.partial == b""


async def test_a_file_that_comes_later_with_its_folder(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    path = tmp_path / "run" / "log"
    reader = await read(path)
    await until(lambda: reader.notes)
    assert reader.notes == [f"missing: no such directory {tmp_path / 'run'}"]
    assert reader.count == 0
    path.parent.mkdir()
    path.write_bytes(b"a\nb")
    await until(lambda: reader.lines == [b"a"])
    assert (reader.count, reader.tail.partial) == (1, b"b")


async def test_a_file_that_is_replaced_is_read_from_its_start(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"old 1\nold 2\nhalf")
    reader = await read(path)
    await until(lambda: reader.count == 2)
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"new 1\n")
    await until(lambda: reader.lines[-1:] == [b"new 1"])
    assert reader.count == 1
    assert "the file was replaced" in reader.notes
    assert b"halfnew 1" not in reader.lines


async def test_a_file_that_is_cut_is_read_from_its_start(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nhalf")
    reader = await read(path)
    await until(lambda: reader.count == 2)
    os.truncate(path, 0)
    await until(lambda: reader.notes)
    append(path, b"anew\n")
    await until(lambda: reader.lines[-1:] == [b"anew"])
    assert (reader.count, reader.notes) == (1, ["the file was cut"])


async def test_a_file_that_was_away_keeps_its_count_and_its_half_line(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    path, away = tmp_path / "log", tmp_path / "away"
    path.write_bytes(b"one\ntwo\nhal")
    reader = await read(path)
    await until(lambda: reader.count == 2)
    path.rename(away)
    await until(lambda: reader.count == 0)
    away.rename(path)
    await until(lambda: reader.count == 2)
    append(path, b"f\n")
    await until(lambda: reader.count == 3)
    assert reader.lines == [b"one", b"two", b"half"]


async def test_a_lost_link_loses_and_doubles_nothing(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    """What is written before, at and after the loss comes once; a line cut by it comes whole."""
    path = tmp_path / "log"
    path.write_bytes(b"1\n2\nthr")
    reader = await read(path)
    await until(lambda: reader.tail.partial == b"thr")
    await reader.lose()
    append(path, b"ee\n4\nfi")
    await reader.connect()
    await until(lambda: reader.tail.partial == b"fi")
    await reader.lose()
    await reader.connect()
    await until(lambda: reader.pieces[-1].lines == [])
    append(path, b"ve\n")
    await until(lambda: reader.count == 5)
    assert reader.lines == [b"1", b"2", b"three", b"4", b"five"]
    assert reader.notes == []


async def test_a_file_replaced_while_the_link_was_lost(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"1\n2\nhalf")
    reader = await read(path)
    await until(lambda: reader.count == 2)
    await reader.lose()
    path.rename(tmp_path / "old")
    path.write_bytes(b"new\n")
    await reader.connect()
    await until(lambda: reader.lines[-1:] == [b"new"])
    assert (reader.count, reader.notes) == (1, ["the file was replaced"])


async def test_a_burst_is_counted_whole_and_comes_with_its_newest_lines(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"begin\nhalf")
    reader = await read(path)
    await until(lambda: reader.tail.partial == b"half")
    burst = b"".join(b"line %06d\n" % n for n in range(100_000))
    append(path, burst)
    await until(lambda: reader.count == 100_001)
    skipped = sum(piece.skipped for piece in reader.pieces)
    shown = sum(len(line) + 1 for line in reader.lines)
    assert skipped > 0, "the half line lost its other half in the gap"
    assert skipped + shown == len(burst) + len(b"begin\n")
    assert reader.lines[-1] == b"line 099999"
    assert all(len(line) == 11 for line in reader.lines[1:]), "no half line beside a gap"


async def test_a_line_without_an_end_does_not_fill_the_memory(
    read: Callable[..., Awaitable[Reader]],
    until: Until,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tail_module, "LONGEST_LINE", 1000)
    path = tmp_path / "log"
    path.write_bytes(b"x" * 5000)
    reader = await read(path)
    await until(lambda: reader.pieces and reader.pieces[-1].count == 0 and reader.tail.partial)
    append(path, b"y" * 999)
    await until(lambda: reader.tail.partial.endswith(b"y"))
    assert reader.tail.partial == b"x" + b"y" * 999
    append(path, b"\nnext\n")
    await until(lambda: reader.count == 2)
    assert reader.lines[-1] == b"next"


async def test_only_the_last_lines_are_wanted(
    read: Callable[..., Awaitable[Reader]], until: Until, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"1\n2\n3\n4\nhal")
    reader = await read(path, lines_back=2)
    await until(lambda: reader.count == 4)
    append(path, b"f\n")
    await until(lambda: reader.count == 5)
    assert reader.lines == [b"3", b"4", b"half"]
