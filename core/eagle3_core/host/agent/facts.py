"""What else a host can tell: GPUs, disks, the metrics of a server that only it can reach."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
from typing import Sequence
from urllib.parse import urlsplit

from eagle3_core.host.agent.wire import Refused

GPU_FIELDS = (
    "index",
    "name",
    "utilization.gpu",
    "memory.used",
    "memory.total",
    "temperature.gpu",
    "power.draw",
)


def http_get(url: str, keep: Sequence[str] = (), timeout: float = 3.0) -> tuple[int, bytes]:
    """Status and body of a GET, past any proxy; a server beside the GPU is often bound to loopback.

    Args:
        url: http or https.
        keep: when given, only lines that start with one of these are returned.
        timeout: seconds.
    """
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request("GET", (parts.path or "/") + ("?" + parts.query if parts.query else ""))
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Refused("http", f"{url} does not answer ({reason})") from None
    finally:
        connection.close()
    if keep:
        heads = tuple(head.encode() for head in keep)
        body = b"\n".join(line for line in body.split(b"\n") if line.startswith(heads))
    return response.status, body


def gpus(timeout: float = 8.0) -> list[dict[str, str]]:
    """One row per GPU, as nvidia-smi words it (MiB, %, W, degrees Celsius). Raises ``Refused``."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        raise Refused("gpus", "nvidia-smi was not found")
    query = ["--query-gpu=" + ",".join(GPU_FIELDS), "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            [tool, *query],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused("gpus", f"nvidia-smi failed ({type(error).__name__})") from None
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        raise Refused("gpus", f"nvidia-smi failed: {output.strip()[:200]}")
    rows = ([cell.strip() for cell in line.split(",")] for line in output.splitlines())
    return [dict(zip(GPU_FIELDS, row)) for row in rows if len(row) == len(GPU_FIELDS)]


def disk(paths: Sequence[str]) -> dict[str, dict[str, int]]:
    """Free and total bytes by path; a path that cannot be asked is left out."""
    found = {}
    for path in paths:
        try:
            facts = os.statvfs(os.path.expanduser(path))
        except OSError:
            continue
        found[path] = {
            "free": facts.f_bavail * facts.f_frsize,
            "total": facts.f_blocks * facts.f_frsize,
        }
    return found
