"""The command palette, which survives keys that come before its list is drawn or after it is closed."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.command import CommandInput, CommandList, CommandPalette, SearchIcon
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import LoadingIndicator
from textual.worker import Worker

from recjudge_tui.tui.kit.dialogs import GONE, is_on_top
from recjudge_tui.tui.kit.option_list import PaletteOptions


class Palette(CommandPalette):
    """Textual moves by pages in lines that an empty or new list does not have, which would end the app."""

    def compose(self) -> ComposeResult:
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                yield SearchIcon()
                yield CommandInput(placeholder=self._placeholder, select_on_focus=False)
            with Vertical(id="--results"):
                yield PaletteOptions()
                yield LoadingIndicator()

    def dismiss(self, result: Any = None) -> AwaitComplete:
        return super().dismiss(result) if is_on_top(self) else AwaitComplete()

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except GONE:
            # it was closed before it was there
            if is_on_top(self):
                raise

    def run_worker(self, *work: Any, **options: Any) -> Worker[Any]:
        """A search that finds no list any more, because the palette is closed, is no reason to end the app."""
        return super().run_worker(*work, **{**options, "exit_on_error": False})

    def _gather_commands(self, search_value: str) -> Any:
        if self.query(CommandList):
            return super()._gather_commands(search_value)
        return self.call_after_refresh(self._gather_commands, search_value)


def is_palette(screen: Screen[Any]) -> bool:
    return isinstance(screen, CommandPalette)
