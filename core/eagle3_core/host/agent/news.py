"""Only what is new of an answer: a poll once a second must not send the same settings again."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Mapping

SMALL = 48
"""Characters of JSON that are not worth a tag."""


def news(parts: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """The parts that the other side does not hold, and the tags to know them by.

    A tag is made of the content alone, so nothing is remembered here and no order matters.

    Args:
        parts: the whole answer.
        known: tags of parts that the other side holds, by name.
    """
    sent, tags = {}, {}
    for name, value in parts.items():
        text = json.dumps(value, separators=(",", ":"), sort_keys=True)
        if len(text) > SMALL:
            tag = hashlib.blake2b(text.encode(), digest_size=9).hexdigest()
            if known.get(name) == tag:
                continue
            tags[name] = tag
        sent[name] = value
    return {"sent": sent, "tags": tags}
