"""The identity of a question: ``<id>:<hash>``, or ``<hash>`` where the set has no id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

ID_COLUMNS = (
    "id",
    "uuid",
    "prompt_id",
    "conversation_id",
    "question_id",
    "data_id",
    "sample_id",
)
"""Columns that may hold the set's own id; the first that holds one counts."""


def own_id(row: Mapping[str, Any]) -> int | str | None:
    """The set's own id: a whole number or text that is not empty; ``None`` for all else.

    Null, empty text, booleans and floats (which have lost digits, or came from a table that
    turned missing ids into NaN) are no identity.
    """
    for name in ID_COLUMNS:
        value = row.get(name)
        if isinstance(value, (int, str)) and not isinstance(value, bool) and value != "":
            return value
    return None


def key_of(messages: Sequence[Mapping[str, str]], own: int | str | None = None) -> str:
    """The key of a question: a function of its messages and its own id, and of nothing else.

    It does not depend on row order, sampling or other rows, so a resumed run finds its answers
    again after the set was shuffled, filtered or extended. ``7`` and ``"7"`` give one key, since
    tools that copy a set change the one into the other; ``"007"`` is another. The id is
    percent-encoded to ``[A-Za-z0-9._-]``, so the first colon ends it.
    """
    if own is None:
        return _hash(messages)
    # quote never encodes the tilde, whatever ``safe`` says.
    name = quote(str(own), safe="-._", errors="surrogatepass").replace("~", "%7E")
    return f"{name}:{_hash(messages)}"


def _hash(messages: Sequence[Mapping[str, str]]) -> str:
    """16 hex digits of SHA-256 over roles and contents.

    Line ends and trailing white space are normalised, because editors and exports change them
    and no answer hangs on them. Nothing else is: another case, another Unicode form or another
    indent is another prompt to the model, with other tokens.
    """
    turns = [[turn["role"], turn["content"].replace("\r\n", "\n").rstrip()] for turn in messages]
    return hashlib.sha256(json.dumps(turns).encode()).hexdigest()[:16]
