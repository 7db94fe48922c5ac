"""How much a template may do: steps, time, and the length of texts and lists. Prompts come from strangers too.

Python cannot be interrupted within one operation, so what could make a huge value is checked before it is done; what
repeats (loops, calls, parts) counts its steps.
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

STEPS = 200_000
SECONDS = 2.0
LONGEST_TEXT = 5_000_000
LONGEST_LIST = 100_000
_LARGEST_ARGUMENT = 10_000
_MOST_BITS = 10_000
_WIDE_FORMAT = re.compile(r"%[^%a-zA-Z]*(?:\*|\d{5})")
_COUNTED, _JOINED = "_counted", "_joined"


class _Effort:
    """What the rendering of one text has used."""

    def __init__(self, length: int) -> None:
        self.steps, self.characters = 0, 0
        self.length = length
        self.ends = time.thread_time() + SECONDS

    def add(self, characters: int, steps: int = 1) -> None:
        self.steps += steps
        self.characters += characters
        if self.steps > STEPS:
            raise SecurityError(f"more than {STEPS:,} steps of loops and calls")
        if self.characters > LONGEST_TEXT:
            raise _too_long()
        if self.steps & 63 == 0 and time.thread_time() > self.ends:
            raise SecurityError(f"it takes more than {SECONDS:g} s")


_EFFORT: ContextVar[_Effort | None] = ContextVar("effort", default=None)


@contextmanager
def limited_effort(source: str) -> Iterator[None]:
    """Count what the rendering of a template does, and end it with SecurityError where that is too much."""
    token = _EFFORT.set(_Effort(len(source)))
    try:
        yield
    finally:
        _EFFORT.reset(token)


def note_call(target: object, arguments: tuple[Any, ...]) -> None:
    """Count a call, and check that it makes no huge value. Raises SecurityError."""
    owner, name = getattr(target, "__self__", None), getattr(target, "__name__", "")
    if isinstance(owner, str) and name == "replace" and len(arguments) > 1:
        _check_replaced(owner, *map(str, arguments[:2]))
    elif isinstance(owner, str) and name == "join" and arguments:
        joined_length(arguments[0], len(owner))
    elif (effort := _EFFORT.get()) is not None:
        # a macro writes at most the text of its template each time
        effort.add(0 if isinstance(target, type) or owner is not None else effort.length // 20)


def note_part(source: str) -> None:
    """Count a part that is included."""
    if (effort := _EFFORT.get()) is not None:
        effort.add(len(source))


def noted(write: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    """What makes a value text, and counts its characters."""

    def finalize(value: Any) -> Any:
        text = value if write is None else write(value)
        # every value of every case comes here
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
    elif operator == "+" and hasattr(left, "__len__") and hasattr(right, "__len__"):
        _check_length(left, len(left) + len(right))
    elif operator == "*" and isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    elif operator == "*":
        times, many = (left, right) if isinstance(left, int) else (right, left)
        if isinstance(times, int) and hasattr(many, "__len__"):
            _check_length(many, times * len(many))
    elif operator == "**" and isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() * abs(right))


def limited_filters(filters: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The filters, held to small numbers and texts as arguments, and those that the syntax tree gets from here."""
    limited = {name: _limited(name, function) for name, function in filters.items() if name not in _LEFT_OUT}
    return {**limited, _COUNTED: _count_steps, _JOINED: _join_parts}


# they look for patterns in time that is not linear
_LEFT_OUT = ("urlize", "xmlattr")


def counting_tree(tree: nodes.Template) -> nodes.Template:
    """The tree with every loop counting its steps and every `~` checking its length."""
    for loop in list(tree.find_all(nodes.For)):
        written = sum(len(data.data) for data in loop.find_all(nodes.TemplateData))
        loop.iter = _filtered(loop.iter, _COUNTED, nodes.Const(written, lineno=loop.lineno))
    for parent in list(_all_nodes(tree)):
        for name, value in list(parent.iter_fields()):
            if isinstance(value, nodes.Concat):
                setattr(parent, name, _joined(value))
            elif isinstance(value, list):
                setattr(parent, name, [_joined(v) if isinstance(v, nodes.Concat) else v for v in value])
    return tree


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
            effort.add(written)
        yield value


@pass_context
def _join_parts(_: Context, parts: list[Any]) -> str:
    texts = [str(part) for part in parts]
    joined_length(texts, 0)
    return "".join(texts)


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
    # what the environment or the context is passed to comes second
    place = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def limited(*arguments: Any, **named: Any) -> Any:
        value, others = arguments[place], (*arguments[place + 1 :], *named.values())
        for other in others:
            if isinstance(other, (int, float)) and abs(other) > _LARGEST_ARGUMENT and name != "default":
                raise SecurityError(f"a number for “{name}” is larger than {_LARGEST_ARGUMENT:,}")
        texts = [len(other) for other in others if isinstance(other, str)]
        if name == "replace" and len(texts) > 1:
            _check_replaced(str(value), *(str(other) for other in others[:2]))
        elif name == "join":
            joined_length(value, max(texts, default=0))
        elif (
            isinstance(value, str) and texts and len(value) * max(texts) > LONGEST_TEXT and name != "default"
        ):
            raise _too_long()
        elif name == "format" and isinstance(value, str):
            check_operation("%", value, others)
        if (effort := _EFFORT.get()) is not None:
            effort.add(0)
        return function(*arguments, **named)

    return limited


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
