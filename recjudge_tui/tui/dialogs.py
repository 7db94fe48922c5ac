"""Questions to the user: dialogs, choices and pickers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
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
from textual.screen import ModalScreen, ScreenResultType
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Static

from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.settings import user_path
from recjudge_tui.tui.texts import error_content
from recjudge_tui.tui.widgets import ClickText, DialogHint, FittedScreen, clickable, key_hint
from recjudge_tui.tui.words import advice

# ---- dialogs -----------------------------------------------------------------------------------------------------


_LONGEST = 4000
# of a folder, how many entries are read to complete a path
_MOST_ENTRIES = 10_000
# errors that Textual raises for widgets, rows and screens that do not exist yet or no longer exist
GONE = (LookupError, QueryError, ScreenStackError)


def plain(text: object) -> Content:
    """Text from data or a model, made safe and cut for a dialog."""
    return Content(safe_text(str(text)[:_LONGEST]))


class Dialog(ModalScreen[ScreenResultType], FittedScreen[ScreenResultType]):
    """A window over a screen. It is closed only once: a second key that arrives before it is gone would close the
    screen below.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        on_top = self.app.screen_stack[-1:] == [self]
        return super().dismiss(result) if on_top else AwaitComplete()


class Notice(Dialog[None]):
    """A result of several lines, such as the warnings of an import. Stays until dismissed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "close", key_display="esc", id="notice.close")
    ]
    LOOK: ClassVar[str] = "dialog"

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def text(self) -> Content:
        return plain(self._text)

    def compose(self) -> ComposeResult:
        with Vertical(classes=self.LOOK) as box:
            box.border_title = plain(self._title)
            with VerticalScroll(classes="dialog-text"):
                yield Static(self.text())
            yield DialogHint(key_hint(self.app, ("notice.close", "close")))


class ErrorDialog(Notice):
    """The error, its cause and the next step."""

    LOOK = "dialog error"

    def __init__(self, error: RecjudgeError) -> None:
        super().__init__("Error", "")
        self.error = error

    def text(self) -> Content:
        return error_content(self.error, advice(self.app, self.error.step))


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
            hint = key_hint(self.app, ("confirm.yes", self._yes), ("confirm.no", self._no))
            yield DialogHint(hint)

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


# a break between two lines, in an input
_BREAK = "↵"


class CompletionInput(Input):
    """An input whose completion `tab` takes; without one, or only a slash, it goes on to the next field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "take the completion", show=False, id="field.complete")
    ]

    def action_complete(self) -> None:
        if self.cursor_at_end and self._suggestion.rstrip("/") not in ("", self.value):
            self.action_cursor_right()
        else:
            self.screen.focus_next()


class Line(CompletionInput):
    """An input that keeps all lines that are pasted, with `breaks` between them or as one; the toolkit's own keeps one."""

    def __init__(self, value: str, *, breaks: bool = False, **more: Any) -> None:
        super().__init__(self._joined(value, breaks), **more)
        self._breaks = breaks

    @staticmethod
    def _joined(text: str, breaks: bool) -> str:
        lines = (" ".join(line.split()) for line in text.splitlines())
        return (f" {_BREAK} " if breaks else " ").join(filter(None, lines))

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(self._joined(event.text, self._breaks))

    def text(self) -> str:
        lines = self.value.split(_BREAK) if self._breaks else [self.value]
        return "\n".join(line.strip() for line in lines).strip()


