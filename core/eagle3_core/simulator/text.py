"""What the simulated model says: sentences about the words of the question."""

from __future__ import annotations

import random
import re

from eagle3_core.simulator.tokens import encode

_THOUGHT_OPENINGS = (
    'The user says "{quote}". Let me think about what they need.',
    'So the question is "{quote}", more or less. Let me take it apart.',
    'Let me read this again: "{quote}". It seems to be about {a} and {b}.',
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
    "\n\nNow for the second part, which is {b}.",
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

_WORD = re.compile(r"\w{1,24}")
_QUOTED_WORDS = 5


class Subject:
    """The words of a question, to be put into sentences.

    Only whole words are quoted: a marker such as ``</think>`` in a question is never said back.
    """

    def __init__(self, question: str, luck: random.Random) -> None:
        words = _WORD.findall(question[:4000]) or ["this"]
        start = luck.randrange(max(1, len(words) - _QUOTED_WORDS + 1))
        self._luck = luck
        self._quote = " ".join(words[start : start + _QUOTED_WORDS])
        telling = [word for word in dict.fromkeys(words) if len(word) > 4 and not word.istitle()]
        self._words = telling if len(telling) > 1 else [*words, "the rest"]

    def tokens(self, templates: tuple[str, ...]) -> list[int]:
        """One of the sentences, about this subject."""
        first, second = self._luck.sample(self._words, 2)
        number = self._luck.randint(2, 99)
        template = self._luck.choice(templates)
        return encode(template.format(quote=self._quote, a=first, b=second, n=number))


def thoughts(subject: Subject, tokens: float) -> list[int]:
    """Some reasoning, about ``tokens`` tokens of it, never less than a sentence."""
    return _speech(subject, tokens, _THOUGHT_OPENINGS, _THOUGHTS, _THOUGHT_ENDINGS)


def answer(subject: Subject, tokens: float) -> list[int]:
    """An answer, about ``tokens`` tokens of it, never less than a sentence."""
    return _speech(subject, tokens, _ANSWER_OPENINGS, _ANSWERS, _ANSWER_ENDINGS)


def loop(subject: Subject, tokens: int) -> list[int]:
    """Exactly ``tokens`` tokens of one thought that comes again and again."""
    opening, again = subject.tokens(_THOUGHT_OPENINGS), subject.tokens(_THOUGHTS)
    return (opening + again * (tokens // len(again) + 1))[:tokens]


def _speech(
    subject: Subject,
    tokens: float,
    openings: tuple[str, ...],
    sentences: tuple[str, ...],
    endings: tuple[str, ...],
) -> list[int]:
    said, ending = subject.tokens(openings), subject.tokens(endings)
    while len(said) + len(ending) < tokens:
        said += subject.tokens(sentences)
    return said + ending if len(said) < tokens else said
