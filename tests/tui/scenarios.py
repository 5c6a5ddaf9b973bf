"""Runs in every state, as a watch would tell of them; the clock stands still at ``NOW``."""

from __future__ import annotations

import math
from dataclasses import replace

from eagle3_core.monitor.events import LogLines, NewRecords, Picture, WatchEvent
from eagle3_core.monitor.snapshot import (
    Finding,
    Link,
    LinkState,
    Point,
    Process,
    ProcessState,
    Progress,
    Rates,
    Server,
    Snapshot,
)
from eagle3_core.records import AnswerState, Record

NOW = 1_760_000_000.0
RUN = "/data/eagle3/kimi-k2/perfectblend"
QUESTION = (
    "A tank holds 240 litres. Tap A fills it in 6 hours, tap B empties it in 9 hours. "
    "Both are opened when it is half full. How long until it is full?"
)
REASONING = (
    "The tank is half full, so 120 litres are missing.\n\n"
    "Tap A brings 240 / 6 = 40 litres an hour. Tap B takes 240 / 9 = 26.67 litres an hour.\n"
    "Together they bring 40 - 26.67 = 13.33 litres an hour.\n\n"
    "120 / 13.33 = 9, so nine hours. Let me check it another way: the net share per hour is "
    "1/6 - 1/9 = 1/18 of the tank, and half a tank is 9/18. Yes, nine hours."
)
CONTENT = (
    "**9 hours.**\n\n"
    "1. Tap A fills 1/6 of the tank an hour, tap B empties 1/9.\n"
    "2. Net: 1/6 − 1/9 = 1/18 of the tank an hour.\n"
    "3. Half a tank is missing: (1/2) ÷ (1/18) = 9.\n\n"
    "So the tank is full after nine hours."
)


