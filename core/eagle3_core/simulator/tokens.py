"""A toy tokenizer: reversible, some four characters a token, with Kimi's special tokens.

Its vocabulary is what one regular expression can match, so it needs no file. Any text comes back
exactly from its tokens; characters outside the vocabulary are spelled one byte a token, so that a
cut can fall inside a character as it does with real tokenizers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from string import ascii_lowercase, ascii_uppercase, digits, punctuation

SPECIAL = {
    "[BOS]": 163584,
    "[EOS]": 163585,
    "<|im_end|>": 163586,
    "<|im_user|>": 163587,
    "<|im_assistant|>": 163588,
    "<|im_system|>": 163594,
    "<|im_middle|>": 163601,
    "<think>": 163606,
    "</think>": 163607,
}

IM_END = SPECIAL["<|im_end|>"]
THINK = SPECIAL["<think>"]
THINK_END = SPECIAL["</think>"]

_PIECE = re.compile(
    "|".join(map(re.escape, SPECIAL))
    + r"| ?[A-Z][a-z]{0,2}| ?[a-z]{1,3}|[0-9]{1,3}|\n\n| [!-/:-@\[-`{-~]|(?s:.)"
)


def _words() -> Iterator[str]:
    for space in ("", " "):
        for length in (1, 2, 3):
            for letters in product(ascii_lowercase, repeat=length):
                yield space + "".join(letters)
            for first, *rest in product(ascii_uppercase, *[ascii_lowercase] * (length - 1)):
                yield space + first + "".join(rest)
    for length in (1, 2, 3):
        for number in product(digits, repeat=length):
            yield "".join(number)
    for mark in punctuation:
        yield " " + mark
    yield "\n\n"


@cache
def _vocabulary() -> tuple[dict[str, int], list[bytes]]:
    pieces = [bytes([value]) for value in range(256)]
    ids = {chr(value): value for value in range(128)}
    for word in _words():
        if word not in ids:
            ids[word] = len(pieces)
            pieces.append(word.encode())
    return ids | SPECIAL, pieces


def encode(text: str) -> list[int]:
    """Token ids of ``text``; names of special tokens become those tokens."""
    ids, _ = _vocabulary()
    tokens: list[int] = []
    for piece in _PIECE.findall(text):
        known = ids.get(piece)
        if known is None:
            tokens.extend(piece.encode())
        else:
            tokens.append(known)
    return tokens


_NAMES = {token: name.encode() for name, token in SPECIAL.items()}


def token_bytes(token: int) -> bytes:
    """What one token spells: UTF-8, perhaps a part of a character; the name of a special token.

    Raises:
        KeyError: for an id that is in no vocabulary.
    """
    _, pieces = _vocabulary()
    return pieces[token] if 0 <= token < len(pieces) else _NAMES[token]


def decode(tokens: Iterable[int]) -> str:
    """The text of ``tokens``, special tokens by their names. Raises ``KeyError``."""
    return b"".join(map(token_bytes, tokens)).decode(errors="replace")
