"""The command palette, which survives keys that come before its list is drawn."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from textual.command import CommandPalette
from textual.screen import Screen


class Palette(CommandPalette):
    """Textual moves by pages in lines that an empty or new list does not have, which would end the app."""

    def __init__(self) -> None:
        super().__init__(id="--command-palette")

    def _action_command_list(self, action: str) -> None:
        with suppress(LookupError):
            super()._action_command_list(action)


def is_palette(screen: Screen[Any]) -> bool:
    return isinstance(screen, CommandPalette)
