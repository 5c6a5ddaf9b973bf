"""Reasoning and content told apart from text alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.generation.split import Split, split, unopened_close
from eagle3_core.records import AnswerState

AMBIGUOUS, DOUBLE, MISMATCH = (
    AnswerState.AMBIGUOUS,
    AnswerState.DOUBLE_OPEN,
    AnswerState.PROMPT_MISMATCH,
)

TABLE: list[tuple[str, bool | None, Split]] = [
    # The prompt opened the block.
    ("Sum.\n</think>\n\nNine.", True, Split("Sum.\n", "Nine.")),
    ("Sum.</think>Nine.", True, Split("Sum.", "Nine.")),
    ("Sum.</think>Nine.", None, Split("Sum.", "Nine.")),
    ("Sum.", True, Split(None, "Sum.")),
    ("\nSum.", True, Split(None, "\nSum.")),
    ("\nSum <think>x</think>", True, Split("\nSum <think>x</think>", None, closed=False)),
    ("\nSum.</think>Nine.", True, Split("\nSum.", "Nine.")),
    ("</think>Nine.", True, Split("", "Nine.")),
    ("A <think>b</think> c</think>Nine.", True, Split("A <think>b</think> c", "Nine.")),
    # The answer opens it.
    ("<think>Sum.</think>Nine.", False, Split("Sum.", "Nine.")),
    ("<think>Sum.</think>Nine.", None, Split("Sum.", "Nine.")),
    (" \n<think>\nSum.\n</think>\r\n\t Nine.", None, Split("Sum.\n", "Nine.")),
    ("<think>Sum.", None, Split("Sum.", None, closed=False)),
    ("<think></think>Nine.", None, Split("", "Nine.")),
    ("<think>A <think>b</think> c</think>Nine.", None, Split("A <think>b</think> c", "Nine.")),
    ("<think>a</think>Say <think>b</think>", None, Split("a", "Say <think>b</think>")),
    # Nobody does.
    ("Nine.", None, Split(None, "Nine.")),
    ("Nine.", False, Split(None, "Nine.")),
    ("", None, Split(None, "")),
    # Both do, or neither has.
    ("<think>\nSum.\n</think>\n\nNine.", True, Split("Sum.\n", "Nine.", DOUBLE)),
    ("Sum.</think>Nine.", False, Split("Sum.", "Nine.", MISMATCH)),
    # Text alone cannot tell.
    ("<think>a `</think>` b</think>c", None, Split(None, "<think>a `</think>` b</think>c", AMBIGUOUS)),
    ("<think>a</think></think>b", None, Split(None, "<think>a</think></think>b", AMBIGUOUS)),
    ("a</think>b</think>c", None, Split(None, "a</think>b</think>c", AMBIGUOUS)),
    ("<THINK>a</THINK>b", None, Split(None, "<THINK>a</THINK>b", AMBIGUOUS)),
    ("Write <think> first.", None, Split(None, "Write <think> first.", AMBIGUOUS)),
    ("a</think>b <think>c", None, Split(None, "a</think>b <think>c", AMBIGUOUS)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "opened", "expected"), TABLE)
def test_table(text: str, opened: bool | None, expected: Split) -> None:
    assert split(text, prompt_opened=opened) == expected


_TEXTS = st.lists(
    st.sampled_from(["<think>", "</think>", "<Think>", "a", "b c", "\n", " ", "<", "think>"])
).map("".join)
_OPENED = st.sampled_from([True, False, None])


@given(_TEXTS, _OPENED)
def test_no_word_is_lost(text: str, opened: bool | None) -> None:
    found = split(text, prompt_opened=opened)
    if found.fault is AMBIGUOUS:
        assert (found.reasoning, found.content) == (None, text), "not touched at all"
        return
    both = (found.reasoning or "") + (found.content or "")
    tag = re.compile(r"</?think>")
    assert re.sub(r"\s", "", tag.sub("", both)) == re.sub(r"\s", "", tag.sub("", text))
    # What is left out is at most one opening and one closing tag, and blanks around them.
    assert text.count("<think>") - both.count("<think>") in (0, 1)
    assert text.count("</think>") - both.count("</think>") in (0, 1)


@given(_TEXTS, _OPENED)
def test_parts_are_pieces_of_the_text(text: str, opened: bool | None) -> None:
    found = split(text, prompt_opened=opened)
    assert (found.reasoning or "") in text
    assert text.endswith(found.content or "")
    if not found.closed:
        assert found.content is None


@pytest.mark.parametrize(
    ("text", "unopened"),
    [
        ("plain", False),
        ("a <think>b</think> c", False),
        ("a <think> b", False),
        ("a </think> b", True),
        ("<think></think></think>", True),
        ("a </THINK> b", True),
    ],
)
def test_a_closing_tag_without_an_opening_one(text: str, unopened: bool) -> None:
    assert unopened_close(text) is unopened
