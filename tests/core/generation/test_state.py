"""Every state of an answer: which answer gives it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.generation.state import Judgement, judge
from eagle3_core.records import Answer, AnswerState

S = AnswerState


def said(content: str | None = None, finish: str | None = "stop", **fields: Any) -> Answer:
    return Answer(content=content, finish_reason=finish, **fields)


CALL = [{"id": "f:0", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]
HALF_CALL = [{"id": "f:0", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}]
SPENT = {"prompt_tokens": 30, "completion_tokens": 64}
MARKERS = "<|tool_calls_section_begin|><|tool_call_begin|>functions.ls:0<|tool_call_end|>"

Row = tuple[str, Answer, dict[str, Any], S, str | None, str | None, dict[str, Any]]

TABLE: list[Row] = [
    # Reasoning under either name, or both.
    ("old name", said("Nine.", reasoning_content="Sum."), {}, S.OK, "Sum.", "Nine.", {}),
    ("new name", said("Nine.", reasoning="Sum."), {}, S.OK, "Sum.", "Nine.", {}),
    ("both, equal", said("Nine.", reasoning="Sum.", reasoning_content="Sum."), {},
     S.OK, "Sum.", "Nine.", {}),
    ("both, one empty", said("Nine.", reasoning="", reasoning_content="Sum."), {},
     S.OK, "Sum.", "Nine.", {}),
    ("both, different", said("Nine.", reasoning="Sum.", reasoning_content="Add."), {},
     S.CONFLICT, None, "Nine.", {"reasoning": "Sum.", "reasoning_content": "Add."}),
    ("both, different, cut", said("Ni", None, reasoning="Sum.", reasoning_content="Add."), {},
     S.CUT, None, "Ni", {"reasoning": "Sum.", "reasoning_content": "Add."}),
    ("both, different, aborted", said("Ni", "abort", reasoning="Sum.", reasoning_content="Add."),
     {}, S.ABORTED, None, "Ni", {"reasoning": "Sum.", "reasoning_content": "Add."}),
    ("none, asked for", said("Nine.", reasoning="", reasoning_content=None), {},
     S.NO_REASONING, None, "Nine.", {}),
    ("blank, asked for", said("Nine.", reasoning="  \n"), {}, S.NO_REASONING, None, "Nine.", {}),
    ("none, not asked for", said("Nine."), {"thinking": False},
     S.OK_NON_THINKING, None, "Nine.", {}),
    ("some, not asked for", said("Nine.", reasoning="Sum."), {"thinking": False},
     S.OK, "Sum.", "Nine.", {"unasked_reasoning": True}),
    ("surrogates", said("Nine.", reasoning="Sum.", sanitised=True), {},
     S.OK, "Sum.", "Nine.", {"sanitised": True}),
    # The server's parser is off: tags in the text.
    ("tags in content", said("<think>Sum.</think>Nine."), {}, S.OK, "Sum.", "Nine.", {}),
    ("opened by the prompt", said("Sum.\n</think>\n\nNine."), {"prompt_opened": True},
     S.OK, "Sum.\n", "Nine.", {}),
    ("opened by the prompt, not known", said("Sum.</think>Nine."), {},
     S.OK, "Sum.", "Nine.", {}),
    ("opened twice", said("<think>\nSum.\n</think>\n\nNine."), {"prompt_opened": True},
     S.DOUBLE_OPEN, "Sum.\n", "Nine.", {}),
    ("never opened", said("Sum.</think>Nine."), {"prompt_opened": False},
     S.PROMPT_MISMATCH, "Sum.", "Nine.", {}),
    ("closed by the prompt", said("Nine."), {"prompt_opened": False, "thinking": False},
     S.OK_NON_THINKING, None, "Nine.", {}),
    ("nested tags", said("<think>One <think>two</think> three</think>Nine."), {},
     S.OK, "One <think>two</think> three", "Nine.", {}),
    ("tag quoted in the thought", said("<think>It ends at `</think>`. So.</think>Nine."), {},
     S.AMBIGUOUS, None, "<think>It ends at `</think>`. So.</think>Nine.", {}),
    ("tag quoted by the answer", said("Write `<think>` first.", reasoning="Sum."), {},
     S.OK, "Sum.", "Write `<think>` first.", {}),
    ("pair quoted by the answer", said("<think>a</think>Say: <think>b</think>"), {},
     S.OK, "a", "Say: <think>b</think>", {}),
    ("closed twice", said("<think>a</think></think>b"), {},
     S.AMBIGUOUS, None, "<think>a</think></think>b", {}),
    ("tags of another case", said("<THINK>a</THINK>b"), {},
     S.AMBIGUOUS, None, "<THINK>a</THINK>b", {}),
    ("split at the wrong tag", said(" ends it.</think>Nine.", reasoning="The tag"), {},
     S.AMBIGUOUS, "The tag", " ends it.</think>Nine.", {}),
    ("empty thought", said("<think></think>Nine."), {}, S.NO_REASONING, None, "Nine.", {}),
    # Cut by max_tokens, in all its shapes.
    ("cut: content null", said(None, "length", reasoning="First 2, 3"), {},
     S.TRUNCATED, "First 2, 3", None, {"cut_in": "reasoning"}),
    ("cut: content empty", said("", "length", reasoning_content="First 2, 3"), {},
     S.TRUNCATED, "First 2, 3", None, {"cut_in": "reasoning"}),
    ("cut: the thought in content", said("First 2, 3", "length"), {},
     S.TRUNCATED, "First 2, 3", None, {"cut_in": "reasoning"}),
    ("cut: no thinking asked for", said("First 2, 3", "length"), {"thinking": False},
     S.TRUNCATED, None, "First 2, 3", {"cut_in": "content"}),
    ("cut: an open tag", said("<think>First 2, 3", "length"), {},
     S.TRUNCATED, "First 2, 3", None, {"cut_in": "reasoning"}),
    ("cut: tags in content", said("<think>Sum.</think>Ni", "length"), {},
     S.TRUNCATED, "Sum.", "Ni", {"cut_in": "content"}),
    ("cut: empty thought", said("<think></think>Ni", "length"), {},
     S.TRUNCATED, None, "Ni", {"cut_in": "content"}),
    ("cut: in the answer", said("The primes are 2", "length", reasoning="List."), {},
     S.TRUNCATED, "List.", "The primes are 2", {"cut_in": "content"}),
    ("cut: nothing at all", said(None, "length"), {},
     S.TRUNCATED, None, None, {"cut_in": "reasoning"}),
    ("cut: half a tool call", said(None, "tool_calls", reasoning="List.", tool_calls=HALF_CALL,
                                   usage=SPENT), {"max_tokens": 64},
     S.TRUNCATED, "List.", None, {"cut_in": "reasoning"}),
    ("a word for the end that nobody knows", said("Ni", "repetition", reasoning="Sum."), {},
     S.TRUNCATED, "Sum.", "Ni", {"cut_in": "content"}),
    # Ended in order, but no answer.
    ("a whole tool call at the limit", said(None, "tool_calls", reasoning="List.",
                                            tool_calls=CALL, usage=SPENT), {"max_tokens": 64},
     S.TOOL_CALL, "List.", None, {}),
    ("a half tool call below the limit", said(None, "tool_calls", tool_calls=HALF_CALL,
                                              usage=SPENT), {"max_tokens": 99},
     S.TOOL_CALL, None, None, {}),
    ("a tool call that says stop", said("Wait.", tool_calls=CALL), {},
     S.TOOL_CALL, None, "Wait.", {}),
    ("a refusal", said(None, reasoning="Hm.", refusal="I won't."), {},
     S.REFUSAL, "Hm.", "I won't.", {}),
    ("filtered", said("Here", "content_filter", reasoning="Hm."), {},
     S.REFUSAL, "Hm.", "Here", {}),
    ("nothing", said(None), {}, S.EMPTY, None, None, {}),
    ("blanks", said(" \n"), {}, S.EMPTY, None, None, {}),
    ("nothing, not asked to think", said(""), {"thinking": False}, S.EMPTY, None, None, {}),
    ("only a thought", said(None, reasoning="Sum. Nine."), {},
     S.ANSWER_IN_REASONING, "Sum. Nine.", None, {}),
    ("a thought that never closes", said("<think>Sum. Nine."), {},
     S.ANSWER_IN_REASONING, "Sum. Nine.", None, {}),
    # Control markers, whole and in stumps.
    ("markers in the thought", said(None, reasoning_content="Look. " + MARKERS), {},
     S.SPECIAL_TEXT, "Look. " + MARKERS, None,
     {"special_text": {"reasoning": ["<|tool_call_begin|>", "<|tool_call_end|>",
                                     "<|tool_calls_section_begin|>"]}}),
    ("markers for an answer", said(MARKERS, reasoning="Look."), {},
     S.SPECIAL_TEXT, "Look.", MARKERS,
     {"special_text": {"content": ["<|tool_call_begin|>", "<|tool_call_end|>",
                                   "<|tool_calls_section_begin|>"]}}),
    ("markers quoted", said("<|im_end|> ends a turn.", reasoning="Markers."), {},
     S.SPECIAL_TEXT, "Markers.", "<|im_end|> ends a turn.",
     {"special_text": {"content": ["<|im_end|>"]}}),
    ("markers of DeepSeek", said("Nine.<｜end▁of▁sentence｜>", reasoning="Sum."), {},
     S.SPECIAL_TEXT, "Sum.", "Nine.<｜end▁of▁sentence｜>",
     {"special_text": {"content": ["<｜end▁of▁sentence｜>"]}}),
    ("no markers", said("a < b, |x| > 1, a <| b |> c.", reasoning="Maths."), {},
     S.OK, "Maths.", "a < b, |x| > 1, a <| b |> c.", {}),
    ("stump at the end", said("Nine.<|im_e", reasoning="Sum."), {},
     S.DAMAGED, "Sum.", "Nine.<|im_e", {}),
    ("stump of a tag at the end", said("Nine.", reasoning="Sum.</thin"), {},
     S.DAMAGED, "Sum.</thin", "Nine.", {}),
    ("stump at the start", said("think>Nine.", reasoning="Sum."), {},
     S.DAMAGED, "Sum.", "think>Nine.", {}),
    ("stump of a marker at the start", said("im_end|>Nine.", reasoning="Sum."), {},
     S.DAMAGED, "Sum.", "im_end|>Nine.", {}),
    # Not ended at all.
    ("no finish reason", said("Ni", None, reasoning="Sum."), {}, S.CUT, "Sum.", "Ni", {}),
    ("no finish reason, tags", said("<think>Sum", None), {}, S.CUT, "Sum", None, {}),
    ("aborted", said(None, "abort", reasoning="Sum"), {}, S.ABORTED, "Sum", None, {}),
    ("an error for an end", said("Ni", "error"), {}, S.SERVER_ERROR, None, "Ni", {}),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_table(row: Row) -> None:
    _, answer, how, state, reasoning, content, flags = row
    expected = Judgement(state, reasoning, content, flags)
    assert judge(answer, **({"thinking": True} | how)) == expected


ELSEWHERE = {S.TIMEOUT, S.STALLED, S.RATE_LIMITED, S.CONNECTION, S.REJECTED}
"""Failed attempts that brought no answer to judge: see the tests of failures and of the loop."""


def test_the_table_has_every_state_that_is_judged() -> None:
    assert {row[3] for row in TABLE} == set(AnswerState) - ELSEWHERE


_TEXTS = st.none() | st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "</THINK>",
            "<|im_end|>",
            "<|im",
            "im_end|>",
            "</thi",
            "think>",
            "word",
            " ",
            "\n",
            "�",
            "\x00",
            "[EOS]",
        ]
    )
).map("".join)
_ANSWERS = st.builds(
    Answer,
    reasoning=_TEXTS,
    reasoning_content=_TEXTS,
    content=_TEXTS,
    finish_reason=st.sampled_from(
        [None, "stop", "length", "tool_calls", "abort", "error", "content_filter", "", "odd"]
    ),
    usage=st.sampled_from([None, {}, {"completion_tokens": 64}, {"completion_tokens": None}]),
    tool_calls=st.sampled_from([None, [], [7], [None], [{"function": 7}], CALL, HALF_CALL]),
    refusal=st.sampled_from([None, "", "no"]),
    sanitised=st.booleans(),
)


@given(
    _ANSWERS,
    st.booleans(),
    st.sampled_from([None, 64]),
    st.sampled_from([None, True, False]),
)
def test_what_always_holds(
    answer: Answer, thinking: bool, limit: int | None, opened: bool | None
) -> None:
    found = judge(answer, thinking=thinking, max_tokens=limit, prompt_opened=opened)
    for text in (found.reasoning, found.content):
        assert text is None or text.strip(), "blank text is no text"
    group = found.state.group
    assert (group == "retryable") == (answer.finish_reason in (None, "", "abort", "error"))
    if found.state is S.OK:
        assert found.reasoning
        assert found.content
    if found.state is S.OK_NON_THINKING:
        assert found.content
        assert not found.reasoning
        assert not thinking
    if group == "done":
        assert answer.finish_reason == "stop"
        assert not answer.tool_calls
        for text in (found.reasoning, found.content):
            assert "<|im_end|>" not in (text or "")
    if found.state is S.TRUNCATED:
        assert found.flags["cut_in"] == ("content" if found.content else "reasoning")


def test_a_parser_that_drops_the_reasoning_leaves_an_answer_without_it() -> None:
    """The prompt opened the block, the ids hold its end, the text holds neither tag nor thought."""
    dropped = Answer(content="Four.", finish_reason="stop")
    found = judge(dropped, thinking=True, prompt_opened=True)
    assert (found.state, found.reasoning, found.content) == (S.NO_REASONING, None, "Four.")
