"""Templates may come from strangers: a small part of Jinja2's language reaches plain data, a few methods and filters, and
ends before it costs much. Python cannot be interrupted within one operation, so no value may grow large: nothing is kept
from one turn of a loop to the next, `+` and its kind are for numbers, and what a filter, a call or `~` makes is measured."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache, wraps
from math import prod
from typing import Any

from jinja2 import Template, TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.material import ExplanationView, ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.domain.prompt import AspectSpec, Example, IssueSpec, LabelSpec, ScaleSpec

SECONDS = 2.0
STEPS = 200_000
_STEPS_A_LOOK, _LITTLE = 16, 10_000
# the output of a template, and any value in it as text, in characters
LONGEST = 2_000_000
# all values that a template makes, in characters
MOST_MADE = 50_000_000
_MOST_TAGS, _LONGEST_SOURCE = 5_000, 200_000
_MOST_BITS = 10_000
# the characters of a list entry beside its text: brackets, a comma, a number
_ENTRY = 20
# fields of at most three digits
_WIDE_FORMAT = re.compile(r"%[^%a-zA-Z]*(?:\*|\d{4})")
# the nodes of Jinja2's grammar that a template may have; lists and mappings only of constants
_LANGUAGE = frozenset(
    "Template Output TemplateData If For Assign Include Name Const Getattr Getitem Slice Filter Test Call Keyword Compare "
    "Operand And Or Not Neg Pos Add Sub Mul Div FloorDiv Mod Concat CondExpr List Tuple Dict Pair".split()
)
# what is not in it, as a template writes it
_WRITTEN = {"AssignBlock": "set … endset", "CallBlock": "call", "Pow": "**", "FilterBlock": "filter"}
_LITERALS = (nodes.List, nodes.Tuple, nodes.Dict)
# Those that pad, replace, wrap, mark up or search make texts of any length, or take too long.
_FILTERS = (
    "abs capitalize count d default first float format int items join last length list lower map max min reject "
    "rejectattr reverse select selectattr sort string title trim unique upper"
)
# type -> the methods that can be reached, and the type in words
_KINDS: tuple[tuple[type | tuple[type, ...], str, str], ...] = (
    (str, "capitalize endswith lower split startswith strip title upper", "text"), (bool, "", "a truth value"),
    ((int, float), "", "a number"), (type(None), "", "nothing"), (dict, "get items keys values", "a mapping"),
    ((list, tuple), "", "a sequence"),
    (LoopContext, "first index index0 last length nextitem previtem revindex revindex0", "a loop"),
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
        copy = Record(value.__dict__)
        for name, part in value.__dict__.items():
            if type(part) not in _PLAIN:
                copy[name] = plain(part)
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

# of the text that is rendered: steps, characters made, and when its time ends (0 until the clock is first looked at)
_EFFORT: ContextVar[list[float] | None] = ContextVar("effort", default=None)


def written(template: Template, names: Mapping[str, Any]) -> str:
    """The template's text; ends with SecurityError when it takes too much effort."""
    token = _EFFORT.set([0, 0, 0.0])
    parts, length = [], 0
    try:
        for part in template.generate(names):
            length += len(part)
            if length > LONGEST:
                _product(length)
            parts.append(part)
    finally:
        _EFFORT.reset(token)
    return "".join(parts)


def _spend(made: int = 0) -> None:
    if (effort := _EFFORT.get()) is None:
        return
    effort[0] += 1
    effort[1] += made
    if effort[0] > STEPS:
        raise SecurityError(f"more than {STEPS:,} steps of loops and calls")
    if effort[1] > MOST_MADE:
        raise SecurityError(f"it makes texts and lists of more than {MOST_MADE:,} characters in all")
    # a step that makes little takes no time
    if made < _LITTLE and effort[0] % _STEPS_A_LOOK:
        return
    effort[2] = effort[2] or time.thread_time() + SECONDS
    if time.thread_time() > effort[2]:
        raise SecurityError(f"it takes more than {SECONDS:g} s")


def _product(*factors: int) -> None:
    """Refuse an operation that would make a text of so many characters."""
    if prod(factors) > LONGEST:
        raise SecurityError(f"a text of more than {LONGEST:,} characters")


def _size(value: object) -> int:
    """The length of a value as text, nearly. Raises if it is too long."""
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
        _product(size + _ENTRY * len(waiting))
    return size


def _made(value: Any) -> Any:
    """The value that an operation made, after adding it to the effort. A view of a mapping becomes a list."""
    if isinstance(value, (type({}.keys()), type({}.values()), type({}.items()))):
        value = list(value)
    _spend(_size(value))
    return value


def _check(name: str, value: Any, others: list[Any]) -> None:
    """Refuse a filter that makes a huge value of small ones."""
    if name == "join":
        _product(max((len(o) for o in others if isinstance(o, str)), default=0), len(value))
        _size(value)
    elif name == "format":
        if _WIDE_FORMAT.search(str(value)):
            raise SecurityError("a field of a text is too wide")
        _product(str(value).count("%") + 1, 1_000 + _size(others))


