"""The data a template is given: copies of our records as plain values, with no object that has methods of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, get_args

from jinja2.runtime import LoopContext
from jinja2.utils import Namespace

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.material import ExplanationView, ItemView, ShownEvent, SlateView, UserView
from recjudge_tui.domain.prompt import AspectSpec, Example, IssueSpec, LabelSpec, ScaleSpec

_PLAIN = frozenset({str, int, float, bool, type(None)})
_RECORDS: dict[type, str] = {
    UserView: "a user",
    ItemView: "an item",
    ShownEvent: "an event",
    SlateView: "a list of recommendations",
    ExplanationView: "an explanation",
    LabelSpec: "a label",
    AspectSpec: "an aspect",
    ScaleSpec: "a scale",
    IssueSpec: "an issue type",
    Example: "an example",
}
_VALUES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"),
    (bool, "a truth value"),
    ((int, float), "a number"),
    (type(None), "nothing"),
    (Mapping, "a mapping"),
    ((list, tuple), "a sequence"),
    (Namespace, "a namespace"),
    (LoopContext, "a loop"),
)


class Record(dict[str, Any]):
    """The fields of one of our records, which a template reaches by name; `kind` is the name of the record's class.

    Printed or iterated in a template, it behaves like the record itself, so that stored prompts render to the same bytes.
    """

    __slots__ = ("kind",)
    kind: str

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self.kind, *self.values()))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())

    def __str__(self) -> str:
        return " ".join(f"{name}={value!r}" for name, value in self.items())

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.items())})"


def plain(value: Any) -> Any:
    """The value as records, dicts, lists, tuples, text, numbers, truth values and None; anything else becomes text."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind in _RECORDS:
        # a history has hundreds of items, and isinstance is slow on a pydantic class
        return _copy(value)
    if kind is dict:
        if _PLAIN.issuperset(map(type, value.values())):
            return value
        return {key: plain(part) for key, part in value.items()}
    if kind is tuple or kind is list:
        return kind(map(plain, value))
    if isinstance(value, Model):
        return _copy(value)
    return str(value)


def _copy(model: Model) -> Record:
    fields = model.__dict__
    copy = Record(fields)
    kind = type(model)
    for name in _nested_fields(kind):
        part = fields[name]
        if part is not None:
            copy[name] = plain(part)
        elif name == "image":
            # items have no images in templates, as in earlier versions
            del copy[name]
    copy.kind = kind.__name__
    return copy


@lru_cache(maxsize=64)
def _nested_fields(kind: type[Model]) -> tuple[str, ...]:
    """The fields of a record whose values may be other than text, numbers, truth values, None, and mappings of these."""
    return tuple(
        name
        for name, field in kind.model_fields.items()
        if not _PLAIN.issuperset(get_args(field.annotation) or (field.annotation,))
    )


def record(model: Model) -> Record:
    """`plain(model)`, cached for objects that are used again: the user of many cases, the aspects of a prompt."""
    return _record(_Identity(model))


class _Identity:
    """A record as a cache key that is equal only to itself.

    The cache keeps the object alive, so its id is not reused.
    """

    __slots__ = ("model",)

    def __init__(self, model: Model) -> None:
        self.model = model

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.model is other.model


@lru_cache(maxsize=64)
def _record(key: _Identity) -> Record:
    return _copy(key.model)


def described(value: object) -> str:
    """The type of a value in words for a message: `a user`, `text`, `a number`."""
    if isinstance(value, Record):
        return next((words for kind, words in _RECORDS.items() if kind.__name__ == value.kind), "a record")
    return next((words for kinds, words in _VALUES if isinstance(value, kinds)), "a function or other object")
