"""A form made from declared options: a field by type, what can be chosen or completed there, what was typed as a value, and
the error at the field."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Button, Input, Label, Static

from recjudge_tui.domain.address import ADDRESS_OPTIONS, sending_options
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.run_options import RUN_OPTIONS, RunOption
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError
from recjudge_tui.settings import user_path
from recjudge_tui.tui.dialogs import Choice, Completion, CompletionInput, Dialog, FieldError
from recjudge_tui.tui.judge_picker import JudgeField
from recjudge_tui.tui.widgets import DialogHint, TextPane

Derived = Mapping[str, tuple[str, Callable[[str], str]]]
LARGEST = 10**9
_SHOWN = 40
# so many options are shown at once
_FIRST = 8
DEBOUNCE_S = 0.25
_WORDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


# ---- fields ------------------------------------------------------------------------------------------------------


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


def field(option: Option, value: Any, offered: Sequence[Any] = ()) -> Choice | Input:
    """The widget `field-NAME`. `offered`: what can be chosen, (value, text), or the known judges; where the option takes
    several names they complete the line."""
    name = f"field-{option.name}"
    if option.type is JudgeSpec:
        return JudgeField(offered, field_id=name)
    if choices := choices_of(option, offered):
        return Choice(choices, text_of(option, value), field_id=name)
    known = [*option.choices] or [word for word, _ in offered]
    completed = Completion() if option.type is Path else Completion(known) if known else None
    placeholder = option.placeholder or (f"such as {one_line(', '.join(known), 60)}" if known else "")
    return CompletionInput(
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


_FLAG = re.compile(r"--[a-z][a-z-]*")
# options of the command line -> the names of their fields in the form
_LABELS = {
    flag: option.label for option in RUN_OPTIONS.values() if option.label for flag in option.flag.split("/")
} | {option.flag: option.label for option in ADDRESS_OPTIONS.values()}


def form_words(text: str) -> str:
    """The text with the form's names of options: “judge again” instead of --again."""
    return _FLAG.sub(lambda flag: f"“{_LABELS[flag[0]]}”" if flag[0] in _LABELS else flag[0], text)


