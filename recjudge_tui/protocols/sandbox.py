"""Templates may come from strangers: they reach plain data and a few methods, and end before they cost much.

Python cannot be interrupted within one operation, so no value may grow large: what a filter, a call, an operator or a
literal makes is measured as text at once, and the few operations that multiply their operands are checked before.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any

from jinja2 import Template, Undefined, nodes, pass_context, pass_environment
from jinja2.exceptions import SecurityError
from jinja2.filters import _GroupTuple
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.material import ExplanationView, ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.domain.prompt import AspectSpec, Example, IssueSpec, LabelSpec, ScaleSpec

SECONDS = 2.0
STEPS = 200_000
# the output of a template, and any value in it as text, in characters
LONGEST = 2_000_000
# all values that a template makes, in characters
MOST_MADE = 50_000_000
_MOST_TAGS, _LONGEST_SOURCE = 5_000, 200_000
_MOST_BITS = 10_000
# for filters that copy the rest of the text at each step
_LONGEST_COPIED = 20_000
# the characters of a list entry beside its text: brackets, a comma, a number
_ENTRY = 20
# fields of at most three digits
_WIDE_FORMAT = re.compile(r"%[^%a-zA-Z]*(?:\*|\d{4})")

# ---- data --------------------------------------------------------------------------------------------------------

_PLAIN = frozenset({str, int, float, bool, type(None)})
_WORDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"), (bool, "a truth value"), ((int, float), "a number"), (type(None), "nothing"), (dict, "a mapping"),
    ((list, tuple), "a sequence"), (Namespace, "a namespace"), (LoopContext, "a loop"),
)  # fmt: skip
_RECORDS = {
    UserView: "a user", ItemView: "an item", ShownEvent: "an event", SlateView: "a list of recommendations",
    ExplanationView: "an explanation", LabelSpec: "a label", AspectSpec: "an aspect", ScaleSpec: "a scale",
    IssueSpec: "an issue type", Example: "an example",
}  # fmt: skip


class Record(dict[str, Any]):
    """The fields of one of our records, a copy without methods of ours; `kind` is the record's class."""

    __slots__ = ("kind",)
    kind: type[Model]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.values()))


def plain(value: Any) -> Any:
    """The value as records, dicts, lists, tuples, text, numbers, truth values and None; anything else becomes text."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, Model):
        copy = Record({name: plain(part) for name, part in value.__dict__.items()})
        copy.kind = kind
        return copy
    if kind is dict:
        return {key: plain(part) for key, part in value.items()}
    return kind(map(plain, value)) if kind in (tuple, list) else str(value)


class Same:
    """A record as a cache key that is equal only to itself. The cache keeps it alive, so its id is not used again."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.model is other.model


@lru_cache(maxsize=64)
def _record(key: Same) -> Record:
    copy: Record = plain(key.model)
    return copy


def record(model: Model) -> Record:
    """`plain(model)`, cached for the same object: the user of many cases."""
    return _record(Same(model))


def described(value: object) -> str:
    """The type of a value in words for a message: `a user`, `text`, `a number`."""
    if isinstance(value, Record):
        return _RECORDS.get(value.kind, "a record")
    return next((words for kinds, words in _WORDS if isinstance(value, kinds)), "a function or other object")


# ---- effort ------------------------------------------------------------------------------------------------------


class _Effort:
    """What rendering one text has cost."""

    def __init__(self) -> None:
        self.steps = self.made = self.written = 0
        self.ends = time.thread_time() + SECONDS

    def add(self, made: int = 0, written: int = 0, steps: int = 1) -> None:
        self.steps += steps
        self.made += made
        self.written += written
        if self.steps > STEPS:
            raise SecurityError(f"more than {STEPS:,} steps of loops and calls")
        if self.written > LONGEST:
            raise _too_long()
        if self.made > MOST_MADE:
            raise SecurityError(f"it makes texts and lists of more than {MOST_MADE:,} characters in all")
        if time.thread_time() > self.ends:
            raise SecurityError(f"it takes more than {SECONDS:g} s")


