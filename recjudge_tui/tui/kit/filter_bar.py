"""The filter of a list: chips that show the filter, and the line to type it in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Input, Static

from recjudge_tui.domain.filters import KEYS
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.background import Background
from recjudge_tui.tui.kit.completion import Suggestion, Values, suggestions
from recjudge_tui.tui.kit.filter_line import FilterLine, SuggestionList
from recjudge_tui.tui.kit.host import host_of


class Chips(Static):
    """The parts of the filter; a click on a part removes it."""

    DEFAULT_CSS = """
    Chips {
        link-color: $text; link-background: $primary-muted; link-style: bold;
        link-color-hover: $text; link-background-hover: $primary-muted; link-style-hover: bold strike;
    }
    """

    class Dropped(Message):
        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def show(self, chips: tuple[str, ...]) -> None:
        shown = [
            Content.styled(f" {one_line(chip, 60)} ", "bold $text on $primary-muted").stylize(
                Style.from_meta({"@click": f"drop({place})"})
            )
            for place, chip in enumerate(chips)
        ]
        self.update(Content.assemble(("filter ", "dim"), Content(" ").join(shown)))

    def action_drop(self, place: int) -> None:
        self.post_message(self.Dropped(place))


class FilterBar(Vertical):
    """`chips_of` parses a filter and returns its chips; a UsageError it raises is shown until the filter is corrected.

    With `values` the line completes `keys` of the filter grammar and values from the database. `values` reads these in a
    worker each time the line is opened.
    """

    DEFAULT_CSS = """
    FilterBar { height: auto; padding: 0 1; }
    FilterBar Input { display: none; }
    FilterBar .filter-error { display: none; color: $error; height: auto; }
    FilterBar.-open Input { display: block; }
    FilterBar .filter-chips { display: none; }
    FilterBar.-filtered .filter-chips { display: block; }
    FilterBar.-open .filter-chips { display: none; }
    FilterBar.-wrong .filter-error { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "cancel", id="filter.close")]

    class Applied(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Closed(Message):
        """The line was closed, with or without a change."""

    def __init__(
        self,
        chips_of: Callable[[str], tuple[str, ...]],
        hint: str,
        values: Callable[[Database], Values] | None = None,
        keys: Collection[str] = KEYS,
    ) -> None:
        super().__init__()
        self._keys = keys
        self._read_values = values
        self._values: Values = {}
        self._chips: tuple[str, ...] = ()
        self._chips_of = chips_of
        self._hint = hint
        self.text = ""

    def compose(self) -> ComposeResult:
        yield Chips(classes="filter-chips")
        yield FilterLine(self._hint, self._suggest if self._read_values else None)
        yield SuggestionList()
        yield Static(classes="filter-error")

    @cached_property
    def background(self) -> Background:
        host = host_of(self)
        return Background(self, host.db_path, host.show_error)

    def on_unmount(self) -> None:
        self.background.stop()

    def open(self) -> None:
        self.add_class("-open")
        line = self.query_one(Input)
        line.disabled = False
        line.value = one_line(self.text) + (" " if self.text else "")
        line.cursor_position = len(line.value)
        line.focus()
        if self._read_values is not None:
            # the line works without suggestions, too
            self.background.start("values", self._read_values, self._complete_from, failed=lambda _: None)

    def apply(self, text: str) -> None:
        """Apply another filter as if it had been typed. An invalid one opens the line and shows the error."""
        try:
            chips = self._chips_of(text)
        except UsageError as error:
            self._complain(error)
            return
        self.remove_class("-wrong")
        self.text = " ".join(chips)
        self._chips = chips
        self.query_one(Chips).show(chips)
        self.set_class(bool(chips), "-filtered")
        self.action_close()
        self.post_message(self.Applied(self.text))

    def action_close(self) -> None:
        self.remove_class("-open", "-wrong")
        self.query_one(Input).disabled = True
        self.post_message(self.Closed())

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.apply(event.value)

    # ---- completion

    def _suggest(self, line: str, cursor: int, anything: bool) -> tuple[Suggestion, ...]:
        return suggestions(line, cursor, self._values, anything=anything, keys=self._keys)

    def _complete_from(self, values: Values) -> None:
        self._values = values
        self.query_one(FilterLine).suggest_again()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(FilterLine).suggest_again(anything=False)

    @on(FilterLine.Suggested)
    def _show_suggestions(self, message: FilterLine.Suggested) -> None:
        message.stop()
        self.query_one(SuggestionList).show(message.suggestions, message.chosen, message.column)

    # ---- the mouse

    @on(Chips.Dropped)
    def _drop(self, message: Chips.Dropped) -> None:
        message.stop()
        self.apply(" ".join(chip for place, chip in enumerate(self._chips) if place != message.place))

    def _complain(self, error: UsageError) -> None:
        self.query_one(".filter-error", Static).update(Content(one_line(error, 400)))
        self.add_class("-open", "-wrong")
        line = self.query_one(Input)
        line.disabled = False
        line.focus()
