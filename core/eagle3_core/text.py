"""Text from models, logs, hosts and files, made fit for a terminal."""

from __future__ import annotations

_CONTROLS = [*range(0x20), 0x7F, *range(0x80, 0xA0)]
_BIDI = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SURROGATES = range(0xD800, 0xE000)


def _visible(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_TABLE = {code: _visible(code) for code in (*_CONTROLS, *_BIDI, *_SURROGATES)}
del _TABLE[ord("\n")], _TABLE[ord("\t")]


def printable(text: str) -> str:
    """``text`` with everything that could command a terminal made visible instead.

    C0 controls but newline and tab, and DEL, become Unicode control pictures (``\\u241b`` for
    escape); C1 controls, bidi embeddings, overrides and isolates, and lone surrogates become
    escapes such as ``\\x9b`` and ``\\u202e``. All else stays as it is. For display only: what is
    saved is saved unchanged.
    """
    return text.translate(_TABLE)
