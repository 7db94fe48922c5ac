"""What a template may reach: the keys of plain data and a short list of methods. Prompts come from strangers too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import Template, Undefined, nodes, pass_environment
from jinja2.exceptions import SecurityError
from jinja2.filters import _GroupTuple
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from recjudge_tui.protocols.templates.data import Record, described
from recjudge_tui.protocols.templates.limits import (
    check_operation,
    check_tags,
    counting_tree,
    limited_filters,
    note_call,
    note_made,
    note_part,
    noted,
)

_SEQUENCE = ("count", "index")
# No method that formats, fills or encodes: those reach into objects, or make texts of any length.
_METHODS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (
        str,
        (
            "capitalize", "casefold", "count", "endswith", "find", "index", "isalpha", "isdecimal", "isdigit", "islower",
            "isnumeric", "isspace", "istitle", "isupper", "join", "lower", "lstrip", "partition", "removeprefix",
            "removesuffix", "replace", "rfind", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith",
            "strip", "swapcase", "title", "upper",
        ),
    ),
    (dict, ("get", "items", "keys", "values")),
    (list, _SEQUENCE),
    (_GroupTuple, ("grouper", "list", *_SEQUENCE)),
    (tuple, _SEQUENCE),
    (
        LoopContext,
        (
            "changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length", "nextitem", "previtem",
            "revindex", "revindex0",
        ),
    ),
)  # fmt: skip
_SUBSCRIPTED = (str, dict, list, tuple, range)


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """An environment in which a template reaches data and the methods listed here, and nothing else of any object.

    Any other name is undefined: using it ends the rendering with an error that says what may be used. A name that
    begins with “_” ends it at once, except a key of a dict.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, filters: Mapping[str, Callable[..., Any]], **options: Any) -> None:
        super().__init__(**{**options, "finalize": noted(options.get("finalize"))})
        self.globals = {"range": self.globals["range"], "dict": _dict, "namespace": Namespace}
        self.filters = limited_filters({**self.filters, **filters, "attr": _attr})

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        check_tags(source)
        return counting_tree(super()._parse(source, name, filename))

    def _load_template(self, name: str, globals: Any) -> Template:  # noqa: A002 - the name in Jinja2
        if self.loader is not None:
            note_part(self.loader.get_source(self, name)[0])
        return super()._load_template(name, globals)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        # a text built from the values of a generator
        args = tuple(list(arg) if isinstance(arg, Iterator) else arg for arg in args)
        note_call(obj, args, kwargs)
        return note_made(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        check_operation(operator, left, right)
        return note_made(super().call_binop(context, operator, left, right))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`: a field of a record; else a method, where a key has the same name; else a key."""
        if type(obj) is Record:
            return obj[attribute] if attribute in obj else self._refused(obj, attribute)
        if attribute in _methods(obj):
            return getattr(obj, attribute)
        return self._key(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`: a key or an index; else the same as `obj.argument`."""
        if isinstance(argument, str):
            if isinstance(obj, dict) and argument in obj:
                return obj[argument]
            return self.getattr(obj, str(argument))
        if isinstance(obj, Undefined):
            return obj[argument]  # raises
        if type(obj) is Record or not isinstance(obj, _SUBSCRIPTED):
            return self._refused(obj, str(argument))
        try:
            return obj[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        try:
            return not isinstance(self.getattr(obj, attr), Undefined)
        except SecurityError:
            return False

    def _key(self, obj: Any, name: str) -> Any:
        if isinstance(obj, Undefined):
            return obj[name]  # raises
        if isinstance(obj, dict) and name in obj:
            return obj[name]
        refused = self._refused(obj, name)
        return getattr(obj, name, refused) if isinstance(obj, Namespace) else refused

    def _refused(self, obj: Any, name: str) -> Undefined:
        what = described(obj)
        # a key of the data may begin with “_”, and a template may ask whether it exists
        if name.startswith("_") and type(obj) is not dict:
            raise SecurityError(
                f"a template may not use “{name}” of {what}, or any other name that begins with “_”"
            )
        usable = ", ".join(obj.keys() if isinstance(obj, Record) else _methods(obj))
        if not usable:
            return self.undefined(f"a template may not use “{name}” of {what}", obj=obj, name=name)
        keys = "its keys and " if type(obj) is dict else ""
        hint = f"{what} has no “{name}” for a template; a template may use {keys}{usable}"
        return self.undefined(hint, obj=obj, name=name)


def _methods(obj: object) -> tuple[str, ...]:
    return next((names for kind, names in _METHODS if isinstance(obj, kind)), ())


def _dict(*pairs: Any, **named: Any) -> dict[Any, Any]:
    """`dict` for templates: a function, so that the type and its methods stay out of reach."""
    return dict(*pairs, **named)


@pass_environment
def _attr(environment: TemplateSandbox, obj: Any, name: str) -> Any:
    """The filter `attr`: `obj.name`, by the rules of the sandbox."""
    return environment.getattr(obj, str(name))
