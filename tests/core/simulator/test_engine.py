"""Continuous batching in made-up time: the clock is what ``tick`` is told."""

from __future__ import annotations

import pytest

from eagle3_core.simulator.engine import Engine, Job, QueueFullError
from eagle3_core.simulator.script import Script
from eagle3_core.simulator.settings import SimSettings


def engine(**knobs):
    return Engine(
        SimSettings(**{"token_rate": 100.0, "prefill_rate": 1e9, "stream_cost": 0.0, **knobs})
    )


def job(tokens=1000, prompt=10, **pace):
    return Job(Script([1] * tokens, "stop", **pace), prompt, chunk_tokens=1)


def play(server, seconds, step=0.01):
    for _ in range(round(seconds / step)):
        server.tick(step)


@pytest.mark.parametrize(("batch", "rate"), [(1, 100), (11, 50), (31, 25)])
def test_the_rate_of_a_stream_falls_as_the_batch_grows(batch, rate):
    server = engine(batch_cost=0.1)
    jobs = [job() for _ in range(batch)]
    for one in jobs:
        server.submit(one)
    play(server, 4)
    for one in jobs:
        assert one.produced == pytest.approx(4 * rate, abs=2)
    assert server.metrics.generation_tokens == sum(one.produced for one in jobs)


def test_streams_hold_the_engine_up_and_whole_answers_do_not():
    """Streams of one-token chunks cost a fast server up to half of what it can give."""
    rates = {}
    for chunk_tokens in (1, 8, None):
        knobs = {"chunk_tokens": chunk_tokens} if chunk_tokens else {}
        server = engine(stream_cost=100.0, batch_cost=0.0, max_num_seqs=100, **knobs)
        for _ in range(100):
            server.submit(Job(Script([1] * 1000, "stop"), 10, chunk_tokens=chunk_tokens))
        play(server, 5)
        rates[chunk_tokens] = server.metrics.generation_tokens / 5
    assert rates[None] == pytest.approx(10_000, rel=0.02)
    assert rates[1] == pytest.approx(5_000, rel=0.02)
    assert rates[8] == pytest.approx(10_000 / (1 + 1 / 8), rel=0.02)


def test_requests_above_the_slots_wait_their_turn():
    server = engine(max_num_seqs=2)
    jobs = [job(100) for _ in range(5)]
    for one in jobs:
        server.submit(one)
    assert (server.metrics.running, server.metrics.waiting) == (2, 3)
    play(server, 0.5)
    assert [one.produced > 0 for one in jobs] == [True, True, False, False, False]
    play(server, 0.7)
    assert [one.finish for one in jobs] == ["stop", "stop", None, None, None]
    assert [one.produced > 0 for one in jobs] == [True, True, True, True, False]
    assert (server.metrics.running, server.metrics.waiting) == (2, 1)
    play(server, 2)
    assert all(one.finish == "stop" for one in jobs)
    assert server.metrics.finished == {"stop": 5}
    assert server.metrics.queue_s.count == server.metrics.request_s.count == 5
    assert server.metrics.queue_s.total == pytest.approx(1.0 + 1.0 + 2.0, rel=0.1)
    assert server.metrics.first_token_s.count == 5
    assert server.metrics.between_tokens_s.count == 495


def test_prompts_are_read_one_after_the_other():
    server = engine(prefill_rate=1000)
    first, second = job(prompt=1000), job(prompt=500)
    server.submit(first)
    server.submit(second)
    play(server, 0.9)
    assert first.produced == second.produced == 0
    play(server, 0.2)
    assert first.produced > 0
    assert second.produced == 0
    play(server, 0.5)
    assert second.produced > 0


def test_a_full_kv_cache_puts_the_youngest_back_into_the_queue():
    server = engine(kv_cache_tokens=300, max_num_seqs=2)
    old, young, third = (job(200, prompt=50) for _ in range(3))
    server.submit(old)
    server.submit(young)
    server.submit(third)
    play(server, 1.2)
    assert server.metrics.preemptions == 1
    assert server.running == [old]
    assert list(server.waiting) == [young, third]
    server.drop(third)
    kept = young.produced
    play(server, 3)
    assert (old.finish, young.finish) == ("stop", "stop")
    assert young.produced == 200 > kept > 0
    assert server.metrics.preemptions == 1


def test_kv_cache_usage_is_a_share():
    server = engine(kv_cache_tokens=1000)
    server.submit(job(900, prompt=100))
    play(server, 1)
    assert server.metrics.kv_cache_usage == pytest.approx(0.2, abs=0.01)


def test_a_full_queue_refuses():
    server = engine(max_num_seqs=1, max_num_queued_reqs=1)
    server.submit(job())
    server.submit(job())
    assert not server.full
    with pytest.raises(QueueFullError):
        server.submit(job())
    server.tick(0.01)
    assert server.full
    assert server.metrics.rejections == 1


def test_a_dropped_request_frees_its_slot_for_the_next():
    server = engine(max_num_seqs=1)
    gone, patient, last = job(), job(), job()
    for one in (gone, patient, last):
        server.submit(one)
    server.drop(gone)
    server.drop(last)
    assert server.running == [patient]
    assert not server.waiting
    assert server.metrics.finished == {}


def test_paces():
    server = engine()
    slow, late, silent = job(token_rate=5), job(first_token_delay=1), job(silent_after=7)
    for one in (slow, late, silent):
        server.submit(one)
    play(server, 0.9)
    assert late.produced == 0
    play(server, 1.1)
    assert slow.produced == pytest.approx(10, abs=1)
    assert 50 < late.produced < 110
    assert silent.produced == 7
    assert silent.finish is None
    assert server.metrics.running == 3


def test_aborting_ends_all_with_what_they_have():
    server = engine(max_num_seqs=1)
    running, waiting = job(), job()
    server.submit(running)
    server.submit(waiting)
    play(server, 0.5)
    server.abort_all()
    assert (running.finish, waiting.finish) == ("abort", "abort")
    assert running.produced > 0 == waiting.produced
    assert (server.metrics.running, server.metrics.waiting) == (0, 0)
