"""Questions to the user: dialogs, choices and pickers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult, ScreenStackError
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.css.query import QueryError
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Input, Static

from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.tui.widgets import DialogHint, FittedScreen, key_hint
from recjudge_tui.tui.words import advice

# ---- dialogs -----------------------------------------------------------------------------------------------------


_LONGEST = 4000
# errors that Textual raises for widgets, rows and screens that do not exist yet or no longer exist
GONE = (LookupError, QueryError, ScreenStackError)


def plain(text: object) -> Content:
    """Text from data or a model, made safe and cut for a dialog."""
    return Content(safe_text(str(text)[:_LONGEST]))


def is_on_top(screen: Screen[Any]) -> bool:
    """Whether the screen receives the keys: it is not below another one and not closed."""
    return screen.app.screen_stack[-1:] == [screen]


class Dialog(ModalScreen[ScreenResultType], FittedScreen[ScreenResultType]):
    """A window over a screen. It is closed only once: a second key that arrives before it is gone would close the
    screen below.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        return super().dismiss(result) if is_on_top(self) else AwaitComplete()


class ErrorDialog(Dialog[None]):
    """The error, its cause and the next step. Stays until dismissed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "close", key_display="esc", id="error.close")
    ]

    def __init__(self, error: RecjudgeError) -> None:
        super().__init__()
        self.error = error

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog error") as box:
            box.border_title = Content("Error")
            with VerticalScroll(classes="dialog-text"):
                yield Static(plain(self.error.title), classes="error-title")
                if self.error.cause:
                    yield Static(plain(self.error.cause), classes="error-cause")
                if step := self.error.next_step or advice(self.app, self.error.step):
                    yield Static(plain(step), classes="error-step")
            yield DialogHint(key_hint(self.app, ("error.close", "esc", "close")))


class Confirm(Dialog[bool]):
    """A yes-or-no question. Returns True for yes; closing it means no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", id="confirm.yes"),
        Binding("escape,n,q", "answer(False)", "no", key_display="n", id="confirm.no"),
    ]

    def __init__(self, title: str, text: str, yes: str = "yes", no: str = "no") -> None:
        super().__init__()
        self._title, self._text, self._yes, self._no = title, text, yes, no

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = plain(self._title)
            yield Static(plain(self._text), classes="dialog-text")
            hint = key_hint(self.app, ("confirm.yes", "y", self._yes), ("confirm.no", "n", self._no))
            yield DialogHint(hint)

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class AskLine(Dialog[str | None]):
    """One line of input. Returns None when it was cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel", id="ask.cancel")]

    def __init__(self, title: str, hint: str, value: str = "", placeholder: str = "") -> None:
        super().__init__()
        self._title, self._hint, self._value, self._placeholder = title, hint, value, placeholder

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = plain(self._title)
            yield Input(
                value=one_line(self._value),
                placeholder=self._placeholder,
                compact=True,
                select_on_focus=False,
            )
            keys = f"enter accept   {key_hint(self.app, ('ask.cancel', 'esc', 'cancel'))}"
            yield DialogHint(f"{self._hint}\n{keys}")

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)


class Notice(Dialog[None]):
    """A result of several lines, such as the warnings of an import. Stays until dismissed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "close", key_display="esc", id="notice.close")
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = plain(self._title)
            with VerticalScroll(classes="dialog-text"):
                yield Static(plain(self._text))
            yield DialogHint(key_hint(self.app, ("notice.close", "esc", "close")))


# ---- choice ------------------------------------------------------------------------------------------------------


class Choice(Widget, can_focus=True):
    """`options` are (value, text); the first one is chosen unless `value` names another."""

    DEFAULT_CSS = """
    Choice { height: 1; width: 1fr; color: $foreground; }
    Choice:focus { background: $block-cursor-background; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,l", "step(1)", "next value", show=False, id="choice.next"),
        Binding("left,h", "step(-1)", "previous value", show=False, id="choice.previous"),
    ]

    class Changed(Message):
        def __init__(self, choice: Choice, value: str) -> None:
            super().__init__()
            self.choice, self.value = choice, value

        @property
        def control(self) -> Choice:
            return self.choice

    def __init__(self, options: Sequence[tuple[str, str]], value: str = "", *, field_id: str) -> None:
        super().__init__(id=field_id)
        self._options = list(options)
        self.value = value if value in dict(self._options) else self._options[0][0]

    def offer(self, options: Sequence[tuple[str, str]]) -> None:
        """Replace the options; the chosen value stays if it is still offered."""
        self._options = list(options)
        if self.value not in dict(self._options):
            self.value = self._options[0][0]
        self.refresh(layout=True)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Room for the longest option, so that the width stays when another one is chosen."""
        return max(cell_len(text) for _, text in self._options) + 4

    def choose(self, value: str) -> None:
        """Choose one of the options without a message."""
        self.value = value
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """The left sign chooses the value before, the rest the next one."""
        place = event.get_content_offset(self)
        if place is not None:
            self.action_step(-1 if place.x < 2 else 1)

    def action_step(self, by: int) -> None:
        values = [value for value, _ in self._options]
        chosen = values[(values.index(self.value) + by) % len(values)]
        if chosen != self.value:
            self.value = chosen
            self.refresh()
            self.post_message(self.Changed(self, chosen))

    def render(self) -> Content:
        shown = one_line(dict(self._options)[self.value], max(self.content_size.width - 4, 4))
        mark = "bold $accent" if len(self._options) > 1 else "dim"
        return Content.assemble(("‹", mark), f" {shown} ", ("›", mark))
