"""The torn tail: nothing that was written whole is lost, and nothing that was torn is thrown away."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eagle3_core.journal.append import AppendFile
from eagle3_core.journal.tail import Mended, mend_tail

A = b'{"key":"a","answer":"one"}\n'
B = '{"key":"b","answer":"two ä"}\n'.encode()
D = b'{"key":"d","answer":"four"}\n'

TABLE = {
    "no file": (None, "whole", b""),
    "empty": (b"", "whole", b""),
    "whole": (A + B, "whole", b""),
    "newline missing": (A + B[:-1], "newline_missing", b""),
    "newline missing in the only line": (A[:-1], "newline_missing", b""),
    "cut in the JSON": (A + B + b'{"key":"c","answer"', "torn", b'{"key":"c","answer"'),
    "cut in a character": (A + B + b'{"key":"c","answer":"\xc3', "torn", b'{"key":"c","answer":"\xc3'),
    "cut in the only line": (b'{"key":', "torn", b'{"key":'),
    "NULs": (A + B + bytes(64), "torn", bytes(64)),
    "whole, then NULs": (A + B[:-1] + bytes(9), "torn", B[:-1] + bytes(9)),
    "a number is no record": (A + B + b"7", "torn", b"7"),
    "a line longer than a look": (A + B + b'{"k":"' + b"x" * 200_000, "torn", b'{"k":"' + b"x" * 200_000),
    "a file longer than a look": (A * 9_000 + b'{"key":', "torn", b'{"key":'),
    "a whole line longer than a look": (
        A + b'{"k":"' + b"x" * 200_000 + b'"}', "newline_missing", b"",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_table(name: str, tmp_path: Path) -> None:
    before, verdict, torn = TABLE[name]
    path = tmp_path / "raw_responses.jsonl"
    if before is not None:
        path.write_bytes(before)
    file = AppendFile(str(path))
    assert file.mended.verdict == verdict
    file.append(D)
    file.close()
    kept = (before or b"")[: len(before or b"") - len(torn)]
    ending = b"" if kept.endswith(b"\n") or not kept else b"\n"
    assert path.read_bytes() == kept + ending + D
    side = tmp_path / "raw_responses.jsonl.torn"
    if torn:
        assert side.read_bytes() == torn + b"\n"
        assert file.mended == Mended("torn", len(torn), str(side))
    else:
        assert not side.exists()
        assert file.mended.moved_to == ""


def test_torn_tails_gather_in_the_side_file(tmp_path: Path) -> None:
    path = tmp_path / "raw_responses.jsonl"
    for torn in (b'{"key":"x', b'{"key":"y'):
        with path.open("ab") as file:
            file.write(A + torn)
        AppendFile(str(path)).close()
    assert path.read_bytes() == A + A
    assert (tmp_path / "raw_responses.jsonl.torn").read_bytes() == b'{"key":"x\n{"key":"y\n'


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_ROWS = st.lists(
    st.dictionaries(_TEXTS, _TEXTS | st.integers(), max_size=3), min_size=1, max_size=6
)


@given(_ROWS, st.integers(0, 10_000), st.booleans())
@example([{"k": "a\u2028b\u0085\r\n"}, {"k": "ä"}], 17, False)
def test_a_file_cut_at_any_byte_reads_back(
    rows: list[dict[str, object]], place: int, escape: bool
) -> None:
    lines = [json.dumps(row, ensure_ascii=escape).encode() + b"\n" for row in rows]
    data = b"".join(lines)
    cut = data[: place % (len(data) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "raw_responses.jsonl")
        path.write_bytes(cut)
        file = AppendFile(str(path))
        file.append(D)
        file.close()
        after = path.read_bytes()
        side = Path(str(path) + ".torn")
        torn = side.read_bytes() if side.exists() else b""
    whole_lines = cut.count(b"\n")
    if cut in {b"".join(lines[: n + 1])[:-1] for n in range(len(lines))} and cut:
        whole_lines += 1  # only the newline is missing: the record is whole
    prefix = b"".join(lines[:whole_lines])
    assert after == prefix + D
    assert prefix.startswith(cut[: len(prefix)])
    assert torn == (cut[len(prefix) :] + b"\n" if len(cut) > len(prefix) else b"")


def test_the_torn_bytes_are_aside_before_the_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "raw_responses.jsonl"
    path.write_bytes(A + b'{"key":"c')
    (tmp_path / "raw_responses.jsonl.torn").mkdir()  # the side file cannot be written
    fd = os.open(path, os.O_RDWR)
    with pytest.raises(IsADirectoryError):
        mend_tail(fd, str(path))
    os.close(fd)
    assert path.read_bytes() == A + b'{"key":"c'
