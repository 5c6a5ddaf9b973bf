"""Text for the terminal: nothing that commands it comes through."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_core.text import printable

ESCAPES = {
    "A\x1b]52;c;ZXZpbA==\x07B": "A␛]52;c;ZXZpbA==␇B",
    "A\x1b]0;new title\x07B": "A␛]0;new title␇B",
    "A\x1b]8;;http://bad.example\x1b\\link\x1b]8;;\x1b\\B": (
        "A␛]8;;http://bad.example␛\\link␛]8;;␛\\B"
    ),
    "A\x1b[2J\x1b[HB": "A␛[2J␛[HB",
    "A\x1b[6nB": "A␛[6nB",
    "A\x9b2JB": "A\\x9b2JB",
    "A\x9d52;c;ZXZpbA==\x9cB": "A\\x9d52;c;ZXZpbA==\\x9cB",
    "A\x1bcB": "A␛cB",
    "A\x1bP+q544e\x1b\\B": "A␛P+q544e␛\\B",
    "A\x07\b\x0b\x0c\x7fB": "A␇␈␋␌␡B",
    "A\u202egnp.exe\u202cB": "A\\u202egnp.exe\\u202cB",
    "A\u2066x\u2069B": "A\\u2066x\\u2069B",
    "A\rB": "A␍B",
    "A\x00B": "A␀B",
    "A\ud83dB": "A\\ud83dB",
}


@pytest.mark.parametrize(("text", "shown"), ESCAPES.items())
def test_escapes_are_shown(text, shown):
    assert printable(text) == shown


def test_ordinary_text_stays_as_it_is():
    text = "a\tb\nc [red]é 漢字 👩\u200d💻 مرحبا \u2028 ␛ \\x9b"
    assert printable(text) == text


@given(st.text(st.characters() | st.characters(categories=["Cc", "Cs", "Cf"])))
def test_nothing_live_is_left(text):
    shown = printable(text)
    left = [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert left == []
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    shown.encode()  # and any terminal can be given it
    assert printable(shown) == shown
