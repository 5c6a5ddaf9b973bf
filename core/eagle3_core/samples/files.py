"""A path -> files, a file -> bytes."""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from eagle3_core.errors import UserError

_CHUNK = 1 << 16
_GZIP = b"\x1f\x8b"
_KINDS = (("*.parquet",), ("*.jsonl", "*.jsonl.gz"), ("*.json", "*.json.gz"))


def files_of(path: str) -> list[str]:
    """The files that ``path`` means, in sorted order: itself, a pattern's, or a directory's.

    Of a directory all Parquet files; else all JSON Lines files; else all JSON files: small JSON
    files that describe a set often lie beside its shards.

    Raises:
        UserError: when there are none.
    """
    place = Path(path)
    if place.is_dir():
        for patterns in _KINDS:
            found = sorted(str(file) for pattern in patterns for file in place.glob(pattern))
            if found:
                return found
        raise UserError(
            f"{path} is a directory without .parquet, .jsonl or .json files",
            "name the directory that holds the shards themselves",
        )
    found = [path] if place.exists() else sorted(glob.glob(path))
    if not found:
        raise UserError(
            f"{path} does not exist", "check the path, relative to the current directory"
        )
    return found


def chunks(path: str) -> Iterator[bytes]:
    """The bytes of a file in pieces, unpacked when it is gzip.

    Raises:
        UserError: when it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            if file.peek(2)[:2] != _GZIP:
                while chunk := file.read(_CHUNK):
                    yield chunk
                return
            with gzip.GzipFile(fileobj=file) as unpacked:
                while chunk := unpacked.read1(_CHUNK):
                    yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path} is damaged gzip ({error})", "fetch the file again") from None
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror})", "check the path and its permissions"
        ) from None
