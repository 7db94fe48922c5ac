"""Long texts in a reader: prompts, requests, replies, differences and errors; made safe, cut and coloured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual.content import Content

from recjudge_tui.domain.text import money, one_line, quantity, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.tui.widgets import GLYPHS, LONGEST_PROMPT, number, wrapped

if TYPE_CHECKING:
    from recjudge_tui.domain.calls import Message

# a name, and what is known under it
Fact = tuple[str, str]
# pattern -> the style of what it finds
Styles = Mapping[str, str]

_JSON: Styles = {
    r'"(?:[^"\\]|\\.)*"(?=\s*:)': "$accent",
    r"(?<=:)\s*(?:-?\d[\d.eE+-]*|true|false|null)\b": "$success",
}
# template syntax stands out by weight too, not by colour alone
_TEMPLATE: Styles = {r"(?s)\{[{%#].*?[#%}]\}": "bold $secondary"}
_PROSE: Styles = {r"(?m)^#.*$": "bold", r"(?m)^\s*</?[^\s<>]+>\s*$": "bold $secondary"}
_DIFF: Styles = {
    r"(?m)^\+.*$": "$success",
    r"(?m)^-.*$": "$error",
    r"(?m)^@@.*$": "$accent",
    r"(?m)^(---|\+\+\+) .*$": "bold",
}
_ROLES = {"system": ": instructions, the same for every case", "user": ": the text of this case"}
# what is known of a call, in the order of its line
_FACTS = {
    "model": "{}", "attempts": "{}", "tokens_in": "{:,} tokens in", "tokens_out": "{:,} out",
    "tokens_cached": "{:,} from its cache", "tokens_cache_written": "{:,} stored in its cache", "seconds": "{:.2f} s",
    "cost": "{}", "parsed_by": "parsed as {}", "stop": "ended by {}",
}  # fmt: skip


def coloured(text: str | Content, styles: Styles) -> Content:
    content = Content(text) if isinstance(text, str) else text
    for pattern, style in styles.items():
        content = content.highlight_regex(re.compile(pattern), style=style)
    return content


def _cut(text: str) -> tuple[str, Content]:
    """The safe text up to a maximum length, and a line about what was left out, if anything was."""
    left = len(text) - LONGEST_PROMPT
    more = Content.styled(f"\n({number(left)} more characters)", "dim") if left > 0 else Content("")
    return safe_text(text[:LONGEST_PROMPT]).expandtabs(4), more


def part(title: str, text: str) -> Content:
    """A text under its title. JSON is coloured; data tags and headings stand out in other texts."""
    shown, more = _cut(text)
    styles = _JSON if shown.lstrip().startswith(("{", "[")) else _PROSE
    head = Content.styled(f"{GLYPHS.crumb} {title}", "bold $accent")
    return Content.assemble(head, "\n", coloured(shown or "(empty)", styles), more)


def request_content(messages: Sequence[Message]) -> Content:
    """The messages of a request, each under its role."""
    parts = []
    for message in messages:
        images = f", with {quantity(len(message.images), 'image')}" if message.images else ""
        parts.append(part(f"{message.role}{images}{_ROLES.get(message.role, '')}", message.content))
    return Content("\n\n").join(parts)


def toml_content(text: str, width: int) -> Content:
    """A prompt file, its lines wrapped beside their numbers."""
    from textual.highlight import highlight  # loads the lexers

    shown, more = _cut(text.rstrip("\n"))
    lines = coloured(highlight(shown, language="toml"), _TEMPLATE).split("\n", allow_blank=True)
    return Content.assemble(Content("\n").join(_numbered(lines, width)), more)


def _numbered(lines: Sequence[Content], width: int) -> Iterator[Content]:
    cells = len(str(len(lines)))
    for place, line in enumerate(lines, 1):
        pieces = line.wrap(max(width - cells - 1, 8)) if line.plain else [line]
        for at, piece in enumerate(pieces):
            yield Content.assemble((f"{'' if at else place:>{cells}} ", "dim"), piece)


def diff_content(lines: Sequence[str]) -> Content:
    """A unified diff; added and removed lines begin with `+` and `-`, and are also coloured."""
    shown, more = _cut("\n".join(lines))
    return Content.assemble(coloured(shown, _DIFF), more)


def error_content(error: RecjudgeError, step: str = "") -> Content:
    """What is wrong, why, and what to do: the error's own next step, else `step`."""
    parts = [
        (f"{GLYPHS.failed} {error.title}", "bold $error"),
        (error.cause, ""),
        (error.next_step or step, "$accent"),
    ]
    return Content("\n\n").join(
        Content.styled(safe_text(text[:2000]), style) for text, style in parts if text
    )


def call_facts(attempts: int, cost: float | None, known: Mapping[str, Any]) -> Content:
    """`gpt-4o · 1 attempt · 1,234 tokens in · 21 out · 0.80 s · $0.0016`, as far as it is known."""
    facts = {
        **known,
        "attempts": quantity(attempts, "attempt"),
        "cost": None if cost is None else money(cost),
    }
    shown = [
        one_line(form.format(facts[name]), 60)
        for name, form in _FACTS.items()
        if facts.get(name) not in (None, "")
    ]
    return Content.styled(f" {GLYPHS.dot} ".join(shown), "dim")


def facts_content(facts: Sequence[Fact], width: int) -> Content:
    """As many lines for each fact as it needs, each below its first word."""
    wide = max(len(name) for name, _ in facts) + 1
    lines: list[Content] = []
    for name, text in facts:
        for at, part in enumerate(wrapped(text, max(width - wide, 8)) or [""]):
            lines.append(Content.assemble(((name if at == 0 else "").ljust(wide), "dim"), part))
    return Content("\n").join(lines)
