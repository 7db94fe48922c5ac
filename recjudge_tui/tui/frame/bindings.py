"""Every key binding of the app: which classes declare them, and which of them are active at the same time."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, NamedTuple, cast

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, TextArea

_ROOM = "recjudge_tui.tui"
_PALETTE = Binding("ctrl+p", "command_palette", "command palette", priority=True)


class BoundKey(NamedTuple):
    """One key of one binding. `name` is the binding's id, or its description if it has none (Textual's own bindings)."""

    key: str
    name: str
    does: str
    ours: bool
    priority: bool


class Owner(NamedTuple):
    """A screen, dialog or widget that declares bindings. `keys` includes the inherited ones."""

    node: type[DOMNode]
    name: str
    declared: tuple[BoundKey, ...]
    keys: tuple[BoundKey, ...]

    @property
    def takes_text(self) -> bool:
        return issubclass(self.node, (Input, TextArea))


class Layer(NamedTuple):
    """The keys active at one time: of a focused widget, its screen and the app, innermost first."""

    screen: str
    keys: tuple[BoundKey, ...]


class Bindings(NamedTuple):
    """`shipped` maps the id of a binding to its keys, as Textual names them."""

    owners: tuple[Owner, ...]
    layers: tuple[Layer, ...]
    shipped: dict[str, tuple[str, ...]]


@cache
def bindings_of(app: type[App[Any]]) -> Bindings:
    """The bindings of the app and of everything in the package `tui`. Imports every screen, which takes a moment."""
    owners = tuple(sorted([_owner(app), *_owners(app.__module__)], key=lambda owner: owner.name))
    shipped: dict[str, list[str]] = {}
    for owner in owners:
        for bound in owner.declared:
            if bound.ours and bound.key not in shipped.setdefault(bound.name, []):
                shipped[bound.name].append(bound.key)
    layers = tuple(_layers(owners, (*_keys_of(app), *_bound_keys([_PALETTE]))))
    return Bindings(owners, layers, {name: tuple(keys) for name, keys in shipped.items()})


def _owners(app_module: str) -> Iterator[Owner]:
    package = import_module(_ROOM)
    for module in walk_packages(package.__path__, f"{_ROOM}."):
        if module.ispkg or module.name == app_module:
            continue
        for node in vars(import_module(module.name)).values():
            if (
                isinstance(node, type)
                and issubclass(node, DOMNode)
                and node.__module__ == module.name
                and "BINDINGS" in vars(node)
            ):
                yield _owner(node)


def _layers(owners: Iterable[Owner], app_keys: tuple[BoundKey, ...]) -> Iterator[Layer]:
    """Every combination of bindings that can be active together. A dialog hides the keys of the app."""
    for owner in owners:
        if not issubclass(owner.node, Screen):
            continue
        below = () if issubclass(owner.node, ModalScreen) else app_keys
        # a text field receives the keys that type characters, whatever they are bound to
        widgets = [
            widget
            for widget in _widgets_of(owner.node.__module__, set())
            if not issubclass(widget, (Input, TextArea))
        ]
        for focused in [_keys_of(widget) for widget in widgets] or [()]:
            yield Layer(owner.name, (*focused, *owner.keys, *below))


def _owner(node: type[DOMNode]) -> Owner:
    declared = cast("Iterable[Binding]", vars(node)["BINDINGS"])
    return Owner(node, _plain_name(node.__name__), _bound_keys(declared), _keys_of(node))


def _plain_name(name: str) -> str:
    """`CasesScreen` is “cases”, `RecjudgeApp` “app”, `JudgePicker` “judge picker”."""
    words = re.findall(r"[A-Z][a-z0-9]*", name)
    kept = [word for word in words if word not in ("Screen", "Recjudge", "Dialog")] or words
    return " ".join(kept).lower()


def _bound_keys(bindings: Iterable[Binding]) -> tuple[BoundKey, ...]:
    return tuple(
        BoundKey(b.key, b.id or b.description or b.action, b.description, b.id is not None, b.priority)
        for b in Binding.make_bindings(list(bindings))
    )


@cache
def _keys_of(node: type[DOMNode]) -> tuple[BoundKey, ...]:
    """The keys of a class as Textual merges them: a key declared by a subclass replaces the inherited one."""
    keys: dict[str, list[BoundKey]] = {}
    for base in reversed(node.__mro__):
        if not issubclass(base, DOMNode):
            continue
        if not getattr(base, "_inherit_bindings", True):
            keys.clear()
        nearer: dict[str, list[BoundKey]] = {}
        for bound in _bound_keys(vars(base).get("BINDINGS", ())):
            nearer.setdefault(bound.key, []).append(bound)
        keys.update(nearer)
    return tuple(bound for same_key in keys.values() for bound in same_key)


def _widgets_of(module: str, seen: set[str]) -> list[type[DOMNode]]:
    """The focusable classes that a module names, and those that the modules of our own widgets name."""
    seen.add(module)
    widgets: list[type[DOMNode]] = []
    for node in vars(sys.modules[module]).values():
        if not isinstance(node, type) or not issubclass(node, DOMNode) or issubclass(node, Screen):
            continue
        if getattr(node, "can_focus", False):
            widgets.append(node)
        if node.__module__.startswith(f"{_ROOM}.") and node.__module__ not in seen:
            widgets += _widgets_of(node.__module__, seen)
    return list(dict.fromkeys(widgets))
