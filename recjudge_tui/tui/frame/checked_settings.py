"""The user's settings, checked against the keys and themes of the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import App

from recjudge_tui.config_file import Fault, KeyRow, KeySetting, SettingsFile
from recjudge_tui.tui.frame.bindings import bindings_of
from recjudge_tui.tui.frame.keymap import key_rows, keymap_for, settle
from recjudge_tui.tui.frame.themes import chosen_theme


def checked(loaded: SettingsFile, app: type[App[Any]]) -> tuple[tuple[KeyRow, ...], str, tuple[Fault, ...]]:
    """All bindings with their keys, the theme to use, and all problems in the settings."""
    rows, wrong = key_rows(loaded.preferences.keys, bindings_of(app))
    theme, fault = chosen_theme(loaded.preferences.theme)
    faults = [*loaded.faults, *wrong, *([fault] if fault else [])]
    return rows, theme, tuple(sorted(faults, key=lambda problem: problem.line or 0))


def usable_keys(settings: Sequence[KeySetting], app: type[App[Any]]) -> tuple[dict[str, str], list[Fault]]:
    """The keymap of these settings, and the problems with keys that it leaves out."""
    bindings = bindings_of(app)
    settled, wrong = settle(settings, bindings)
    return keymap_for(settled, bindings), wrong
