"""A prompt from the editor that cannot be stored as it is: the problems, and the choices."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from recjudge_tui.domain.text import safe_text
from recjudge_tui.tui.kit.dialogs import Dialog, plain
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.prompts.editor import Draft

_TITLES = {
    "wrong": "The prompt has a fault",
    "gone": "The file is gone",
    "given up": "Not stored",
}


class DraftDialog(Dialog[str | None]):
    """Returns `edit`, `store`, or None to leave the file where it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e,enter", "dismiss('edit')", "edit again", key_display="e", id="draft.edit"),
        Binding("s", "dismiss('store')", "store it anyway", id="draft.store"),
        Binding("escape,q", "dismiss(None)", "leave it", key_display="esc", id="draft.leave"),
    ]

    def __init__(self, draft: Draft) -> None:
        super().__init__()
        self.draft = draft

    def compose(self) -> ComposeResult:
        draft, symbols = self.draft, glyphs()
        with Vertical(classes="dialog error") as box:
            box.border_title = Content(_TITLES.get(draft.state, "Prompt"))
            with VerticalScroll(classes="dialog-text"):
                for problem in draft.problems[:40]:
                    yield Static(plain(f"{symbols.failed} {problem}"))
                more = len(draft.problems) - 40
                if more > 0:
                    yield Static(Content(f"and {more} more"))
            if draft.state != "gone":
                yield Static(
                    Content(f"Nothing is stored. The text is kept in {safe_text(draft.path)}"),
                    classes="error-step",
                )
            keys = ["e edit again", *(["s store it anyway"] if draft.prompt else []), "esc leave it"]
            yield Static(Content("   ".join(keys)), classes="dialog-hint")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if parameters == ("store",):
            return self.draft.prompt is not None
        return super().check_action(action, parameters)
