"""A second reader of replies, slow and independent of the package: what a careful person would take a reply to say.

It walks over every character, with a stack of its own, and believes a reply only if all it says is one thing.
"""

from __future__ import annotations

import json
import re

# what takes an answer back, wherever it stands outside of the objects and after the first answer
DOUBTS = (
    "wait", "wrong", "mistake", "i take that back", "correction", "scratch that", "on reflection", "sorry",
    "disregard", "instead",
)  # fmt: skip
# these marks change what a label says
DOUBTFUL = "?<>=+/|\\~^%&$#@"
ENDS = ("</think>", "</thinking>")
SPACE = " \t\n\r"


class NotAnObjectError(Exception):
    """The characters are no JSON object."""


def careful_label(
    text: str, field: str, labels: tuple[str, ...], examples: tuple[object, ...] = ()
) -> str | None:
    """The one label that a reply to a question with one field states, None where that can be disputed."""
    text = text[max(text.rfind(tag) + len(tag) if tag in text else 0 for tag in ENDS) :]
    objects, prose = _split(text, (field, *labels))
    if objects is None:
        return None
    answers = [pairs for pairs in objects if _value(pairs) not in examples and _named(pairs, field)]
    said = [value for pairs in answers for value in _named(pairs, field)]
    lines = [line for part in prose for line in part.split("\n")]
    said += [
        value for line in lines if (value := _on_line(line, field)) is not None and not _argues(value, labels)
    ]
    stated = {_plain(value) for value in said}
    if len(stated) != 1 or any(_doubled(pairs) for pairs in answers):
        return None
    known = {_plain(label): label for label in labels}
    label = known.get(stated.pop())
    after = " ".join(_after(prose, lines, field, bool(answers))).casefold()
    if label is None or any(f" {doubt}" in f" {_words(after)} " for doubt in DOUBTS):
        return None
    others = (other for other in known if other != _plain(label) and not other.isdigit())
    return None if any(f" {_words(other)} " in f" {_words(after)} " for other in others) else label


def _after(prose: list[str], lines: list[str], field: str, has_object: bool) -> list[str]:
    """What is said after the answer: the prose after the first object, or the lines after the first label line."""
    if has_object:
        return prose[-1:]
    places = [number for number, line in enumerate(lines) if _on_line(line, field) is not None]
    return lines[places[-1] + 1 :] if places else []


def _split(text: str, words: tuple[str, ...]) -> tuple[list[list[tuple[str, object]]] | None, list[str]]:
    """The objects at the top level, as lists of pairs, and the prose around them; no objects if one is broken."""
    objects: list[list[tuple[str, object]]] = []
    prose = [""]
    place = 0
    while place < len(text):
        if text[place] != "{":
            prose[-1] += text[place]
            place += 1
            continue
        try:
            value, place = _object(text, place)
        except NotAnObjectError:
            rest = text[place + 1 :].lstrip(SPACE)
            # a form such as {"item": number} from the instructions, or only a brace
            end = _closing(text, place) if rest[:1].isalnum() or rest[:1] in ('"', "'") else 0
            broken = _plain(text[place:end])
            if rest[:1] in ('"', "'") and (end == 0 or any(_plain(word) in broken for word in words)):
                return None, []
            prose[-1] += text[place : end or place + 1]
            place = end or place + 1
            continue
        objects.append(value)
        prose.append("")
    return objects, prose


def _closing(text: str, place: int) -> int:
    """Where the brace at `place` is closed, by counting braces alone; 0 if nowhere."""
    depth = 0
    for end in range(place, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            return end + 1
    return 0


def _argues(value: str, labels: tuple[str, ...]) -> bool:
    """Whether it is a sentence of three words or more that does not begin like a label."""
    words = _words(value.casefold()).split()
    heads = [_words(label.casefold()).split()[0] for label in labels]
    if not words:
        return True
    return len(words) > 2 and not words[0][0].isdigit() and not any(words[0].startswith(h) for h in heads)


def _object(text: str, place: int) -> tuple[list[tuple[str, object]], int]:
    pairs: list[tuple[str, object]] = []
    place = _skip(text, place + 1)
    while _at(text, place) != "}":
        name, place = _string(text, place)
        place = _skip(text, place)
        if _at(text, place) != ":":
            raise NotAnObjectError
        value, place = _any(text, _skip(text, place + 1))
        pairs.append((name, value))
        place = _skip(text, place)
        if _at(text, place) == ",":
            place = _skip(text, place + 1)
        elif _at(text, place) != "}":
            raise NotAnObjectError
    return pairs, place + 1


def _any(text: str, place: int) -> tuple[object, int]:
    mark = _at(text, place)
    if mark == '"':
        return _string(text, place)
    if mark == "{":
        return _object(text, place)
    if mark == "[":
        values = []
        place = _skip(text, place + 1)
        while _at(text, place) != "]":
            value, place = _any(text, place)
            values.append(value)
            place = _skip(text, place)
            if _at(text, place) == ",":
                place = _skip(text, place + 1)
            elif _at(text, place) != "]":
                raise NotAnObjectError
        return values, place + 1
    end = place
    while end < len(text) and text[end] not in ',]}{"' + SPACE:
        end += 1
    word = text[place:end]
    constants = {"true": True, "false": False, "null": None}
    if word in constants:
        return constants[word], end
    try:
        return float(word), end
    except ValueError:
        raise NotAnObjectError from None


def _string(text: str, place: int) -> tuple[str, int]:
    if _at(text, place) != '"':
        raise NotAnObjectError
    end = place + 1
    while _at(text, end) != '"':
        end += 2 if text[end] == "\\" else 1
    written = re.sub(r"(\\\\)|\\([_%*#&$])", r"\1\2", text[place : end + 1])  # Markdown's and TeX's escapes
    try:
        return json.loads(written, strict=False), end + 1
    except ValueError:
        raise NotAnObjectError from None


def _at(text: str, place: int) -> str:
    if place >= len(text):
        raise NotAnObjectError
    return text[place]


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in SPACE:
        place += 1
    return place


def _value(pairs: object) -> object:
    if isinstance(pairs, list) and pairs and all(isinstance(pair, tuple) for pair in pairs):
        return {name: _value(value) for name, value in pairs}
    return [_value(value) for value in pairs] if isinstance(pairs, list) else pairs


def _named(pairs: list[tuple[str, object]], field: str) -> list[object]:
    return [value for name, value in pairs if _name(name) == _name(field) and value is not None]


def _doubled(pairs: object) -> bool:
    if not isinstance(pairs, list):
        return False
    names = [entry[0] for entry in pairs if isinstance(entry, tuple)]
    values = [entry[1] if isinstance(entry, tuple) else entry for entry in pairs]
    return len(names) > len(set(names)) or any(map(_doubled, values))


def _on_line(line: str, field: str) -> str | None:
    """The label on a line that names one after the field; other words after it argue, and are no label."""
    bare = line.strip(" \t>*#-.\r")
    for separator in (":", "="):
        name, found, value = bare.partition(separator)
        word = name.strip(" \t*")
        named = word[:1].isalnum() and word[-1:].isalnum() and _name(word) == _name(field)
        if found and named and '"' not in word and value.strip():
            return value
    return None


def _plain(value: object) -> str:
    """The letters and digits, whatever marks stand around and between them; a number as it is."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str):
        return str(value)
    return "".join(mark for mark in value.casefold() if mark.isalnum() or mark in DOUBTFUL)


def _name(text: str) -> str:
    return _words(text.casefold())


def _words(text: str) -> str:
    return " ".join("".join(mark if mark.isalnum() else " " for mark in text).split())
