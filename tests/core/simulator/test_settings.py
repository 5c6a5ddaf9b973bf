"""Settings that cannot work are refused in one line that names the flag."""

from __future__ import annotations

import pytest

from eagle3_core.errors import UserError
from eagle3_core.simulator.faults import Fault
from eagle3_core.simulator.settings import SimSettings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("burn:0.1", "--fault burn:0.1 names no kind"),
        ("hang", "--fault hang cannot be read"),
        ("hang:x", "--fault hang:x cannot be read"),
        ("hang:2", "share of 2"),
        ("hang:nan", "share of nan"),
        ("429:0.1:-1", "parameter of -1"),
        ("slow:0.1:nan", "parameter of nan"),
        ("slow:0.1:fast", "cannot be read"),
    ],
)
def test_bad_faults(text, said):
    with pytest.raises(UserError, match=said):
        Fault.parse(text)


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"max_num_seqs": 0}, "--max-num-seqs 0"),
        ({"token_rate": 0.0}, "--token-rate 0"),
        ({"mean_tokens": float("nan")}, "--mean-tokens nan"),
        ({"batch_cost": -1.0}, "--batch-cost -1"),
        ({"port": 70_000}, "--port 70000"),
        ({"parser": "maybe"}, "--parser maybe is unknown: use on or off"),
        ({"reasoning_field": "thoughts"}, "--reasoning-field thoughts"),
        ({"faults": (Fault("hang", 0.6, 0), Fault("500", 0.6, 0))}, "add up to 1.2"),
    ],
)
def test_bad_settings(knobs, said):
    with pytest.raises(UserError, match=said):
        SimSettings(**knobs)


def test_shares_may_add_up_to_exactly_one():
    shares = tuple(Fault.parse(f"{kind}:0.1") for kind in ["hang"] * 10)
    assert len(SimSettings(faults=shares).faults) == 10
