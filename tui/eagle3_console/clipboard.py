"""Text for the terminal's clipboard, as long as terminals take it."""

from __future__ import annotations

import base64

OSC52_LIMIT = 74_994
"""Bytes of base64 that terminals are known to accept in one copy."""


def fits(text: str) -> bool:
    """Whether a terminal will take ``text`` into its clipboard in one go."""
    return len(base64.b64encode(text.encode(errors="replace"))) <= OSC52_LIMIT