class Completion(Suggester):
    """Completes a path as a shell does, else the name behind the last comma; `names` None: paths."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._names = names

    async def get_suggestion(self, value: str) -> str | None:
        sign = "/" if self._names is None else ","
        start = len(value) - len(value.rpartition(sign)[2].lstrip())
        begun = value[start:]
        known = _entries(value[:start]) if self._names is None else self._names
        fits = sorted(name for name in known if begun and name.casefold().startswith(begun.casefold()))
        return f"{value}{fits[0][len(begun) :]}" if fits else None


def _entries(folder: str) -> list[str]:
    """The names in a folder, of folders with a slash; nothing where it cannot be read."""
    with suppress(OSError, ValueError), os.scandir(user_path(folder) if folder else Path()) as entries:
        return [entry.name + "/" * entry.is_dir() for entry in islice(entries, _MOST_ENTRIES)]
    return []


class AskLine(Dialog[str]):
    """One line of input. Returns None when it was cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel", id="ask.cancel")]

    def __init__(
        self,
        title: str,
        hint: str,
        value: str = "",
        placeholder: str = "",
        *,
        path: bool = False,
        breaks: bool = False,
    ) -> None:
        """With `path` the name of a file is completed; with `breaks` what is pasted stays several lines."""
        super().__init__()
        self._breaks = breaks
        self._title, self._hint, self._value, self._placeholder = title, hint, value, placeholder
        self._completion = Completion() if path else None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = plain(self._title)
            yield Line(
                safe_text(self._value),
                breaks=self._breaks,
                placeholder=self._placeholder,
                suggester=self._completion,
                compact=True,
                select_on_focus=False,
            )
            keys = f"enter accept   {key_hint(self.app, ('ask.cancel', 'cancel'))}"
            yield DialogHint(f"{self._hint}\n{keys}")

    @on(Input.Submitted)
    def _accept(self) -> None:
        self.dismiss(self.query_one(Line).text() or None)


class PickDialog(Dialog[Any]):
    """`PickDialog(title, about, {keys: (result, text)})`, several keys with a space between them: returns the result of the
    key that is pressed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel", id="pick.cancel")]

    def __init__(self, title: str, about: str, offered: Mapping[str, tuple[Any, str]]) -> None:
        super().__init__()
        self._title, self._about, self._offered = title, about, offered

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(self._title)
            if self._about:
                with VerticalScroll(classes="dialog-text"):
                    yield Static(plain(self._about))
            rows = [
                clickable(
                    Content.assemble((f" {keys} ", "bold $accent"), f" {text}"), f"screen.pick('{keys[0]}')"
                )
                for keys, (_, text) in self._offered.items()
            ]
            yield ClickText(Content("\n").join(rows), id="choices")
            yield DialogHint("esc cancel")

    def on_key(self, event: events.Key) -> None:
        key = (event.character or "").lower()
        if any(key in keys.split() for keys in self._offered):
            event.stop()
            self.action_pick(key)

    def action_pick(self, key: str) -> None:
        self.dismiss(next(result for keys, (result, _) in self._offered.items() if key in keys.split()))


# ---- choice ------------------------------------------------------------------------------------------------------


class FieldError(UsageError):
    """The content of one field of a form is invalid; `field` is its name."""

    def __init__(self, field: str, title: str, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause, next_step)
        self.field = field


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

    @dataclass
    class Changed(Message):
        choice: Choice
        value: str

        @property
        def control(self) -> Choice:
            return self.choice

    def __init__(self, options: Sequence[tuple[str, str]], value: str = "", *, field_id: str) -> None:
        super().__init__(id=field_id)
        self._options = list(options)
        self.value = value if value in dict(self._options) else self._options[0][0]
        self._typed = ""

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
        self._typed = ""
        self._take(values[(values.index(self.value) + by) % len(values)])

    def on_key(self, event: events.Key) -> None:
        """A number chooses by place: `1` then `2` the twelfth if there are that many, otherwise the second."""
        if event.character and event.character in "0123456789":
            event.stop()
            values = [value for value, _ in self._numbered]
            for typed in (self._typed + event.character, event.character):
                if 1 <= int(typed) <= len(values):
                    self._typed = typed
                    self._take(values[int(typed) - 1])
                    return

    @property
    def _numbered(self) -> list[tuple[str, str]]:
        return [option for option in self._options if option[0]]

    def numbered(self) -> str:
        """`1 als, 2 cooc`; empty where there are only two."""
        names = [f"{at} {one_line(text, 60)}" for at, (_, text) in enumerate(self._numbered, 1)]
        return ", ".join(names) if len(names) > 2 else ""

    def _take(self, chosen: str) -> None:
        if chosen != self.value:
            self.value = chosen
            self.refresh()
            self.post_message(self.Changed(self, chosen))

    def render(self) -> Content:
        shown = one_line(dict(self._options)[self.value], max(self.content_size.width - 4, 4))
        mark = "bold $accent" if len(self._options) > 1 else "dim"
        return Content.assemble(("‹", mark), f" {shown} ", ("›", mark))
