"""How a prompt looks: its file with highlighting, its text for a case, and a diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from rich.syntax import Syntax
from textual.content import Content

from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.text import safe_text
from recjudge_tui.tui.kit.glyphs import Glyphs, number
from recjudge_tui.tui.kit.text_pane import LONGEST_PROMPT

LONGEST_LINE = 8_000
MOST_CHANGED_LINES = 2_000

Piece = tuple[str, str]
# token types of Pygments, the narrower before the wider
Styles = tuple[tuple[str, str], ...]

_STRING = "Token.Literal.String"
_TOML: Styles = (
    ("Token.Comment", "dim italic"),
    ("Token.Keyword", "bold $accent"),
    ("Token.Literal", "$warning"),
    ("Token.Name", "bold $secondary"),
    ("Token.Operator", "dim"),
)
# template syntax stands out by weight too, not by colour alone
_TEMPLATE: Styles = (
    ("Token.Other", ""),
    ("Token.Comment.Preproc", "bold $success"),
    ("Token.Comment", "dim italic"),
    ("Token.Keyword", "bold $success"),
    ("Token.Name.Function", "italic $accent"),
    ("Token.Name", "bold italic $secondary"),
    ("Token.Literal", "$warning"),
    ("Token.Operator", "bold $success"),
)
_HEADS = {"system": "instructions, the same for every case", "user": "the text of this case"}


def toml_content(text: str, width: int) -> Content:
    """A prompt file with line numbers: TOML, with template syntax highlighted in its strings."""
    shown, more = _cut(safe_text(text).expandtabs(4).rstrip("\n"))
    lines = Content.assemble(*_toml_pieces(shown)).split("\n", allow_blank=True)
    numbered = list(_numbered(lines, width))
    return Content("\n").join([*numbered, *([_rest(more)] if more else [])])


def rendered_content(messages: Sequence[Message], width: int, symbols: Glyphs) -> Content:
    """The messages of a request, each under its role, with data tags and headings highlighted."""
    parts: list[Content] = []
    left = LONGEST_PROMPT
    for message in messages:
        head = f"{symbols.rule * 3} {message.role} {symbols.rule * 3} {_HEADS.get(message.role, '')}"
        parts.append(Content.styled(head.rstrip(), "bold $accent"))
        shown, more = _cut(safe_text(message.content).expandtabs(4), max(left, 0))
        left -= len(shown)
        parts += [piece for line in shown.split("\n") for piece in _wrapped(_text_line(line), width)]
        parts += [_rest(more)] if more else []
        parts.append(Content(""))
    return Content("\n").join(parts)


def diff_content(lines: Sequence[str], width: int) -> Content:
    """A unified diff; added and removed lines begin with `+` and `-`, and are also coloured."""
    shown: list[Content] = []
    for line in lines[:MOST_CHANGED_LINES]:
        styled = Content.styled(safe_text(line[:LONGEST_LINE]).expandtabs(4), _diff_style(line))
        shown += _wrapped(styled, width)
    more = len(lines) - MOST_CHANGED_LINES
    if more > 0:
        shown.append(Content.styled(f"{number(more)} more lines", "dim"))
    return Content("\n").join(shown)


def _diff_style(line: str) -> str:
    if line.startswith(("--- ", "+++ ")):
        return "bold"
    if line.startswith("@@"):
        return "$accent"
    return {"+": "$success", "-": "$error"}.get(line[:1], "dim")


def _text_line(line: str) -> Content:
    stripped = line.strip()
    if stripped.startswith("<") and stripped.endswith(">") and " " not in stripped:
        return Content.styled(line[:LONGEST_LINE], "bold $secondary")
    if stripped.startswith("#"):
        return Content.styled(line[:LONGEST_LINE], "bold")
    return Content(line[:LONGEST_LINE] + _too_long(line))


def _too_long(line: str) -> str:
    more = len(line) - LONGEST_LINE
    return f" ({number(more)} more characters)" if more > 0 else ""


def _toml_pieces(text: str) -> Iterator[Piece]:
    for kind, value in _tokens("toml", text):
        if kind.startswith(_STRING):
            yield from _string_pieces(value)
        else:
            yield value, _style(kind, _TOML)


def _string_pieces(value: str) -> Iterator[Piece]:
    if "{{" not in value and "{%" not in value and "{#" not in value:
        yield value, ""
        return
    for kind, part in _tokens("jinja", value):
        yield part, _style(kind, _TEMPLATE)


def _tokens(language: str, text: str) -> Iterator[Piece]:
    """(kind, text) of every token; together they are the original text."""
    left = len(text)
    for kind, value in _lexer(language).get_tokens(text):
        # the lexer adds a newline to every text
        if part := value[:left]:
            yield str(kind), part
        left -= len(part)


@lru_cache(maxsize=2)
def _lexer(language: str) -> Any:
    return Syntax("", language).lexer


def _style(kind: str, styles: Styles) -> str:
    return next((style for family, style in styles if kind.startswith(family)), "")


def _numbered(lines: Sequence[Content], width: int) -> Iterator[Content]:
    """Each line wrapped to the width beside its number."""
    cells = len(str(len(lines)))
    for place, line in enumerate(lines, 1):
        for first, piece in enumerate(_wrapped(line, max(width - cells - 1, 8))):
            yield Content.assemble((f"{'' if first else place:>{cells}} ", "dim"), piece)


def _wrapped(line: Content, width: int) -> list[Content]:
    return list(line.wrap(width)) if line.plain else [Content("")]


def _cut(text: str, longest: int = LONGEST_PROMPT) -> tuple[str, int]:
    """The text up to a maximum length, with long lines cut, and the number of characters left out."""
    shown = "\n".join(line[:LONGEST_LINE] for line in text[:longest].split("\n"))
    return shown, len(text) - len(shown)


def _rest(more: int) -> Content:
    return Content.styled(
        f"({number(more)} more characters: “recjudge prompt show” prints all of them)", "dim"
    )
