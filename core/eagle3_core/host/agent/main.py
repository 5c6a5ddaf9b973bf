"""The agent: answers requests and pushes followed files, for as long as somebody is there."""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, Callable, Mapping, Tuple

from eagle3_core.host.agent import control, facts, launch, proc, read, run, stop
from eagle3_core.host.agent.follow import Follow
from eagle3_core.host.agent.news import news
from eagle3_core.host.agent.wire import Header, Refused, Wire

WATCHDOG = 60.0
"""Seconds without a word from the other side after which it is taken for dead."""

CREDIT = 8
"""Events of one follow that may be on their way; a slow reader or line gets fewer, larger gaps."""

Answer = Tuple[Any, bytes]


def _read_file(path: str, limit: int = 8 << 20) -> Answer:
    fd = read.open_file(path)
    try:
        return {"size": os.fstat(fd).st_size}, os.pread(fd, limit, 0)
    finally:
        os.close(fd)


OPERATIONS: dict[str, Callable[..., Answer]] = {
    "count": lambda **args: (read.count(**args), b""),
    "last": read.last,
    "sample": read.sample,
    "read": _read_file,
    "run_state": lambda known=None, **args: (news(run.run_state(**args), known or {}), b""),
    "launch": lambda **args: (launch.launch(**args), b""),
    "stop": lambda **args: (stop.stop(**args), b""),
    "control": lambda **args: (control.control(**args), b""),
    "http": facts.http_get,
    "gpus": lambda **args: (facts.gpus(**args), b""),
    "disk": lambda **args: (facts.disk(**args), b""),
}
"""What can be asked; each takes the arguments of the request and gives a value and raw bytes."""


class Agent:
    """Requests run on threads; files are followed by the main loop alone."""

    def __init__(self, wire: Wire, zip_path: str) -> None:
        self._wire = wire
        self._zip = zip_path
        self._inbox: queue.Queue[tuple[Header, bytes]] = queue.Queue()
        self._threads = ThreadPoolExecutor(8)
        self._follows: dict[int, Follow] = {}
        self._credit: dict[int, int] = {}
        self._heard = time.monotonic()

    def hello(self, nonce: str) -> None:
        facts_of_host = {
            "pid": os.getpid(),
            "python": sys.version.split()[0],
            "exe": sys.executable,
            "hostname": socket.gethostname(),
            "user": _user(),
            "home": os.path.expanduser("~"),
            "boot_id": proc.boot_id(),
            "now": time.time(),
            "core_zip": self._zip,
        }
        self._wire.send({"eagle": nonce, "hello": facts_of_host})

    def listen(self) -> None:
        """Runs on a thread of its own; the end of the input is the end of the agent."""
        while True:
            try:
                message = self._wire.receive()
            except ValueError:
                message = None
            if message is None:
                os._exit(0)
            self._heard = time.monotonic()
            self._inbox.put(message)

    def loop(self) -> None:
        while time.monotonic() - self._heard < WATCHDOG:
            now = time.monotonic()
            ready = [sub for sub in self._follows if self._credit[sub] > 0]
            waits = [self._follows[sub].due - now for sub in ready]
            try:
                message = self._inbox.get(timeout=max(0.001, min([*waits, 1.0])))
            except queue.Empty:
                pass
            else:
                self._take(*message)
            now = time.monotonic()
            for sub, follow in list(self._follows.items()):
                if self._credit[sub] > 0 and follow.due <= now:
                    follow.turn(now)
        os._exit(0)

    def _take(self, header: Header, body: bytes) -> None:
        op, args, number = str(header.get("op")), header.get("a", {}), header.get("id")
        if op == "ping":
            self._wire.send({"id": number, "ok": True, "r": time.time()})
        elif op == "follow":
            self._follow(int(header["id"]), args)
        elif op == "taken":
            if args["sub"] in self._credit:
                self._credit[args["sub"]] += 1
        elif op == "unfollow":
            follow = self._follows.pop(args["sub"], None)
            self._credit.pop(args["sub"], None)
            if follow is not None:
                follow.close()
        else:
            self._threads.submit(self._answer, number, op, args, body)

    def _follow(self, sub: int, options: Mapping[str, Any]) -> None:
        def emit(header: Header, text: bytes) -> None:
            self._credit[sub] -= 1
            self._wire.send(dict(header, sub=sub), text)

        self._credit[sub] = CREDIT
        self._follows[sub] = Follow(options, emit)
        self._wire.send({"id": sub, "ok": True, "r": None})

    def _answer(self, number: int | None, op: str, args: dict[str, Any], body: bytes) -> None:
        try:
            if op == "launch":
                args["zip_path"] = self._zip
            if op not in OPERATIONS:
                raise Refused("unknown", f"this agent knows no operation {op!r}")
            value, data = OPERATIONS[op](**args)
        except Refused as refused:
            error = {"kind": refused.kind, "err": str(refused), "mend": refused.mend}
            self._wire.send(dict(error, id=number, ok=False))
        except Exception as problem:
            traceback.print_exc()
            text = f"{type(problem).__name__}: {problem}"
            self._wire.send({"id": number, "ok": False, "kind": "error", "err": text, "mend": ""})
        else:
            self._wire.send({"id": number, "ok": True, "r": value}, data)


def _user() -> str:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return str(os.getuid())


def serve(source: BinaryIO, nonce: str, zip_path: str) -> None:
    """Talk over ``source`` and what is stdout now; returns never."""
    sink = os.dup(1)
    os.dup2(2, 1)  # whatever prints by accident must not reach the wire
    agent = Agent(Wire(source, sink), zip_path)
    agent.hello(nonce)
    threading.Thread(target=agent.listen, daemon=True).start()
    agent.loop()