_EFFORT: ContextVar[_Effort | None] = ContextVar("effort", default=None)


@contextmanager
def limited_effort() -> Iterator[None]:
    """Count the effort of rendering one text, and end it with SecurityError if it is too much."""
    token = _EFFORT.set(_Effort())
    try:
        yield
    finally:
        _EFFORT.reset(token)


def _spend(made: int = 0, written: int = 0, steps: int = 1) -> None:
    if (effort := _EFFORT.get()) is not None:
        effort.add(made, written, steps)


def _size(value: object) -> int:
    """The length of a value as text, nearly: a list within a list twice counts twice. Raises if it is too long."""
    size, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        size += len(part) if isinstance(part, str) else _ENTRY
        if isinstance(part, dict):
            waiting += (*dict.keys(part), *part.values())
        elif isinstance(part, (list, tuple)):
            waiting += part
        elif isinstance(part, int) and part.bit_length() > _MOST_BITS:
            raise SecurityError("a number of more than 3,000 digits")
        if size + _ENTRY * len(waiting) > LONGEST:
            raise _too_long()
    return size


def _made(value: Any) -> Any:
    """The value that an operation made, after adding it to the effort."""
    if isinstance(value, (type({}.keys()), type({}.values()), type({}.items()))):
        # a view is as long as its dict wherever it is written
        value = list(value)
    _spend(made=_size(value))
    return value


def _product(*factors: int) -> None:
    """Refuse an operation that would make a text of so many characters."""
    length = 1
    for factor in factors:
        length *= factor
    if length > LONGEST:
        raise _too_long()


def _too_long() -> SecurityError:
    return SecurityError(f"a text of more than {LONGEST:,} characters")


def _check_format(text: str, values: object) -> None:
    if _WIDE_FORMAT.search(text):
        raise SecurityError("a field of a text is too wide")
    _product(text.count("%") + 1, 1_000 + _size(values))


def _check_replaced(text: str, first: str, second: str) -> None:
    # whichever of the two is the old one
    _product(max(text.count(first) * len(second), text.count(second) * len(first)) or 1)


