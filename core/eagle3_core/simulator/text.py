"""What the simulated model says: sentences about the words of the question."""

from __future__ import annotations

import random
import re

from eagle3_core.simulator.tokens import encode

_THOUGHT_OPENINGS = (
    'The user asks about "{a}". Let me think about what they need.',
    'So the question is about "{a}" and "{b}". Let me take it apart.',
    'Let me read this again: it says "{a}", and then "{b}".',
)
_THOUGHTS = (
    " First I should be clear about what {a} means here.",
    " It could also be read as a question about {b}, but that seems less likely.",
    " If I start from {a}, then {b} follows almost by itself.",
    " Wait, I should look at {a} once more before I go on.",
    " Hmm, {a} and {b} are not the same thing, so I must keep them apart.",
    " There are {n} cases to look at, and only one of them is hard.",
    " Let me try an example with {n} and see whether it still holds.",
    " That works for {n}, so the general case should work as well.",
    " One more check: does this hold when there is no {a} at all?",
    " Yes, it does, since {b} does not depend on it.",
    " I could say more about {b}, but the user did not ask for it.",
    " A short list will be easier to read than one long paragraph.",
    "\n\nNow for the second part, {b}.",
    "\n\nActually, let me go back to {a} for a moment.",
)
_THOUGHT_ENDINGS = (
    " I think that is enough; I will answer now.",
    " Good, so the answer starts with {a} and ends with {b}.",
)
_ANSWER_OPENINGS = (
    "Here is how I would look at {a}.",
    "In short: it comes down to {a} and {b}.",
    "Good question. Let us begin with {a}.",
)
_ANSWERS = (
    " The main point is that {a} comes before {b}.",
    " In most cases {n} steps are enough.",
    " Keep {b} in mind, because it changes the result.",
    " You can check this yourself with a small example.",
    " For instance, take {n} of them and leave out {a}.",
    " Both ways lead to the same result, but the first is simpler.",
    " What matters is how {a} and {b} fit together.",
    "\n\n- Write down what you know about {a}.",
    "\n\n- Compare it with {b}.",
    "\n\nA word of care about {b}: it is easy to get wrong.",
)
_ANSWER_ENDINGS = (
    " That is all you need for {a}.",
    "\n\nTell me if you want more detail about {b}.",
)

_LONG_WORD = re.compile(r"\w{5,24}")
_WORD = re.compile(r"\w{1,24}")


def thoughts(question: str, tokens: float, luck: random.Random) -> list[int]:
    """Tokens of some reasoning about ``question``, about ``tokens`` of them."""
    return _speech(question, tokens, luck, _THOUGHT_OPENINGS, _THOUGHTS, _THOUGHT_ENDINGS)


def answer(question: str, tokens: float, luck: random.Random) -> list[int]:
    """Tokens of an answer to ``question``, about ``tokens`` of them, never less than a sentence."""
    return _speech(question, tokens, luck, _ANSWER_OPENINGS, _ANSWERS, _ANSWER_ENDINGS)


def loop(question: str, tokens: int, luck: random.Random) -> list[int]:
    """Exactly ``tokens`` tokens of one thought that comes again and again."""
    opening = encode(_fill(luck.choice(_THOUGHT_OPENINGS), question, luck))
    again = encode(_fill(luck.choice(_THOUGHTS), question, luck))
    return (opening + again * (tokens // len(again) + 1))[:tokens]


def _speech(
    question: str,
    tokens: float,
    luck: random.Random,
    openings: tuple[str, ...],
    sentences: tuple[str, ...],
    endings: tuple[str, ...],
) -> list[int]:
    said = encode(_fill(luck.choice(openings), question, luck))
    ending = encode(_fill(luck.choice(endings), question, luck))
    while len(said) + len(ending) < tokens:
        said += encode(_fill(luck.choice(sentences), question, luck))
    return said + ending if len(said) < tokens else said


def _fill(template: str, question: str, luck: random.Random) -> str:
    # Only whole words are quoted: a marker such as </think> in a question is never said back.
    words = _LONG_WORD.findall(question[:4000]) or _WORD.findall(question[:4000]) or ["this"]
    return template.format(a=luck.choice(words), b=luck.choice(words), n=luck.randint(2, 99))
