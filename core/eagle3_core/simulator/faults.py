"""What can go wrong with a request, and which requests it happens to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from eagle3_core.errors import UserError


@dataclass(frozen=True)
class Kind:
    """One way to fail: what its parameter means, and what it is when none is given."""

    parameter: str
    default: float


_HALF = "tokens said before (default: half of the answer)"

KINDS = {
    "hang": Kind("tokens said before it falls silent", 0),
    "500": Kind("unused", 0),
    "429": Kind("seconds in Retry-After", 1),
    "reset": Kind(_HALF, -1),
    "cut": Kind(_HALF, -1),
    "error_event": Kind(_HALF, -1),
    "abort": Kind(_HALF, -1),
    "slow_first_token": Kind("seconds until the first token", 30),
    "slow": Kind("tokens/s", 1),
    "truncate": Kind("max_tokens", 16),
    "no_reasoning": Kind("unused", 0),
    "loop": Kind("unused", 0),
}
"""``reset``: the connection is reset. ``cut``: a stream ends without a word, a whole answer in
mid-body. ``error_event``: the engine dies, told as an event of the stream or as a 500. ``abort``:
the answer ends early with ``finish_reason: abort``. ``no_reasoning``: the model does not think,
whatever the request says. ``loop``: it repeats itself until ``max_tokens``."""


@dataclass(frozen=True)
class Fault:
    """A kind of failure, the share of requests it happens to (0 to 1), and its parameter."""

    kind: str
    share: float
    parameter: float

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read ``KIND:SHARE[:PARAM]``. Raises ``UserError``."""
        kind, _, rest = text.partition(":")
        if kind not in KINDS:
            raise UserError(f"--fault {text} names no kind", "use one of " + ", ".join(KINDS))
        share, _, parameter = rest.partition(":")
        try:
            fault = cls(kind, float(share), float(parameter) if parameter else KINDS[kind].default)
        except ValueError:
            raise UserError(
                f"--fault {text} cannot be read", "write KIND:SHARE[:PARAM], e.g. hang:0.05"
            ) from None
        if not 0 <= fault.share <= 1:
            raise UserError(f"--fault {text} has a share of {share}", "give 0 to 1")
        if parameter and not 0 <= fault.parameter < float("inf"):
            raise UserError(f"--fault {text} has a parameter of {parameter}", "give 0 or more")
        return fault

    def tokens_before(self, length: int) -> int:
        """How many of ``length`` tokens are said before the fault strikes."""
        return max(1, length // 2) if self.parameter < 0 else min(int(self.parameter), length)


def pick(faults: Sequence[Fault], seed: int, number: int) -> Fault | None:
    """The fault of the ``number``-th request. A retry is another request and has its own luck."""
    luck = random.Random(f"{seed} {number}").random()
    for fault in faults:
        luck -= fault.share
        if luck < 0:
            return fault
    return None
