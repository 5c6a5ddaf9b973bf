"""Every row form, every turn rule, every reason to skip."""

import pytest

from eagle3_core.samples.conversation import question
from eagle3_core.samples.skips import Reason, Skipped


def turn(role, content):
    return {"role": role, "content": content}


def said(speaker, value):
    return {"from": speaker, "value": value}


ASKED = (turn("user", "Q?"),)
FORMS = {
    "sharegpt": {"conversations": [said("human", "Q?"), said("gpt", "A.")]},
    "perfectblend": {"conversations": [said("human", "Q?"), said("gpt", "A.")], "source": "x"},
    "roles in conversations": {"conversations": [turn("user", "Q?"), turn("assistant", "A.")]},
    "messages": {"messages": [turn("user", "Q?"), turn("assistant", "A.")]},
    "ultrachat": {"prompt": "P?", "prompt_id": "f", "messages": [turn("user", "Q?")]},
    "magpie": {"uuid": "u", "instruction": "I?", "conversations": [said("human", "Q?")]},
    "magpie without turns": {"uuid": "u", "instruction": "Q?", "response": "A."},
    "lmsys": {"conversation_id": "c", "conversation": [turn("user", "Q?")]},
    "nemotron": {"input": [turn("user", "Q?")], "output": "A."},
    "instruction, blank input": {"instruction": "Q?", "input": " ", "output": "A."},
    "prompt": {"prompt": "Q?"},
    "prompt as turns": {"prompt": [turn("user", "Q?")]},
    "question": {"question": "Q?", "answer": "A."},
    "input": {"input": "Q?"},
    "null before the real one": {"messages": None, "prompt": "Q?"},
    "parts": {"messages": [turn("user", [{"type": "text", "text": "Q?"}])]},
    "null content beside value": {"messages": [{"from": "human", "value": "Q?", "content": None}]},
    "blank system column": {"system": " ", "prompt": "Q?"},
    "null media column": {"image": None, "images": [], "prompt": "Q?"},
}


