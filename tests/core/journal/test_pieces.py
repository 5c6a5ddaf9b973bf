"""Records that stand whole in a broken line, and parts that only look like it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.journal.pieces import Problem, pieces_of

A = b'{"key":"a","state":"ok","content":"one"}'
B = b'{"id":"b","answer":"zwei \xc3\xa4"}'
TORN = b'{"id":"c","answer"'


@pytest.mark.parametrize(
    ("line", "keys", "remains"),
    [
        (A, ["a"], []),
        (b"\xef\xbb\xbf" + A, ["a"], []),
        (TORN + B, ["b"], [TORN]),
        (A + B, ["a", "b"], []),
        (A + b"\0\0" + B, ["a", "b"], [b"\0\0"]),
        (b"\0\0" + A, ["a"], [b"\0\0"]),
        (A + TORN, ["a"], [TORN]),
        (b'{"id":"x","answer":"\xc3' + A, ["a"], [b'{"id":"x","answer":"\xc3']),
        (TORN, [], [TORN]),
        # Inner parts of a broken record are no records.
        (b'{"key":"x","messages":[{"id":"y","content":"z"}],"sta', [], None),
        (b'{"key":"x","inner":{"id":"y","content":"z"},"bad\x01":1}', [], None),
        # What stands in a text is text.
        (b'{"key":"x","content":"{\\"id\\":\\"y\\",\\"answer\\":\\"z\\"}', [], None),
        (b'{"no":"key"}{"role":"user","content":"q"}', [], None),
    ],
)
def test_salvage(line: bytes, keys: list[str], remains: list[bytes] | None) -> None:
    pieces = pieces_of(line + b"\n")
    assert [piece.row.key for piece in pieces if piece.row] == keys
    assert [piece.data for piece in pieces if not piece.row] == (
        [line] if remains is None else remains
    )
    assert b"".join(piece.data for piece in pieces) == line


@given(
    st.lists(st.one_of(st.sampled_from([A, B, TORN, b"\0"]), st.binary(max_size=20)), max_size=8)
)
def test_joined_the_pieces_are_the_line(parts: list[bytes]) -> None:
    line = b"".join(parts).replace(b"\n", b"")
    assert b"".join(piece.data for piece in pieces_of(line)) == line
    assert b"".join(piece.data for piece in pieces_of(line + b"\n")) == line


@pytest.mark.parametrize("part", [b'{"id":', b'{"id":"a","x":[', b"[", b'{"id":"a"}', b'{"', b"\0"])
def test_a_nasty_line_takes_no_minutes(part: bytes) -> None:
    began = time.process_time()
    pieces = pieces_of(part * (2_000_000 // len(part)))
    assert time.process_time() - began < 10
    assert all(piece.problem in (Problem.GLUED, Problem.NOT_JSON, Problem.NUL) for piece in pieces)
