"""A name on the Hugging Face hub -> rows, through ``datasets`` where it is installed."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from eagle3_core.errors import UserError
from eagle3_core.samples.rows import Row

_NAME = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+)?")
_FILE_SUFFIXES = (".json", ".jsonl", ".parquet", ".gz", ".csv", ".txt")


def is_name(text: str) -> bool:
    """Whether ``text`` reads ``owner/name`` or ``owner/name:split``, and is no file."""
    if text.endswith(_FILE_SUFFIXES) or Path(text).exists():
        return False
    return _NAME.fullmatch(text) is not None


def rows(name: str) -> Iterator[Row]:
    """The rows of ``owner/name[:split]`` as they come over the network; the split is ``train``
    unless named. Nothing is kept on disk.

    Raises:
        UserError: without ``datasets``, or when the hub does not give the set.
    """
    try:
        datasets = importlib.import_module("datasets")
    except ImportError:
        raise UserError(
            f"{name} is no file here, and a hub name needs the datasets package",
            "pip install 'eagle3-console[hub]', or download the set's Parquet files and name "
            "their directory",
        ) from None
    try:
        repo, _, split = name.partition(":")
        stream = datasets.load_dataset(repo, split=split or "train", streaming=True)
        for number, value in enumerate(stream, 1):
            yield Row(number, value)
    except Exception as error:  # datasets raises what its many readers raise
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise UserError(
            f"{name} is no file here, and cannot be read from the hub ({text})",
            "check the name and the network; another split is written owner/name:split",
        ) from None
