"""Answers of real servers (vLLM 0.32 and llama.cpp), read and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eagle3_core.generation.assemble import Assembler, whole
from eagle3_core.generation.state import judge
from eagle3_core.records import Answer, AnswerState

CAPTURES = Path(__file__).parent / "data" / "captures"
S = AnswerState


def read(*pieces: bytes) -> Answer:
    assembler = Assembler()
    for piece in pieces:
        assembler.feed(piece)
    assembler.end()
    return assembler.answer()


def _bare(answer: Answer) -> dict[str, Any]:
    """What a stream and a whole answer must agree on; an empty text is as good as none."""
    return {
        "reasoning": answer.reasoning or None,
        "reasoning_content": answer.reasoning_content or None,
        "content": answer.content or None,
        "finish_reason": answer.finish_reason,
        "ids": (answer.prompt_token_ids, answer.token_ids),
    }


PAIRS = [
    ("vllm-tiny-kimi_k2", "chat_stream_usage_ids.sse", "chat_ids.json"),
    ("vllm-tiny-no-parser", "chat_stream_usage.sse", "chat.json"),
    ("vllm-tiny-qwen3", "chat_stream_usage.sse", "chat.json"),
    ("vllm-random-kimi_k2", "chat_stream_usage.sse", "chat.json"),
    ("vllm-random-kimi_k2", "chat_stream_cut_in_reasoning.sse", "chat_cut_in_reasoning.json"),
    ("llamacpp-tiny", "chat_stream_usage.sse", "chat.json"),
    ("vllm-tiny-kimi_k2", "chat_stream_cut_in_reasoning.sse", "chat_cut_in_reasoning.json"),
    ("vllm-tiny-no-parser", "chat_stream_cut_in_reasoning.sse", "chat_cut_in_reasoning.json"),
    ("vllm-tiny-qwen3", "chat_stream_cut_in_reasoning.sse", "chat_cut_in_reasoning.json"),
    ("llamacpp-tiny", "chat_stream_cut_in_reasoning.sse", "chat_cut_in_reasoning.json"),
]


@pytest.mark.parametrize(("server", "stream", "plain"), PAIRS)
@pytest.mark.parametrize("size", [1 << 20, 1000, 7])
def test_real_streams_give_the_real_whole_answers(
    server: str, stream: str, plain: str, size: int
) -> None:
    data = (CAPTURES / server / stream).read_bytes()
    answer = read(*(data[at : at + size] for at in range(0, len(data), size)))
    other = whole((CAPTURES / server / plain).read_bytes())
    assert _bare(answer) == _bare(other)
    assert answer.finish_reason in ("stop", "length")
    assert other.usage
    if b'"usage":{' in data:  # two were asked without it
        assert answer.usage
        for name in ("prompt_tokens", "completion_tokens"):
            assert answer.usage[name] == other.usage[name]
    else:
        assert answer.usage is None


def test_a_stream_without_usage_says_nothing_of_it() -> None:
    directory = CAPTURES / "vllm-tiny-kimi_k2"
    answer = read((directory / "chat_stream.sse").read_bytes())
    assert answer.usage is None
    assert answer.reasoning == whole((directory / "chat.json").read_bytes()).reasoning


TOM = (
    "Tom starts with 12.\n12 + 9: 2 + 9 = 11, write 1 carry 1; 1 + 0 + 1 = 2, write 2. "
    "So 12 + 9 = 21."
)
CUT_TOM = "Tom starts with 12.\n12"
REAL = [
    ("vllm-tiny-kimi_k2/chat.json", True, S.OK, TOM, "The answer is 21."),
    ("vllm-tiny-kimi_k2/chat_cut_in_reasoning.json", True, S.TRUNCATED, CUT_TOM, None),
    ("vllm-tiny-kimi_k2/chat_thinking_false.json", False, S.OK_NON_THINKING, None,
     "The answer is 10."),
    ("vllm-tiny-kimi_k2/chat_thinking_false.json", True, S.NO_REASONING, None,
     "The answer is 10."),
    # A stop string met in the thought: finish_reason is stop, and there is no answer.
    ("vllm-tiny-kimi_k2/chat_stop.json", True, S.ANSWER_IN_REASONING,
     "Tom starts with 12.\n12 + 9: 2 + 9 = 11, write 1", None),
    # enable_thinking switches off Kimi's parser alone: the thought comes as content, and is cut.
    ("vllm-tiny-kimi_k2/chat_enable_thinking_false.json", True, S.TRUNCATED,
     "Tom starts with 12.\n12 + 9: 2 + 9 = 11, write 1 carry 1; 1 + 0 + 1 =", None),
    ("vllm-tiny-kimi_k2/chat_enable_thinking_false.json", False, S.TRUNCATED, None,
     "Tom starts with 12.\n12 + 9: 2 + 9 = 11, write 1 carry 1; 1 + 0 + 1 ="),
    ("vllm-tiny-qwen3/chat.json", True, S.OK, TOM, "The answer is 21."),
    ("vllm-tiny-qwen3/chat_cut_in_reasoning.json", True, S.TRUNCATED, CUT_TOM, None),
    # Qwen's parser waits for a closing tag that never comes when the prompt has it.
    ("vllm-tiny-qwen3/chat_thinking_false.json", False, S.ANSWER_IN_REASONING,
     "The answer is 12.", None),
    ("vllm-tiny-qwen3/chat_enable_thinking_false.json", True, S.OK, TOM, "The answer is 21."),
    ("vllm-tiny-no-parser/chat.json", True, S.OK, TOM, "The answer is 21."),
    ("vllm-tiny-no-parser/chat_cut_in_reasoning.json", True, S.TRUNCATED, CUT_TOM, None),
    ("vllm-tiny-no-parser/chat_thinking_false.json", False, S.OK_NON_THINKING, None,
     "The answer is 12."),
    ("llamacpp-tiny/chat.json", True, S.OK, TOM, "The answer is 21."),
    ("llamacpp-tiny/chat_cut_in_reasoning.json", True, S.TRUNCATED, CUT_TOM, None),
    ("vllm-random-kimi_k2/chat_cut_in_reasoning.json", True, S.TRUNCATED, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "thinking", "state", "reasoning", "content"), REAL)
def test_real_answers(
    name: str, thinking: bool, state: S, reasoning: str | None, content: str | None
) -> None:
    found = judge(whole((CAPTURES / name).read_bytes()), thinking=thinking, max_tokens=400)
    assert (found.state, found.reasoning, found.content) == (state, reasoning, content)
    if state is S.TRUNCATED:
        assert found.flags["cut_in"] == ("content" if content else "reasoning")
