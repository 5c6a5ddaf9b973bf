"""A server's page of Prometheus text: the few numbers of it, whatever else stands there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.metrics import NAMES, ServerNumbers, add, parse

NEW = """
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 64.0
vllm:num_requests_waiting{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 99.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:generation_tokens_total{engine="0",model_name="m"} 1.5e+06
vllm:generation_tokens_created{engine="0",model_name="m"} 1.7e+09
vllm:num_preemptions_total{engine="0",model_name="m"} 7.0
vllm:iteration_tokens_total_bucket{engine="0",le="+Inf"} 1433.0
vllm:e2e_request_latency_seconds_sum{engine="0"} 12.5
"""
OLD = """
vllm:num_requests_running{model_name="m"} 64.0
vllm:num_requests_waiting{model_name="m"} 3.0
vllm:gpu_cache_usage_perc{model_name="m"} 0.5
vllm:generation_tokens_total{model_name="m"} 1500000
vllm:num_preemptions{model_name="m"} 7
"""
SGLANG = """
sglang:num_running_reqs{model_name="m",tp_rank="0"} 64
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 3
sglang:token_usage{model_name="m",tp_rank="0"} 0.5
sglang:generation_tokens_total{model_name="m"} 1500000
"""


def test_a_real_page_of_vllm() -> None:
    page = (Path(__file__).parent / "data" / "vllm_metrics.txt").read_text()
    assert parse(page) == ServerNumbers(0.0, 0.0, 1501.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("page", "preemptions"), [(NEW, 7.0), (OLD, 7.0), (SGLANG, None)], ids=["new", "old", "sglang"]
)
def test_names_of_each_server(page: str, preemptions: float | None) -> None:
    assert parse(page) == ServerNumbers(64.0, 3.0, 1_500_000.0, preemptions, 0.5)


def test_an_empty_page_says_nothing() -> None:
    assert parse("") == ServerNumbers()


def test_engines_are_summed_and_their_caches_averaged() -> None:
    page = "\n".join(
        f'vllm:num_requests_running{{engine="{n}"}} {n}\nvllm:kv_cache_usage_perc{{engine="{n}"}} 0.{n}'
        for n in range(1, 4)
    )
    assert parse(page) == ServerNumbers(running=6.0, kv_cache=pytest.approx(0.2))


def test_servers_are_added() -> None:
    one = ServerNumbers(running=3, waiting=1, kv_cache=0.2)
    two = ServerNumbers(running=4, generation_tokens=10, kv_cache=0.4)
    whole = ServerNumbers(7, 1, 10, None, pytest.approx(0.3))
    assert add([one, two]) == whole
    assert add([one, two, ServerNumbers()]) == whole
    assert add([]) == ServerNumbers()


RUNNING = "vllm:num_requests_running"


@pytest.mark.parametrize(
    "line",
    [
        f"{RUNNING} 5",
        f"{RUNNING} 5.0\r",
        f"{RUNNING}\t5 ",
        f"{RUNNING}{{}} 5",
        f"{RUNNING} {{}} 5",
        f'{RUNNING}{{a="}} 9"}} 5',
        f'{RUNNING}{{a="x{{y}}",b=","}} 5',
        f'{RUNNING}{{a="say \\"}} 9\\" "}} 5',
        f'{RUNNING}{{a="back\\\\"}} 5',
        f'{RUNNING}{{a="b"}} 5 1700000000000',
        f'{RUNNING}{{a="b"}} 5 # {{trace_id="x"}} 77.0 1700000000.1',
        f"{RUNNING} +5e0",
        f"{RUNNING} NaN\n{RUNNING} 5",
    ],
)
def test_forms_of_a_line(line: str) -> None:
    assert parse(line).running == 5.0


@pytest.mark.parametrize(
    "line",
    [
        f"{RUNNING} NaN",
        f"{RUNNING} +Inf",
        f"{RUNNING} -Inf",
        f"{RUNNING} -1",
        f"{RUNNING} 1e999",
        f"{RUNNING} 1-2",
        f"{RUNNING} e",
        f"{RUNNING} many",
        f"{RUNNING}",
        f"{RUNNING}5",
        f"{RUNNING}_total 5",
        f"x{RUNNING} 5",
        f"# {RUNNING} 5",
        f'{RUNNING}{{a="open}} 5',
        f'{RUNNING}{{a="b" 5',
        "<html>502 Bad Gateway</html>",
    ],
)
def test_what_is_no_number_says_nothing(line: str) -> None:
    assert parse(line) == ServerNumbers()


GARBAGE = st.text(st.sampled_from('{}"\\,= \t\r#+-.0159eEInfNaN_')) | st.text()


@given(st.lists(st.tuples(st.sampled_from([*NAMES, ""]), GARBAGE)))
def test_no_page_is_too_bad(rows: list[tuple[str, str]]) -> None:
    numbers = add([parse("\n".join(name + rest for name, rest in rows))])
    for value in vars(numbers).values():
        assert value is None or 0 <= value < float("inf")
