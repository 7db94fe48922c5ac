"""A prompt edited in the user's own editor, and stored as a new version."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.prompting.drafts import StoredDraft, store_draft
from recjudge_tui.store.prompts import prompt_by_id, prompt_toml
from recjudge_tui.tui.kit.base_screen import BaseScreen
from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.dialogs import Dialog, plain
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.prompts.editor import (
    Draft,
    check_draft,
    drop_draft,
    editor_command,
    run_editor,
    write_draft,
)

_TITLES = {
    "wrong": "The prompt has a fault",
    "gone": "The file is gone",
    "given up": "Not stored",
}


class EditingScreen(BaseScreen):
    """A screen that can open a prompt in the editor.

    No text is ever lost: a text that is not stored stays in its file.
    """

    def prompt_stored(self, name: str, version: int) -> None:
        """The edited text is stored as a prompt of this name and version; screens define what to do then."""
        raise NotImplementedError

    def edit_prompt(self, prompt_id: int, name: str) -> None:
        """Open a prompt in the editor; a valid, changed text is stored as a new version."""
        try:
            text = prompt_toml(prompt_by_id(self.host.db, prompt_id))
            editor_command()
        except RecjudgeError as error:
            self.host.show_error(error)
            return
        self._edit(write_draft(text, name), text)

    def _edit(self, path: Path, original: str) -> None:
        """Give the terminal to the editor until it ends, then check its result."""
        try:
            code = run_editor(self.host, path)
        except SuspendNotSupported:
            self.host.show_error(_no_terminal(path))
            return
        except RecjudgeError as error:
            self.host.show_error(error)
            return
        draft = check_draft(path, original, code)
        if draft.state == "unchanged":
            drop_draft(path)
            self.notify("You changed nothing, so nothing was stored.")
        elif draft.state == "fine":
            self._keep(draft)
        else:
            self.app.push_screen(DraftDialog(draft), partial(self._decided, draft=draft, original=original))

    def _decided(self, decision: str | None, draft: Draft, original: str) -> None:
        if decision == "edit":
            if draft.state == "gone":
                draft = draft._replace(path=write_draft(original, draft.path.stem))
            self._edit(draft.path, original)
        elif decision == "store":
            self._keep(draft)

    def _keep(self, draft: Draft) -> None:
        assert draft.prompt is not None
        job = partial(store_draft, prompt=draft.prompt)
        self.background.start("keep", job, partial(self._show_kept, draft.path))

    def _show_kept(self, path: Path, kept: StoredDraft) -> None:
        named = f"{kept.name}@{kept.version}"
        if kept.new:
            drop_draft(path)
            self.notify(f"Stored as {named}.", markup=False)
        else:
            why = f"{named} is the same prompt (comments, description and source do not count)"
            self.notify(f"Nothing was stored: {why}. Your text is kept in {path}",
                        severity="warning", timeout=15, markup=False)  # fmt: skip
        self.prompt_stored(kept.name, kept.version)


def _no_terminal(path: Path) -> RecjudgeError:
    return RecjudgeError(
        "an editor cannot be opened here",
        "This terminal cannot be handed to another program.",
        f"Edit {path} from another one, then “recjudge prompt add {path}”.",
    )


class DraftDialog(Dialog[str | None]):
    """The problems of a text that cannot be stored. Returns `edit`, `store`, or None to leave the file where it is."""

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
            yield DialogHint("   ".join(keys))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if parameters == ("store",):
            return self.draft.prompt is not None
        return super().check_action(action, parameters)
