"""Limits on templates, which may come from strangers: steps, time, and the length of texts and lists. Python cannot
be interrupted within one operation, so operations that could make a huge value are checked first; repetitions (loops,
calls, parts) count their steps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context

from recjudge_tui.protocols.templates.data import Record

STEPS = 200_000
SECONDS = 2.0
LONGEST_TEXT = 5_000_000
LONGEST_LIST = 100_000
# the total output of filters, methods and operators in characters, lists included
MOST_MADE = 50_000_000
_LARGEST_ARGUMENT = 10_000
_LARGEST_JSON_INDENT = 16
_MOST_BITS = 10_000
_MOST_TAGS = 5_000
# a long word is cut into lines piece by piece, and the rest is copied each time
_LONGEST_IN_WORDS = 50_000
_WIDE_FORMAT = re.compile(r"%[^%a-zA-Z]*(?:\*|\d{5})")
_WIDTH = re.compile(r"\d+")
_COUNTED, _JOINED, _CUT, _KEPT = "_counted", "_joined", "_cut", "_kept"
# the characters of a list entry beside its text: brackets, commas, a number
_ENTRY = 20


class _Effort:
    """The effort that rendering one text has used."""

    def __init__(self, length: int) -> None:
        self.steps, self.characters, self.made, self.looks = 0, 0, 0, 0
        self.length = length
        # the clock is read only when needed: most templates take fewer steps than are counted between two readings
        self.ends: float | None = None

    def add(self, characters: int, steps: int = 1) -> None:
        self.steps += steps
        self.characters += characters
        if self.steps > STEPS:
            raise SecurityError(f"more than {STEPS:,} steps of loops and calls")
        if self.characters > LONGEST_TEXT:
            raise _too_long()
        if self.steps >> 6 > self.looks:
            self.looks = self.steps >> 6
            now = time.thread_time()
            self.ends = self.ends or now + SECONDS
            if now > self.ends:
                raise SecurityError(f"it takes more than {SECONDS:g} s")

    def note_made(self, value: object) -> None:
        if isinstance(value, (str, list, tuple)):
            length = len(value)
            if length > LONGEST_LIST:
                _check_length(value, length)
            self.made += length if isinstance(value, str) else _ENTRY * length
            if self.made > MOST_MADE:
                raise SecurityError(f"it makes texts and lists of more than {MOST_MADE:,} characters in all")


_EFFORT: ContextVar[_Effort | None] = ContextVar("effort", default=None)


@contextmanager
def limited_effort(source: str) -> Iterator[None]:
    """Count the effort of rendering a template, and end it with SecurityError if it is too much."""
    token = _EFFORT.set(_Effort(len(source)))
    try:
        yield
    finally:
        _EFFORT.reset(token)


def note_call(target: object, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Count a call, and check that it does not make a huge value. Raises SecurityError."""
    for argument in (*arguments, *named.values()):
        check_size(argument)
    owner, name = getattr(target, "__self__", None), getattr(target, "__name__", "")
    if isinstance(owner, str) and name == "replace" and len(arguments) > 1:
        _check_replaced(owner, *map(str, arguments[:2]))
    elif isinstance(owner, str) and name == "join" and arguments:
        joined_length(arguments[0], len(owner))
    elif (effort := _EFFORT.get()) is not None:
        # a macro writes at most the text of its template each time
        effort.add(0 if isinstance(target, type) or owner is not None else effort.length // 20)


def note_made(value: Any) -> Any:
    """The value, after adding its length to the total output. Raises SecurityError."""
    if (effort := _EFFORT.get()) is not None:
        effort.note_made(value)
    return value


def check_size(value: object) -> None:
    """Raise SecurityError for a container that would be huge as text: one list can be in another many times."""
    kind = type(value)
    # fast path: the records of a case are in tuples, and every case is checked here
    if kind in _CONTAINERS and not (kind is tuple and set(map(type, value)) == _RECORDS_ALONE):  # type: ignore[call-overload]
        _size(value)


def _size(value: object) -> int:
    """The approximate length of a container as text. Raises SecurityError if it is too long."""
    places = characters = 0
    waiting = [value]
    while waiting:
        part = waiting.pop()
        places += 1
        if isinstance(part, str):
            characters += len(part)
        elif isinstance(part, dict):
            waiting += dict.keys(part)
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part
        if characters + _ENTRY * (places + len(waiting)) > LONGEST_TEXT:
            raise _too_long()
    if places > _FEW and (effort := _EFFORT.get()) is not None:
        effort.add(0, places // _FEW)
    return characters + _ENTRY * places


# our records are not inspected; lists of records are, because a template may repeat a record
_CONTAINERS = frozenset({list, tuple, dict})
_RECORDS_ALONE = {Record}
_FEW = 1_000


def check_tags(source: str) -> None:
    """Raise SecurityError for a template that takes long to compile."""
    if source.count("{%") + source.count("{{") > _MOST_TAGS:
        raise SecurityError(f"more than {_MOST_TAGS:,} tags")


def note_part(source: str) -> None:
    """Count a part that is included."""
    if (effort := _EFFORT.get()) is not None:
        effort.add(len(source))


def noted(write: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    """A function that makes a value text and counts its characters."""

    def finalize(value: Any) -> Any:
        if type(value) in _CONTAINERS:
            check_size(value)
        text = value if write is None else write(value)
        # fast path: every value of every case is counted here
        if type(text) is not int and (effort := _EFFORT.get()) is not None and isinstance(text, str):
            effort.characters += len(text)
            if effort.characters > LONGEST_TEXT:
                raise _too_long()
        return text

    return finalize


def check_operation(operator: str, left: Any, right: Any) -> None:
    """Raise SecurityError before an operation whose result would be huge."""
    if operator == "%" and isinstance(left, str):
        if _WIDE_FORMAT.search(left):
            raise SecurityError("a field of a text is too wide")
        check_size(right)
        widest = max(map(int, _WIDTH.findall(left)), default=0)
        if left.count("%") * (widest + _largest_text(right)) + len(left) > LONGEST_TEXT:
            raise _too_long()
    elif operator == "+" and hasattr(left, "__len__") and hasattr(right, "__len__"):
        _check_length(left, len(left) + len(right))
        if type(left) in _CONTAINERS and _size(left) + _size(right) > LONGEST_TEXT:
            raise _too_long()
    elif operator == "*" and isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    elif operator == "*":
        times, many = (left, right) if isinstance(left, int) else (right, left)
        if isinstance(times, int) and hasattr(many, "__len__"):
            _check_length(many, times * len(many))
            if type(many) in _CONTAINERS and times * _size(many) > LONGEST_TEXT:
                raise _too_long()
    elif operator == "**" and isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() * abs(right))


def limited_filters(filters: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The filters, with small numbers and texts as arguments only, and the filters that `counting_tree` inserts."""
    limited = {name: _limited(name, function) for name, function in filters.items() if name not in _LEFT_OUT}
    return {**limited, _COUNTED: _count_steps, _JOINED: _join_parts, _CUT: _note_cut, _KEPT: _check_kept}


# they search for patterns in more than linear time
_LEFT_OUT = ("urlize", "xmlattr")


def counting_tree(tree: nodes.Template) -> nodes.Template:
    """The tree with every loop counting its steps, and `~`, slices and what gets a name checked."""
    for loop in list(tree.find_all(nodes.For)):
        written = sum(len(data.data) for data in loop.find_all(nodes.TemplateData))
        loop.iter = _filtered(loop.iter, _COUNTED, nodes.Const(written, lineno=loop.lineno))
    for parent in list(_all_nodes(tree)):
        for name, value in list(parent.iter_fields()):
            if isinstance(value, list):
                setattr(parent, name, [_checked(part) for part in value])
            else:
                setattr(parent, name, _checked(value))
    for assignment in list(tree.find_all(nodes.Assign)):
        assignment.node = _filtered(assignment.node, _KEPT)
    for scope in list(tree.find_all(nodes.With)):
        scope.values = [_filtered(value, _KEPT) for value in scope.values]
    return tree


def _checked(value: Any) -> Any:
    if isinstance(value, nodes.Concat):
        return _joined(value)
    if isinstance(value, nodes.Getitem) and isinstance(value.arg, nodes.Slice):
        return _filtered(value, _CUT)
    return value


def _all_nodes(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _all_nodes(child)


def _joined(concat: nodes.Concat) -> nodes.Expr:
    return _filtered(nodes.List(concat.nodes, lineno=concat.lineno), _JOINED)


def _filtered(value: nodes.Node, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    built = nodes.Filter(value, name, list(arguments), [], None, None, lineno=value.lineno)
    built.environment = value.environment
    for part in (*arguments, value):
        part.environment = value.environment
    return built


@pass_context
def _count_steps(_: Context, values: Iterable[Any], written: int) -> Iterator[Any]:
    effort = _EFFORT.get()
    for value in values:
        if effort is not None:
            # templates can name this filter too
            effort.add(max(written, 0))
        yield value


@pass_context
def _note_cut(_: Context, part: Any) -> Any:
    return note_made(part)


@pass_context
def _check_kept(_: Context, value: Any) -> Any:
    check_size(value)
    return value


@pass_context
def _join_parts(_: Context, parts: list[Any]) -> str:
    check_size(parts)
    texts = [str(part) for part in parts]
    joined_length(texts, 0)
    joined: str = note_made("".join(texts))
    return joined


def joined_length(parts: Iterable[Any], between: int) -> int:
    """The length of joined texts. Raises SecurityError if it is too long."""
    length = 0
    if isinstance(parts, (str, list, tuple, dict)):
        for part in parts:
            length += between + (len(part) if isinstance(part, str) else 20)
            if length > LONGEST_TEXT:
                raise _too_long()
    return length


def _limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    # the first argument of these filters is the environment or the context
    place = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def limited(*arguments: Any, **named: Any) -> Any:
        value, others = arguments[place], (*arguments[place + 1 :], *named.values())
        largest = _LARGEST_JSON_INDENT if name == "tojson" else _LARGEST_ARGUMENT
        check_size(value)
        for other in others:
            if type(other) in _CONTAINERS:
                check_size(other)
            if isinstance(other, (int, float)) and abs(other) > largest and name != "default":
                raise SecurityError(f"a number for “{name}” is larger than {largest:,}")
        texts = [len(other) for other in others if isinstance(other, str)]
        if name == "replace" and len(texts) > 1:
            _check_replaced(str(value), *(str(other) for other in others[:2]))
        elif name == "join":
            if isinstance(value, Iterator):
                value = list(value)
                check_size(value)
                arguments = (*arguments[:place], value, *arguments[place + 1 :])
            joined_length(value, max(texts, default=0))
        elif (
            isinstance(value, str) and texts and len(value) * max(texts) > LONGEST_TEXT and name != "default"
        ):
            raise _too_long()
        elif name == "format" and isinstance(value, str):
            check_operation("%", value, named or others)
        elif name == "indent" and isinstance(value, str):
            widest = max((other for other in others if isinstance(other, int)), default=4)
            _check_length(value, len(value) + (value.count("\n") + 1) * widest)
        elif name in ("title", "wordwrap") and isinstance(value, str) and len(value) > _LONGEST_IN_WORDS:
            raise SecurityError(f"a text of more than {_LONGEST_IN_WORDS:,} characters for “{name}”")
        elif name == "list" and isinstance(value, str):
            check_operation("*", [None], len(value))
        elif name == "sum" and any(isinstance(other, (list, tuple)) for other in others):
            raise SecurityError("“sum” adds numbers, not lists")
        elif name == "batch" and isinstance(others[0] if others else None, int):
            # the fill character of the last line is repeated up to its length
            check_operation("*", list(others[1:]), others[0])
        made = function(*arguments, **named)
        if (effort := _EFFORT.get()) is not None:
            effort.add(0)
            effort.note_made(made)
        return made

    return limited


def _largest_text(value: object) -> int:
    """The maximum length of the text in the fields of a format string."""
    return len(value) if isinstance(value, str) else _size(value)


def _check_replaced(text: str, old: str, new: str) -> None:
    if text.count(old) * len(new) + len(text) > LONGEST_TEXT:
        raise _too_long()


def _check_length(value: object, length: int) -> None:
    if isinstance(value, str) and length > LONGEST_TEXT:
        raise _too_long()
    if not isinstance(value, str) and length > LONGEST_LIST:
        raise SecurityError(f"a list of more than {LONGEST_LIST:,} entries")


def _check_bits(bits: int) -> None:
    if bits > _MOST_BITS:
        raise SecurityError("a number of more than 3,000 digits")


def _too_long() -> SecurityError:
    return SecurityError(f"a text of more than {LONGEST_TEXT:,} characters")
