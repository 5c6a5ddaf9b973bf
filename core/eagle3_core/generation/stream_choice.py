"""Streams or whole answers: streams show life, whole answers spare a fast server."""

from __future__ import annotations

FAST_TOKENS_S = 5000.0
"""Above this a server loses more to one-token chunks than a stream is worth: a vLLM 0.24 gave
22,400 tokens/s to 1,024 whole requests and 10,300 to the same ones streamed."""


class StreamChoice:
    """``on`` and ``off`` are the user's; ``auto`` follows the measured rate, with a margin."""

    def __init__(self, setting: str) -> None:
        self._auto = setting == "auto"
        self.streamed = setting != "off"

    @property
    def word(self) -> str:
        """For the status and the screens."""
        choice = "on" if self.streamed else "off"
        return f"auto: {choice}" if self._auto else choice

    def look(self, tokens_s: float | None) -> str:
        """Decide again at the measured tokens/s; what to log, or nothing when nothing changed."""
        if not self._auto or tokens_s is None:
            return ""
        if self.streamed and tokens_s > FAST_TOKENS_S:
            self.streamed = False
            return f"stream auto: {tokens_s:,.0f} tokens/s, asking for whole answers from now on"
        if not self.streamed and tokens_s < FAST_TOKENS_S / 2:
            self.streamed = True
            return f"stream auto: {tokens_s:,.0f} tokens/s, asking for streams from now on"
        return ""
