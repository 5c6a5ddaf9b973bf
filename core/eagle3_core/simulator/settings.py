"""Every knob of the simulated server, checked with messages that name the flag."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from eagle3_core.errors import UserError
from eagle3_core.simulator.faults import Fault

REASONING_FIELDS = ("reasoning", "reasoning_content", "both", "none")


def _knob(help_text: str, default: Any, *, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"help": help_text, "choices": choices})


@dataclass(frozen=True)
class SimSettings:
    """What the server is and how it behaves. One field is one flag."""

    host: str = _knob("address to listen on", "127.0.0.1")
    port: int = _knob("port to listen on; 0 takes a free one", 0)
    model: str = _knob("name of the served model", "kimi-k2.5")
    api_key: str | None = _knob("key that /v1/* asks for (default: none)", None)
    max_num_seqs: int = _knob("requests that run at once; the others queue", 64)
    max_model_len: int = _knob("longest prompt and answer together, in tokens", 262_144)
    kv_cache_tokens: int = _knob(
        "tokens the KV cache holds before requests are preempted", 4_194_304
    )
    max_num_queued_reqs: int | None = _knob(
        "waiting requests above which new ones get 503 (default: no limit)", None
    )
    token_rate: float = _knob("tokens/s of one stream alone", 60.0)
    batch_cost: float = _knob(
        "how much longer a step takes for each further request, as a share of a step", 0.02
    )
    stream_cost: float = _knob(
        "microseconds by which a chunk of a stream holds up the engine's step", 10.0
    )
    prefill_rate: float = _knob("prompt tokens/s of the whole engine", 50_000.0)
    mean_tokens: float = _knob("mean length of an answer, reasoning included, in tokens", 1_200.0)
    chunk_tokens: int = _knob("tokens in a chunk of a stream, as vLLM's --stream-interval", 1)
    reasoning_field: str = _knob("where the reasoning goes", "reasoning", choices=REASONING_FIELDS)
    parser: str = _knob(
        "split the reasoning off; off leaves it in content with </think>",
        "on",
        choices=("on", "off"),
    )
    seed: int = _knob("seed of the answers and of the faults", 0)
    shutdown_timeout: float = _knob(
        "seconds that running requests get on SIGTERM before they are aborted", 0.0
    )
    faults: tuple[Fault, ...] = _knob("what goes wrong, and how often", ())

    def __post_init__(self) -> None:
        check(self)


def check(settings: SimSettings) -> None:
    """Raise ``UserError`` for the first value that cannot work."""
    for knob in dataclasses.fields(settings):
        choices = knob.metadata["choices"]
        value = getattr(settings, knob.name)
        if choices and value not in choices:
            raise UserError(f"{_flag(knob.name)} {value} is unknown", "use " + " or ".join(choices))
    for name in ("max_num_seqs", "max_model_len", "kv_cache_tokens", "chunk_tokens"):
        if getattr(settings, name) < 1:
            raise UserError(
                f"{_flag(name)} {getattr(settings, name)} is too small",
                "give a whole number from 1 on",
            )
    for name in ("token_rate", "prefill_rate", "mean_tokens"):
        if not getattr(settings, name) > 0:
            raise UserError(
                f"{_flag(name)} {getattr(settings, name)} is too small", "give a number above 0"
            )
    for name in ("batch_cost", "stream_cost", "shutdown_timeout", "max_num_queued_reqs"):
        value = getattr(settings, name)
        if value is not None and not value >= 0:
            raise UserError(f"{_flag(name)} {value} is too small", "give 0 or more")
    if not 0 <= settings.port <= 65_535:
        raise UserError(f"--port {settings.port} is no port", "give 0 to 65535")
    total = sum(fault.share for fault in settings.faults)
    if total > 1 + 1e-9:
        raise UserError(
            f"the shares of --fault add up to {total:g}",
            "lower them until they add up to at most 1",
        )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
