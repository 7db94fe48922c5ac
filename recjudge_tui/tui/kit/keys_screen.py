"""`?`: the keys of the screen below, taken from its bindings, with a search."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from recjudge_tui.tui.kit.dialogs import Dialog
from recjudge_tui.tui.kit.key_names import key_hint


class KeyHelp(Dialog[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="keys.close"),
        Binding("down", "scroll(1)", "down", show=False, id="keys.down"),
        Binding("up", "scroll(-1)", "up", show=False, id="keys.up"),
    ]

    def __init__(self, keys: list[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Keys")
            yield Input(placeholder="search the keys", compact=True, id="keys-search")
            with VerticalScroll(classes="dialog-text", can_focus=False):
                yield Static(self._listing(""), id="keys-list")
            yield Static(Content(key_hint(self.app, ("keys.close", "esc", "close"))), classes="dialog-hint")

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self.query_one("#keys-list", Static).update(self._listing(event.value))

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def _listing(self, wanted: str) -> Content:
        words = wanted.casefold().split()
        shown = [(k, d) for k, d in self._keys if all(w in f"{k} {d}".casefold() for w in words)]
        if not shown:
            return Content("no key matches")
        width = max(len(key) for key, _ in self._keys)
        return Content("\n").join(
            Content.assemble((key.rjust(width), "bold $accent"), "  ", text) for key, text in shown
        )


def keys_of(screen: Screen[Any]) -> list[tuple[str, str]]:
    """(key, description) of all keys active on the screen now; equal actions share a row."""
    merged: dict[tuple[str, str], list[str]] = {}
    for _, binding, enabled, _ in screen.active_bindings.values():
        # bindings of Textual without a description of ours are left out
        if enabled and binding.description and binding.id:
            shown = merged.setdefault((binding.action, binding.description), [])
            shown.append(binding.key_display or screen.app.get_key_display(binding))
    return [(" ".join(dict.fromkeys(keys)), text) for (_, text), keys in merged.items()]
