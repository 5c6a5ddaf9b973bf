"""The engine's numbers under vLLM's names, in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"

FINISHED_REASONS = ("stop", "length", "abort", "error", "repetition")

_FIRST_TOKEN_BOUNDS = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5),
    *(10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
_BETWEEN_TOKENS_BOUNDS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5),
    *(10.0, 20.0, 40.0, 80.0),
)
_REQUEST_BOUNDS = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)


class Histogram:
    """Counts of values up to each bound, their sum and number."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.total = 0.0

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def observe(self, value: float, times: int = 1) -> None:
        self.buckets[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def lines(self, name: str, labels: str) -> Iterable[str]:
        """Sample lines, cumulative as the format wants them. ``labels``: ``key="value",…``."""
        seen = 0
        bounds = [*map(str, self.bounds), "+Inf"]
        for bound, number in zip(bounds, self.buckets, strict=True):
            seen += number
            yield f'{name}_bucket{{{labels},le="{bound}"}} {float(seen)}'
        yield f"{name}_count{{{labels}}} {float(seen)}"
        yield f"{name}_sum{{{labels}}} {self.total}"


@dataclass
class Metrics:
    """Everything the engine counts since it started."""

    running: int = 0
    waiting: int = 0
    kv_cache_usage: float = 0.0
    """0 to 1."""
    prompt_tokens: int = 0
    generation_tokens: int = 0
    preemptions: int = 0
    rejections: int = 0
    finished: Counter[str] = field(default_factory=Counter)
    first_token_s: Histogram = field(default_factory=lambda: Histogram(_FIRST_TOKEN_BOUNDS))
    between_tokens_s: Histogram = field(default_factory=lambda: Histogram(_BETWEEN_TOKENS_BOUNDS))
    request_s: Histogram = field(default_factory=lambda: Histogram(_REQUEST_BOUNDS))
    queue_s: Histogram = field(default_factory=lambda: Histogram(_REQUEST_BOUNDS))


def render(metrics: Metrics, model: str) -> bytes:
    """The body of ``GET /metrics``."""
    name = model.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    labels = f'engine="0",model_name="{name}"'
    lines: list[str] = []

    def simple(kind: str, metric: str, text: str, samples: dict[str, float]) -> None:
        lines.append(f"# HELP vllm:{metric} {text}")
        lines.append(f"# TYPE vllm:{metric} {kind}")
        lines.extend(f"vllm:{metric}{{{key}}} {float(value)}" for key, value in samples.items())

    def gauge(metric: str, text: str, value: float) -> None:
        simple("gauge", metric, text, {labels: value})

    def counter(metric: str, text: str, value: float) -> None:
        simple("counter", metric + "_total", text, {labels: value})

    def histogram(metric: str, text: str, values: Histogram) -> None:
        simple("histogram", metric, text, {})
        lines.extend(values.lines("vllm:" + metric, labels))

    gauge("num_requests_running", "Requests that hold a slot.", metrics.running)
    gauge("num_requests_waiting", "Requests in the queue.", metrics.waiting)
    gauge("kv_cache_usage_perc", "Share of the KV cache in use, 0 to 1.", metrics.kv_cache_usage)
    counter("prefix_cache_queries", "Tokens looked up in the cache.", metrics.prompt_tokens)
    counter("prefix_cache_hits", "Tokens found in the cache.", 0)
    counter("num_preemptions", "Requests put back into the queue.", metrics.preemptions)
    counter("prompt_tokens", "Prompt tokens read.", metrics.prompt_tokens)
    counter("generation_tokens", "Tokens said.", metrics.generation_tokens)
    simple(
        "counter",
        "request_success_total",
        "Requests that ended, by reason.",
        {
            f'engine="0",finished_reason="{reason}",model_name="{name}"': metrics.finished[reason]
            for reason in FINISHED_REASONS
        },
    )
    simple(
        "counter",
        "admission_rejections_total",
        "Requests refused because the queue was full.",
        {f'model_name="{name}",reason="max_num_queued_reqs"': metrics.rejections},
    )
    histogram("time_to_first_token_seconds", "Arrival to first token.", metrics.first_token_s)
    histogram("inter_token_latency_seconds", "Between two tokens.", metrics.between_tokens_s)
    histogram("e2e_request_latency_seconds", "Arrival to last token.", metrics.request_s)
    histogram("request_queue_time_seconds", "Arrival to slot.", metrics.queue_s)
    return "\n".join(lines).encode() + b"\n"
