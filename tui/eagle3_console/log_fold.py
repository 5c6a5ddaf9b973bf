"""One raw log line made into one row for the eye: bars folded, escapes shown, long lines cut."""

from __future__ import annotations

import re
from dataclasses import dataclass

from eagle3_core.text import printable

CUT_CELLS = 4_000
"""A row longer than this is cut, and says how much is missing."""

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_CURSOR_UP = re.compile(r"\x1b\[[0-9]*A")
_ERROR = re.compile(r"^\W*(ERROR|CRITICAL|FATAL)\b|\b(ERROR|Traceback \(most recent)\b|Error:")
_WARNING = re.compile(r"^\W*WARN(ING)?\b|\bWARN(ING)?\b")


@dataclass(frozen=True, slots=True)
class Row:
    """A line as it is shown."""

    text: str
    kind: str = "plain"
    """``plain``, ``error``, ``warning`` or ``note``: its tone and its glyph."""
    is_bar: bool = False
    """A state of a progress bar, which the next state overwrites."""
    overwrites: bool = False
    """Moves the cursor up first: takes the place of a bar above it."""

    @property
    def glyph(self) -> str:
        return {"error": "✖", "warning": "!", "note": "·"}.get(self.kind, " ")


def fold(line: str) -> Row:
    """The row of a raw line.

    Of the states that a carriage return overwrites only the last is kept; nested bars, which move
    the cursor up between their states, become one row. Colour codes are dropped, every other
    control character is shown in words.
    """
    line = line.removesuffix("\r")
    states = [part.rsplit("\r", 1)[-1].rstrip() for part in _CURSOR_UP.split(line)]
    text = _COLOUR.sub("", " · ".join(state for state in states if state))
    full = len(text)
    if full > CUT_CELLS:
        text = text[:CUT_CELLS]
    text = printable(text.expandtabs(4))
    if full > CUT_CELLS:
        text = f"{text} … {full - CUT_CELLS:,} more characters"
    kind = "plain"
    if _ERROR.search(text):
        kind = "error"
    elif _WARNING.search(text):
        kind = "warning"
    return Row(text, kind, is_bar=line.startswith("\r"), overwrites=len(states) > 1)


def note(text: str) -> Row:
    """A row of ours about the file itself."""
    return Row(printable(text), "note")
