"""A form made from declared options: a field by type, what can be chosen or completed there, what was typed as a value, and
the error at the field."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.suggester import Suggester
from textual.widgets import Button, Input, Label, Static

from recjudge_tui.domain.address import sending_options
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.run_options import RunOption
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError
from recjudge_tui.settings import user_path
from recjudge_tui.tui.dialogs import Choice, Dialog
from recjudge_tui.tui.widgets import DialogHint

LARGEST = 10**9
_SHOWN = 40
# so many options are shown at once
_FIRST = 8
# of a folder, how many entries are read to complete a path
_MOST_ENTRIES = 10_000
_WORDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


class FieldError(UsageError):
    """The content of one field is invalid; `field` is its name."""

    def __init__(self, field: str, title: str, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause, next_step)
        self.field = field


# ---- fields ------------------------------------------------------------------------------------------------------


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


def label_of(option: Option) -> str:
    return option.label or option.name.replace("_", " ")


def choices_of(option: Option, offered: Sequence[tuple[str, str]] = ()) -> list[tuple[str, str]]:
    """(value, text) to choose from, the default first; nothing for a line of text."""
    if option.form_choices:
        by_protocol = isinstance(option, RunOption) and option.by_protocol
        return [*([("", "default")] if by_protocol else []), *option.form_choices]
    if option.type is bool:
        return [(word, word) for word in (("yes", "no") if option.default else ("no", "yes"))]
    if option.type is tuple:
        return []
    named = [(word, word) for word in option.choices] or [
        (word, one_line(text, _SHOWN)) for word, text in offered
    ]
    return named if not named or option.required or option.default in dict(named) else [("", "any"), *named]


def text_of(option: Option, value: Any) -> str:
    """A value as its field shows it."""
    if option.type is bool:
        chosen: str = choices_of(option)[bool(value) != option.default][0]
        return chosen
    if isinstance(value, tuple):
        return ", ".join(f'"{name}"' if "," in name else name for name in map(str, value))
    return "" if value in (None, {}) else f"{value:g}" if isinstance(value, float) else str(value)


def field(option: Option, value: Any, offered: Sequence[tuple[str, str]] = ()) -> Choice | Input:
    """The widget `field-NAME`. `offered`: what can be chosen, (value, text); where the option takes several names they
    complete the line."""
    name = f"field-{option.name}"
    if choices := choices_of(option, offered):
        return Choice(choices, text_of(option, value), field_id=name)
    known = [*option.choices] or [word for word, _ in offered]
    completed = Completion() if option.type is Path else Completion(known) if known else None
    placeholder = option.placeholder or one_line(", ".join(known), 60)
    return Input(
        text_of(option, value), placeholder, suggester=completed, select_on_focus=False, compact=True, id=name
    )


def read(option: Option, text: str) -> Any:
    """The value of an option in what was typed or chosen; None for the default. Raises FieldError."""
    text = text.strip()
    if option.required and not text:
        raise FieldError(option.name, f"“{label_of(option)}” is empty", option.help)
    if option.type is bool:
        return option.default == (text in ("", choices_of(option)[0][0]))
    if option.type is tuple:
        # a name with a comma is written in quotes
        names = next(csv.reader([text], skipinitialspace=True), [])
        return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if option.type is dict:
        return _sending(option, text) if option.as_json else _variables(option, text)
    if not text:
        return None
    if option.type in (int, float):
        return _number(option, text)
    if option.type is Path:
        if not os.path.exists(user_path(text)):  # noqa: PTH110 - pathlib raises for a name that is too long
            raise FieldError(option.name, "There is no such file or folder", one_line(text, 100))
        return user_path(text)
    return text


def _unfit(option: Option, text: str, step: str) -> FieldError:
    return FieldError(option.name, f"“{one_line(text, 40)}” does not fit “{label_of(option)}”", step)


def _number(option: Option, text: str) -> int | float:
    bounds = option.bounds
    if option.type is int:
        least, most = int(bounds.get("ge", 0)), int(bounds.get("le", LARGEST))
        if text.isascii() and text.isdigit() and least <= int(text[:12]) <= most:
            return int(text)
        bound = f"from {least} to {most:,}" if most < LARGEST else f"of {least} or more"
        raise _unfit(option, text, f"Write a whole number {bound}.")
    if re.fullmatch(r"[0-9]{0,9}(\.[0-9]{0,9})?", text, re.ASCII) and text != ".":
        value = float(text)
        low = value > bounds["gt"] if "gt" in bounds else value >= bounds.get("ge", 0)
        if low and (value < bounds["lt"] if "lt" in bounds else value <= bounds.get("le", LARGEST)):
            return value
    allowed = " and ".join(f"{_WORDS[name]} {bound:g}" for name, bound in bounds.items())
    raise _unfit(option, text, f"Write a number: {allowed}." if allowed else "Write a number.")


def _variables(option: Option, text: str) -> dict[str, str]:
    """NAME=WORD, separated by commas, as a mapping."""
    words = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, word = part.partition("=")
        if not (sign and name.strip() and word.strip()):
            raise _unfit(option, part, "Write NAME=WORD, such as item=book, with commas between several.")
        words[name.strip()] = word.strip()
    return words


def _sending(option: Option, text: str) -> dict[str, Any]:
    """KEY=JSON, separated by semicolons, as a mapping."""
    try:
        return sending_options(filter(None, (part.strip() for part in text.split(";"))))
    except UsageError as error:
        raise FieldError(option.name, error.title, error.cause, error.next_step) from error


# ---- the form ----------------------------------------------------------------------------------------------------


class Form(Dialog[dict[str, Any] | None]):
    """Returns the value of each option by its name; None when the user cancels.

    `values` are the current ones, `offered` what can be chosen for an option (see `field`). `does`: what the form is
    accepted for. Of many options, the later ones at their defaults are shown only when they are asked for.
    """

    CSS = """
    Form .dialog { max-height: 90%; }
    Form #fields { height: auto; max-height: 30; }
    Form.-short #fields { max-height: 12; }
    Form .row { height: 1; }
    Form .row Label { width: 18; }
    Form .row Input { height: 1; border: none; padding: 0; width: 1fr; background: $surface; }
    Form .row Input:focus { background: $block-cursor-background; }
    Form .-more { display: none; }
    Form.-all .-more { display: block; }
    Form.-all #more { display: none; }
    Form #more { height: 1; border: none; width: 100%; content-align: left middle; text-align: left;
                 background: $surface; color: $text-muted; text-style: none; }
    Form #more:focus { background: $block-cursor-background; }
    Form #about { height: auto; min-height: 2; max-height: 10; color: $text-muted; }
    Form #about.-wrong { color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "accept", id="form.accept"),
        Binding("down", "app.focus_next", "next", show=False, id="form.down"),
        Binding("up", "app.focus_previous", "previous", show=False, id="form.up"),
        Binding("plus,f2", "more", "more fields", key_display="+", show=False, id="form.more"),
        Binding("escape", "dismiss(None)", "cancel", key_display="esc", id="form.cancel"),
    ]

    def __init__(
        self,
        title: str,
        options: Sequence[Option],
        values: Mapping[str, Any],
        offered: Mapping[str, Sequence[tuple[str, str]]],
        does: str = "show",
    ) -> None:
        super().__init__()
        self._title, self._options, self._values, self._offered = title, tuple(options), values, offered
        self._more = [
            option.name
            for at, option in enumerate(options)
            if (option.rare or at >= _FIRST)
            and values.get(option.name, option.default) in (option.default, None, ())
        ]
        self._does = does
        self._wrong: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        usual = [option for option in self._options if option.name not in self._more]
        with Vertical(classes="dialog") as box:
            box.border_title = Content(one_line(self._title, _SHOWN))
            with VerticalScroll(id="fields", can_focus=False):
                for option in usual:
                    yield self._row(option)
                if self._more:
                    yield Button(Content(f"+ {len(self._more)} more"), id="more", compact=True)
                for option in (option for option in self._options if option.name in self._more):
                    yield self._row(option, "-more")
            yield Static(id="about")
            yield DialogHint(f"← → choose   ↑ ↓ field   enter {self._does}   esc cancel")

    def _row(self, option: Option, *classes: str) -> Horizontal:
        value = self._values.get(option.name, option.default)
        widget = field(option, value, self._offered.get(option.name, ()))
        return Horizontal(Label(Content(label_of(option))), widget, classes=" ".join(("row", *classes)))

    def on_descendant_focus(self) -> None:
        focused = self.focused
        option = next(
            (o for o in self._options if focused is not None and focused.id == f"field-{o.name}"), None
        )
        if option is not None:
            wrong = self._wrong.get(option.name, "")
            # a digit chooses, so the numbers are shown
            listed = self.focused.numbered() if isinstance(self.focused, Choice) else ""
            self._say(wrong or " ".join(filter(None, (option.help, option.details, listed))), bool(wrong))

    def _say(self, text: str, wrong: bool = False) -> None:
        about = self.query_one("#about", Static)
        about.set_class(wrong, "-wrong")
        about.update(Content(one_line(text, 700)))

    @on(Button.Pressed, "#more")
    def action_more(self) -> None:
        if self._more:
            self.add_class("-all")
            self.query_one(f"#field-{self._more[0]}").focus()

    @on(Input.Submitted)
    def action_accept(self) -> None:
        given: dict[str, Any] = {}
        for option in self._options:
            widget = self.query_one(f"#field-{option.name}")
            assert isinstance(widget, Choice | Input)
            try:
                value = read(option, widget.value)
            except FieldError as error:
                said = ". ".join(filter(None, (error.title, error.cause.rstrip("."), error.next_step)))
                self._wrong = {option.name: said}
                self._say(said, True)
                self.set_class(option.name in self._more or self.has_class("-all"), "-all")
                widget.focus()
                return
            given[option.name] = option.default if value is None else value
        self.dismiss(given)
