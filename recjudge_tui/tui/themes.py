"""The themes, and how they are shown by terminals with few colours."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import BUILTIN_THEMES, Theme

from recjudge_tui.config_file import Fault, Setting
from recjudge_tui.domain.text import paintable
from recjudge_tui.tui.widgets import ascii_wanted

# ---- themes ------------------------------------------------------------------------------------------------------


DEFAULT = "recjudge"
# the share of the colour that dim text keeps; Textual's half is too faint to read
DIM = 0.72
_NAMES = "primary secondary accent warning error success foreground background surface panel".split()


def _theme(name: str, colours: str, cursor: str, *, dark: bool = True, **more: Any) -> Theme:
    """A theme from the `colours` of _NAMES, and those of the cursor's background and text."""
    variables = dict(zip(("block-cursor-background", "block-cursor-foreground"), cursor.split(), strict=True))
    own: dict[str, Any] = dict(zip(_NAMES, colours.split(), strict=True))
    return Theme(name, **own, dark=dark, variables=variables, **more)


THEMES = (
    _theme(
        DEFAULT,
        "#5f87af #87afaf #87d7d7 #ffaf5f #ff7f7f #87d787 #d7d7d7 #161a1e #1c2126 #262c33",
        "#2c3c4c #ececec",
    ),
    _theme(
        "recjudge-light",
        "#4a7096 #285858 #0b5a70 #7a4300 #a31515 #1d6120 #1c1f22 #fbfbf8 #f2f2ee #e6e7e3",
        "#c9d8e6 #101214",
        dark=False,
    ),
    _theme(
        "recjudge-contrast",
        "#6fa8ff #9fd8ff #ffff00 #ffb000 #ff8080 #60ff60 #ffffff #000000 #000000 #1a1a1a",
        "#00338a #ffffff",
        text_alpha=1.0,
    ),
)


def named_colours(theme: Theme) -> TerminalTheme:
    """What the colours that Rich names (`yellow`) are in a theme; Textual's own are too pale for a light ground."""
    names = theme.to_color_system().generate()
    ground, text, panel = (_triplet(names[name]) for name in ("background", "foreground", "panel"))
    red, green, yellow, blue, magenta, cyan = (
        _triplet(names[name]) for name in ("error", "success", "warning", "primary", "secondary", "accent")
    )
    colours = [ground, red, green, yellow, blue, magenta, cyan, text]
    return TerminalTheme(ground, text, colours, [panel, *colours[1:]])


def _triplet(name: str) -> tuple[int, int, int]:
    return Color.parse(name).rgb


_BY_NAME = {theme.name: theme for theme in THEMES}


def own_theme(name: str) -> Theme | None:
    """The shipped theme of this name."""
    return _BY_NAME.get(name)


def theme_names() -> tuple[str, ...]:
    """The shipped themes, then those of Textual."""
    return (*(theme.name for theme in THEMES), *sorted(BUILTIN_THEMES))


def chosen_theme(setting: Setting | None) -> tuple[str, Fault | None]:
    """The theme to start with; the default one when the chosen theme does not exist."""
    if setting is None or setting.value in theme_names():
        return setting.value if setting else DEFAULT, None
    near = get_close_matches(setting.value, theme_names(), 1)
    ours = ", ".join(theme.name for theme in THEMES)
    advice = f"Did you mean “{near[0]}”?" if near else f"Available: {ours}; the palette has more."
    return DEFAULT, Fault(setting.line, f"no theme “{setting.value}”", advice)


@lru_cache(maxsize=1024)
def _dimmed(style: Style, background: Color) -> Style:
    ground = style.bgcolor.triplet if style.bgcolor is not None else background.rich_color.triplet
    if style.color is None or style.color.triplet is None or ground is None:
        return style
    red, green, blue = (
        under + (over - under) * DIM for under, over in zip(ground, style.color.triplet, strict=True)
    )
    return style + Style(color=RichColor.from_rgb(red, green, blue), dim=False)


# ---- line filters ------------------------------------------------------------------------------------------------


_LIKE = {
    **dict(zip("▁▂▃▄▅▆▇▓▒░▚▞▤▥●◉✎⇄‖…κ\N{NO-BREAK SPACE}", "_.:-=+*=+-ox*%o@o/=~k ", strict=True)),
    **{sign: like for signs, like in (
        ("─━┄┈╌═▔‾–—−┬┴", "-"), ("│┃║▏▎▍▌▐▕├┤", "|"), ("╭╮╰╯┌┐└┘┼╔╗╚╝", "+"), ("█▀▉▊▋■", "#"), ("“”„«»", '"'), ("‘’", "'"),
        ("·•", "."), ("▸▶→›", ">"), ("◂◀←‹", "<"), ("▲△↑▴", "^"), ("▼▽↓✓▾", "v"), ("✗×", "x"),
    ) for sign in signs},
}  # fmt: skip


class Painted(LineFilter):
    """Textual's own filters between two of ours, as one, because Textual keeps a filtered copy of each line for each. Dim
    text stays readable (not without colours); control characters are dropped from everything painted, including text pasted
    into an input: text from data is already made safe where it is shown, this is a second barrier. Where it is wanted,
    each character that is not ASCII becomes a similar one, or as many `?` as it is wide."""

    def __init__(self, others: Sequence[LineFilter], *, colours: bool) -> None:
        super().__init__()
        self.others, self._colours, self._ascii = tuple(others), colours, ascii_wanted()

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if self._colours:
            segments = [
                Segment(segment.text, _dimmed(segment.style, background))
                if segment.style is not None and segment.style.dim and not segment.control
                else segment
                for segment in segments
            ]
        for other in self.others:
            segments = other.apply(segments, background)
        return [
            segment if segment.control else Segment(self._clean(segment.text), segment.style)
            for segment in segments
        ]

    def _clean(self, text: str) -> str:
        text = text if text.isprintable() else paintable(text)
        return "".join(map(_ascii, text)) if self._ascii and not text.isascii() else text


def _ascii(character: str) -> str:
    if character.isascii():
        return character
    if "\u2800" <= character <= "\u28ff":
        return "."
    return _LIKE.get(character) or "?" * cell_len(character)
