"""`n`: assigns cases to annotators."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Label, Static

from recjudge_tui.domain.protocols import offered
from recjudge_tui.tui.annotate.jobs import PlanRequest
from recjudge_tui.tui.kit.choice import Choice
from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.dialogs import Dialog


class AnnotationForm(Dialog[PlanRequest | None]):
    """Returns the request, or None. Missing fields are reported in the form."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", id="assign.cancel"),
        Binding("enter", "accept", "assign", show=False, id="assign.accept"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog form") as box:
            box.border_title = Content("Assign cases")
            yield Label(Content("annotators (names separated by commas)"))
            yield Input(placeholder="ana, ben", compact=True, id="assign-names")
            yield Label(Content("protocol (choose with left and right)"))
            yield Choice([(name, name) for name in offered()], field_id="assign-protocol")
            yield Label(Content("cases (empty: all)"))
            yield Input(compact=True, id="assign-sample")
            yield Label(Content("annotators per case (empty: two)"))
            yield Input(compact=True, id="assign-per-case")
            yield Static(classes="form-error")
            yield DialogHint("enter assign   tab next field   esc cancel")

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_accept()

    def action_accept(self) -> None:
        text = self.query_one("#assign-names", Input).value
        names = tuple(part.strip() for part in text.split(",") if part.strip())
        if not names:
            self._refuse("assign-names", "Name at least one annotator.")
            return
        numbers: list[int | None] = []
        for field in ("assign-sample", "assign-per-case"):
            entry = self.query_one(f"#{field}", Input).value.strip()
            if entry and not (entry.isascii() and entry.isdigit() and int(entry) > 0):
                self._refuse(field, "Enter a whole number of at least 1, or leave it empty.")
                return
            numbers.append(int(entry) if entry else None)
        self.dismiss(PlanRequest(names, self.query_one(Choice).value, *numbers))

    def _refuse(self, field: str, text: str) -> None:
        self.query_one(".form-error", Static).update(Content(text))
        self.query_one(f"#{field}", Input).focus()
