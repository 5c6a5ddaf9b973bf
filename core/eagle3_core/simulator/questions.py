"""A prompt set for the demo: 2,000 different questions, made, not downloaded."""

from __future__ import annotations

import random
from pathlib import Path

from eagle3_core import codec

_SUMS = (
    "A train leaves at {a}:15 and takes {b} minutes. When does it arrive?",
    "What is {a} times {b}, and how do you check it in your head?",
    "A tank holds {b} litres and loses {a} percent a day. What is left after three days?",
    "How many primes lie between {a} and {b}?",
    "Write {b} in base {a} and explain each step.",
)
_TASKS = (
    "Explain {topic} to a {reader} in {n} sentences.",
    "What is a common mistake with {topic}, and how would you teach a {reader} to avoid it?",
    "Compare {topic} with something a {reader} sees every day.",
    "List {n} facts about {topic} that surprise a {reader}.",
    "Write a short dialogue in which a {reader} asks about {topic}.",
)
_TOPICS = (
    "photosynthesis", "binary search", "compound interest", "the water cycle", "plate tectonics",
    "recursion", "vaccines", "the French Revolution", "black holes", "sourdough", "supply and demand",
    "the Doppler effect", "hash tables", "sonnets", "tides", "garbage collection", "DNA", "chess openings",
    "public-key cryptography", "the nitrogen cycle", "regular expressions", "inflation", "glaciers",
    "speculative decoding", "continuous batching", "attention", "monsoons", "bridges", "fermentation",
)  # fmt: skip
_READERS = (
    "ten-year-old",
    "nurse",
    "pilot",
    "poet",
    "first-year student",
    "carpenter",
    "judge",
    "chess player",
)


def questions(count: int, seed: int = 7) -> list[str]:
    """Different questions, the same for the same seed."""
    dice = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        if dice.random() < 0.35:
            text = dice.choice(_SUMS).format(a=dice.randint(3, 23), b=dice.randint(30, 480))
        else:
            text = dice.choice(_TASKS).format(
                topic=dice.choice(_TOPICS), reader=dice.choice(_READERS), n=dice.randint(2, 5)
            )
        made[text] = None
    return list(made)


def write_prompt_set(path: Path, count: int = 2000) -> None:
    """Write a prompt set in the ShareGPT form, one conversation a line."""
    with path.open("wb") as file:
        for number, text in enumerate(questions(count)):
            row = {"id": f"demo-{number:04}", "conversations": [{"from": "human", "value": text}]}
            file.write(codec.dumps(row) + b"\n")
