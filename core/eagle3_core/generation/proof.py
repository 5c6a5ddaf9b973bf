"""One real request before the 25,000: it proves reasoning, token ids and the rate of a stream."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from eagle3_core import codec
from eagle3_core.generation.attempt import Attempt
from eagle3_core.generation.checks import REFUSE, WARN, Check, Proof
from eagle3_core.generation.client import Client, request_body
from eagle3_core.generation.endpoints import Endpoint
from eagle3_core.generation.state import judge
from eagle3_core.records import Sample
from eagle3_core.settings import RunSettings

LONGEST_TOKENS = 512
"""Enough to see reasoning begin, and often end; a full answer would keep the user waiting."""
PATIENCE_S = 300.0
_QUESTION = Sample(
    "preflight", ({"role": "user", "content": "What is 17 plus 25? Answer briefly."},)
)


async def prove(
    endpoint: Endpoint, settings: RunSettings, *, token_ids: bool
) -> tuple[Proof | None, Check | None]:
    """Ask one short question as the run would; the proof, or why there is none."""
    limit = min(settings.max_tokens, LONGEST_TOKENS)
    short = replace(settings, max_tokens=limit)
    body = request_body(short, _QUESTION, stream=settings.stream != "off", token_ids=token_ids)
    attempt = Attempt(_QUESTION, 1, endpoint, body, 0.0, settings.timeout)
    loop = asyncio.get_running_loop()
    try:
        answer = await asyncio.wait_for(attempt.task, min(settings.timeout, PATIENCE_S))
    except (asyncio.TimeoutError, TimeoutError):
        detail = f"no answer within {min(settings.timeout, PATIENCE_S):.0f} s"
        return None, Check("one request", REFUSE, detail, "look at the server, or raise --timeout")
    except Exception as error:
        cause = attempt.cause(error)
        if cause.sent_away:
            return None, Check("one request", WARN, f"the server is full ({cause.message})")
        return None, Check("one request", REFUSE, cause.message, "mend what the server says")
    total = loop.time() - attempt.started
    judgement = judge(answer, thinking=settings.thinking, max_tokens=limit)
    first = None if attempt.first_text is None else attempt.first_text - attempt.started
    proof = Proof(
        answer,
        judgement.state,
        judgement.reasoning,
        judgement.content,
        first,
        total,
        attempt.texts,
    )
    return proof, None


async def marker_ids(client: Client, model: str) -> tuple[int, int] | None:
    """The ids of ``<think>`` and ``</think>`` by the server's own tokenizer, if each is one token."""
    found = []
    for marker in ("<think>", "</think>"):
        body = {"model": model, "prompt": marker, "add_special_tokens": False}
        try:
            status, data = await asyncio.wait_for(client.post("/tokenize", body), 15.0)
            tokens = codec.loads(data)["tokens"] if status == 200 else []
        except Exception:  # llama.cpp and SGLang have no such page, or another
            return None
        if len(tokens) != 1 or not isinstance(tokens[0], int):
            return None
        found.append(tokens[0])
    return found[0], found[1]
