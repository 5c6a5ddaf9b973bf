"""The reasoning parser: tokens to pieces of reasoning and content."""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from eagle3_core.simulator.tokens import IM_END, THINK_END, token_bytes

Piece = tuple[str, str]
"""``("reasoning", text)`` or ``("content", text)``."""


class Reader:
    """Splits the tokens of one answer. As in vLLM, white space at the end of the reasoning waits
    until more reasoning comes, and is lost when none does.

    Args:
        reasoning: the answer begins inside the reasoning, and is to be split at ``</think>``.
    """

    def __init__(self, *, reasoning: bool) -> None:
        self.where = "reasoning" if reasoning else "content"
        self.reasoning_tokens = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._space = ""

    def feed(self, tokens: Iterable[int], *, final: bool = False) -> list[Piece]:
        """Pieces that can be shown now, none of them empty; with ``final`` all that is left."""
        pieces: list[Piece] = []
        data = bytearray()
        for token in tokens:
            if token == THINK_END and self.where == "reasoning":
                self._say(pieces, bytes(data), final=True)
                data.clear()
                self.where = "content"
            elif token != IM_END:
                data += token_bytes(token)
                self.reasoning_tokens += self.where == "reasoning"
        self._say(pieces, bytes(data), final=final)
        return pieces

    def _say(self, pieces: list[Piece], data: bytes, *, final: bool) -> None:
        text = self._decoder.decode(data, final)
        if self.where == "reasoning":
            text = self._space + text
            shown = text.rstrip()
            self._space = "" if final else text[len(shown) :]
            text = shown
        if text:
            pieces.append((self.where, text))
