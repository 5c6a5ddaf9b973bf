"""Markers that a text should not hold."""

from __future__ import annotations

import pytest

from eagle3_core.journal.markers import HALF, stray


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Use a < b and |x| > 1.", set()),
        ("Write `<think>b</think>` first.", set()),
        ("Thought.</think>Answer", {"</think>"}),
        ("a <THINK> b", {"<THINK>"}),
        ("</think>x<think>", {"</think>", "<think>"}),
        ("The end.<|im_end|>", {"<|im_end|>"}),
        ("<｜end▁of▁sentence｜>", {"<｜end▁of▁sentence｜>"}),
        ("[EOS] and [BOS]", {"[EOS]", "[BOS]"}),
        ("stopped at <|im_e", {HALF}),
        ("stopped at </thi", {HALF}),
        ("think>so it goes", {HALF}),
        ("x" * 9000 + "<|tool_call_end|>", {"<|tool_call_end|>"}),
        ("", set()),
    ],
)
def test_stray(text: str, found: set[str]) -> None:
    assert stray(text) == found
