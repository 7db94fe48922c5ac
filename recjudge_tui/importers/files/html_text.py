"""The visible text of HTML, in time linear in its length; the parser of the standard library takes hours for some."""

from __future__ import annotations

import html
import re

_HIDDEN = frozenset({"script", "style", "template", "head"})
# the content of these elements is not markup
_RAW = frozenset({"script", "style"})
_BREAKS = frozenset("br p div li ul ol tr table h1 h2 h3 h4 h5 h6 blockquote section".split())
_NAME = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_QUOTE_OR_END = re.compile("[>\"']")


def html_text(markup: str) -> str:
    """The visible text, one line per block; without scripts, styles and attributes."""
    parts: list[str] = []
    hidden = at = 0
    while (start := markup.find("<", at)) >= 0:
        if not hidden:
            parts.append(html.unescape(markup[at:start]))
        tag = _NAME.match(markup, start)
        if tag is None:
            at = _past_declaration(markup, start)
            if at == start + 1 and not hidden:
                parts.append("<")
            continue
        at, name, closes = _past_tag(markup, tag.end()), tag[2].lower(), bool(tag[1])
        if name in _BREAKS:
            parts.append("\n")
        elif name in _HIDDEN:
            hidden = max(0, hidden - 1) if closes else hidden + 1
        if name in _RAW and not closes:
            end = re.compile(f"</{name}", re.IGNORECASE).search(markup, at)
            at = end.start() if end else len(markup)
    if not hidden:
        parts.append(html.unescape(markup[at:]))
    lines = (" ".join(line.split()) for line in "".join(parts).splitlines())
    return "\n".join(line for line in lines if line)


def _past_declaration(markup: str, start: int) -> int:
    """The position after the comment or declaration at `start`, or after the `<` if there is none."""
    if markup.startswith("<!--", start):
        end, length = markup.find("-->", start + 4), 3
    elif markup.startswith(("<!", "<?", "</"), start):
        end, length = markup.find(">", start), 1
    else:
        return start + 1
    return end + length if end >= 0 else len(markup)


def _past_tag(markup: str, at: int) -> int:
    """The position after the tag whose name ends at `at`; a `>` in quotation marks does not end the tag."""
    while stop := _QUOTE_OR_END.search(markup, at):
        if stop[0] == ">":
            return stop.end()
        closing = markup.find(stop[0], stop.end())
        if closing < 0:
            end = markup.find(">", stop.end())
            return end + 1 if end >= 0 else len(markup)
        at = closing + 1
    return len(markup)
