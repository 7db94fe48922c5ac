"""A form made from declared options: a field by type, what can be chosen there, and the error at the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from recjudge_tui.domain.options import Option
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError
from recjudge_tui.tui.dialogs import Choice, Dialog
from recjudge_tui.tui.widgets import DialogHint

_SHOWN = 40
# so many options are shown at once
_FIRST = 8
_YES_NO = [("False", "no"), ("True", "yes")]


class Form(Dialog[dict[str, Any] | None]):
    """Returns the value of each option by its name; None when the user cancels.

    `offered`: what can be chosen for an option, (value, text); where the option takes several names they complete the
    line. `values` are the current ones.
    """

    CSS = """
    Form .dialog { max-height: 90%; }
    Form #fields { height: auto; max-height: 30; }
    Form.-short #fields { max-height: 12; }
    Form .row { height: 1; }
    Form .row Label { width: 18; }
    Form .row Input { height: 1; border: none; padding: 0; width: 1fr; background: $surface; }
    Form .row Input:focus { background: $block-cursor-background; }
    Form #about { height: auto; min-height: 2; max-height: 4; color: $text-muted; }
    Form #about.-wrong { color: $error; }
    Form .rare { display: none; }
    Form.-all .rare { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "show", id="form.accept"),
        Binding("down", "app.focus_next", "next", show=False, id="form.down"),
        Binding("up", "app.focus_previous", "previous", show=False, id="form.up"),
        Binding("plus,f2", "more", "more fields", key_display="+", id="form.more"),
        Binding("escape", "dismiss(None)", "cancel", key_display="esc", id="form.cancel"),
    ]

    def __init__(
        self,
        title: str,
        options: Sequence[Option],
        values: Mapping[str, Any],
        offered: Mapping[str, Sequence[tuple[str, str]]],
    ) -> None:
        super().__init__()
        self._title, self._options, self._values, self._offered = title, tuple(options), values, offered
        self._wrong: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(one_line(self._title, _SHOWN))
            with VerticalScroll(id="fields", can_focus=False):
                for at, option in enumerate(self._options):
                    with Horizontal(classes="row rare" if self._is_rare(at, option) else "row"):
                        yield Label(Content(_label(option)))
                        yield self._field(option)
            yield Static(id="about")
            rare = any(self._is_rare(at, option) for at, option in enumerate(self._options))
            more = "   + more" if rare else ""
            yield DialogHint(f"← → choose   ↑ ↓ field{more}   enter show   esc cancel")

    def _is_rare(self, at: int, option: Option) -> bool:
        """Whether the field comes only with the key for more: of many options the later ones, unless a value was chosen."""
        default = self._values.get(option.name, option.default) in (option.default, None, ())
        return (option.rare or at >= _FIRST) and default

    def action_more(self) -> None:
        self.toggle_class("-all")

    def _field(self, option: Option) -> Widget:
        value, offered = self._values.get(option.name, option.default), self._offered.get(option.name, ())
        name = f"field-{option.name}"
        if option.type is bool:
            return Choice(_YES_NO, str(bool(value)), field_id=name)
        choices = [(word, word) for word in option.choices] or [*offered]
        if choices and option.type is not tuple:
            empty = [] if option.required or option.default in dict(choices) else [("", "any")]
            return Choice(
                [*empty, *((word, one_line(text, _SHOWN)) for word, text in choices)],
                "" if value is None else str(value),
                field_id=name,
            )
        known = [word for word, _ in choices]
        return Input(
            _text(value),
            placeholder=option.placeholder or (", ".join(known) and one_line(", ".join(known), 60)),
            suggester=SuggestFromList(known, case_sensitive=False) if known else None,
            compact=True,
            id=name,
        )

    def on_descendant_focus(self) -> None:
        focused = self.focused
        option = next(
            (o for o in self._options if focused is not None and focused.id == f"field-{o.name}"), None
        )
        if option is not None:
            wrong = self._wrong.get(option.name, "")
            self._say(wrong or " ".join(filter(None, (option.help, option.details))), bool(wrong))

    def _say(self, text: str, wrong: bool = False) -> None:
        about = self.query_one("#about", Static)
        about.set_class(wrong, "-wrong")
        about.update(Content(one_line(text, 400)))

    def on_input_submitted(self) -> None:
        self.action_accept()

    def action_accept(self) -> None:
        given: dict[str, Any] = {}
        for option in self._options:
            field = self.query_one(f"#field-{option.name}")
            try:
                given[option.name] = read(option, field.value if isinstance(field, Choice | Input) else "")
            except UsageError as error:
                self._wrong = {option.name: f"{error.title}. {error.cause}"}
                self._say(self._wrong[option.name], True)
                self.add_class("-all")
                field.focus()
                return
        self.dismiss(given)


def _label(option: Option) -> str:
    return option.label or option.name.replace("_", " ")


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def read(option: Option, text: str) -> Any:
    """The value of an option in what was typed; empty: its default. Raises UsageError."""
    text = text.strip()
    if not text:
        return option.default
    if option.type is bool:
        return text == "True"
    if option.type is tuple:
        return tuple(part for part in map(str.strip, text.split(",")) if part)
    if option.type in (int, float):
        try:
            return option.type(text)
        except ValueError:
            raise UsageError(f"{_label(option)} is “{one_line(text, 40)}”", "It must be a number.") from None
    return text
