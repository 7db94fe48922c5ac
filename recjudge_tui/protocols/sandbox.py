"""Templates may come from strangers: they reach plain data, a few methods and filters, and end before they cost much.
Python cannot be interrupted within one operation, so no value may grow large: what a filter, a call, an operator or a
literal makes is measured as text at once, and the few operations that multiply their operands are checked before."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from math import prod
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
_STEPS_A_LOOK = 16
_MOST_PLACES = 300
# the characters of a list entry beside its text: brackets, a comma, a number
_ENTRY = 20
# fields of at most three digits
_WIDE_FORMAT = re.compile(r"%[^%a-zA-Z]*(?:\*|\d{4})")
# Those that pad, wrap, mark up or search take too long, or make texts of any length; `safe` and `escape` have no meaning.
_FILTERS = (
    "abs attr capitalize count d default dictsort first float format groupby int items join last length list lower map max "
    "min reject rejectattr replace reverse round select selectattr sort string sum title trim unique upper"
)
# No method that formats, fills or encodes: those reach into objects, or make texts of any length.
_TEXT_METHODS = (
    "capitalize casefold count endswith find index isalpha isdecimal isdigit islower isnumeric isspace istitle isupper join "
    "lower lstrip partition removeprefix removesuffix replace rfind rpartition rsplit rstrip split splitlines startswith "
    "strip swapcase title upper"
)
_LOOP = "changed cycle depth depth0 first index index0 last length nextitem previtem revindex revindex0"
# type -> the methods that can be reached, and the type in words
_KINDS: tuple[tuple[type | tuple[type, ...], str, str], ...] = (
    (str, _TEXT_METHODS, "text"), (bool, "", "a truth value"), ((int, float), "", "a number"), (type(None), "", "nothing"),
    (dict, "get items keys values", "a mapping"), (_GroupTuple, "grouper list count index", "a sequence"),
    ((list, tuple), "count index", "a sequence"), (Namespace, "", "a namespace"), (LoopContext, _LOOP, "a loop"),
    (object, "", "a function or other object"),
)  # fmt: skip
_RECORDS = {
    UserView: "a user", ItemView: "an item", ShownEvent: "an event", SlateView: "a list of recommendations",
    ExplanationView: "an explanation", LabelSpec: "a label", AspectSpec: "an aspect", ScaleSpec: "a scale",
    IssueSpec: "an issue type", Example: "an example",
}  # fmt: skip

# ---- data --------------------------------------------------------------------------------------------------------

_PLAIN = frozenset({str, int, float, bool, type(None)})


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
    return next(words for kinds, _, words in _KINDS if isinstance(value, kinds))


def _methods(value: object) -> list[str]:
    return next(names.split() for kinds, names, _ in _KINDS if isinstance(value, kinds))


# ---- effort ------------------------------------------------------------------------------------------------------

# of the text that is rendered: steps, characters made, characters written, and when its time ends
_EFFORT: ContextVar[list[float] | None] = ContextVar("effort", default=None)


@contextmanager
def limited_effort() -> Iterator[None]:
    """Count the effort of rendering one text, and end it with SecurityError if it is too much."""
    token = _EFFORT.set([0, 0, 0, time.thread_time() + SECONDS])
    try:
        yield
    finally:
        _EFFORT.reset(token)


def _spend(made: int = 0, written: int = 0, steps: int = 1) -> None:
    if (effort := _EFFORT.get()) is None:
        return
    effort[0] += steps
    effort[1] += made
    effort[2] += written
    if effort[0] > STEPS:
        raise SecurityError(f"more than {STEPS:,} steps of loops and calls")
    if effort[1] > MOST_MADE:
        raise SecurityError(f"it makes texts and lists of more than {MOST_MADE:,} characters in all")
    _product(int(effort[2]))
    # asking for the time is a system call
    if steps and effort[0] % _STEPS_A_LOOK == 0 and time.thread_time() > effort[3]:
        raise SecurityError(f"it takes more than {SECONDS:g} s")


def _product(*factors: int) -> None:
    """Refuse an operation that would make a text of so many characters."""
    if prod(factors) > LONGEST:
        raise SecurityError(f"a text of more than {LONGEST:,} characters")


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
        elif isinstance(part, int):
            _check_bits(part.bit_length())
        _product(size + _ENTRY * len(waiting))
    return size


def _made(value: Any) -> Any:
    """The value that an operation made, after adding it to the effort."""
    if isinstance(value, (type({}.keys()), type({}.values()), type({}.items()))):
        # a view is as long as its dict wherever it is written
        value = list(value)
    _spend(made=_size(value))
    return value


def _check_bits(bits: int) -> None:
    if bits > _MOST_BITS:
        raise SecurityError("a number of more than 3,000 digits")


def _check(name: str, value: Any, others: Iterable[Any]) -> None:
    """Refuse an operation that makes a huge value of small ones: a filter, a method or an operator by its name."""
    texts = [other for other in others if isinstance(other, str)]
    if name == "replace" and len(texts) > 1:
        # whichever of the two is the old one
        old, new = texts[:2]
        _product(max(str(value).count(old) * len(new), str(value).count(new) * len(old)) or 1)
    elif name == "join":
        _product(max(map(len, texts), default=0), len(value) if hasattr(value, "__len__") else 1)
        _size(value)
    elif name == "format":
        if _WIDE_FORMAT.search(str(value)):
            raise SecurityError("a field of a text is too wide")
        _product(str(value).count("%") + 1, 1_000 + _size(list(others)))
    elif name == "round" and any(isinstance(o, int) and abs(o) > _MOST_PLACES for o in others):
        raise SecurityError(f"a number for “round” is larger than {_MOST_PLACES}")
    elif name == "sum" and any(isinstance(other, (list, tuple)) for other in others):
        raise SecurityError("“sum” adds numbers, not lists")


def _limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that counts as a step and is measured."""
    # the first argument of some is the environment or the context
    place = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def limited(*arguments: Any, **named: Any) -> Any:
        _spend()
        if name == "join" and isinstance(arguments[place], Iterator):
            arguments = (*arguments[:place], list(arguments[place]), *arguments[place + 1 :])
        _check(name, arguments[place], [*arguments[place + 1 :], *named.values()])
        return _made(function(*arguments, **named))

    return limited


