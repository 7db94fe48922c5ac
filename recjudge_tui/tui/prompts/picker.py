"""The prompt to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.dialogs import Dialog
from recjudge_tui.tui.kit.option_list import Options, move_cursor


class PromptPicker(Dialog[int | None]):
    """`prompts` are (id, text shown); returns the chosen id, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "close", key_display="esc", id="other_prompt.close"),
        Binding("j", "move(1)", "down", show=False, id="other_prompt.down"),
        Binding("k", "move(-1)", "up", show=False, id="other_prompt.up"),
    ]

    def __init__(self, prompts: Sequence[tuple[int, str]]) -> None:
        super().__init__()
        self._prompts = list(prompts)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Compare with")
            rows = [Option(Content(one_line(label, 60))) for _, label in self._prompts]
            yield Options(*rows, markup=False, compact=True)
            yield DialogHint("enter choose   esc close")

    def action_move(self, rows: int) -> None:
        move_cursor(self.query_one(OptionList), rows)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._prompts[event.option_index][0])
