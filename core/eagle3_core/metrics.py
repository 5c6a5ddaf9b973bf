"""``/metrics`` of an inference server: Prometheus text to the few numbers that explain a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SAMPLE = re.compile(
    r"""([a-zA-Z_:][\w:]*)(?![\w:])[ \t]*       # name
    (?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?      # labels: a brace in quotes ends nothing
    [ \t]*([+-]?[\w.][\w.+-]*)(?:\s|$)        # value; a time or an exemplar may follow
    """,
    re.VERBOSE,
)

_SUMMED = {
    "running": ("vllm:num_requests_running", "sglang:num_running_reqs"),
    "waiting": ("vllm:num_requests_waiting", "sglang:num_queue_reqs"),
    "generation_tokens": ("vllm:generation_tokens_total", "sglang:generation_tokens_total"),
    "preemptions": ("vllm:num_preemptions_total", "vllm:num_preemptions"),
}
_AVERAGED = {
    "kv_cache": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"),
}

NAMES = tuple(name for names in (*_SUMMED.values(), *_AVERAGED.values()) for name in names)
"""Every metric that is read, for a host that filters before it sends."""

_MOST = 1e18
"""No server counts as far: what is more is no number."""


@dataclass(frozen=True)
class ServerNumbers:
    """Sums over the engines of one server (``kv_cache``: their mean, 0 to 1); ``None``: not said."""

    running: float | None = None
    waiting: float | None = None
    generation_tokens: float | None = None
    preemptions: float | None = None
    kv_cache: float | None = None


def parse(text: str) -> ServerNumbers:
    """Read a page of Prometheus text; lines that are none are passed over."""
    found: dict[str, list[float]] = {}
    for line in text.split("\n"):
        match = _SAMPLE.match(line)
        if match and match[1] in NAMES:
            value = _number(match[2])
            if value is not None:
                found.setdefault(match[1], []).append(value)
    summed = {field: _first(found, names) for field, names in _SUMMED.items()}
    averaged = {field: _first(found, names) for field, names in _AVERAGED.items()}
    return ServerNumbers(
        **{field: sum(values) for field, values in summed.items() if values},
        **{field: sum(values) / len(values) for field, values in averaged.items() if values},
    )


def _number(text: str) -> float | None:
    """A count that somebody could have counted; NaN, Inf and words say nothing."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < _MOST else None


def add(numbers: Iterable[ServerNumbers]) -> ServerNumbers:
    """Several servers as one."""
    rows = list(numbers)

    def total(field: str) -> float | None:
        values: list[float] = [v for row in rows if (v := getattr(row, field)) is not None]
        if not values:
            return None
        return sum(values) / (len(values) if field in _AVERAGED else 1)

    return ServerNumbers(**{field: total(field) for field in (*_SUMMED, *_AVERAGED)})


def _first(found: dict[str, list[float]], names: tuple[str, ...]) -> list[float]:
    return next((found[name] for name in names if name in found), [])
