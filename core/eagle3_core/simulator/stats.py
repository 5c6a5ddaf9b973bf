"""What the server has seen, for tests and for the demo."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Stats:
    """Counts of chat requests since the server started."""

    arrivals: int = 0
    """Valid requests, those that met a fault or a full queue included."""
    in_flight: int = 0
    peak: int = 0
    """Most in flight at once."""
    disconnects: int = 0
    """Clients that went away before their answer was ready."""
    refused: int = 0
    """Requests answered with 4xx for what they asked."""
    faults: Counter[str] = field(default_factory=Counter)
    """Faults played, by kind."""
    finished: Counter[str] = field(default_factory=Counter)
    """Requests that ran to the end of their script, by its end: ``stop``, ``length``, ``abort``,
    ``error``, ``cut``, ``reset``."""
    attempts: Counter[str] = field(default_factory=Counter)
    """Requests per question, which is the text of the last message of the user."""

    def arrive(self, question: str) -> None:
        """Count a request in; it is counted out by lowering ``in_flight``."""
        self.arrivals += 1
        self.attempts[question] += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
