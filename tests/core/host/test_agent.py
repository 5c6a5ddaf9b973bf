"""The agent itself: when it ends, and what else it can tell."""

from __future__ import annotations

import asyncio
import errno
import http.server
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from eagle3_core.host import link as link_module
from eagle3_core.host.agent import facts, proc, stop
from eagle3_core.host.agent.members import Member
from eagle3_core.host.agent.wire import Refused
from eagle3_core.host.connect import connect
from eagle3_core.host.link import AgentError, Link, LinkLost
from eagle3_core.host.target import HostTarget

SERVE = """
import sys
from eagle3_core.host.agent import main
main.WATCHDOG = 0.5
main.serve(sys.stdin.buffer, "nonce", "core.zip")
"""


@pytest.fixture
async def link() -> AsyncIterator[Link]:
    made = await connect(HostTarget("local"))
    yield made
    await made.close()


def start_agent() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    agent = subprocess.Popen([sys.executable, "-c", SERVE], stdin=pipe, stdout=pipe, stderr=pipe)
    assert agent.stdout is not None
    assert b'"hello"' in agent.stdout.readline()
    return agent


def test_silence_ends_the_agent() -> None:
    """A dead line without a word from TCP: nobody closes its input."""
    with start_agent() as agent:
        began = time.monotonic()
        agent.wait(10)
        assert 0.3 < time.monotonic() - began < 5


def test_the_end_of_its_input_ends_the_agent_at_once() -> None:
    with start_agent() as agent:
        assert agent.stdin is not None
        began = time.monotonic()
        agent.stdin.close()
        agent.wait(10)
        assert time.monotonic() - began < 0.4


def test_a_broken_wire_ends_the_agent() -> None:
    with start_agent() as agent:
        assert agent.stdin is not None
        agent.stdin.write(b"what is this\n")
        agent.stdin.flush()
        assert agent.wait(10) == 0


async def test_a_host_that_stops_answering_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "PING_EVERY", 0.05)
    monkeypatch.setattr(link_module, "PING_TIMEOUT", 0.3)
    link = await connect(HostTarget("local"))
    try:
        await link.call("ping")
        os.kill(link.hello.pid, signal.SIGSTOP)
        hanging = asyncio.create_task(link.call("ping"))
        assert "has not answered" in await asyncio.wait_for(link.closed(), 5)
        with pytest.raises(LinkLost):
            await hanging
    finally:
        os.kill(link.hello.pid, signal.SIGCONT)
        await link.close()


async def test_an_agent_that_dies_is_a_reason(link: Link) -> None:
    os.kill(link.hello.pid, signal.SIGKILL)
    assert "agent ended (exit -9)" in await asyncio.wait_for(link.closed(), 5)
    with pytest.raises(LinkLost) as caught:
        await link.call("ping")
    assert "exit -9" in caught.value.reason


class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"# HELP a b\nvllm:running 3\nvllm:waiting 4\nprocess_cpu 5\n"
        self.send_response(200 if self.path == "/metrics" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass


async def test_metrics_are_fetched_there_and_filtered(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metrics) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        status, body = await link.call_bytes("http", url=f"{url}/metrics", keep=["vllm:"])
        assert (status, body) == (200, b"vllm:running 3\nvllm:waiting 4")
        assert (await link.call_bytes("http", url=f"{url}/other"))[0] == 404
        server.shutdown()
    with pytest.raises(AgentError) as caught:
        await link.call("http", url=f"{url}/metrics")
    assert caught.value.kind == "http"
    assert url in caught.value.message


def test_gpus_as_nvidia_smi_words_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused) as caught:
        facts.gpus()
    assert "not found" in str(caught.value)
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho '0, NVIDIA H200, 97, 120000, 143771, 61, 690.1'\n")
    tool.chmod(0o755)
    (gpu,) = facts.gpus()
    assert (gpu["name"], gpu["utilization.gpu"], gpu["memory.used"]) == (
        "NVIDIA H200",
        "97",
        "120000",
    )
    tool.write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    with pytest.raises(Refused) as caught:
        facts.gpus(timeout=0.2)
    assert "TimeoutExpired" in str(caught.value)


async def test_disk(link: Link, tmp_path: Path) -> None:
    found = await link.call("disk", paths=[str(tmp_path), "/no/such"])
    assert list(found) == [str(tmp_path)]
    assert 0 < found[str(tmp_path)]["free"] <= found[str(tmp_path)]["total"]


@pytest.mark.parametrize("pidfd", ["there", "forbidden", "absent"])
def test_a_signal_reaches_the_process_meant_and_no_other(
    pidfd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on kernels, in containers and with Pythons that have no pidfds."""
    if pidfd == "absent":
        monkeypatch.delattr(os, "pidfd_open")
    elif pidfd == "forbidden":

        def refuse(pid: int, flags: int = 0) -> int:
            raise OSError(errno.ENOSYS, "Function not implemented")

        monkeypatch.setattr(os, "pidfd_open", refuse)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        stat = proc.stat_of(child.pid)
        assert stat is not None
        assert not stop.send(Member(child.pid, stat.start + 1), signal.SIGTERM)
        assert child.poll() is None
        assert stop.send(Member(child.pid, stat.start), signal.SIGTERM)
        assert child.wait(5) == -signal.SIGTERM
        assert not stop.send(Member(child.pid, stat.start), signal.SIGTERM)
