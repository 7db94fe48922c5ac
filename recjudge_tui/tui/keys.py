"""Keys: what each screen offers, and what the user chose instead."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import NamedTuple

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys
from textual.widgets import Input, TextArea

from recjudge_tui.config_file import Fault, KeyRow, KeySetting, SettingsFile
from recjudge_tui.tui.themes import chosen_theme

# ---- bindings ----------------------------------------------------------------------------------------------------


_ROOM = "recjudge_tui.tui"
_PALETTE = Binding("ctrl+p", "command_palette", "command palette", priority=True)


class Owner(NamedTuple):
    """A screen, dialog or widget that declares bindings. `keys` includes the inherited ones."""

    name: str
    takes_text: bool
    declared: tuple[Binding, ...]
    keys: tuple[Binding, ...]


class Bindings(NamedTuple):
    """`shipped` maps the id of a binding to its keys, as Textual names them."""

    owners: tuple[Owner, ...]
    shipped: dict[str, tuple[str, ...]]


@cache
def all_bindings() -> Bindings:
    """The bindings of everything in the package `tui`. Imports every screen, which takes a moment."""
    owners = tuple(sorted(_owners(), key=lambda owner: owner.name))
    shipped: dict[str, dict[str, None]] = {}
    for owner in owners:
        for binding in owner.declared:
            if binding.id:
                shipped.setdefault(binding.id, {})[binding.key] = None
    return Bindings(owners, {name: tuple(keys) for name, keys in shipped.items()})


def _owners() -> Iterator[Owner]:
    for module in walk_packages(import_module(_ROOM).__path__, f"{_ROOM}."):
        for node in vars(import_module(module.name)).values():
            if isinstance(node, type) and issubclass(node, DOMNode) and node.__module__ == module.name:
                declared = tuple(Binding.make_bindings(vars(node).get("BINDINGS", ())))
                merged = node._merged_bindings
                if declared and merged is not None:
                    keys = tuple(
                        binding for same_key in merged.key_to_bindings.values() for binding in same_key
                    )
                    yield Owner(
                        _plain_name(node.__name__), issubclass(node, Input | TextArea), declared, keys
                    )


def _plain_name(name: str) -> str:
    """`CasesScreen` is “cases”, `RecjudgeApp` “app”, `JudgeField` “judge field”."""
    words = re.findall(r"[A-Z][a-z0-9]*", name)
    kept = [word for word in words if word not in ("Screen", "Recjudge", "Dialog")] or words
    return " ".join(kept).lower()


def _name(binding: Binding) -> str:
    """The id of one of ours; Textual's own have only a description."""
    return binding.id or binding.description or binding.action


# ---- keymap ------------------------------------------------------------------------------------------------------


Keymap = dict[str, tuple[str, ...]]

# terminals and tmux use these themselves, or send another key
_TAKEN_KEYS = {f"ctrl+{key}" for key in "hijms"} | {"ctrl+enter"}
_TAKEN_MODIFIERS = {"alt", "cmd", "super", "meta", "hyper"}
_MODIFIERS = {"ctrl", "shift"}


def settle(settings: Sequence[KeySetting], bindings: Bindings) -> tuple[Keymap, list[Fault]]:
    """Binding id -> the keys of the settings that can be used, and why the others cannot: their binding or one of their keys
    does not exist, terminals do not send the key, or it has another action in the same place."""
    faults: list[Fault] = []
    keymap: Keymap = {}
    for setting in settings:
        keys, fault = _requested_keys(setting, bindings)
        if fault is None and setting.binding in keymap:
            fault = Fault(setting.line, f"“{setting.binding}” is set twice", "Leave one of the two.")
        if fault is not None:
            faults.append(fault)
        else:
            keymap[setting.binding] = keys
    lines = {setting.binding: setting.line for setting in settings}
    for owner in bindings.owners:
        used: dict[str, str] = {}
        for name in dict.fromkeys(map(_name, owner.keys)):
            own = [binding.key for binding in owner.keys if _name(binding) == name]
            for key in keymap.get(name, own):
                other = used.setdefault(key, name)
                taker = name if name in keymap else other
                if other != name and taker in keymap and key not in bindings.shipped[taker]:
                    del keymap[taker]
                    text = f"“{written(key)}” has two actions on {owner.name}: {name} and {other}"
                    faults.append(Fault(lines[taker], text, "Give one of them another key."))
                    break
    return keymap, faults


def keymap_for(settled: Keymap, bindings: Bindings) -> dict[str, str]:
    """The result of `settle` for `App.set_keymap`, which takes a key from every binding that shares it, so the others
    are included too.
    """
    full = {name: ",".join(keys) for name, keys in settled.items()}
    for owner in bindings.owners:
        moved = {binding.key for binding in owner.keys if _name(binding) in settled}
        for binding in owner.keys:
            if binding.id and binding.key in moved and binding.id not in settled:
                own = [other.key for other in owner.keys if other.id == binding.id]
                full[binding.id] = ",".join(dict.fromkeys(own))
    return full


