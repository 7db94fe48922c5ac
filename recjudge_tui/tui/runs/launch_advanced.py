"""All options of a run, below the three questions of its form: one row for each field that applies."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Label

from recjudge_tui.domain.judge import JudgeAddress
from recjudge_tui.domain.protocols import with_unit
from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.address_fields import ADDRESS, address_texts
from recjudge_tui.tui.kit.choice import Choice
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.runs.choices import Choices
from recjudge_tui.tui.runs.launch_form import (
    FIELD_BY_NAME,
    FIELDS,
    QUESTIONS,
    Field,
    choices_of,
    default_text,
    is_asked,
)
from recjudge_tui.tui.runs.launch_text import advanced_summary

# the third question contains these, unless its answer is “until decided”
COUNTS = ("limit", "sample")
_FIELDS = tuple(field for field in FIELDS if field.name not in QUESTIONS)


class AdvancedFields(Vertical):
    """The rows `row-NAME` with the fields `field-NAME`. Not a scroll view, whose keys would take the arrows."""

    DEFAULT_CSS = """
    AdvancedFields { border: round $primary; border-title-color: $accent; overflow-y: auto; scrollbar-size-vertical: 1; }
    .-ascii AdvancedFields { border: ascii $primary; }
    """

    def compose(self) -> ComposeResult:
        self.border_title = Content("Advanced")
        for field in _FIELDS:
            with Horizontal(classes="row", id=f"row-{field.name}"):
                yield Label(Content(field.label))
                yield _widget(field)

    def values(self) -> dict[str, str]:
        return {field.name: _value(self.query_one(f"#field-{field.name}")) for field in _FIELDS}

    def focus_first(self) -> None:
        """Focus the first field; there is none before the choices are read."""
        if shown := self._shown():
            self.query_one(f"#field-{shown[0].name}").focus()

    def _shown(self) -> list[Field]:
        return [field for field in _FIELDS if self.query_one(f"#row-{field.name}").display]

    def fit(self, protocol: str, choices: Choices, *, decided: bool) -> None:
        """Show the fields of the protocol, with their defaults as placeholders."""
        for field in _FIELDS:
            if field.name not in ADDRESS:
                asked = is_asked(field, protocol, choices.by_data, decided=decided)
                self.query_one(f"#row-{field.name}").display = asked and (decided or field.name not in COUNTS)
        for name in ("top_k", "history"):
            self.query_one(f"#field-{name}", Input).placeholder = default_text(name, protocol)
        profiles = FIELD_BY_NAME["profile"].choices
        own = ("", f"{dict(profiles)[default_text('profile', protocol)]} (default)")
        self.query_one("#field-profile", Choice).offer([own, *profiles[1:]])
        systems = choices.explainers if protocol in with_unit("explanation") else choices.systems
        names = ", ".join(one_line(name, 40) for name in systems)
        self.query_one("#field-systems", Input).placeholder = f"all: {names}" if names else "none yet"
        prompts = [(label, one_line(label, 60)) for of, label in choices.prompts if of == protocol]
        self.query_one("#field-prompt", Choice).offer([*FIELD_BY_NAME["prompt"].choices, *prompts])
        domains = [(name, one_line(name, 40)) for name in choices.domains]
        self.query_one("#field-domain", Choice).offer([*FIELD_BY_NAME["domain"].choices, *domains])

    def set_address(self, address: JudgeAddress) -> None:
        for name, text in address_texts(address).items():
            self.query_one(f"#field-{name}", Input).value = text

    def ask_address(self, needed: bool) -> None:
        """Show the fields of the address if the judge may need them."""
        for name in ADDRESS:
            self.query_one(f"#row-{name}").display = needed or bool(
                self.query_one(f"#field-{name}", Input).value
            )

    def summary(self, protocol: str, room: int) -> str:
        """The settings in one line of at most `room` cells."""
        values = self.values()
        shown = {field.name: values[field.name] for field in self._shown() if field.name in RUN_OPTIONS}
        usual = {name: _usual(FIELD_BY_NAME[name]) for name in shown}
        usual |= {name: default_text(name, protocol) for name in ("top_k", "history") if name in shown}
        return advanced_summary(shown, usual, glyphs(), room)


def _usual(field: Field) -> str:
    """The initial value of a field."""
    return field.choices[0][0] if field.choices else field.initial


def _value(widget: object) -> str:
    assert isinstance(widget, (Input, Choice))
    return widget.value


def _widget(field: Field) -> Input | Choice:
    if choices := choices_of(field):
        return Choice(choices, field_id=f"field-{field.name}")
    return Input(
        value=field.initial,
        placeholder=field.placeholder,
        compact=True,
        select_on_focus=False,
        id=f"field-{field.name}",
    )
