"""What a screen shows, as plain values: one snapshot is one picture of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class LinkState(str, Enum):
    """How we stand with the host."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    LOST = "lost"
    FAILED = "failed"
    """Will not be tried again without the user: refused key, unknown host, no Python."""


@dataclass(frozen=True)
class Link:
    state: LinkState
    since: float
    """Epoch seconds on this machine."""
    detail: str = ""
    """Why it was lost or failed, with the mend; the host's name and Python when connected."""
    retry_at: float | None = None


class ProcessState(str, Enum):
    """What the generator's process is, proved by pid + start time + boot id."""

    NONE = "none"
    RUNNING = "running"
    DRAINING = "draining"
    EXITED = "exited"
    KILLED = "killed"
    GONE = "gone"
    """The host was rebooted since."""
    REUSED = "reused"
    LEFTOVERS = "leftovers"
    FAILED = "failed"
    """It could not be started."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Process:
    state: ProcessState
    pid: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    """Name without SIG, e.g. ``KILL``."""
    started_at: float | None = None
    detail: str = ""

    @property
    def alive(self) -> bool:
        return self.state in (ProcessState.RUNNING, ProcessState.DRAINING)


@dataclass(frozen=True)
class Stray:
    """A process that writes the journal and is none of the run."""

    pid: int
    user: str
    command: str
    path: str
    """The name under which it has the file open: it may have been renamed or deleted."""


@dataclass(frozen=True)
class Progress:
    """The generator's own numbers: done + kept + failed + in flight + pending = samples."""

    samples: int = 0
    done: int = 0
    kept: int = 0
    failed: int = 0
    in_flight: int = 0
    pending: int = 0
    kept_by_state: dict[str, int] = field(default_factory=dict)
    attempts_by_state: dict[str, int] = field(default_factory=dict)
    """Failed attempts, retried ones included, by state."""
    timeouts_by_clock: dict[str, int] = field(default_factory=dict)
    timeouts_by_why: dict[str, int] = field(default_factory=dict)
    """``queued``, ``slow``, ``looping``, ``silent``."""
    completion_tokens: int = 0
    elapsed_s: float = 0.0
    eta_s: float | None = None
    phase: str = ""
    """``starting``, ``running``, ``paused``, ``draining``, ``finished``, ``stopped``, ``failed``."""
    message: str = ""
    concurrency: int = 0
    concurrency_word: str = ""
    """``128``, or ``auto: 96``."""
    stream: str = ""

    @property
    def timeouts(self) -> int:
        return sum(self.timeouts_by_clock.values())

    @property
    def errors(self) -> int:
        return sum(self.attempts_by_state.values())


@dataclass(frozen=True)
class Rates:
    """Over the last minute; ``None`` while there is nothing to measure."""

    requests_s: float | None = None
    tokens_s: float | None = None
    error_share: float | None = None
    """Failed attempts among all attempts that ended, 0 to 1."""


@dataclass(frozen=True)
class Server:
    """``/metrics`` of the inference server, summed over engines; ``None`` where it does not say."""

    running: int | None = None
    waiting: int | None = None
    kv_cache: float | None = None
    """0 to 1."""
    tokens_s: float | None = None
    preemptions: int | None = None
    error: str = ""


@dataclass(frozen=True)
class Point:
    """One moment of the throughput chart."""

    at: float
    """Epoch seconds on this machine."""
    requests_s: float
    tokens_s: float
    errors_s: float


@dataclass(frozen=True)
class Finding:
    """Something the operator should know."""

    name: str
    severity: str
    """``info``, ``warning`` or ``error``."""
    evidence: str
    cause: str
    mend: str


@dataclass(frozen=True)
class Snapshot:
    """One picture of a run."""

    at: float
    """Epoch seconds on this machine."""
    host: str
    run: str
    link: Link
    process: Process
    lines: int | None
    """Whole lines in ``raw_responses.jsonl``, counted on the host; ``None``: not known yet."""
    lines_detail: str
    """Why there are none, when there are none."""
    journal_bytes: int
    progress: Progress
    rates: Rates
    server: Server
    data_at: float | None
    """When the host last told us anything; its age is what every panel shows when the link is lost."""
    disk_free: int | None
    points: tuple[Point, ...] = ()
    findings: tuple[Finding, ...] = ()
    settings: dict[str, Any] | None = None
    strays: tuple[Stray, ...] = ()
