"""Suggestions for a filter line: keys of the grammar, then values known in the project. Contains no widget."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from recjudge_tui.domain.filters import COMPARED, KEYS, Term, whole_term

MOST = 50
_KEYED = re.compile(r'([A-Za-z_]+)(:|=)"?(.*)$')
_CHOICE = re.compile(r"\w+:(\w+(?:\|\w+)+)")

Values = Mapping[str, Sequence[str]]


class Suggestion(NamedTuple):
    """`shown` is the suggested word; accepting it turns the input into `line` with the cursor at `cursor`."""

    shown: str
    note: str
    line: str
    cursor: int


def suggestions(
    line: str, cursor: int, values: Values, *, anything: bool = False, keys: Collection[str] = KEYS
) -> tuple[Suggestion, ...]:
    """At most MOST suggestions at the cursor, among these `keys`; with `anything`, all keys if the line is empty.

    None inside a word, inside quoted text, or if the word is complete.
    """
    start = _start_of_word(line, cursor)
    word = line[start:cursor]
    if line[cursor : cursor + 1].strip() or word.startswith('"'):
        return ()
    if keyed := _KEYED.match(word):
        suggested = _values(keyed.group(1).lower(), keyed.group(2), keyed.group(3), values)
    elif word or anything:
        suggested = _keys(word, keys)
    else:
        suggested = []
    return tuple(
        Suggestion(shown, note, line[:start] + text + line[cursor:].lstrip(" "), start + len(text))
        for shown, note, text in suggested[:MOST]
    )


def word_start(line: str, cursor: int) -> int:
    """The start of the word at the cursor; quoted text is one word."""
    return _start_of_word(line, cursor)


def _start_of_word(line: str, cursor: int) -> int:
    start, quoted = 0, False
    for place, character in enumerate(line[:cursor]):
        if character == '"':
            quoted = not quoted
        elif character.isspace() and not quoted:
            start = place + 1
    return start


def _keys(typed: str, offered: Collection[str]) -> list[tuple[str, str, str]]:
    keys = []
    for key in offered:
        if key.startswith(typed.lower()):
            text = f"{key}<" if key in COMPARED else f"{key}:"
            keys.append((text, KEYS[key], text))
    return keys


def _values(key: str, op: str, typed: str, values: Values) -> list[tuple[str, str, str]]:
    wanted = typed.rstrip('"').casefold()
    known = dict.fromkeys((*_words_of(key), *values.get(key, ())))
    first = [value for value in known if value.casefold().startswith(wanted)]
    within = [value for value in known if wanted in value.casefold() and value not in first]
    if [value.casefold() for value in (*first, *within)] == [wanted]:
        return []
    values_found = []
    for value in (*first, *within):
        term = (whole_term(key, value) if op == "=" else Term(key, ":", value)).chip()
        values_found.append((term, "", f"{term} "))
    return values_found


def _words_of(key: str) -> list[str]:
    """The fixed words of a key, read from the key's line in the grammar: `why:swap|flag`."""
    match = _CHOICE.match(KEYS.get(key, ""))
    return match.group(1).split("|") if match else []
