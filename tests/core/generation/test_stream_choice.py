"""Streams or whole answers, by setting or by the measured rate."""

from __future__ import annotations

import pytest

from eagle3_core.generation.stream_choice import FAST_TOKENS_S, StreamChoice


@pytest.mark.parametrize(("setting", "streamed"), [("on", True), ("off", False)])
def test_the_user_decides(setting: str, streamed: bool) -> None:
    choice = StreamChoice(setting)
    for rate in (None, 1.0, 1e6):
        assert choice.look(rate) == ""
        assert (choice.streamed, choice.word) == (streamed, setting)


def test_auto_follows_the_rate_with_a_margin() -> None:
    choice = StreamChoice("auto")
    assert choice.look(None) == ""
    assert choice.look(FAST_TOKENS_S) == ""
    assert (choice.streamed, choice.word) == (True, "auto: on")
    assert choice.look(FAST_TOKENS_S + 1) == (
        "stream auto: 5,001 tokens/s, asking for whole answers from now on"
    )
    assert (choice.streamed, choice.word) == (False, "auto: off")
    assert choice.look(FAST_TOKENS_S / 2) == "", "no wavering"
    assert choice.look(FAST_TOKENS_S / 2 - 1) == (
        "stream auto: 2,499 tokens/s, asking for streams from now on"
    )
    assert choice.streamed