# ---- environment -------------------------------------------------------------------------------------------------


class _Namespace(Namespace):
    def __repr__(self) -> str:
        return "<a namespace>"


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """An environment in which a template reaches data and the methods listed above, and nothing else of any object. The
    fields of a record win over methods: `slates[0].items`. Any other name is undefined: using it ends the rendering with
    an error that says what may be used. A name that begins with “_” ends it at once, except a key of a dict."""

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
        # `dict` as a function, so that the type and its methods stay out of reach
        self.globals = {"range": self.globals["range"], "dict": lambda *p, **named: dict(*p, **named)}
        self.globals["namespace"] = _Namespace
        # Jinja2 types them as functions
        known: Any = {**{name: self.filters[name] for name in _FILTERS.split()}, **filters, "attr": _attr}
        tests: Any = self.tests
        self.filters = {name: _limited(name, function) for name, function in known.items()}
        self.filters |= {"_counted": _counted, "_joined": _joined, "_made": _made}
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
        if isinstance(owner, str) and args:
            _check(name, *((args[0], [owner]) if name == "join" else (owner, args)))
        return _made(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            _check("format", left, [right])
        elif operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length()
            _check_bits(bits + right.bit_length() if operator == "*" else bits * abs(right))
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
        keys = "its keys and " if type(obj) is dict else ""
        hint = f"{what} has no “{name}” for a template; a template may use {keys}{usable}"
        return self.undefined(hint if usable else f"a template may not use “{name}” of {what}", obj, name)


@pass_environment
def _attr(environment: TemplateSandbox, obj: Any, name: str) -> Any:
    """The filter `attr`: `obj.name`, by the rules of the sandbox."""
    return environment.getattr(obj, str(name))


def _counting(tree: nodes.Template) -> nodes.Template:
    """The tree with its own text counted wherever it may be written again, and lists, slices and `~` measured."""
    for part in list(tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock))):
        written = nodes.Const(sum(len(data.data) for data in part.find_all(nodes.TemplateData)))
        if isinstance(part, nodes.For):
            part.iter = _filtered(part.iter, "_counted", written)
        elif isinstance(part, (nodes.Macro, nodes.CallBlock)):
            once = _filtered(nodes.List([nodes.Const("")], lineno=part.lineno), "_counted", written)
            part.body.insert(0, nodes.Output([_filtered(once, "join")], lineno=part.lineno))
    # the innermost first
    for parent in reversed(list(tree.find_all(nodes.Node))):
        for name, value in list(parent.iter_fields()):
            measured = list(map(_measured, value)) if isinstance(value, list) else _measured(value)
            setattr(parent, name, measured)
    return tree


def _measured(value: Any) -> Any:
    if isinstance(value, nodes.Concat):
        return _filtered(_filtered(nodes.List(value.nodes, lineno=value.lineno), "_made"), "_joined")
    loaded = isinstance(value, (nodes.List, nodes.Dict)) or getattr(value, "ctx", "") == "load"
    sliced = isinstance(value, nodes.Getitem) and isinstance(value.arg, nodes.Slice)
    if sliced or (loaded and isinstance(value, (nodes.List, nodes.Dict, nodes.Tuple))):
        return _filtered(value, "_made")
    return value


def _filtered(value: nodes.Node, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, name, list(arguments), [], None, None, lineno=value.lineno)


# filters for the tree; a template can name them too


def _counted(values: Iterable[Any], written: int) -> Iterator[Any]:
    for value in values:
        _spend(written=max(written, 0))
        yield value


def _joined(parts: list[Any]) -> str:
    joined: str = _made("".join(map(str, parts)))
    return joined
