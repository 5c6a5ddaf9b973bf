"""A run is polled every second; what has not changed does not travel again, and nothing is stale."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.host import run
from eagle3_core.host.agent.news import news
from eagle3_core.host.link import Link

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
PARTS = st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=4)


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_the_other_side_has_all_of_it(answers: list[dict[str, object]]) -> None:
    held: dict[str, tuple[str, object]] = {}
    for parts in answers:
        answer = news(parts, {name: tag for name, (tag, _) in held.items()})
        merged = {name: value for name, (_, value) in held.items()} | answer["sent"]
        assert merged == parts
        held = {name: part for name, part in held.items() if name not in answer["sent"]}
        held |= {name: (tag, merged[name]) for name, tag in answer["tags"].items()}
        assert news(parts, {name: tag for name, (tag, _) in held.items()})["tags"] == {}


async def test_settings_travel_once_and_changes_at_once(link: Link, tmp_path: Path) -> None:
    settings = {"model": "m", "system": "x" * 5000}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    (tmp_path / "status.json").write_text(json.dumps({"done": 1, "note": "y" * 5000}))

    async def poll() -> tuple[run.RunState, int]:
        answer = await link.call(
            "run_state",
            known={name: tag for name, (tag, _) in link._held.get("run_state", {}).items()},
            run_dir=str(tmp_path),
        )
        return await run.state(link, str(tmp_path)), len(json.dumps(answer))

    first, size = await poll()
    assert size > 10_000
    again, size = await poll()
    assert size < 800
    assert again.settings == first.settings == settings
    (tmp_path / "status.json").write_text(json.dumps({"done": 2, "note": "y" * 5000}))
    third, size = await poll()
    assert 5000 < size < 6000
    assert third.status is not None
    assert third.status["done"] == 2
    (tmp_path / "settings.json").unlink()
    assert (await poll())[0].settings is None
    # polls that overlap hold nothing back from each other, nor do two runs on one link
    other = tmp_path / "other"
    other.mkdir()
    (other / "settings.json").write_text(json.dumps({"model": "other", "system": "z" * 5000}))
    states = await asyncio.gather(
        *(run.state(link, str(folder)) for _ in range(5) for folder in (tmp_path, other))
    )
    assert [s.settings is None for s in states] == [True, False] * 5
    assert all(s.settings["model"] == "other" for s in states[1::2] if s.settings)
