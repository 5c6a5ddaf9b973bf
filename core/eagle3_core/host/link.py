"""The link: calls to one agent and files it follows, over one channel."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

from eagle3_core.host.follow import Checkpoint, FollowEvent, event_of
from eagle3_core.host.frames import EndOfStreamError, Frames
from eagle3_core.host.handshake import Hello
from eagle3_core.host.transport import Transport

PING_EVERY = 15.0
"""Seconds; the agent ends by itself after four of these in silence."""

PING_TIMEOUT = 45.0
"""Seconds without an answer after which the link counts as lost."""


class LinkLost(Exception):  # noqa: N818 - a state of the world, not a fault
    """The host cannot be reached any more; ``reason`` says why, in words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AgentError(Exception):
    """The agent refused or failed.

    Args:
        kind: one word for programs: ``busy``, ``missing``, ``folder``, ``python``, ``settings``,
            ``start``, ``none``, ``http``, ``gpus``, ``error``.
        message: what is wrong.
        mend: what to do about it, where the agent knows.
    """

    def __init__(self, kind: str, message: str, mend: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.mend = mend


Message = tuple[dict[str, Any], bytes]


class Link:
    """One agent. Made by :func:`eagle3_core.host.connect.connect`.

    Any number of calls and follows may run at once; none waits for another.
    """

    def __init__(self, transport: Transport, frames: Frames, hello: Hello) -> None:
        self.hello = hello
        self.transport = transport
        self._frames = frames
        self._numbers = itertools.count(1)
        self._held: dict[str, dict[str, tuple[str, Any]]] = {}
        """By operation and part: its tag and its value, as last sent."""
        self._calls: dict[int, asyncio.Future[tuple[Any, bytes]]] = {}
        self._follows: dict[int, asyncio.Queue[Message | None]] = {}
        self._end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tasks = [asyncio.create_task(self._receive()), asyncio.create_task(self._ping())]

    async def call(self, op: str, body: bytes = b"", **args: Any) -> Any:
        """Ask the agent. Raises ``LinkLost`` and ``AgentError``."""
        value, _ = await self.call_bytes(op, body, **args)
        return value

    async def call_for_news(self, op: str, **args: Any) -> dict[str, Any]:
        """Ask for an answer of named parts, of which only those that have changed are sent.

        Raises ``LinkLost`` and ``AgentError``.
        """
        held = self._held.get(op, {})
        known = {name: tag for name, (tag, _) in held.items()}
        answer = await self.call(op, known=known, **args)
        parts: dict[str, Any] = {name: value for name, (_, value) in held.items()}
        parts |= answer["sent"]
        tagged = {name: (tag, parts[name]) for name, tag in answer["tags"].items()}
        kept = {name: part for name, part in held.items() if name not in answer["sent"]}
        self._held[op] = kept | tagged
        return parts

    async def call_bytes(self, op: str, body: bytes = b"", **args: Any) -> tuple[Any, bytes]:
        """Ask the agent for a value and raw bytes. Raises ``LinkLost`` and ``AgentError``."""
        return await self._ask(next(self._numbers), op, body, args)

    async def _ask(
        self, number: int, op: str, body: bytes, args: dict[str, Any]
    ) -> tuple[Any, bytes]:
        if self._end.done():
            raise LinkLost(self._end.result())
        answer: asyncio.Future[tuple[Any, bytes]] = asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        try:
            self._write({"id": number, "op": op, "a": args}, body)
            return await answer
        finally:
            self._calls.pop(number, None)

    def _write(self, header: dict[str, Any], body: bytes = b"") -> None:
        if body:
            header["n"] = len(body)
        self.transport.write(json.dumps(header).encode() + b"\n" + body)

    async def follow(
        self,
        path: str,
        *,
        checkpoint: Checkpoint | None = None,
        lines_back: int | None = None,
        bytes_back: int = 65536,
        count: bool = True,
        text: bool = True,
        cap: int = 262144,
    ) -> AsyncIterator[FollowEvent]:
        """Follow a file by name until the iteration is left.

        A reader that is slow gets fewer, larger events, with gaps in the text (``skipped``) and
        none in the count; nobody else waits for it.

        Args:
            path: on the host; it need not exist yet.
            checkpoint: go on where an earlier follow stood, if the file is still the same.
            lines_back: start the text this many lines before the end.
            bytes_back: the same in bytes, from the next whole line on.
            count: count lines from the start of the file (else from where the text starts).
            text: send text; without it only the counts.
            cap: most bytes of text in one event.

        Raises:
            LinkLost: when the link ends.
        """
        number = next(self._numbers)
        inbox: asyncio.Queue[Message | None] = asyncio.Queue()
        options = {
            "path": path,
            "checkpoint": checkpoint,
            "lines_back": lines_back,
            "bytes_back": bytes_back,
            "count": count,
            "text": text,
            "cap": cap,
        }
        self._follows[number] = inbox
        try:
            await self._ask(number, "follow", b"", options)
            while (message := await inbox.get()) is not None:
                # The agent sends only so many events that were not taken: no queue can run full.
                self._write({"op": "taken", "a": {"sub": number}})
                yield event_of(*message)
            raise LinkLost(await self.closed())
        finally:
            del self._follows[number]
            if not self._end.done():
                self._write({"op": "unfollow", "a": {"sub": number}})

    async def closed(self) -> str:
        """Wait for the end of the link; returns why it ended."""
        return await asyncio.shield(self._end)

    def drop(self, reason: str) -> None:
        """Count the link as lost."""
        self._finish(reason)

    async def close(self) -> None:
        """End the agent and the connection. What it launched goes on."""
        self._finish("closed")
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        await asyncio.gather(
            *(task for task in self._tasks if task is not current), return_exceptions=True
        )
        await self.transport.close()

    def _finish(self, reason: str) -> None:
        if self._end.done():
            return
        self._end.set_result(reason)
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(LinkLost(reason))
        for inbox in self._follows.values():
            inbox.put_nowait(None)

    async def _receive(self) -> None:
        try:
            while True:
                header, body = await self._frames.message()
                if "sub" in header:
                    inbox = self._follows.get(header["sub"])
                    if inbox is not None:
                        inbox.put_nowait((header, body))
                    continue
                answer = self._calls.get(header["id"])
                if answer is None or answer.done():
                    continue
                if header["ok"]:
                    answer.set_result((header["r"], body))
                else:
                    error = AgentError(header["kind"], header["err"], header["mend"])
                    answer.set_exception(error)
        except EndOfStreamError:
            self._finish(await self.transport.why())
        except (ValueError, KeyError) as error:
            self._finish(f"the agent's words make no sense ({error!r})")

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(PING_EVERY)
            try:
                await asyncio.wait_for(self.call("ping"), PING_TIMEOUT)
            except asyncio.TimeoutError:
                self._finish(f"the host has not answered for {PING_TIMEOUT:.0f} s")
                return
            except LinkLost:
                return


@contextlib.asynccontextmanager
async def closing(link: Link) -> AsyncIterator[Link]:
    """Use ``link`` and close it."""
    try:
        yield link
    finally:
        await link.close()
