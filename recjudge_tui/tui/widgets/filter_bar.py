"""The filter of a list: chips that say what is filtered, and the line to type it in."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from recjudge_tui.errors import UsageError
from recjudge_tui.model.text import one_line


class FilterBar(Vertical):
    """`chips_of` reads a filter and gives its chips; a UsageError it raises is shown until it is mended."""

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

    def __init__(self, chips_of: Callable[[str], tuple[str, ...]], hint: str) -> None:
        super().__init__()
        self._chips_of = chips_of
        self._hint = hint
        self.text = ""

    def compose(self) -> ComposeResult:
        yield Static(classes="filter-chips")
        yield Input(placeholder=self._hint, compact=True, select_on_focus=False, disabled=True)
        yield Static(classes="filter-error")

    def open(self) -> None:
        self.add_class("-open")
        line = self.query_one(Input)
        line.disabled = False
        line.value = one_line(self.text) + (" " if self.text else "")
        line.cursor_position = len(line.value)
        line.focus()

    def apply(self, text: str) -> None:
        """Take another filter, as if it had been typed. A wrong one opens the line and says what is wrong."""
        try:
            chips = self._chips_of(text)
        except UsageError as error:
            self._complain(error)
            return
        self.remove_class("-wrong")
        self.text = " ".join(chips)
        self.query_one(".filter-chips", Static).update(_shown(chips))
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

    def _complain(self, error: UsageError) -> None:
        self.query_one(".filter-error", Static).update(Content(one_line(error, 400)))
        self.add_class("-open", "-wrong")
        line = self.query_one(Input)
        line.disabled = False
        line.focus()


def _shown(chips: tuple[str, ...]) -> Content:
    shown = [Content.styled(f" {one_line(chip, 60)} ", "bold $text on $primary-muted") for chip in chips]
    return Content.assemble(("filter ", "dim"), Content(" ").join(shown))
