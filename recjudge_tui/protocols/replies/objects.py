"""The JSON objects in a reply, read in time linear in its length.

The size of a reply is checked first: normal ones have at most a few hundred brackets and lines, and a degenerate one
of a megabyte must not delay the other calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from recjudge_tui.errors import ReplyFault

Fields = dict[str, Any]

LONGEST = 1_000_000
_MOST = {"[": 1_000, "{": 1_000, '"': 10_000, ",": 10_000, "\n": 2_000, "\\": 10_000}
# ValueError: text that is not JSON, and numbers too long for Python to convert
_UNREADABLE = (ValueError, RecursionError)
# also one that only looks like JSON: other quotes, comments
_BEGINS_OBJECT = re.compile(r"""\{\s*(?:["'“”„«»‘’″`＂}\\#]|//|/\*|\w+\s*["':])""")
# a brace that is still open, after some words, where an object begins
_OPEN_BEFORE = re.compile(r"\{[^{}\w]*\w[^{}]*(?:\{\s*)*?(?=\{\s*[^\s{])")
_LONE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"\w+")
# a string without an end matches up to the end of the text, so that no part of it is scanned twice
_TOKEN = re.compile(
    r'[^"{}\[\],]*(?:"(?:[^"\\]+|\\.)*(?:"|\\?\Z)|(?P<bracket>[{}\[\]])|(?P<trailing>,(?=\s*[}\]]))|,)',
    re.DOTALL,
)


class TextObject(NamedTuple):
    """A complete JSON object and its position in the text."""

    fields: Fields
    start: int
    end: int


def whole_object(text: str) -> Fields | None:
    """The text as one JSON object, or None. Raises ReplyFault for a key given twice and for a text out of bounds."""
    if len(text) > LONGEST:
        raise ReplyFault(f"the reply has more than {LONGEST:,} characters")
    for mark, most in _MOST.items():
        if text.count(mark) > most:
            name = "line breaks" if mark == "\n" else f"“{mark}”"
            raise ReplyFault(f"the reply has more than {most:,} {name}")
    try:
        value = _sound(text, _DECODER.decode(text))
    except _UNREADABLE:
        return None
    return value if isinstance(value, dict) else None


def json_objects(text: str, words: Iterable[str]) -> list[TextObject]:
    """Every outermost JSON object in the text, in order; trailing commas are forgiven.

    Raises ReplyFault if an object is cut off, because the text after it may belong to it, and if an invalid object
    contains one of the words of the answer. Any other invalid object, such as a form from the instructions, has no
    fields.
    """
    objects = []
    start = text.find("{")
    while start >= 0:
        end = start + 1
        if _BEGINS_OBJECT.match(text, start):
            fields, end = _object_at(text, start)
            if fields is None and not _is_form(text[start:end], words):
                raise _broken(text, start)
            objects.append(TextObject(fields or {}, start, end))
        elif (opened := _OPEN_BEFORE.match(text, start)) and _BEGINS_OBJECT.match(text, opened.end()):
            raise _broken(text, start)
        start = text.find("{", end)
    return objects


def _is_form(broken: str, words: Iterable[str]) -> bool:
    """Whether a broken object is a form from the instructions: no brace in a string, and no word of the answer."""
    if broken.count("{") != broken.count("}"):
        return False
    parts = {part for word in words for part in (word.casefold(), *_WORD.findall(word.casefold()))}
    # a short word such as “A” is contained in many others
    parts = {part for part in parts if len(part) > 2 or part.isdigit()}
    # if a part of the word is missing, so is the word
    least = [part for part in parts if not any(other != part and other in part for other in parts)]
    folded = broken.casefold()
    return not any(part in folded for part in least)


def _unique(pairs: list[tuple[str, Any]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        if name in fields:
            raise ReplyFault(f"“{name[:60]}” is given twice in one JSON object")
        fields[name] = value
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def _object_at(text: str, start: int) -> tuple[Fields | None, int]:
    """The object that begins at `start`, None if it is not valid, and its end."""
    try:
        fields, end = _DECODER.raw_decode(text, start)
    except _UNREADABLE:
        repaired, end = _without_trailing_commas(text, start)
        try:
            fields = _DECODER.decode(repaired)
        except _UNREADABLE:
            return None, end
    return _sound(text, fields), end


def _broken(text: str, start: int) -> ReplyFault:
    begin = " ".join(text[start : start + 40].split())
    return ReplyFault(f"no JSON object could be read: the one that begins “{begin}” is cut off or not valid")


def _without_trailing_commas(text: str, start: int) -> tuple[str, int]:
    """The object at `start` without commas before a closing bracket, and its end in the text."""
    open_marks, copied, parts = [], start, []
    for token in _TOKEN.finditer(text, start):
        mark = token["bracket"]
        if token["trailing"]:
            parts.append(text[copied : token.end() - 1])
            copied = token.end()
        elif mark in ("{", "["):
            open_marks.append(mark)
        elif mark:
            if open_marks.pop() + mark not in ("{}", "[]"):
                break
            if not open_marks:
                return "".join((*parts, text[copied : token.end()])), token.end()
    raise _broken(text, start)


def _sound(text: str, value: Any) -> Any:
    """The value with U+FFFD for lone surrogates, which JSON can escape but a database cannot store."""
    if "\\ud" not in text and "\\uD" not in text:
        return value
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_sound(text, part) for part in value]
    if isinstance(value, dict):
        return {_sound(text, name): _sound(text, part) for name, part in value.items()}
    return value
