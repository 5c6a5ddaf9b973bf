"""The core as one zip, named by its content: the same bytes from a wheel and from a checkout."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # novermin: only a type checker reads this

PACKAGE = "eagle3_core"

_OLDEST_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip can hold: the bytes must not depend on when it was built."""


@dataclass(frozen=True)
class CoreZip:
    name: str
    sha256: str
    data: bytes


@lru_cache(maxsize=1)
def core_zip() -> CoreZip:
    """The installed package, as it goes to a host and onto its Python path."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in _walk(files(PACKAGE), f"{PACKAGE}/"):
            entry = zipfile.ZipInfo(name, _OLDEST_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    data = buffer.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    return CoreZip(f"{PACKAGE}-{digest[:16]}.zip", digest, data)


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            # Caches of tools that ran here are no part of the package.
            if item.name != "__pycache__" and not item.name.startswith("."):
                yield from _walk(item, f"{prefix}{item.name}/")
        elif not item.name.endswith((".pyc", ".pyo")):
            yield prefix + item.name, item.read_bytes()