def _limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that counts as a step, takes small numbers, and makes no huge value of small ones."""
    # the first argument of some is the environment or the context
    place = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def limited(*arguments: Any, **named: Any) -> Any:
        _spend()
        value, others = arguments[place], (*arguments[place + 1 :], *named.values())
        texts = [other for other in others if isinstance(other, str)]
        longest = max(map(len, texts), default=0)
        widest = max((abs(other) for other in others if isinstance(other, (int, float))), default=0)
        if widest > _LARGEST_ARGUMENT.get(name, widest):
            raise SecurityError(f"a number for “{name}” is larger than {_LARGEST_ARGUMENT[name]:,}")
        if name == "replace" and len(texts) > 1:
            _check_replaced(str(value), texts[0], texts[1])
        elif name == "join":
            value = list(value) if not isinstance(value, (str, Undefined)) else value
            arguments = (*arguments[:place], value, *arguments[place + 1 :])
            _product(max(longest, 1), len(value) if longest else 1)
        elif name == "format":
            _check_format(str(value), list(others))
        elif name == "indent" and isinstance(value, str):
            _product(value.count("\n") + 1, max(int(widest), longest, 4))
        elif name in _COPYING and isinstance(value, str):
            if len(value) > _LONGEST_COPIED:
                raise SecurityError(f"a text of more than {_LONGEST_COPIED:,} characters for “{name}”")
            _product(len(value), max(longest, 1))
        elif name == "sum" and any(isinstance(other, (list, tuple)) for other in others):
            raise SecurityError("“sum” adds numbers, not lists")
        return _made(function(*arguments, **named))

    return limited


_LARGEST_ARGUMENT = {
    "tojson": 16, **dict.fromkeys(("center", "indent", "truncate", "wordwrap", "batch", "slice", "round"), 10_000)
}  # fmt: skip
_COPYING = ("title", "wordwrap", "striptags", "wordcount")
# they search for patterns in more than linear time, take long for long lists, or differ each time
_LEFT_OUT = {"urlize", "xmlattr", "pprint", "random"}


# ---- environment -------------------------------------------------------------------------------------------------


class _Namespace(Namespace):
    def __repr__(self) -> str:
        return "<a namespace>"


# No method that formats, fills or encodes: those reach into objects, or make texts of any length.
_TEXT_METHODS = (
    "capitalize casefold count endswith find index isalpha isdecimal isdigit islower isnumeric isspace istitle isupper join "
    "lower lstrip partition removeprefix removesuffix replace rfind rpartition rsplit rstrip split splitlines startswith "
    "strip swapcase title upper"
)
_METHODS: tuple[tuple[type, str], ...] = (
    (str, _TEXT_METHODS),
    (dict, "get items keys values"),
    (_GroupTuple, "grouper list count index"),
    (list, "count index"),
    (tuple, "count index"),
    (
        LoopContext,
        "changed cycle depth depth0 first index index0 last length nextitem previtem revindex revindex0",
    ),
)


def _methods(obj: object) -> list[str]:
    return next((names.split() for kind, names in _METHODS if isinstance(obj, kind)), [])


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """An environment in which a template reaches data and the methods listed here, and nothing else of any object.

    The fields of a record win over methods: `slates[0].items`. Any other name is undefined: using it ends the rendering
    with an error that says what may be used. A name that begins with “_” ends it at once, except a key of a dict.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(
        self, filters: Mapping[str, Callable[..., Any]], write: Callable[[Any], str], **options: Any
    ) -> None:
        @pass_context  # so that nothing is written while the template is compiled
        def finalize(_: Context, value: Any) -> str:
            text = write(value)
            _spend(written=len(text), steps=0)
            return text

        super().__init__(**options, finalize=finalize, optimized=False)
        self.globals = {"range": self.globals["range"], "dict": _dict, "namespace": _Namespace}
        # Jinja2 types them as functions
        known: Any = {**self.filters, **filters, "attr": _attr}
        tests: Any = self.tests
        self.filters = {name: _limited(name, known[name]) for name in known.keys() - _LEFT_OUT}
        self.filters |= {"_counted": _counted, "_joined": _joined, "_made": _checked}
        self.tests = {name: _limited(name, test) for name, test in tests.items()}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if source.count("{%") + source.count("{{") > _MOST_TAGS or len(source) > _LONGEST_SOURCE:
            raise SecurityError(f"more than {_MOST_TAGS:,} tags, or {_LONGEST_SOURCE:,} characters")
        tree = _counting(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree

    def _load_template(self, name: str, globals: Any) -> Template:  # noqa: A002 - the name in Jinja2
        if self.loader is not None:
            _spend(written=len(self.loader.get_source(self, name)[0]))
        return super()._load_template(name, globals)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        args = tuple(list(arg) if isinstance(arg, Iterator) else arg for arg in args)
        _spend()
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, str) and name == "replace" and len(args) > 1:
            _check_replaced(owner, str(args[0]), str(args[1]))
        elif isinstance(owner, str) and name == "join" and args:
            _product(max(len(owner), 1), len(args[0]) if hasattr(args[0], "__len__") else 1)
            _size(args[0])
        return _made(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            _check_format(left, right)
        elif operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
            bits = (
                left.bit_length() + right.bit_length() if operator == "*" else left.bit_length() * abs(right)
            )
            if bits > _MOST_BITS:
                raise SecurityError("a number of more than 3,000 digits")
        elif operator == "*" and (isinstance(left, int) or isinstance(right, int)):
            times, many = (left, right) if isinstance(left, int) else (right, left)
            _product(max(times, 0), _size(many) if hasattr(many, "__len__") else 1)
        return _made(super().call_binop(context, operator, left, right))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`: a field of a record; else a method, where a key has the same name; else a key."""
        if isinstance(obj, Undefined):
            return obj[attribute]  # raises
        if type(obj) is not Record and attribute in _methods(obj):
            return getattr(obj, attribute)
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        # a key of the data may begin with “_”, and a template may ask whether it exists
        if attribute.startswith("_") and type(obj) is not dict:
            raise SecurityError(
                f"a template may not use “{attribute}” of {described(obj)}, or any other name that begins with “_”"
            )
        refused = self._refused(obj, attribute)
        return getattr(obj, attribute, refused) if isinstance(obj, Namespace) else refused

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`: a key or an index; else the same as `obj.argument`."""
        if isinstance(argument, str):
            key = isinstance(obj, dict) and argument in obj
            return obj[argument] if key else self.getattr(obj, str(argument))
        if isinstance(obj, (str, dict, list, tuple, range, Undefined)) and type(obj) is not Record:
            try:
                return obj[argument]
            except (TypeError, LookupError):
                return self.undefined(obj=obj, name=argument)
        return self._refused(obj, str(argument))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return False

    def _refused(self, obj: Any, name: str) -> Undefined:
        what = described(obj)
        usable = ", ".join(obj if isinstance(obj, Record) else _methods(obj))
        if not usable:
            return self.undefined(f"a template may not use “{name}” of {what}", obj=obj, name=name)
        keys = "its keys and " if type(obj) is dict else ""
        hint = f"{what} has no “{name}” for a template; a template may use {keys}{usable}"
        return self.undefined(hint, obj=obj, name=name)


def _dict(*pairs: Any, **named: Any) -> dict[Any, Any]:
    """`dict` for templates: a function, so that the type and its methods stay out of reach."""
    return dict(*pairs, **named)


@pass_environment
def _attr(environment: TemplateSandbox, obj: Any, name: str) -> Any:
    """The filter `attr`: `obj.name`, by the rules of the sandbox."""
    return environment.getattr(obj, str(name))


def _counting(tree: nodes.Template) -> nodes.Template:
    """The tree with its own text counted wherever it may be written again, and lists, slices and `~` measured."""
    repeated: tuple[type[nodes.For | nodes.Macro | nodes.CallBlock], ...] = (
        nodes.For,
        nodes.Macro,
        nodes.CallBlock,
    )
    for part in list(tree.find_all(repeated)):
        written = nodes.Const(sum(len(data.data) for data in part.find_all(nodes.TemplateData)))
        if isinstance(part, nodes.For):
            part.iter = _filtered(part.iter, "_counted", written)
        else:
            once = _filtered(nodes.List([nodes.Const("")], lineno=part.lineno), "_counted", written)
            part.body.insert(0, nodes.Output([_filtered(once, "join")], lineno=part.lineno))
    # the innermost first
    for parent in reversed(list(tree.find_all(nodes.Node))):
        for name, value in list(parent.iter_fields()):
            if isinstance(value, list):
                setattr(parent, name, [_measured(part) for part in value])
            else:
                setattr(parent, name, _measured(value))
    return tree


def _measured(value: Any) -> Any:
    if isinstance(value, nodes.Concat):
        return _filtered(_filtered(nodes.List(value.nodes, lineno=value.lineno), "_made"), "_joined")
    loaded = isinstance(value, (nodes.List, nodes.Dict)) or (
        isinstance(value, nodes.Tuple) and value.ctx == "load"
    )
    if loaded or (isinstance(value, nodes.Getitem) and isinstance(value.arg, nodes.Slice)):
        return _filtered(value, "_made")
    return value


def _filtered(value: nodes.Node, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, name, list(arguments), [], None, None, lineno=value.lineno)


# filters for the tree; a template can name them too


def _counted(values: Iterable[Any], written: int) -> Iterator[Any]:
    for value in values:
        _spend(written=max(written, 0))
        yield value


def _checked(value: Any) -> Any:
    return _made(value)


def _joined(parts: list[Any]) -> str:
    joined: str = _made("".join(map(str, parts)))
    return joined