class Fields(Vertical):
    """A row for each option: `row-NAME` with its label and the widget `field-NAME`; below them a line about the field in
    use, or what is wrong with it. Of many options the later ones at their defaults, and the rare ones, are shown only when
    they are asked for. `offered`: what can be chosen for an option, see `field`. `derived`: option -> the one whose text
    says what it is while it is empty, and how."""

    DEFAULT_CSS = """
    Fields { height: auto; }
    Fields #rows { height: auto; max-height: 30; overflow-y: auto; scrollbar-size-vertical: 1; }
    Fields .row { height: 1; }
    Fields .row Label { width: 18; color: $text-muted; }
    Fields .row Input { height: 1; border: none; padding: 0; width: 1fr; background: $surface; }
    Fields .row Input:focus { background: $block-cursor-background; }
    Fields .row .aside { width: 1fr; padding: 0 0 0 2; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    Fields .row.-wrong Label { color: $error; text-style: bold; }
    Fields #rare { height: auto; display: none; }
    Fields.-all #rare { display: block; }
    Fields #more { height: 1; border: none; width: 100%; content-align: left middle; text-align: left;
                   background: $surface; color: $text-muted; text-style: none; }
    Fields #more:focus { background: $block-cursor-background; }
    Fields #about { height: auto; min-height: 2; max-height: 10; color: $text-muted; }
    Fields #about.-wrong { color: $error; }
    """

    @dataclass
    class Settled(Message):
        """Nothing has changed for a moment, so that what follows from the fields can be shown below them."""

    def __init__(
        self,
        options: Sequence[Option],
        values: Mapping[str, Any],
        offered: Mapping[str, Sequence[Any]],
        derived: Derived = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self._waits: Timer | None = None
        self._derived = derived
        self.options = {option.name: option for option in options}
        self._values, self._offered = values, offered
        self._rare = [
            option
            for at, option in enumerate(options)
            if (option.rare or at >= _FIRST) and self._value_of(option) in (option.default, None, ())
        ]
        self._wrong: dict[str, str] = {}

    def _value_of(self, option: Option) -> Any:
        return self._values.get(option.name, option.default)

    def compose(self) -> ComposeResult:
        # no scroll view, whose keys would take the arrows
        with Vertical(id="rows"):
            yield from (self._row(option) for option in self.options.values() if option not in self._rare)
            if self._rare:
                yield Button("", id="more", compact=True)
                with Vertical(id="rare"):
                    yield from map(self._row, self._rare)
        yield Static(id="about")

    def _row(self, option: Option) -> Horizontal:
        widget = field(option, self._value_of(option), self._offered.get(option.name, ()))
        parts: list[Widget] = [Label(Content(label_of(option))), widget]
        if isinstance(widget, Choice):
            widget.styles.width = "auto"
            parts.append(Static(classes="aside"))
        return Horizontal(*parts, classes="row", id=f"row-{option.name}")

    def on_mount(self) -> None:
        self._sum_up()

    # ---- what stands in it

    def __getitem__(self, name: str) -> Choice | Input:
        widget = self.query_one(f"#field-{name}")
        assert isinstance(widget, Choice | Input)
        return widget

    def text(self, name: str) -> str:
        return self[name].value

    def is_shown(self, name: str) -> bool:
        return self.query_one(f"#row-{name}").display

    def show(self, name: str, shown: bool) -> None:
        """Whether the form has the row at all."""
        row = self.query_one(f"#row-{name}")
        if row.display != shown:
            row.display = shown
            self.call_next(self._sum_up)

    def aside(self, name: str, text: str) -> None:
        """Say something beside a choice."""
        self.query_one(f"#row-{name} .aside", Static).update(Content(one_line(text, 200)))

    def read(self) -> dict[str, Any]:
        """The value of each option shown; None for its default. Raises FieldError for the first that does not fit."""
        self._wrong = {}
        self.query(".row").remove_class("-wrong")
        shown = {name: option for name, option in self.options.items() if self.is_shown(name)}
        values: dict[str, Any] = {}
        for name, option in shown.items():
            field = self[name]
            derived = field.placeholder if name in self._derived and isinstance(field, Input) else ""
            text = field.value or derived
            values[name] = field.judge if isinstance(field, JudgeField) else read(option, text)
        return values

    def complain(self, error: FieldError, *, go_there: bool = False) -> None:
        """Say what is wrong at its field."""
        said = ". ".join(filter(None, (error.title, error.cause.rstrip("."), error.next_step)))
        self._wrong = {error.field: form_words(said)}
        self.query_one(f"#row-{error.field}").add_class("-wrong")
        if go_there:
            self.set_class(error.field in [option.name for option in self._rare], "-all")
            self[error.field].focus()
        self._say(self._wrong[error.field], True)

    @on(Input.Changed)
    def _derive(self, event: Input.Changed) -> None:
        for name, (source, make) in self._derived.items():
            field = self[name]
            if event.input.id == f"field-{source}" and isinstance(field, Input):
                field.placeholder = make(event.value)

    @on(Input.Changed)
    @on(Choice.Changed)
    def wait(self) -> None:
        self.stop_waiting()
        self._waits = self.set_timer(DEBOUNCE_S, lambda: self.post_message(self.Settled()))

    def stop_waiting(self) -> None:
        if self._waits is not None:
            self._waits.stop()

    # ---- the line about the field in use

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        name = (event.widget.id or "").removeprefix("field-")
        if option := self.options.get(name):
            # a digit chooses, so the numbers are shown
            listed = event.widget.numbered() if isinstance(event.widget, Choice) else ""
            about = form_words(" ".join(filter(None, (option.help, option.details, listed))))
            self._say(self._wrong.get(name, about), name in self._wrong)

    def _say(self, text: str, wrong: bool = False) -> None:
        about = self.query_one("#about", Static)
        about.set_class(wrong, "-wrong")
        about.update(Content(one_line(text, 700)))

    # ---- the rare ones

    @on(Input.Changed)
    @on(Choice.Changed)
    def _sum_up(self) -> None:
        """Say on the button which of the rare ones are not at their defaults."""
        if not self._rare:
            return
        shown = [option for option in self._rare if self.is_shown(option.name)]
        changed = [
            f"{label_of(option)} {one_line(self.text(option.name), 30)}"
            for option in shown
            if self.text(option.name) not in ("", text_of(option, option.default), _first(option))
        ]
        title = f"{'-' if self.has_class('-all') else '+'} {len(shown)} more"
        self.query_one("#more", Button).label = Content(": ".join(filter(None, (title, ", ".join(changed)))))

    @on(Button.Pressed, "#more")
    def toggle(self) -> None:
        """Show the rare ones, or hide them."""
        if self._rare:
            self.toggle_class("-all")
            self._sum_up()
            shown = [option.name for option in self._rare if self.is_shown(option.name)]
            if self.has_class("-all") and shown:
                self[shown[0]].focus()
            else:
                self.query_one("#more").focus()


def _first(option: Option) -> str:
    choices = choices_of(option)
    return choices[0][0] if choices else ""


class Form(Dialog[Any]):
    """Returns the value of each option by its name, or what `make` makes of them; None when the user cancels. A FieldError
    of `make` is shown at its field. `does`: what the form is accepted for. `follow` is called with the values whenever they
    have settled, with why there are none, or None while they change, and with True when the user asks for it: what follows
    from them stands below.
    """

    CSS = """
    Form .dialog { max-height: 90%; }
    Form.-short Fields #rows { max-height: 12; }
    Form .-followed { width: 112; }
    Form #below { height: 18; border: none; border-top: solid $primary; padding: 0; }
    Form.-short #below { height: 7; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,f5", "accept", "accept", id="form.accept"),
        Binding("down", "app.focus_next", "next", show=False, id="form.down"),
        Binding("up", "app.focus_previous", "previous", show=False, id="form.up"),
        Binding("plus,f2", "more", "more fields", key_display="+", show=False, id="form.more"),
        Binding("f4", "follow", "look into large files", show=False, id="form.look"),
        Binding("pagedown", "scroll(1)", "scroll down", show=False, id="form.page_down"),
        Binding("pageup", "scroll(-1)", "scroll up", show=False, id="form.page_up"),
        Binding("escape", "dismiss(None)", "cancel", key_display="esc", id="form.cancel"),
    ]

    def __init__(
        self,
        title: str,
        options: Sequence[Option],
        values: Mapping[str, Any],
        offered: Mapping[str, Sequence[Any]],
        does: str = "show",
        make: Callable[[dict[str, Any]], Any] = lambda given: given,
        derived: Derived = MappingProxyType({}),
        follow: Callable[[dict[str, Any] | FieldError | None, bool], object] | None = None,
    ) -> None:
        super().__init__()
        self._title, self._does, self._make, self._follow = title, does, make, follow
        self.fields = Fields(options, values, offered, derived)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(one_line(self._title, _SHOWN))
            yield self.fields
            if self._follow is not None:
                box.add_class("-followed")
                yield TextPane(id="below")
            # at a judge, enter lists all judges
            key = (
                "f5" if any(option.type is JudgeSpec for option in self.fields.options.values()) else "enter"
            )
            more = "   pagedown more" if self._follow is not None else ""
            yield DialogHint(f"← → choose   ↑ ↓ field   {key} {self._does}{more}   esc cancel")

    def action_more(self) -> None:
        self.fields.toggle()

    @on(Input.Submitted)
    def action_accept(self) -> None:
        try:
            self.dismiss(self._make(self._given()))
        except FieldError as error:
            self.fields.complain(error, go_there=True)

    def _given(self) -> dict[str, Any]:
        defaults = {name: option.default for name, option in self.fields.options.items()}
        return {n: defaults[n] if v is None else v for n, v in self.fields.read().items()}

    # ---- what follows

    def on_mount(self) -> None:
        for pane in self.query(TextPane):
            pane.can_focus = False
            self.action_follow(asked=False)

    @on(Input.Changed)
    @on(Choice.Changed)
    def _changed(self) -> None:
        if self._follow is not None:
            self._follow(None, False)

    @on(Fields.Settled)
    def _settled(self) -> None:
        self.action_follow(asked=False)

    def action_follow(self, *, asked: bool = True) -> None:
        if self._follow is not None:
            try:
                self._follow(self._given(), asked)
            except FieldError as error:
                self._follow(error, asked)

    def say(self, title: str, text: Content) -> None:
        """Show what follows, unless the form is closed."""
        for pane in self.query(TextPane):
            pane.border_title = Content(title)
            pane.show(lambda _: text)

    def action_scroll(self, by: int) -> None:
        for pane in self.query(TextPane):
            pane.scroll_relative(y=by * max(pane.size.height - 2, 1), animate=False)
