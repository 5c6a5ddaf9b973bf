import asyncio
from dataclasses import replace
from itertools import pairwise

from fake_watch import FakeWatch
from scenarios import HEALTHY, record
from textual.message import Message

from eagle3_console import bridge as bridge_module
from eagle3_console.bridge import FLUSH_S, Bridge
from eagle3_console.messages import (
    LogArrived,
    LogEntry,
    PictureArrived,
    RecordsArrived,
    WatchEnded,
)
from eagle3_core.errors import UserError
from eagle3_core.monitor.events import LogLines, NewRecords, Picture


async def _drain(watch: FakeWatch, messages: list[Message]) -> None:
    watch.end()
    await asyncio.wait_for(Bridge(watch, messages.append).run(), 10)


async def test_a_burst_becomes_few_messages_and_loses_no_line() -> None:
    watch = FakeWatch("connecting")
    for n in range(3000):
        watch.tell(Picture(replace(HEALTHY, lines=n)), LogLines((f"line {n}",)))
    messages: list[Message] = []
    await _drain(watch, messages)
    lines = [e.text for m in messages if isinstance(m, LogArrived) for e in m.entries]
    assert lines == [f"line {n}" for n in range(3000)]
    pictures = [m for m in messages if isinstance(m, PictureArrived)]
    assert len(pictures) < 10
    assert pictures[-1].snapshot.lines == 2999


async def test_flushes_are_a_quarter_second_apart() -> None:
    watch = FakeWatch("connecting")
    times: list[float] = []
    loop = asyncio.get_running_loop()
    bridge = Bridge(watch, lambda message: times.append(loop.time()))
    task = asyncio.create_task(bridge.run())
    deadline = loop.time() + 1.1
    while loop.time() < deadline:
        watch.tell(Picture(HEALTHY))
        await asyncio.sleep(0.01)
    task.cancel()
    assert 3 <= len(times) <= 6
    assert min(b - a for a, b in pairwise(times)) > FLUSH_S * 0.8


async def test_frozen_holds_everything_back_and_hands_it_on() -> None:
    watch = FakeWatch("connecting")
    messages: list[Message] = []
    bridge = Bridge(watch, messages.append)
    bridge.freeze(True)
    bridge.feed(Picture(HEALTHY))
    bridge.feed(LogLines(("a",), partial="b"))
    bridge.feed(NewRecords((record(1),), bad_lines=2))
    await asyncio.sleep(FLUSH_S * 1.5)
    assert messages == []
    bridge.freeze(False)
    picture, log, records = messages
    assert isinstance(picture, PictureArrived)
    assert isinstance(log, LogArrived)
    assert (log.entries, log.partial) == ([LogEntry("a")], "b")
    assert isinstance(records, RecordsArrived)
    assert (records.records, records.bad_lines) == ([record(1)], 2)


async def test_what_nobody_can_read_is_dropped_and_counted(monkeypatch) -> None:
    monkeypatch.setattr(bridge_module, "LOG_BOUND", 100)
    messages: list[Message] = []
    bridge = Bridge(FakeWatch("connecting"), messages.append)
    bridge.freeze(True)
    bridge.feed(LogLines(tuple(str(n) for n in range(130))))
    bridge.freeze(False)
    (log,) = messages
    assert isinstance(log, LogArrived)
    assert log.dropped == 30
    assert [e.text for e in log.entries] == [str(n) for n in range(30, 130)]


async def test_notes_stand_before_their_lines() -> None:
    watch = FakeWatch("connecting")
    watch.tell(LogLines(("new",), note="replaced", skipped_bytes=2_000_000))
    messages: list[Message] = []
    await _drain(watch, messages)
    (log,) = [m for m in messages if isinstance(m, LogArrived)]
    assert [(e.text, e.is_note) for e in log.entries] == [
        ("replaced", True),
        ("2.0 MB of older log not read", True),
        ("new", False),
    ]


async def test_the_end_of_the_watch_is_told_with_its_reason() -> None:
    class Broken(FakeWatch):
        async def events(self):
            yield Picture(HEALTHY)
            raise UserError("no profile is called x", "look at the config")

    messages: list[Message] = []
    await Bridge(Broken(), messages.append).run()
    assert isinstance(messages[0], PictureArrived)
    assert isinstance(messages[-1], WatchEnded)
    assert messages[-1].reason == "no profile is called x: look at the config"
