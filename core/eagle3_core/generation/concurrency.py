"""How many requests are in flight: fixed, turned while the run goes, or found by climbing."""

from __future__ import annotations

from dataclasses import dataclass

AUTO = "auto"
FIRST = 16
HIGHEST = 4096

SETTLE_S = 2.0
"""A new level is not judged before the batch has filled."""
MEASURE_S = 4.0
"""The least time over which a level's tokens/s are measured."""
LEAST_TOKENS = 400
HOLD_S = 60.0
"""After this long at the best level, the next higher one is tried again."""
GAIN = 1.05
"""A level must bring this much more tokens/s to be kept."""
QUEUE = 0.05
"""Share of the running requests that may wait at the server before we ask for less."""
SLOW_START = 2.5
"""First tokens this many times later than at the start are a queue that the server does not show."""


def setting(text: str) -> int | str:
    """A concurrency as people write it. Raises ``ValueError``: ``auto``, or 1 to ``HIGHEST``."""
    if text.strip() == AUTO:
        return AUTO
    number = int(text)
    if not 1 <= number <= HIGHEST:
        raise ValueError(f"{number} is not within 1 to {HIGHEST}")
    return number


@dataclass(frozen=True)
class Load:
    """What is known at one look; ``None`` where the server does not say."""

    now: float
    """Seconds of a steady clock."""
    in_flight: int
    tokens: float
    """Tokens generated so far: the server's counter where it can be read, else ours."""
    sent_away: int = 0
    """Answers 429 and 503 so far."""
    running: float | None = None
    waiting: float | None = None
    preemptions: float | None = None
    first_token_s: float | None = None
    """Typical time to the first token of late."""


class Concurrency:
    """The limit on requests in flight.

    Args:
        setting: a number, or ``auto``.
    """

    def __init__(self, setting: int | str) -> None:
        self._climber = _Climber() if setting == AUTO else None
        self._fixed = FIRST if isinstance(setting, str) else setting

    @property
    def limit(self) -> int:
        return self._climber.level if self._climber else self._fixed

    @property
    def word(self) -> str:
        """For the status and the screens."""
        return f"auto: {self.limit}" if self._climber else str(self.limit)

    def turn(self, setting: int | str) -> str:
        """Take a new setting; what to log, or nothing when it is the old one."""
        if setting == AUTO:
            if self._climber:
                return ""
            self._climber = _Climber(self._fixed)
            return f"concurrency: auto from now on, from {self.limit}"
        if not self._climber and setting == self._fixed:
            return ""
        self._climber, self._fixed = None, int(setting)
        return f"concurrency: {self._fixed} from now on"

    def look(self, load: Load) -> str:
        """Judge the level; what to log, or nothing when it stays."""
        return self._climber.look(load) if self._climber else ""


class _Climber:
    """Climbs while tokens/s still grow; backs off when the server queues, preempts or refuses."""

    def __init__(self, level: int = FIRST) -> None:
        self.level = level
        self._ramping = True
        self._best = (0.0, level)
        """Tokens/s and the level that gave them."""
        self._since: float | None = None
        self._tokens = 0.0
        self._sent_away = 0
        self._preemptions: float | None = None
        self._first_token_s: float | None = None
        self._hold_until = 0.0

    def look(self, load: Load) -> str:
        if self._since is None:
            self._measure_anew(load)
            return ""
        if trouble := self._trouble(load):
            return trouble
        if load.now < self._hold_until:
            return ""
        if load.now - self._since < SETTLE_S:
            self._tokens = load.tokens
            return ""
        spent = load.now - self._since - SETTLE_S
        grown = load.tokens - self._tokens
        if spent < MEASURE_S or (grown < LEAST_TOKENS and spent < 10 * MEASURE_S):
            return ""
        return self._judge(load, grown / spent)

    def _trouble(self, load: Load) -> str:
        away = load.sent_away - self._sent_away
        preempted = (load.preemptions or 0.0) - (self._preemptions or 0.0)
        if away > 0:
            lower = self._settled_batch(load) or int(self.level * 0.8)
            return self._back_off(load, lower, f"the server sent {away} requests away")
        if load.waiting and load.running and load.waiting > max(1.0, load.running * QUEUE):
            why = f"{load.waiting:.0f} requests wait at the server, it batches {load.running:.0f}"
            return self._back_off(load, int(load.running), why)
        if preempted > 0 and self._preemptions is not None:
            why = f"the server preempted {preempted:.0f} requests: its KV cache is full"
            return self._back_off(load, int(self.level * 0.9), why)
        if load.running is None and self._queued_unseen(load):
            why = f"first tokens now take {load.first_token_s:.1f} s: requests queue at the server"
            return self._back_off(load, int(self.level * 0.8), why)
        return ""

    def _settled_batch(self, load: Load) -> int | None:
        return int(load.running) if load.running and load.running < self.level else None

    def _queued_unseen(self, load: Load) -> bool:
        if load.first_token_s is None:
            return False
        if self._first_token_s is None:
            self._first_token_s = load.first_token_s
        return load.first_token_s > max(1.0, self._first_token_s * SLOW_START)

    def _back_off(self, load: Load, level: int, why: str) -> str:
        self._ramping = False
        before, self.level = self.level, max(1, min(level, self.level))
        self._best = (0.0, self.level)
        self._hold_until = load.now + HOLD_S
        self._measure_anew(load)
        # What was sent before the step down still waits: not a reason to step down again.
        self._since = load.now
        return f"concurrency auto: {before} → {self.level}, {why}" if self.level < before else ""

    def _judge(self, load: Load, rate: float) -> str:
        best_rate, best_level = self._best
        before = self.level
        if rate > best_rate * GAIN or self.level == best_level:
            self._best = (rate, self.level)
            self.level = min(HIGHEST, self.level * 2 if self._ramping else -(-self.level * 9 // 8))
            word = f"{rate:,.0f} tokens/s at {before}, trying more"
        else:
            self._ramping = False
            self.level = best_level
            self._hold_until = load.now + HOLD_S
            word = f"{rate:,.0f} tokens/s at {before} are no gain over {best_rate:,.0f} at {best_level}"
        self._measure_anew(load)
        return f"concurrency auto: {before} → {self.level}, {word}" if self.level != before else ""

    def _measure_anew(self, load: Load) -> None:
        self._since = load.now
        self._tokens = load.tokens
        self._sent_away = load.sent_away
        self._preemptions = load.preemptions