@pytest.mark.parametrize("row", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("turns", ["first", "all-user"])
def test_form(row, turns):
    assert question(row, turns) == ASKED


@pytest.mark.parametrize(
    ("speaker", "role"),
    [
        ("human", "user"),
        ("user", "user"),
        ("prompter", "user"),
        (" User ", "user"),
        ("gpt", "assistant"),
        ("assistant", "assistant"),
        ("chatgpt", "assistant"),
        ("bing", "assistant"),
        ("bard", "assistant"),
        ("model", "assistant"),
        ("system", "system"),
    ],
)
def test_role_spelling(speaker, role):
    row = {"conversations": [said("human", "a"), said(speaker, "b"), said("human", "c")]}
    assert question(row, "all-user") == (turn("user", "a"), turn(role, "b"), turn("user", "c"))


def test_alpaca_joins_instruction_and_input_by_a_blank_line():
    row = {"instruction": "Translate.", "input": "Bonjour", "output": "Hello"}
    assert question(row) == (turn("user", "Translate.\n\nBonjour"),)


def test_system_column_comes_first():
    row = {"system": "Be brief.", "conversations": [said("human", "Q?"), said("gpt", "A.")]}
    assert question(row) == (turn("system", "Be brief."), *ASKED)


def test_text_parts_are_joined_by_newlines():
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert question({"prompt": [turn("user", parts)]}) == (turn("user", "one\ntwo"),)


def test_content_is_sent_exactly_as_it_is():
    text = "  indented\r\nＦｕｌｌ e\u0301 \u2028 \x00 end \n"
    assert question({"prompt": text}) == (turn("user", text),)


LONG = [
    turn("system", "S"),
    turn("user", "a"),
    turn("user", "b"),
    turn("assistant", "C"),
    turn("user", "d"),
    turn("assistant", "E"),
]


def test_first_asks_up_to_the_first_answer_with_user_turns_apart():
    assert question({"messages": LONG}) == tuple(LONG[:3])


def test_all_user_asks_the_last_question_after_the_sets_own_answers():
    assert question({"messages": LONG}, "all-user") == tuple(LONG[:5])


def test_a_system_turn_behind_the_question_is_not_sent():
    messages = [turn("user", "Q?"), turn("system", "late"), turn("assistant", "A.")]
    assert question({"messages": messages}) == ASKED


def test_what_is_not_sent_is_not_judged():
    later = [turn("assistant", "A."), turn("tool", "{}"), turn("narrator", "…"), 7]
    assert question({"messages": [turn("user", "Q?"), *later]}) == ASKED


IMAGE = {"type": "image_url", "image_url": {"url": "x.png"}}
SKIPS = {
    "no columns": ({}, Reason.NO_COLUMN, ""),
    "other columns": ({"text": "Q?", "answer": "A."}, Reason.NO_COLUMN, ""),
    "row is text": ("Q?", Reason.WRONG_TYPE, "row is 'Q?'"),
    "row is null": (None, Reason.WRONG_TYPE, "row is None"),
    "messages is text": ({"messages": "Q?"}, Reason.WRONG_TYPE, "messages is 'Q?'"),
    "prompt is a number": ({"prompt": 7}, Reason.WRONG_TYPE, "prompt is 7"),
    "turn is text": ({"messages": ["Q?"], "prompt": "P"}, Reason.WRONG_TYPE, "turn is 'Q?'"),
    "turn among turns": (
        {"messages": ["Q?", turn("user", "b")]},
        Reason.WRONG_TYPE,
        "turn is 'Q?'",
    ),
    "content is a number": ({"messages": [turn("user", 7)]}, Reason.WRONG_TYPE, "content is 7"),
    "content is null": ({"messages": [turn("user", None)]}, Reason.WRONG_TYPE, "content is None"),
    "part is text": ({"messages": [turn("user", ["Q?"])]}, Reason.WRONG_TYPE, "part is 'Q?'"),
    "text of a part": (
        {"messages": [turn("user", [{"type": "text"}])]},
        Reason.WRONG_TYPE,
        "text is None",
    ),
    "all null": ({"messages": None, "prompt": None}, Reason.EMPTY, ""),
    "no turns": ({"conversations": []}, Reason.EMPTY, ""),
    "assistant first": (
        {"conversations": [said("gpt", "A."), said("human", "Q?")]},
        Reason.ASSISTANT_FIRST,
        "",
    ),
    "assistant after system": (
        {"messages": [turn("system", "S"), turn("assistant", "A."), turn("user", "Q?")]},
        Reason.ASSISTANT_FIRST,
        "",
    ),
    "system alone": ({"conversations": [said("system", "S")]}, Reason.NO_USER, ""),
    "empty": ({"prompt": ""}, Reason.EMPTY_QUESTION, ""),
    "blank": ({"conversations": [said("human", " \n\u3000")]}, Reason.EMPTY_QUESTION, ""),
    "blank after text": (
        {"messages": [turn("user", "a"), turn("user", "")]},
        Reason.EMPTY_QUESTION,
        "",
    ),
    "unknown role": ({"messages": [turn("narrator", "x")]}, Reason.UNKNOWN_ROLE, "'narrator'"),
    "role before the question": (
        {"messages": [turn("narrator", "x"), turn("user", "Q?")]},
        Reason.UNKNOWN_ROLE,
        "'narrator'",
    ),
    "role is null": ({"messages": [{"content": "x"}]}, Reason.UNKNOWN_ROLE, "None"),
    "role with controls": (
        {"messages": [turn("\x1b[2J", "x"), turn("user", "Q?")]},
        Reason.UNKNOWN_ROLE,
        r"'\x1b[2J'",
    ),
    "tool turn": (
        {"messages": [turn("user", "a"), turn("tool", "{}"), turn("user", "b")]},
        Reason.TOOL_TURNS,
        "",
    ),
    "observation": (
        {"conversations": [said("observation", "x"), said("human", "Q?")]},
        Reason.TOOL_TURNS,
        "",
    ),
    "image part": (
        {"messages": [turn("user", [{"type": "text", "text": "Q?"}, IMAGE])]},
        Reason.MEDIA,
        "'image_url'",
    ),
    "image column": ({"image": "x.jpg", "prompt": "<image> Q?"}, Reason.MEDIA, ""),
}


@pytest.mark.parametrize(("row", "reason", "detail"), SKIPS.values(), ids=SKIPS.keys())
def test_skip(row, reason, detail):
    skipped = question(row)
    assert isinstance(skipped, Skipped)
    assert skipped.reason is reason
    if detail:
        assert skipped.detail == detail


def test_a_tool_call_in_the_history_is_a_tool_turn():
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    row = {"messages": [turn("user", "a"), call, turn("user", "b")]}
    assert question(row, "all-user") == Skipped(Reason.TOOL_TURNS)
    assert question(row, "first") == (turn("user", "a"),)


def test_details_are_short():
    skipped = question({"messages": [turn("user", 10**500)]})
    assert isinstance(skipped, Skipped)
    assert len(skipped.detail) < 60
