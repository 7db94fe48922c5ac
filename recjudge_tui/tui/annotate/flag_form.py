"""`x`: flags an item, by its place in the list, with the issue and a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from recjudge_tui.domain.annotation import ItemFlag
from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.dialogs import Dialog
from recjudge_tui.tui.kit.option_list import Options, move_cursor

_STEPS = ("Which item?", "What is wrong with it?", "Why? (optional)")
_HINTS = ("number or j/k choose   enter accept   esc cancel", "enter keep the flag   esc cancel")


class FlagForm(Dialog[ItemFlag | None]):
    """Returns the flag, or None. `items` names the items of the lists by id; `issues` are (name, meaning)."""

    CSS = "FlagForm OptionList { max-height: 14; height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", id="flag.cancel"),
        Binding("j", "move(1)", "down", show=False, id="flag.down"),
        Binding("k", "move(-1)", "up", show=False, id="flag.up"),
        *[
            Binding(digit, f"number({digit!r})", "choose by number", show=False, id=f"flag.number_{digit}")
            for digit in "0123456789"
        ],
    ]

    def __init__(self, items: Mapping[str, str], issues: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        # with a single list, the place is the number shown before the item
        named = enumerate(items.items(), 1)
        self._items = [(item_id, words.removeprefix(f"#{place} ")) for place, (item_id, words) in named]
        self._issues = list(issues)
        self._item, self._issue = "", ""
        self._typed = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(_STEPS[0])
            shown = [one_line(words, 90) for _, words in self._items]
            yield Options(*_options(shown), id="flag-list", markup=False, compact=True)
            yield Input(compact=True, id="flag-reason", disabled=True)
            yield DialogHint(_HINTS[0])

    def on_mount(self) -> None:
        self.query_one(Input).display = False
        self.query_one(OptionList).focus()

    def action_move(self, rows: int) -> None:
        move_cursor(self.query_one(OptionList), rows)

    def action_number(self, digit: str) -> None:
        """`1` then `2` selects 12 if there are that many, otherwise 2."""
        listed = self.query_one(OptionList)
        for typed in (self._typed + digit, digit):
            if 1 <= int(typed) <= listed.option_count:
                self._typed = typed
                listed.highlighted = int(typed) - 1
                return

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        box, listed = self.query_one(".dialog"), self.query_one(OptionList)
        self._typed = ""
        if not self._item:
            self._item = self._items[event.option_index][0]
            listed.clear_options()
            listed.add_options(
                _options([one_line(f"{name}: {meaning}", 180) for name, meaning in self._issues])
            )
            listed.highlighted = 0
            box.border_title = Content(_STEPS[1])
            return
        self._issue = self._issues[event.option_index][0]
        box.border_title = Content(_STEPS[2])
        self.query_one(".dialog-hint", Static).update(Content(_HINTS[1]))
        listed.display = False
        reason = self.query_one(Input)
        reason.disabled, reason.display = False, True
        reason.focus()

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        self.dismiss(ItemFlag(self._item, self._issue, event.value.strip()))


def _options(lines: Sequence[str]) -> list[Option]:
    return [Option(Content.assemble((f"{number:2} ", "dim"), line)) for number, line in enumerate(lines, 1)]
