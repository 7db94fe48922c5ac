"""A list of options, and its cursor moved by the keys of its screen."""

from __future__ import annotations

from textual import events
from textual.widgets import OptionList


class Options(OptionList):
    """A click on an option that is gone, because the list was filled again after it was painted, does nothing."""

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]
        drop_late_click(self, event)


def drop_late_click(listed: OptionList, event: events.Click) -> None:
    """Keep the toolkit from looking for an option that is not there any more."""
    if event.style.meta.get("option", -1) >= listed.option_count:
        event.prevent_default()


def move_cursor(listed: OptionList, rows: int) -> None:
    """Move down one option for a positive number, otherwise up one; wraps around at the ends."""
    if rows > 0:
        listed.action_cursor_down()
    else:
        listed.action_cursor_up()
