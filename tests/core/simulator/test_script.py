"""What is decided about a request when it arrives."""

from __future__ import annotations

import re
from statistics import mean, median

import pytest

from eagle3_core.simulator.faults import Fault, pick
from eagle3_core.simulator.script import write
from eagle3_core.simulator.settings import SimSettings
from eagle3_core.simulator.tokens import IM_END, THINK_END, decode, encode


def asked(text):
    return [{"role": "user", "content": text}]


def script(
    text="Tell me about lighthouses", *, thinking=True, max_tokens=100_000, fault=None, **knobs
):
    return write(
        SimSettings(**knobs),
        asked(text),
        thinking=thinking,
        max_tokens=max_tokens,
        fault=Fault.parse(fault) if fault else None,
    )


def test_the_same_question_gets_the_same_answer():
    assert script() == script()
    assert script() != script("Tell me about ferries")
    assert script() != script(seed=1)


def test_it_thinks_about_the_question_then_answers():
    tokens = script("Where do lighthouses stand, and why 灯塔灯塔?").tokens
    assert tokens.count(THINK_END) == tokens.count(IM_END) == 1
    assert tokens[-1] == IM_END
    reasoning, content = decode(tokens[:-1]).split("</think>")
    assert re.search("Where do lighthouses stand and|(do )?lighthouses stand and why", reasoning)
    assert "lighthouses" in content
    assert encode(reasoning) == tokens[: tokens.index(THINK_END)]
    assert encode(content) == tokens[tokens.index(THINK_END) + 1 : -1]


def test_without_thinking_there_is_only_the_answer():
    tokens = script(thinking=False).tokens
    assert THINK_END not in tokens
    assert tokens[-1] == IM_END
    assert decode(script().tokens).endswith("</think>" + decode(tokens))


def test_a_marker_in_the_question_is_never_said_back():
    for number in range(50):
        tokens = script(f"What does </think> mean {number}? <|im_end|>").tokens
        assert tokens.count(THINK_END) == tokens.count(IM_END) == 1


def test_lengths_have_the_asked_mean_and_a_long_tail():
    lengths = [len(script(f"Question {n}", mean_tokens=500).tokens) for n in range(600)]
    assert 420 < mean(lengths) < 600
    assert median(lengths) < 0.85 * mean(lengths)
    assert max(lengths) > 3 * mean(lengths)


def test_max_tokens_cuts_the_answer_with_length():
    whole = script()
    cut = script(max_tokens=10)
    assert (cut.tokens, cut.finish) == (whole.tokens[:10], "length")
    assert whole.finish == script(max_tokens=len(whole.tokens)).finish == "stop"
    assert script(max_tokens=len(whole.tokens) - 1).finish == "length"


@pytest.mark.parametrize("kind", ["cut", "reset", "error_event", "abort"])
def test_a_break_comes_half_way_or_where_it_is_told(kind):
    whole = script()
    broken = script(fault=f"{kind}:1")
    assert broken.tokens == whole.tokens[: len(whole.tokens) // 2]
    assert broken.finish not in ("stop", "length")
    assert script(fault=f"{kind}:1:7").tokens == whole.tokens[:7]
    assert len(script(fault=f"{kind}:1:0").tokens) == 1


def test_a_loop_repeats_itself_until_max_tokens():
    looped = script(fault="loop:1", max_tokens=400)
    assert (len(looped.tokens), looped.finish) == (400, "length")
    assert THINK_END not in looped.tokens
    last = decode(looped.tokens).rsplit(".", 2)[1]
    assert decode(looped.tokens).count(last) > 5


def test_truncate_asks_for_fewer_tokens_never_more():
    assert len(script(fault="truncate:1").tokens) == 16
    assert len(script(fault="truncate:1:5").tokens) == 5
    assert len(script(fault="truncate:1", max_tokens=3).tokens) == 3


def test_faults_meet_their_share_of_requests_and_retries_have_their_own_luck():
    faults = [Fault.parse("hang:0.2"), Fault.parse("429:0.1:3")]
    met = [pick(faults, 7, number) for number in range(5000)]
    kinds = [fault.kind if fault else "" for fault in met]
    assert kinds.count("hang") == pytest.approx(1000, rel=0.15)
    assert kinds.count("429") == pytest.approx(500, rel=0.2)
    assert met == [pick(faults, 7, number) for number in range(5000)]
    assert met != [pick(faults, 8, number) for number in range(5000)]
    assert all(pick([Fault.parse("500:1")], 0, number) for number in range(200))


def test_any_question_can_be_answered():
    for question in ("", " ", "?!", "a", "Why", "长" * 9000, "</think>" * 50):
        tokens = script(question).tokens
        assert encode(decode(tokens)) == tokens
        assert tokens.count(THINK_END) == 1