def key_rows(
    settings: Sequence[KeySetting], bindings: Bindings
) -> tuple[tuple[KeyRow, ...], tuple[Fault, ...]]:
    """Every binding with the keys in use, sorted by id, and the faults of the settings."""
    keymap, faults = settle(settings, bindings)
    lines = {setting.binding: setting.line for setting in settings if setting.binding in keymap}
    rows = []
    for name, shipped in sorted(bindings.shipped.items()):
        declared = [(owner, b) for owner in bindings.owners for b in owner.declared if b.id == name]
        places = list(dict.fromkeys(owner.name for owner, _ in declared))
        where = "every screen" if len(places) > 1 and name.startswith("app.") else ", ".join(places)
        # screens may use one binding for different actions
        does = "; ".join(dict.fromkeys(binding.description for _, binding in declared))
        keys = tuple(map(written, keymap.get(name, shipped)))
        rows.append(KeyRow(name, where, does, keys, tuple(map(written, shipped)), lines.get(name)))
    return tuple(rows), tuple(faults)


def written(key: str) -> str:
    """A key as users write it: `/` for `slash`. Only the comma needs its name."""
    return _signs().get(key, key)


@cache
def _signs() -> dict[str, str]:
    signs = [sign for sign in string.punctuation if sign != ","]
    named = Binding.make_bindings(Binding(sign, "", "") for sign in signs)
    return dict(zip((binding.key for binding in named), signs, strict=True))


@cache
def _key_names() -> frozenset[str]:
    known = {key.value for key in Keys if "+" not in key.value and not key.value.startswith("<")}
    return frozenset(known | set(_signs()) | {"comma"})


# ---- one setting


def _requested_keys(setting: KeySetting, bindings: Bindings) -> tuple[tuple[str, ...], Fault | None]:
    if setting.binding not in bindings.shipped:
        return (), _unknown_binding(setting, bindings)
    parts = [part.strip() for part in setting.keys.split(",")]
    if not all(parts):
        return (), Fault(setting.line, f"“{setting.binding}” needs a key", "Write “comma” for the comma.")
    used_while_typing = any(
        (binding.priority or owner.takes_text) and binding.id == setting.binding
        for owner in bindings.owners
        for binding in owner.declared
    )
    for part in parts:
        if fault := _key_fault(part, used_while_typing=used_while_typing):
            return (), fault._replace(line=setting.line)
    bound_keys = Binding.make_bindings(Binding(part, "", "") for part in parts)
    return tuple(dict.fromkeys(binding.key for binding in bound_keys)), None


def _unknown_binding(setting: KeySetting, bindings: Bindings) -> Fault:
    near = get_close_matches(setting.binding, bindings.shipped, 3, 0.5)
    same = [name for name in bindings.shipped if name.split(".")[-1] == setting.binding.split(".")[-1]]
    close = list(dict.fromkeys([*near, *same]))[:3]
    advice = f"Similar: {', '.join(close)}." if close else "“recjudge config keys” lists them."
    return Fault(setting.line, f"no binding “{setting.binding}”", advice)


def _key_fault(key: str, *, used_while_typing: bool) -> Fault | None:
    """What is wrong with one key. A key that types a character cannot be used while typing."""
    *modifiers, base = key.split("+") if len(key) > 1 else [key]
    if _TAKEN_MODIFIERS & set(modifiers) or key in _TAKEN_KEYS:
        text = f"“{key}” does not reach the program in every terminal, or arrives as another key"
        return Fault(None, text, "Use a letter or f2 to f12; alt, cmd and ctrl+h/i/j/m/s cannot be used.")
    if modifiers == ["shift"] and len(base) == 1 and base.isalpha():
        return Fault(None, f"no key “{key}”", f"Write “{base.upper()}”.")
    if not set(modifiers) <= _MODIFIERS or not (
        base in _key_names() or (len(base) == 1 and base.isprintable())
    ):
        near = get_close_matches(base, _key_names(), 1)
        return Fault(None, f"no key “{key}”", f"Did you mean “{near[0]}”?" if near else "")
    if used_while_typing and (len(key) == 1 or base in _signs() or base == "space"):
        return Fault(None, f"“{key}” is needed for typing", "Use a key that types no character.")
    return None


# ---- checked settings --------------------------------------------------------------------------------------------


def checked_settings(loaded: SettingsFile) -> tuple[tuple[KeyRow, ...], str, tuple[Fault, ...]]:
    """A settings file as the app applies it: all bindings with their keys, the theme, and the mistakes."""
    rows, wrong = key_rows(loaded.preferences.keys, all_bindings())
    theme, fault = chosen_theme(loaded.preferences.theme)
    faults = [*loaded.faults, *wrong, *([fault] if fault else [])]
    return rows, theme, tuple(sorted(faults, key=lambda problem: problem.line or 0))


def usable_keys(settings: Sequence[KeySetting]) -> tuple[dict[str, str], list[Fault]]:
    """The keymap of these settings, and the problems with keys that it leaves out."""
    settled, wrong = settle(settings, all_bindings())
    return keymap_for(settled, all_bindings()), wrong
