"""The input line of a filter, with suggestions below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.completion import Suggestion, word_start
from recjudge_tui.tui.kit.glyphs import ascii_wanted

ROWS = 8
_NOTE_CELLS = 44


class SuggestionList(Static):
    """A window of ROWS suggestions over the widgets below the line."""

    DEFAULT_CSS = """
    SuggestionList {
        display: none; overlay: screen; constrain: inside; width: auto; max-width: 100%; height: auto;
        background: $panel; color: $foreground; padding: 0 1;
    }
    SuggestionList.-open { display: block; }
    """

    def show(self, suggestions: tuple[Suggestion, ...], chosen: int, column: int) -> None:
        self.set_class(bool(suggestions), "-open")
        if not suggestions:
            return
        top = max(0, min(chosen - ROWS // 2, len(suggestions) - ROWS))
        rows = suggestions[top : top + ROWS]
        width = max(cell_len(row.shown) for row in rows)
        lines = [_row(row, width, top + place == chosen) for place, row in enumerate(rows)]
        arrows = "up/down" if ascii_wanted() else "↑↓"
        more = f"{chosen + 1}/{len(suggestions)}   " if len(suggestions) > ROWS else ""
        lines.append(Content.styled(f"  {more}tab accept   {arrows} choose", "$text-muted"))
        self.styles.offset = (column, 0)
        self.update(Content("\n").join(lines))


def _row(row: Suggestion, width: int, chosen: bool) -> Content:
    mark = "> " if chosen else "  "
    text = f"{mark}{one_line(row.shown, 60)}"
    note = one_line(row.note, _NOTE_CELLS)
    shown = (
        Content.assemble(text, " " * (width + 4 - cell_len(text)), (note, "$text-muted"))
        if note
        else Content(text)
    )
    return shown.stylize("bold $block-cursor-foreground on $block-cursor-background") if chosen else shown


class FilterLine(Input):
    """`suggest` returns the suggestions for a text and a cursor; without it this is a plain input line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "apply", key_display="enter", id="filter.apply"),
        Binding("tab", "accept", "accept the suggestion", show=False, id="filter.accept"),
        Binding("right", "accept_or_move", "accept the suggestion at the end", show=False, id="filter.right"),
        Binding("down", "choose(1)", "next suggestion", show=False, id="filter.down"),
        Binding("up", "choose(-1)", "previous suggestion", show=False, id="filter.up"),
    ]

    class Suggested(Message):
        """The suggestions that can be accepted now, possibly none."""

        def __init__(self, suggestions: tuple[Suggestion, ...], chosen: int, column: int) -> None:
            super().__init__()
            self.suggestions, self.chosen, self.column = suggestions, chosen, column

    def __init__(self, hint: str, suggest: Callable[[str, int, bool], tuple[Suggestion, ...]] | None) -> None:
        super().__init__(placeholder=hint, compact=True, select_on_focus=False, disabled=True)
        self._suggest = suggest
        self.suggestions: tuple[Suggestion, ...] = ()
        self.chosen = 0
        self._anything = False

    def suggest_again(self, *, anything: bool | None = None) -> None:
        """Compute suggestions for the current text and cursor; `anything` stays set until it is changed."""
        if self._suggest is None:
            return
        self._anything = self._anything if anything is None else anything
        kept = self.suggestions[self.chosen].shown if self.suggestions else None
        self.suggestions = (
            self._suggest(self.value, self.cursor_position, self._anything) if self.has_focus else ()
        )
        names = [suggestion.shown for suggestion in self.suggestions]
        self.chosen = names.index(kept) if kept in names else 0
        self._say()

    def _say(self) -> None:
        start = word_start(self.value, self.cursor_position)
        column = max(cell_len(self.value[:start]) - 2, 0)
        self.post_message(self.Suggested(self.suggestions, self.chosen, column))

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        if not _has_focus and self.suggestions:
            self.suggestions = ()
            self._say()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "choose":
            return self._suggest is not None
        return super().check_action(action, parameters)

    def action_accept(self) -> None:
        """Without a suggestion the cursor stays, because a line left open would look like an applied filter."""
        self.suggest_again()  # the cursor may have moved in the meantime
        if not self.suggestions:
            return
        taken = self.suggestions[self.chosen]
        self.value = taken.line
        self.cursor_position = taken.cursor
        self.suggest_again()

    def action_accept_or_move(self) -> None:
        if self.suggestions and self.cursor_at_end:
            self.action_accept()
        else:
            self.action_cursor_right()

    def action_choose(self, by: int) -> None:
        if not self.suggestions:
            self.suggest_again(anything=True)
            return
        self.chosen = (self.chosen + by) % len(self.suggestions)
        self._say()
