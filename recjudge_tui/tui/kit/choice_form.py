"""A dialog of fields with a few values each, such as the question and the raters of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Label

from recjudge_tui.domain.text import one_line
from recjudge_tui.tui.kit.choice import Choice
from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.dialogs import Dialog

_SHOWN = 44


class ChoiceField(NamedTuple):
    """`options` are (value, text shown); `value` is the current one."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    value: str


class ChoiceForm(Dialog[dict[str, str] | None]):
    """Returns the chosen value of each field by its name, or None when the user cancels."""

    CSS = """
    ChoiceForm .row { height: 1; }
    ChoiceForm .row Label { width: 12; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "show", id="figures.accept"),
        Binding("down,j", "app.focus_next", "next", show=False, id="figures.down"),
        Binding("up,k", "app.focus_previous", "previous", show=False, id="figures.up"),
        Binding("escape,q,m", "dismiss(None)", "cancel", key_display="esc", id="figures.cancel"),
    ]

    def __init__(self, fields: Sequence[ChoiceField]) -> None:
        super().__init__()
        self._choice_fields = [field for field in fields if field.options]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Shown")
            for field in self._choice_fields:
                options = [(value, one_line(text, _SHOWN)) for value, text in field.options]
                with Horizontal(classes="row"):
                    yield Label(Content(field.label))
                    yield Choice(options, field.value, field_id=f"choice-{field.name}")
            yield DialogHint("← → choose   ↑ ↓ field   enter show   esc cancel")

    def action_accept(self) -> None:
        chosen = {
            field.name: self.query_one(f"#choice-{field.name}", Choice).value for field in self._choice_fields
        }
        self.dismiss(chosen)
