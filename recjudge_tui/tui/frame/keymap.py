"""Users' own keys: which of them can be used, and what is wrong with the others."""

from __future__ import annotations

import string
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from itertools import permutations

from textual.binding import Binding
from textual.keys import Keys

from recjudge_tui.config_file import Fault, KeyRow, KeySetting
from recjudge_tui.tui.frame.bindings import Bindings

Keymap = dict[str, tuple[str, ...]]

# terminals and tmux use these themselves, or send another key
_TAKEN_KEYS = {f"ctrl+{key}" for key in "hijms"} | {"ctrl+enter"}
_TAKEN_MODIFIERS = {"alt", "cmd", "super", "meta", "hyper"}
_MODIFIERS = {"ctrl", "shift"}


def settle(settings: Sequence[KeySetting], bindings: Bindings) -> tuple[Keymap, list[Fault]]:
    """Binding id -> the keys of the settings that can be used together, and why the others cannot.

    A setting is dropped when its binding or one of its keys does not exist, when terminals do not send the key, and
    when the key does something else at the same moment. If two settings use the same key, both are dropped.
    """
    faults: list[Fault] = []
    keymap: Keymap = {}
    lines: dict[str, int | None] = {}
    for setting in settings:
        keys, fault = _requested_keys(setting, bindings)
        if fault is None and setting.binding in keymap:
            fault = Fault(setting.line, f"“{setting.binding}” is set twice", "Leave one of the two.")
        if fault is not None:
            faults.append(fault)
        else:
            keymap[setting.binding], lines[setting.binding] = keys, setting.line
    # a setting that is dropped keeps its shipped key, which may then clash with another setting
    while clashes := _clashes(keymap, bindings):
        for (name, other), (key, screen) in clashes.items():
            both = " and ".join(_described(binding, bindings) for binding in (name, other))
            text = f"“{written(key)}” has two actions on {screen}: {both}"
            faults.append(Fault(lines[name], text, "Give one of them another key."))
        for name in {name for pair in clashes for name in pair}:
            keymap.pop(name, None)
    faults.sort(key=lambda fault: fault.line or 0)
    return keymap, faults


def keymap_for(settled: Keymap, bindings: Bindings) -> dict[str, str]:
    """The result of `settle` for `App.set_keymap`, which takes a key from every binding that shares it, so the others
    are included too.
    """
    full = {name: ",".join(keys) for name, keys in settled.items()}
    for owner in bindings.owners:
        moved = {bound.key for bound in owner.keys if bound.name in settled}
        for bound in owner.keys:
            if bound.ours and bound.key in moved and bound.name not in settled:
                own = [other.key for other in owner.keys if other.name == bound.name]
                full[bound.name] = ",".join(dict.fromkeys(own))
    return full


def key_rows(
    settings: Sequence[KeySetting], bindings: Bindings
) -> tuple[tuple[KeyRow, ...], tuple[Fault, ...]]:
    """Every binding with the keys in use, sorted by id, and the faults of the settings."""
    keymap, faults = settle(settings, bindings)
    lines = {setting.binding: setting.line for setting in settings if setting.binding in keymap}
    rows = []
    for name, shipped in sorted(bindings.shipped.items()):
        keys = tuple(map(written, keymap.get(name, shipped)))
        where, does = _where(name, bindings), _does(name, bindings)
        rows.append(KeyRow(name, where, "; ".join(does), keys, tuple(map(written, shipped)), lines.get(name)))
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


def _where(name: str, bindings: Bindings) -> str:
    places = dict.fromkeys(
        owner.name for owner in bindings.owners if any(b.ours and b.name == name for b in owner.declared)
    )
    return "every screen" if len(places) > 1 and name.startswith("app.") else ", ".join(places)


def _does(name: str, bindings: Bindings) -> list[str]:
    """The descriptions of a binding; several if screens use it for different actions."""
    declared = (bound for owner in bindings.owners for bound in owner.declared)
    return list(dict.fromkeys(bound.does for bound in declared if bound.name == name))


def _described(name: str, bindings: Bindings) -> str:
    does = next(filter(None, _does(name, bindings)), "")
    return f"{name} ({does})" if does and does != name else name


# ---- one setting


def _requested_keys(setting: KeySetting, bindings: Bindings) -> tuple[tuple[str, ...], Fault | None]:
    if setting.binding not in bindings.shipped:
        return (), _unknown_binding(setting, bindings)
    parts = [part.strip() for part in setting.keys.split(",")]
    if not all(parts):
        return (), Fault(setting.line, f"“{setting.binding}” needs a key", "Write “comma” for the comma.")
    used_while_typing = any(
        (bound.priority or owner.takes_text) and bound.name == setting.binding
        for owner in bindings.owners
        for bound in owner.declared
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


# ---- settings against all other keys


def _clashes(keymap: Keymap, bindings: Bindings) -> dict[tuple[str, str], tuple[str, str]]:
    """(binding that was given the key, other binding) -> (key, screen), for each key with two actions."""
    clashes: dict[tuple[str, str], tuple[str, str]] = {}
    for layer in bindings.layers:
        names_of: dict[str, list[str]] = {}
        for name in dict.fromkeys(bound.name for bound in layer.keys):
            for key in keymap.get(name) or dict.fromkeys(b.key for b in layer.keys if b.name == name):
                names_of.setdefault(key, []).append(name)
        for key, names in names_of.items():
            for name, other in permutations(names, 2):
                if name not in keymap or key in bindings.shipped[name]:
                    continue
                if not _share_keys(name, other, bindings):
                    pair = (name, other) if other not in keymap else (min(name, other), max(name, other))
                    clashes.setdefault(pair, (key, layer.screen))
    return clashes


def _share_keys(name: str, other: str, bindings: Bindings) -> bool:
    """Two bindings with the same shipped keys, of which only one is active at a time, such as pause and resume."""
    shipped = bindings.shipped.get(name)
    return shipped is not None and set(shipped) == set(bindings.shipped.get(other, ()))
