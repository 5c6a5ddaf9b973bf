"""A host without python3: an agent on this side whose hands are one POSIX shell on that side.

It counts, follows and reads; it starts and ends nothing, for it cannot tell whose a process is.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Coroutine
from shlex import quote
from typing import Any

from eagle3_core.host.agent.news import news
from eagle3_core.host.frames import EndOfStreamError
from eagle3_core.host.handshake import READ_ONLY, Hello
from eagle3_core.host.posix_shell import PosixShell
from eagle3_core.host.transport import Transport

INTERVAL = 1.0
"""Seconds between two looks at a followed file: each is a few processes on the host."""
PROOF = 64
"""Bytes before a checkpoint that must still be there."""


class ShellAgent:
    """Implements ``Transport`` for a ``Link``: takes its requests, answers as the agent would.

    Args:
        transport: to a ``/bin/sh`` that reads its commands from there.
        host: its name, for messages.
    """

    def __init__(self, transport: Transport, host: str) -> None:
        self._transport = transport
        self._shell = PosixShell(transport)
        self._host = host
        self._home = ""
        self._asked = bytearray()
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self._room: dict[int, asyncio.Semaphore] = {}

    async def hello(self) -> Hello | None:
        """Who is there; ``None`` without the tools. Raises ``EndOfStreamError``."""
        who = await self._shell.who()
        if who is None:
            return None
        name, user, self._home = who
        return Hello(0, "", "/bin/sh", name, user, self._home, "", time.time(), "")

    async def read(self) -> bytes:
        return await self._answers.get()

    def write(self, data: bytes) -> None:
        self._asked += data
        while (at := self._asked.find(b"\n")) >= 0:
            header = json.loads(self._asked[:at])
            end = at + 1 + header.get("n", 0)
            if len(self._asked) < end:
                return
            del self._asked[:end]
            self._take(header)

    async def why(self) -> str:
        return await self._transport.why()

    async def close(self) -> None:
        for job in list(self._jobs.values()):
            job.cancel()
        await self._transport.close()

    def _take(self, header: dict[str, Any]) -> None:
        op, args, number = header["op"], header.get("a", {}), header.get("id", 0)
        if op == "taken":
            if args["sub"] in self._room:
                self._room[args["sub"]].release()
        elif op == "unfollow":
            if args["sub"] in self._jobs:
                self._jobs[args["sub"]].cancel()
        elif op == "follow":
            self._room[number] = asyncio.Semaphore(2)
            self._say({"id": number, "ok": True, "r": None})
            self._begin(number, self._follow(number, args))
        else:
            self._begin(number, self._answer(number, op, args))

    def _begin(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        async def job() -> None:
            try:
                await work
            except EndOfStreamError:
                self._answers.put_nowait(b"")
            finally:
                self._jobs.pop(number, None)
                self._room.pop(number, None)

        self._jobs[number] = asyncio.get_running_loop().create_task(job())

    def _say(self, header: dict[str, Any], body: bytes = b"") -> None:
        header = {**header, "n": len(body)} if body else header
        self._answers.put_nowait(json.dumps(header).encode() + b"\n" + body)

    async def _answer(self, number: int, op: str, args: dict[str, Any]) -> None:
        value: Any = None
        body = b""
        if op == "ping":
            await self._shell.run(":")
        elif op == "count":
            path = self._path(args["path"])
            found = await self._shell.file(path)
            lines = await self._shell.lines(path, 0, found[1]) if found else 0
            value = [lines, found[1], ""] if found else [0, 0, f"no {path} yet"]
        elif op == "last":
            body = await self._shell.last(self._path(args["path"]), args["lines"])
            value = [len(line) + 1 for line in body.split(b"\n")[:-1]]
        elif op == "run_state":
            value = news(await self._state(args), args.get("known") or {})
        else:
            kind = "http" if op == "http" else "python"
            mend = 'install python3 there, or set python = "/path/to/python" in the profile'
            error = {"kind": kind, "err": f"{self._host} has {READ_ONLY}", "mend": mend}
            self._say({"id": number, "ok": False, **error})
            return
        self._say({"id": number, "ok": True, "r": value}, body)

    async def _state(self, args: dict[str, Any]) -> dict[str, Any]:
        folder = self._path(args["run_dir"])
        journal = self._path(args.get("journal") or f"{folder}/prepared/raw_responses.jsonl")
        log = self._path(args.get("log") or f"{folder}/inference.log")
        names = ("status.json", "settings.json", "launch.json")
        texts = await self._shell.each(
            f"test -d {quote(folder)} && echo yes",
            f"df -Pk {quote(folder)} | tail -n 1",
            *(f"cat {quote(f'{folder}/{name}')}" for name in names),
        )
        parts = {name[:-5]: _json(text) for name, text in zip(names, texts[2:], strict=True)}
        for name, path in (("journal", journal), ("log", log)):
            found = await self._shell.file(path)
            parts[name] = {"exists": bool(found), "size": found[1] if found else 0, "mtime": None}
        free = texts[1].split()
        return {
            **parts,
            "run_dir": folder,
            "exists": texts[0] == b"yes",
            "record": None,
            "record_exists": True,
            "unseen": READ_ONLY,
            "leader": "",
            "leftovers": [],
            "strays": {"found": [], "hidden": 0},
            "disk_free": int(free[3]) * 1024 if len(free) > 3 and free[3].isdigit() else None,
            "now": time.time(),
        }

    async def _follow(self, sub: int, options: dict[str, Any]) -> None:
        async def emit(header: dict[str, Any], text: bytes = b"") -> None:
            await self._room[sub].acquire()
            self._say(dict(header, sub=sub), text)

        path, saved = self._path(options["path"]), options.get("checkpoint")
        shell, cap = self._shell, options.get("cap", 262144)
        inode, offset, lines, missing, seeking = 0, 0, 0, False, False
        while True:
            found = await shell.file(path)
            if found is None:
                if not missing:
                    await emit({"ev": "missing", "reason": f"no {path} yet"})
                missing, inode = True, 0
            elif found[0] != inode:
                why = "started" if not inode and not saved else "replaced"
                inode, offset, lines = found[0], 0, 0
                resumed = saved is not None and await self._is_same(path, saved, found)
                if saved and resumed:
                    offset, lines = saved["offset"], saved["lines"]
                elif not options.get("count", True):
                    offset = found[1] - await shell.back(path, found[1], options)
                    seeking = offset > 0 and options.get("lines_back") is None
                saved, missing = None, False
                await emit({"ev": "opened", "why": why, "resumed": resumed, "size": found[1]})
            elif found[1] < offset:
                offset = lines = 0
                await emit({"ev": "truncated"})
            if found and found[1] > offset:
                begin = max(offset, found[1] - cap)
                new = await shell.lines(path, offset, begin)
                text = await shell.read(path, begin, found[1] - begin)
                new, at = new + text.count(b"\n"), begin + len(text)
                if seeking or begin > offset:
                    cut = text.find(b"\n") + 1
                    text, seeking = (text[cut:], False) if cut else (b"", True)
                lines, skipped, offset = lines + new, at - len(text) - offset, at
                held = {"dev": 0, "ino": inode, "offset": at, "lines": lines}
                held["print"] = await self._proof(path, at)
                data = {"ev": "data", "offset": at, "lines": lines, "new": new, "behind": 0}
                await emit({**data, "skipped": skipped, "checkpoint": held}, text)
            await asyncio.sleep(INTERVAL)

    async def _proof(self, path: str, offset: int) -> str:
        """The bytes before ``offset``."""
        size = min(PROOF, offset)
        return base64.b64encode(await self._shell.read(path, offset - size, size)).decode()

    async def _is_same(self, path: str, saved: dict[str, Any], found: tuple[int, int]) -> bool:
        """Whether a file is still the one of a checkpoint."""
        same = (saved["dev"], saved["ino"]) == (0, found[0]) and saved["offset"] <= found[1]
        return same and await self._proof(path, saved["offset"]) == saved["print"]

    def _path(self, path: str) -> str:
        return self._home + path[1:] if path.startswith("~/") else path


def _json(text: bytes) -> Any | None:
    try:
        return json.loads(text.decode("utf-8", "replace"))
    except ValueError:
        return None