def record(number: int = 0, **changes: object) -> Record:
    """A finished answer; ``number`` makes its key."""
    base = Record(
        key=f"pb-{17000 + number:06d}:4f1c9a{number:04x}",
        state=AnswerState.OK,
        sample_id=f"pb-{17000 + number:06d}",
        messages=({"role": "user", "content": QUESTION},),
        reasoning=REASONING,
        content=CONTENT,
        finish_reason="stop",
        usage={"prompt_tokens": 51, "completion_tokens": 1263 + number},
        model="moonshotai/Kimi-K2-Thinking",
        endpoint="http://127.0.0.1:8000/v1",
        attempt=1,
        started_at=f"2025-10-09T08:{number // 60 % 60:02d}:{number % 60:02d}Z",
        first_token_s=1.4,
        total_s=93.2,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def points(count: int = 120, *, dip: int = 0) -> tuple[Point, ...]:
    """Throughput of the last minutes, one point every five seconds."""
    made = []
    for n in range(count):
        wave = 0.5 + 0.08 * math.sin(n / 9) + 0.03 * math.sin(n / 2)
        failing = dip and n > count - dip
        requests = wave * (0.35 if failing else 1)
        errors = 0.22 if failing else 0.0
        made.append(Point(NOW - 5 * (count - 1 - n), requests, requests * 1263, errors))
    return tuple(made)


LOG = (
    "INFO model moonshotai/Kimi-K2-Thinking at http://127.0.0.1:8000/v1, thinking on",
    "INFO 25,000 samples, 2,280 done already, concurrency 128, whole answers",
    "Progress: 2400/25000 (0 errors), 0.5 req/s, avg completion: 1258 tokens, elapsed: 5385s",
    "Progress: 2440/25000 (0 errors), 0.5 req/s, avg completion: 1259 tokens, elapsed: 5465s",
    "Progress: 2480/25000 (0 errors), 0.5 req/s, avg completion: 1261 tokens, elapsed: 5545s",
    "WARNING sample 17114: answer cut by max_tokens while thinking",
    "Progress: 2520/25000 (0 errors), 0.5 req/s, avg completion: 1262 tokens, elapsed: 5625s",
    "Progress: 2560/25000 (0 errors), 0.5 req/s, avg completion: 1263 tokens, elapsed: 5705s",
)

HEALTHY = Snapshot(
    at=NOW,
    host="gpu-07",
    run=RUN,
    link=Link(LinkState.CONNECTED, NOW - 5400, "gpu-07, Python 3.12.3"),
    process=Process(ProcessState.RUNNING, pid=41233, started_at=NOW - 5945),
    lines=2491,
    lines_detail="",
    journal_bytes=18_204_331,
    progress=Progress(
        samples=25_000,
        done=2_460,
        kept=31,
        failed=0,
        in_flight=128,
        pending=22_381,
        kept_by_state={"truncated": 31},
        completion_tokens=3_106_980,
        elapsed_s=5_945,
        eta_s=42_740,
        phase="running",
        concurrency=128,
        stream="off",
    ),
    rates=Rates(requests_s=0.52, tokens_s=657.0, error_share=0.0),
    server=Server(running=128, waiting=14, kv_cache=0.83, tokens_s=4_120.0, preemptions=0),
    data_at=NOW - 0.4,
    disk_free=812_000_000_000,
    points=points(),
)

TIMEOUTS = replace(
    HEALTHY,
    lines=2458,
    progress=replace(
        HEALTHY.progress,
        done=2_427,
        failed=40,
        pending=22_374,
        attempts_by_state={"timeout": 222},
        timeouts_by_clock={"total": 190, "first_token": 32},
    ),
    rates=Rates(requests_s=0.18, tokens_s=231.0, error_share=0.55),
    server=Server(running=128, waiting=391, kv_cache=0.998, tokens_s=2_050.0, preemptions=1204),
    points=points(dip=40),
    findings=(
        Finding(
            "time-outs climb",
            "error",
            "222 of 2,680 tries timed out, 190 on the total clock (1,800 s)",
            "The server queues: 391 waiting, KV cache full, 1,204 preemptions.",
            "restart with --concurrency 64, or raise --timeout above 1,800",
        ),
    ),
)

NO_REASONING = replace(
    HEALTHY,
    lines=10,
    journal_bytes=31_244,
    progress=Progress(
        samples=25_000,
        kept=10,
        in_flight=128,
        pending=24_862,
        kept_by_state={"no_reasoning": 10},
        completion_tokens=2_110,
        elapsed_s=41,
        phase="running",
        concurrency=128,
    ),
    rates=Rates(requests_s=0.24, tokens_s=51.0, error_share=0.0),
    points=points(8),
    findings=(
        Finding(
            "no reasoning",
            "error",
            "10 of the first 10 answers came without reasoning, though thinking is on",
            "The server runs without --reasoning-parser, or the template reads another switch.",
            "press k, start the server with --reasoning-parser kimi_k2, then s",
        ),
    ),
)

EMPTY = Snapshot(
    at=NOW,
    host="gpu-07",
    run=RUN,
    link=Link(LinkState.CONNECTED, NOW - 3, "gpu-07, Python 3.12.3"),
    process=Process(ProcessState.NONE),
    lines=0,
    lines_detail=f"no such directory {RUN}",
    journal_bytes=0,
    progress=Progress(),
    rates=Rates(),
    server=Server(),
    data_at=NOW - 0.2,
    disk_free=812_000_000_000,
)

CONNECTING = replace(
    EMPTY,
    link=Link(LinkState.CONNECTING, NOW - 1),
    process=Process(ProcessState.UNKNOWN),
    lines=None,
    lines_detail="",
    data_at=None,
)

LOST = replace(
    HEALTHY,
    link=Link(LinkState.LOST, NOW - 12, "connection reset by peer", retry_at=NOW + 4),
    data_at=NOW - 14,
)

FAILED = replace(
    CONNECTING,
    link=Link(
        LinkState.FAILED,
        NOW - 2,
        "the host key of gpu-07 is not the one in ~/.ssh/known_hosts: check with its owner, "
        "then ssh-keygen -R gpu-07",
    ),
)

FINISHED = replace(
    HEALTHY,
    process=Process(ProcessState.EXITED, pid=41233, exit_code=0),
    lines=25_000,
    journal_bytes=182_000_000,
    progress=replace(
        HEALTHY.progress,
        done=24_960,
        kept=40,
        in_flight=0,
        pending=0,
        kept_by_state={"truncated": 40},
        elapsed_s=48_600,
        eta_s=0,
        phase="finished",
    ),
    rates=Rates(),
    server=Server(running=0, waiting=0, kv_cache=0.0),
)

KILLED = replace(
    HEALTHY,
    process=Process(ProcessState.KILLED, pid=41233, signal="KILL", detail="ended by SIGKILL"),
    progress=replace(HEALTHY.progress, in_flight=0, pending=22_509, phase="stopped"),
    rates=Rates(),
    server=Server(running=0, waiting=0, kv_cache=0.0),
)

DRAINED = replace(
    KILLED,
    process=Process(ProcessState.EXITED, pid=41233, exit_code=0, detail="drained"),
)

SCENARIOS: dict[str, tuple[WatchEvent, ...]] = {
    "healthy": (Picture(HEALTHY), LogLines(LOG), NewRecords(tuple(record(n) for n in range(40)))),
    "empty": (Picture(EMPTY), LogLines((), note=f"missing: {RUN}/inference.log")),
    "connecting": (Picture(CONNECTING),),
    "lost": (Picture(LOST), LogLines(LOG), NewRecords((record(7),))),
    "failed": (Picture(FAILED),),
    "finished": (
        Picture(FINISHED),
        LogLines((*LOG, "INFO finished: 24,960 done, 40 kept, 0 failed")),
        NewRecords((record(9),)),
    ),
    "timeouts": (
        Picture(TIMEOUTS),
        LogLines((*LOG, *(f"ERROR sample {n}: Request timed out." for n in range(17004, 17030)))),
        NewRecords((record(3),)),
    ),
    "no-reasoning": (
        Picture(NO_REASONING),
        LogLines(LOG[:2]),
        NewRecords(
            tuple(
                record(n, state=AnswerState.NO_REASONING, reasoning=None, first_token_s=None)
                for n in range(10)
            )
        ),
    ),
    "killed": (Picture(KILLED), LogLines(LOG), NewRecords((record(5),))),
    "drained": (Picture(DRAINED), LogLines((*LOG, "INFO drained")), NewRecords((record(5),))),
}
