"""Markers left in a text: control tokens spelled out, think tags without their other half, stumps."""

from __future__ import annotations

from eagle3_core.generation.split import TAG
from eagle3_core.generation.state import SPECIAL, STUMP

HALF = "half a marker"


def stray(text: str) -> set[str]:
    """The markers that have no business in ``text``; think tags in pairs are quoted, and stay.

    The rules are those by which the generator judges an answer; a plain search for what every
    marker contains comes first, because nearly all texts have none.
    """
    found: set[str] = set()
    if "<" in text:
        if "k>" in text or "K>" in text:
            tags = [match.group() for match in TAG.finditer(text)]
            if tags and not _paired(tags):
                found.update(tags)
        if "<|" in text or "<｜" in text:
            found.update(SPECIAL.findall(text))
    if "OS]" in text:  # [BOS] and [EOS] in one search
        found.update(SPECIAL.findall(text))
    head = text[:48]
    if ("<" in text[-48:] or "|>" in head or "think>" in head) and STUMP.search(text):
        found.add(HALF)
    return found


def _paired(tags: list[str]) -> bool:
    depth = 0
    for tag in tags:
        depth += -1 if tag.startswith("</") else 1
        if depth < 0:
            return False
    return depth == 0
