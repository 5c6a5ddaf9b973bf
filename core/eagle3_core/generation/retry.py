"""When a failed sample is asked again, and when it is not."""

from __future__ import annotations

import random

from eagle3_core.generation.failure import Cause
from eagle3_core.records import RETRYABLE

_FIRST_S = 1.0
_LONGEST_S = 60.0
_LONGEST_RETRY_AFTER_S = 600.0
_MORE_FOR_FREE = 10


class Tries:
    """The tries of one sample.

    A try that the server never took (no connection) or sent away at the door (429, 503) costs nothing,
    up to ten times the cap: a full or restarting server is no fault of the sample's.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._paid = 0
        self._sent_away = 0
        self.number = 0

    def delay_after(self, cause: Cause) -> float | None:
        """Seconds to wait before the next try; ``None``: give up."""
        free = not cause.reached or cause.sent_away
        if cause.sent_away:
            self._sent_away += 1
        elif not free:
            self._paid += 1
        if cause.state not in RETRYABLE:
            return None
        if self._paid >= self._cap or self.number >= self._cap * _MORE_FOR_FREE:
            return None
        if cause.retry_after_s is not None:
            # Spread a little: everyone that was sent away would otherwise come back at once.
            return min(cause.retry_after_s, _LONGEST_RETRY_AFTER_S) + random.uniform(0.0, 1.0)
        step = min(_FIRST_S * 2.0 ** max(0, self._paid + self._sent_away - 1), _LONGEST_S)
        return step * random.uniform(0.5, 1.0)
