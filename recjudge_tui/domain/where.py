"""Which users a report is about: a small expression over their attributes, such as `plan = 'pro' and events > 20`.

It is read and evaluated here; no part of it reaches SQL. A user without an attribute meets no comparison of it, nor its
negation, as NULL in SQL.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from recjudge_tui.errors import UsageError

# what every user has: the number of events that a judge may be shown, the id, and the part that a prompt may learn from
EVENTS, USER, PART = "events", "user", "part"
TEACH, TEST = "teach", "test"
Values = Mapping[str, str | int]
# a user's values -> true, false, or None where an attribute is missing
Test = Callable[[Values], bool | None]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>"[^"]*"|`[^`]*`)|(?P<number>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.:/-]))"""
    r"""|(?P<op><=|>=|!=|<>|==|=|<|>|\(|\)|,)|(?P<word>[\w.:/+-]+))"""
)
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FORM = "Write comparisons such as plan = 'pro' and events > 20, with and, or, not, in ('a', 'b') and parentheses."
_DEEPEST = 50


def part_of(user_id: str) -> str:
    """TEACH or TEST: half of all users each, by a hash of the id, so the same user is always in the same part."""
    return TEACH if sha256(f"part:{user_id}".encode()).digest()[0] % 2 else TEST


class Where:
    """An expression as it was written, the attributes that it names, and whether a user's values meet it."""

    def __init__(self, text: str) -> None:
        """Raises UsageError that says where the text cannot be read."""
        self.text = text
        self.names: dict[str, None] = {}
        self._tokens = self._cut(text)
        self._at, self._depth = 0, 0
        self._test = self._either()
        if self._at < len(self._tokens):
            raise self._wrong("and, or, or the end")

    def holds(self, values: Values) -> bool:
        return self._test(values) is True

    def _cut(self, text: str) -> list[tuple[str, str]]:
        tokens, end = [], 0
        while text[end:].strip():
            found = _TOKEN.match(text, end)
            if found is None:
                raise UsageError(f"“{text[end:].strip()[:20]}” cannot be read in “{text}”", _FORM)
            tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            end = found.end()
        return tokens

    def _wrong(self, expected: str) -> UsageError:
        here = f"“{self._tokens[self._at][1]}”" if self._at < len(self._tokens) else "its end"
        return UsageError(f"{here} stands in “{self.text}” where {expected} is expected", _FORM)

    def _next(self, *words: str) -> bool:
        """Whether the next token is one of these keywords or signs; it is then passed."""
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        if kind not in ("word", "op") or text.lower() not in words:
            return False
        self._at += 1
        return True

    def _either(self) -> Test:
        parts = [self._both()]
        while self._next("or"):
            parts.append(self._both())

        def any_of(values: Values) -> bool | None:
            known = [part(values) for part in parts]
            return True if True in known else None if None in known else False

        return parts[0] if len(parts) == 1 else any_of

    def _both(self) -> Test:
        parts = [self._single()]
        while self._next("and"):
            parts.append(self._single())

        def all_of(values: Values) -> bool | None:
            known = [part(values) for part in parts]
            return False if False in known else None if None in known else True

        return parts[0] if len(parts) == 1 else all_of

    def _single(self) -> Test:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UsageError(f"“{self.text[:40]}…” is nested too deeply", _FORM)
        if self._next("not"):
            inner = self._single()
            test: Test = lambda values: None if (met := inner(values)) is None else not met  # noqa: E731
        elif self._next("("):
            test = self._either()
            if not self._next(")"):
                raise self._wrong("a closing parenthesis")
        else:
            test = self._comparison()
        self._depth -= 1
        return test

    def _comparison(self) -> Test:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        if kind not in ("word", "name"):
            raise self._wrong("an attribute")
        name = text[1:-1] if kind == "name" else text
        self.names[name] = None
        self._at += 1
        negated = self._next("not")
        if self._next("in"):
            wanted = self._listed()

            def among(values: Values) -> bool | None:
                if name not in values:
                    return None
                return any(_compared(values[name], "=", value) for value in wanted) != negated

            return among
        kind, sign = self._tokens[self._at] if self._at < len(self._tokens) and not negated else ("", "")
        if sign not in _COMPARED:
            raise self._wrong("a comparison")
        self._at += 1
        value = self._literal()
        return lambda values: _compared(values[name], sign, value) if name in values else None

    def _listed(self) -> list[str | float]:
        if not self._next("("):
            raise self._wrong("an opening parenthesis")
        values = [self._literal()]
        while self._next(","):
            values.append(self._literal())
        if not self._next(")"):
            raise self._wrong("a comma or a closing parenthesis")
        return values

    def _literal(self) -> str | float:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        if kind not in ("text", "number", "word"):
            raise self._wrong("a text or a number")
        self._at += 1
        return float(text) if kind == "number" else text[1:-1].replace("''", "'") if kind == "text" else text


def _compared(given: str | int, sign: str, wanted: str | float) -> bool | None:
    """None where a value that is no number is asked for more or less than one."""
    if isinstance(wanted, float):
        try:
            return _COMPARED[sign](float(given), wanted)
        except ValueError:
            return {"=": False, "==": False, "!=": True, "<>": True}.get(sign)
    if isinstance(given, int):
        raise UsageError(
            f"{given} is a number and cannot be compared with “{wanted}”", "Write a number without quotes."
        )
    return _COMPARED[sign](given, wanted)
