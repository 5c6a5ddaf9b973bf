from pathlib import Path

import pytest
from textual.color import Color

from eagle3_console.themes import DEFAULT, load_themes, parse_theme, theme_dir

OURS = load_themes(theme_dir())
TEXTS = (
    "foreground",
    "text-muted",
    "text-accent",
    "text-success",
    "text-warning",
    "text-error",
    "reasoning",
    "content",
    "footer-key-foreground",
)


def test_our_four_themes_load() -> None:
    assert OURS.problems == []
    assert set(OURS.themes) == {"okabe-ito", "okabe-ito-light", "high-contrast", "mono"}
    assert DEFAULT in OURS.themes


def _contrast(one: Color, other: Color) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("name", sorted(OURS.themes))
@pytest.mark.parametrize("text", TEXTS)
def test_every_text_can_be_read(name: str, text: str) -> None:
    colours = OURS.themes[name].to_color_system().generate() | OURS.themes[name].variables
    least = 7.0 if name == "high-contrast" else 4.5
    for ground in ("background", "surface", "panel"):
        found = _contrast(Color.parse(colours[text]), Color.parse(colours[ground]))
        assert found >= least, f"{text} on {ground}: {found:.2f}"


@pytest.mark.parametrize("name", sorted(OURS.themes))
def test_a_match_can_be_read(name: str) -> None:
    colours = OURS.themes[name].to_color_system().generate() | OURS.themes[name].variables
    pairs = (("foreground", "match"), ("background", "match-current"), ("background", "accent"))
    for text, ground in pairs:
        found = _contrast(Color.parse(colours[text]), Color.parse(colours[ground]))
        assert found >= 4.5, f"{text} on {ground}: {found:.2f}"


BROKEN = {
    b'name = "x"\n': "primary is missing",
    b'primary = "#fff"\n': "name is missing",
    b'name = ""\nprimary = "#fff"\n': "name is missing",
    b'name = "x"\nprimary = "blurple"\n': "primary = 'blurple' is no colour",
    b'name = "x"\nprimary = 7\n': "primary = 7 is no colour",
    b'name = "x"\nprimary = "#fff"\ncolour = "#fff"\n': "colour is unknown",
    b'name = "x"\nprimary = "#fff"\ndark = "yes"\n': "dark = 'yes' is not true or false",
    b'name = "x"\nprimary = "#fff"\nvariables = 3\n': "variables is not a table",
    b'name = "x"\nprimary = "#fff"\n[variables]\nmatch = "#12"\n': "variables.match = '#12'",
    b'name = "x"\nprimary = "#fff"\n[variables]\nmatsch = "#123"\n': "variables.matsch is unknown",
    b"name = x\n": "is not TOML",
    b"\xff\xfe": "is not UTF-8 text",
}


@pytest.mark.parametrize("raw", BROKEN)
def test_each_broken_file_gives_one_message_that_names_file_and_key(
    raw: bytes, tmp_path: Path
) -> None:
    (tmp_path / "bad.toml").write_bytes(raw)
    (tmp_path / "good.toml").write_bytes(b'name = "good"\nprimary = "#123456"\n')
    found = load_themes(tmp_path)
    assert list(found.themes) == ["good"]
    (problem,) = found.problems
    assert problem.startswith("theme bad.toml: ")
    assert BROKEN[raw] in problem
    assert "\n" not in problem


def test_a_theme_needs_no_more_than_a_name_and_a_colour() -> None:
    theme = parse_theme(b'name = "tiny"\nprimary = "#56B4E9"\ndark = false\n')
    assert (theme.name, theme.dark, theme.variables) == ("tiny", False, {})
