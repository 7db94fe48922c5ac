"""Shows keys: the last line of a screen, with the keys active now, and hints in dialogs."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from textual import events
from textual.app import App
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

# the styles of a key and of its description
ON = (".key-line--key", ".key-line--description")
OFF = (".key-line--off", ".key-line--off")


class KeyHint(NamedTuple):
    key: str
    text: Content


class KeyLine(Widget, can_focus=False):
    """Key and description side by side; a click presses the key. Hints that do not fit are only in the list of keys; the
    last one, which leaves the screen, stays. It is one widget that draws text: a widget for each key, recreated
    whenever the focus moves, took a third of the time of every screen.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--description", "key-line--off"}
    DEFAULT_CSS = """
    KeyLine {
        dock: bottom;
        height: 1;
        background: $panel;
        .key-line--key { color: $footer-key-foreground; text-style: bold; }
        .key-line--description { color: $footer-description-foreground; }
        .key-line--off { color: $footer-description-foreground; text-style: dim; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._hints: tuple[KeyHint, ...] = ()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._on_bindings)

    def _on_bindings(self, screen: Screen[object]) -> None:
        if screen.app.app_focus:
            self.call_after_refresh(self._take_hints)

    def _take_hints(self) -> None:
        if not self.is_attached:
            return
        hints = self._active_hints()
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def _active_hints(self) -> tuple[KeyHint, ...]:
        """One hint per action, in the order of the bindings."""
        hints: dict[str, KeyHint] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.show and binding.action not in hints:
                key = self.app.get_key_display(binding)
                key_style, text_style = ON if enabled else OFF
                text = Content.assemble((key, key_style), (f" {binding.description}", text_style))
                hints[binding.action] = KeyHint(binding.key, text)
        return tuple(hints.values())

    def _places(self) -> list[tuple[int, KeyHint]]:
        """The hints that fit, each with the column it begins in."""
        shown = list(self._hints)
        while len(shown) > 1 and sum(hint.text.cell_length + 1 for hint in shown) - 1 > self.size.width:
            shown.pop(-2)
        places = []
        column = 0
        for hint in shown:
            places.append((column, hint))
            column += hint.text.cell_length + 1
        return places

    def render(self) -> Content:
        return Content(" ").join(hint.text for _, hint in self._places())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        for column, hint in self._places():
            if column <= event.x < column + hint.text.cell_length:
                self.app.simulate_key(hint.key)


def key_name(app: App[Any], binding: str, shipped: str) -> str:
    """The key to press for a binding; `shipped` is its shipped key as hints write it."""
    mapped: dict[str, str] = getattr(app, "own_keys", {})
    keys = mapped.get(binding)
    return app.get_key_display(Binding(keys.split(",")[0], "", "")) if keys else shipped


def key_hint(app: App[Any], *parts: tuple[str, str, str]) -> str:
    """A line of hints from (binding, shipped key, description): `esc close   enter accept`."""
    return "   ".join(f"{key_name(app, binding, shipped)} {does}" for binding, shipped, does in parts)
