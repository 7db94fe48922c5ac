"""Small windows over a screen: an error, a question, a line of input."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult, ScreenStackError
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.css.query import QueryError
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import Input, Static

from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.fitted_screen import FittedScreen
from recjudge_tui.tui.kit.key_line import key_hint

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
        Binding("escape,enter,q", "dismiss", "close", key_display="esc", id="error.close"),
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
                if self.error.next_step:
                    yield Static(plain(self.error.next_step), classes="error-step")
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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", id="ask.cancel"),
    ]

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
        Binding("escape,enter,q", "dismiss", "close", key_display="esc", id="notice.close"),
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
