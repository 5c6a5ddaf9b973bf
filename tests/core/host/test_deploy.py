"""The zip: the same bytes from anywhere, written once, never overwritten, never trusted blindly."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import eagle3_core
from eagle3_core.host import deploy
from eagle3_core.host.connect import connect
from eagle3_core.host.deploy import core_zip
from eagle3_core.host.link import Link
from eagle3_core.host.target import HostTarget


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for local agents."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return folder


async def placed() -> Path:
    link: Link = await connect(HostTarget("local"))
    await link.close()
    return Path(link.hello.core_zip)


def test_the_zip_holds_the_sources_and_nothing_else() -> None:
    core = core_zip()
    assert hashlib.sha256(core.data).hexdigest() == core.sha256
    assert core.name == f"eagle3_core-{core.sha256[:16]}.zip"
    with zipfile.ZipFile(io.BytesIO(core.data)) as archive:
        names = archive.namelist()
    assert "eagle3_core/host/agent/main.py" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    folder = Path(eagle3_core.__file__).parent
    sources = {f"eagle3_core/{path.relative_to(folder)}" for path in folder.rglob("*.py")}
    assert sources <= set(names)


def test_the_same_bytes_from_a_copy(tmp_path: Path) -> None:
    """As a wheel would lay it down: other times, other order of creation, compiled files beside."""
    with zipfile.ZipFile(io.BytesIO(core_zip().data)) as archive:
        for name in reversed(archive.namelist()):
            archive.extract(name, tmp_path)
    (tmp_path / "eagle3_core" / "__pycache__").mkdir(exist_ok=True)
    (tmp_path / "eagle3_core" / "__pycache__" / "x.pyc").write_bytes(b"x")
    code = "from eagle3_core.host.deploy import core_zip; print(core_zip().sha256)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == core_zip().sha256


async def test_written_once_and_then_found(home: Path) -> None:
    first = await placed()
    assert first == home / ".cache" / "eagle3-console" / core_zip().name
    before = first.stat()
    assert await placed() == first
    after = first.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert [path.name for path in first.parent.iterdir()] == [core_zip().name]


async def test_a_damaged_zip_is_neither_used_nor_overwritten(home: Path, tmp_path: Path) -> None:
    """A running core may have it open; another place is found instead."""
    damaged = await placed()
    damaged.write_bytes(b"not the core")
    other = await placed()
    assert other != damaged
    assert other.read_bytes() == core_zip().data
    assert tmp_path in other.parents
    assert damaged.read_bytes() == b"not the core"
    assert await placed() == other


async def test_a_folder_that_others_can_write_to_is_not_trusted(home: Path) -> None:
    first = await placed()
    first.parent.chmod(0o777)
    other = await placed()
    assert other.parent != first.parent
    assert other.parent.stat().st_mode & 0o022 == 0


async def test_two_versions_live_side_by_side(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await placed()
    buffer = io.BytesIO(core_zip().data)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("eagle3_core/newer.txt", "newer")
    data = buffer.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    newer = deploy.CoreZip(f"eagle3_core-{digest[:16]}.zip", digest, data)
    monkeypatch.setattr("eagle3_core.host.handshake.core_zip", lambda: newer)
    second = await placed()
    assert second.parent == first.parent
    assert (first.read_bytes(), second.read_bytes()) == (core_zip().data, data)
