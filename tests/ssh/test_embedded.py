"""The demo's host: private files, a home of its own, nothing left behind."""

from __future__ import annotations

import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from eagle3_core.errors import UserError
from eagle3_core.host.connect import connect
from eagle3_core.simulator.ssh_host import EmbeddedHost


async def test_files_are_private_and_the_home_is_its_own(tmp_path: Path) -> None:
    async with EmbeddedHost(tmp_path, env={"EAGLE_DEMO": "yes"}) as host:
        link = await connect(host.target)
        assert link.hello.home == str(tmp_path)
        environ = Path(f"/proc/{link.hello.pid}/environ").read_bytes().split(b"\0")
        assert b"EAGLE_DEMO=yes" in environ
        assert tmp_path in Path(link.hello.core_zip).parents
        await link.close()
    for path in (tmp_path / ".ssh").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


async def test_it_ends_with_its_block(
    tmp_path: Path,
    until: Callable[..., Awaitable[None]],
    alive: Callable[[int], bool],
) -> None:
    """Connections and agents too, even those that nobody closed."""
    async with EmbeddedHost(tmp_path) as host:
        link = await connect(host.target)
        target = host.target
    assert await link.closed()
    await until(lambda: not alive(link.hello.pid), 2.0)
    await link.close()
    with pytest.raises(UserError) as caught:
        await connect(target)
    assert "refuses the connection" in caught.value.problem


async def test_only_its_own_key_opens_it(tmp_path: Path) -> None:
    """Another start has another key; the old one is worth nothing."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    async with EmbeddedHost(first), EmbeddedHost(second) as host:
        (second / ".ssh" / "id_demo").write_bytes((first / ".ssh" / "id_demo").read_bytes())
        with pytest.raises(UserError) as caught:
            await connect(host.target)
    assert "does not let" in caught.value.problem
