"""Parquet -> rows, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eagle3_core.errors import UserError
from eagle3_core.samples.columns import QUESTION_COLUMNS, USED_COLUMNS, no_question_column
from eagle3_core.samples.keys import ID_COLUMNS
from eagle3_core.samples.rows import Row

_BATCH = 256
"""Rows turned into Python objects at a time."""


def rows(path: str) -> Iterator[Row]:
    """The rows of a file, numbered from 1, with the columns that matter alone.

    Raises:
        UserError: without pyarrow, or when the file is damaged or has no question column.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UserError(
            f"{path} is Parquet, and pyarrow is not installed here",
            "pip install pyarrow, or give the set as JSON or JSON Lines",
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            columns = _columns(path, file.schema_arrow.names)
            number = 0
            for batch in file.iter_batches(_BATCH, columns=columns, use_threads=False):
                for value in batch.to_pylist():
                    number += 1
                    yield Row(number, value)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} is damaged Parquet ({_first_line(error)})", "fetch the file again"
        ) from None


def _columns(path: str, names: list[str]) -> list[str]:
    if not set(names) & set(QUESTION_COLUMNS):
        raise no_question_column(path, names)
    used = {*USED_COLUMNS, *ID_COLUMNS}
    return [name for name in names if name in used]


def _first_line(error: Any) -> str:
    return str(error).partition("\n")[0]
