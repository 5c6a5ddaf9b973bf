"""The toy tokenizer and the chat template."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.simulator.parser import Reader
from eagle3_core.simulator.template import prompt_tokens, question_of
from eagle3_core.simulator.tokens import SPECIAL, decode, encode, token_bytes

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
MARKED = st.lists(st.one_of(TEXT, st.sampled_from(list(SPECIAL)))).map("".join)


@given(MARKED)
def test_any_text_comes_back_from_its_tokens(text):
    tokens = encode(text)
    assert decode(tokens) == text
    assert all(0 <= token < 163584 or token in SPECIAL.values() for token in tokens)


def test_special_tokens_have_kimis_ids():
    assert encode("a<think>b</think><|im_end|>") == [97, 163606, 98, 163607, 163586]
    assert encode("[BOS][EOS]<|im_user|><|im_assistant|><|im_system|><|im_middle|>") == [
        *(163584, 163585, 163587, 163588, 163594, 163601)
    ]


def test_a_token_is_some_three_to_four_characters_of_prose():
    prose = "The harbour freezes over when the wind comes from the north for many days."
    assert 2.5 < len(prose) / len(encode(prose)) < 4.5


def test_an_unknown_id_is_an_error():
    with pytest.raises(KeyError):
        token_bytes(163000)


@pytest.mark.parametrize(
    ("thinking", "end"), [(True, [163601, 163606]), (False, [163601, 163606, 163607])]
)
def test_the_prompt_is_kimis_envelope(thinking, end):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Yes?"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Go"}, {"type": "text", "text": "!"}],
        },
    ]
    tokens = prompt_tokens(messages, thinking=thinking)
    assert tokens[-len(end) :] == end
    assert decode(tokens) == (
        "<|im_system|>system<|im_middle|>Be brief.<|im_end|>"
        "<|im_user|>user<|im_middle|>Hello<|im_end|>"
        "<|im_assistant|>assistant<|im_middle|><think></think>Yes?<|im_end|>"
        "<|im_user|>user<|im_middle|>Go!<|im_end|>"
        "<|im_assistant|>assistant<|im_middle|><think>" + "</think>" * (not thinking)
    )
    assert question_of(messages) == "Go!"


@given(TEXT, TEXT, st.lists(st.integers(1, 5), min_size=1))
def test_pieces_joined_are_the_same_however_the_tokens_arrive(reasoning, content, sizes):
    tokens = [*encode(reasoning), 163607, *encode(content), 163586]

    def joined(parts):
        reader = Reader(reasoning=True)
        said = {"reasoning": "", "content": ""}
        for part in [*parts, None]:
            for where, text in reader.feed(part or [], final=part is None):
                assert text
                said[where] += text
        return said

    parts, rest = [], tokens
    while rest:
        size = sizes[len(parts) % len(sizes)]
        parts.append(rest[:size])
        rest = rest[size:]
    plain = joined([tokens])
    assert joined(parts) == plain
    if "</think>" not in reasoning and "<|im_end|>" not in reasoning + content:
        assert plain == {"reasoning": reasoning.rstrip(), "content": content}