def _limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that counts as a step and is measured."""
    # the first argument of some is the environment or the context
    place = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def limited(*arguments: Any, **named: Any) -> Any:
        _spend()
        if name == "join":
            arguments = (*arguments[:place], list(arguments[place]), *arguments[place + 1 :])
        _check(name, arguments[place], [*arguments[place + 1 :], *named.values()])
        return _made(function(*arguments, **named))

    return limited


# ---- environment -------------------------------------------------------------------------------------------------


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """An environment in which a template reaches data and the methods listed above, and nothing else of any object. The
    fields of a record win over methods: `slates[0].items`. Any other name is undefined: using it ends the rendering with
    an error that says what may be used. A name that begins with “_” ends it at once, except a key of a dict."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})

    def __init__(
        self, filters: Mapping[str, Callable[..., Any]], write: Callable[[Any], str], **options: Any
    ) -> None:
        @pass_context  # so that nothing is written while the template is compiled
        def finalize(_: Context, value: Any) -> str:
            return write(value)

        super().__init__(**options, finalize=finalize, optimized=False)
        self.globals = {"range": self.globals["range"]}
        # Jinja2 types them as functions
        known: Any = {**{name: self.filters[name] for name in _FILTERS.split()}, **filters}
        tests: Any = self.tests
        self.filters = {name: _limited(name, function) for name, function in known.items()}
        self.filters |= {"_counted": _counted, "_joined": _joined}
        self.tests = {name: _limited(name, test) for name, test in tests.items()}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if source.count("{%") + source.count("{{") > _MOST_TAGS or len(source) > _LONGEST_SOURCE:
            raise SecurityError(f"more than {_MOST_TAGS:,} tags, or {_LONGEST_SOURCE:,} characters")
        tree = super()._parse(source, name, filename)
        for node in tree.find_all(nodes.Node):
            if refused := _refused_part(node):
                raise TemplateSyntaxError(f"a template may not use “{refused}”", node.lineno, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = _filtered(loop.iter, "_counted")
        # the innermost first
        for parent in reversed(list(tree.find_all(nodes.Node))):
            for field, value in list(parent.iter_fields()):
                joined = list(map(_measured, value)) if isinstance(value, list) else _measured(value)
                setattr(parent, field, joined)
        tree.set_environment(self)
        return tree

    def _load_template(self, name: str, globals: Any) -> Template:  # noqa: A002 - the name in Jinja2
        _spend()
        return super()._load_template(name, globals)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        _spend()
        return _made(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
            raise SecurityError(f"“{operator}” is for numbers; “~” joins texts")
        return _made(super().call_binop(context, operator, left, right))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`: a field of a record; else a method, where a key has the same name; else a key."""
        if isinstance(obj, Undefined):
            return obj[attribute]  # raises
        if type(obj) is not Record and attribute in _methods(obj):
            return getattr(obj, attribute)
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        what = described(obj)
        refused = f"a template may not use “{attribute}” of {what}"
        # a key of the data may begin with “_”, and a template may ask whether it exists
        if attribute.startswith("_") and type(obj) is not dict:
            raise SecurityError(f"{refused}, or any other name that begins with “_”")
        usable = ", ".join(obj if isinstance(obj, Record) else _methods(obj))
        keys = "its keys and " if type(obj) is dict else ""
        hint = f"{what} has no “{attribute}” for a template; a template may use {keys}{usable}"
        return self.undefined(hint if usable else refused, obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`: a key or an index; else the same as `obj.argument`."""
        if type(obj) is dict or (isinstance(obj, dict) and argument in obj):
            return obj[argument] if argument in obj else self.getattr(obj, str(argument))
        if isinstance(argument, str) or not isinstance(obj, (str, list, tuple, range, Undefined)):
            return self.getattr(obj, str(argument))
        try:
            return obj[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return False


def _refused_part(node: nodes.Node) -> str:
    """What a node is that a template may not have, as it is written; empty for one that it may."""
    kind = type(node).__name__
    if kind not in _LANGUAGE:
        return _WRITTEN.get(kind, kind.casefold())
    if isinstance(node, _LITERALS) and getattr(node, "ctx", "load") == "load":
        constant = (*_LITERALS, nodes.Pair, nodes.Const)
        return "" if all(isinstance(part, constant) for part in node.find_all(nodes.Node)) else "[…]"
    return "recursive" if isinstance(node, nodes.For) and node.recursive else ""


def _measured(value: Any) -> Any:
    """`a ~ b` as a filter that measures what it makes."""
    if not isinstance(value, nodes.Concat):
        return value
    return _filtered(nodes.List(value.nodes, lineno=value.lineno), "_joined")


def _filtered(value: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)


# filters for the tree; a template can name them too


def _counted(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _spend()
        yield value


def _joined(parts: list[Any]) -> str:
    joined: str = _made("".join(map(str, parts)))
    return joined
