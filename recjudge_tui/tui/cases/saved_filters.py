"""The saved filters of a project: apply, save and delete them."""

from __future__ import annotations

from functools import cached_property, partial
from typing import ClassVar

from rich.cells import set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from recjudge_tui.domain.text import one_line
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import (
    LONGEST_NAME,
    SavedFilter,
    delete_filter,
    save_filter,
    saved_filters,
)
from recjudge_tui.tui.kit.background import Background
from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.dialogs import AskLine, Confirm, Dialog
from recjudge_tui.tui.kit.host import host_of
from recjudge_tui.tui.kit.key_line import key_hint, key_name
from recjudge_tui.tui.kit.option_list import Options

_NAME_CELLS = 24
_KEYS = (
    ("filters.apply", "enter", "apply"),
    ("filters.save", "n", "save the current one"),
    ("filters.delete", "D", "delete"),
    ("filters.close", "esc", "close"),
)


class FilterNames(Options):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "apply", id="filters.apply"),
        Binding("j", "cursor_down", "next", show=False, id="filters.down"),
        Binding("k", "cursor_up", "previous", show=False, id="filters.up"),
    ]


class SavedFilters(Dialog[str | None]):
    """Returns the filter to apply, or None. `present` is the filter that can be saved; empty if there is none."""

    DEFAULT_CSS = """
    SavedFilters FilterNames { height: auto; max-height: 12; background: $surface; border: none; padding: 0; }
    SavedFilters FilterNames:focus { border: none; background-tint: transparent; }
    SavedFilters #no-filters { display: none; }
    SavedFilters.-empty FilterNames { display: none; }
    SavedFilters.-empty #no-filters { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "save", "save the current filter", id="filters.save"),
        Binding("D", "delete", "delete", id="filters.delete"),
        Binding("escape,q", "dismiss(None)", "close", key_display="esc", id="filters.close"),
    ]

    def __init__(self, project_id: int, present: str = "") -> None:
        super().__init__()
        self.project_id, self.present = project_id, present
        self.filters: list[SavedFilter] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Saved filters")
            yield FilterNames()
            yield Static(Content(self._empty()), id="no-filters")
            yield DialogHint(key_hint(self.app, *_KEYS))

    def _empty(self) -> str:
        save = key_name(self.app, "filters.save", "n")
        if self.present:
            return f"No filter is saved yet. {save} saves the current one: {one_line(self.present, 200)}"
        first = key_name(self.app, "cases.filter", "/")
        return f"No filter is saved yet. Press {first} to filter the list, then save the filter here with {save}."

    @cached_property
    def background(self) -> Background:
        host = host_of(self)
        return Background(self, host.db_path, host.show_error)

    def on_mount(self) -> None:
        self.background.start("filters", partial(saved_filters, project_id=self.project_id), self._show)

    def on_unmount(self) -> None:
        self.background.stop()

    def _show(self, filters: list[SavedFilter], select: str = "", toast: str = "") -> None:
        """Show the filters, with the cursor on the one named `select`, or at its old position."""
        self.filters = filters
        self.set_class(not filters, "-empty")
        names = self.query_one(FilterNames)
        before = names.highlighted or 0
        names.set_options([Option(_option_text(saved)) for saved in filters])
        places = [place for place, saved in enumerate(filters) if saved.name == select]
        if filters:
            names.highlighted = places[0] if places else min(before, len(filters) - 1)
            names.focus()
        if toast:
            self.app.notify(one_line(toast, 200), markup=False)

    def _current(self) -> SavedFilter | None:
        place = self.query_one(FilterNames).highlighted
        return self.filters[place] if place is not None and place < len(self.filters) else None

    @on(OptionList.OptionSelected)
    def _apply(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self.filters[event.option_index].filter)

    def action_save(self) -> None:
        if not self.present:
            first = key_name(self.app, "cases.filter", "/")
            says = f"There is no filter to save. Press {first} to filter the list first."
            self.app.notify(says, severity="warning", markup=False)
            return
        hint = f"A name for: {one_line(self.present, 200)}\nAn older filter of that name is replaced."
        self.app.push_screen(AskLine("Save the filter", hint), self._save)

    def _save(self, name: str | None) -> None:
        if name is None:
            return

        def job(db: Database) -> tuple[list[SavedFilter], str]:
            replaced = save_filter(db, self.project_id, name, self.present)
            toast = f"“{name}” {'replaced' if replaced else 'saved'}."
            return saved_filters(db, self.project_id), toast

        self.background.start("filters", job, lambda saved: self._show(saved[0], name, saved[1]))

    def action_delete(self) -> None:
        saved = self._current()
        if saved is not None:
            text = f"“{saved.name}”: {saved.filter}"
            self.app.push_screen(
                Confirm("Delete the saved filter?", text, "delete", "keep"), partial(self._delete, saved.name)
            )

    def _delete(self, name: str, sure: bool | None) -> None:
        if not sure:
            return

        def job(db: Database) -> list[SavedFilter]:
            delete_filter(db, self.project_id, name)
            return saved_filters(db, self.project_id)

        self.background.start("filters", job, partial(self._show, toast=f"“{name}” deleted."))


def _option_text(saved: SavedFilter) -> Content:
    name = one_line(saved.name, min(_NAME_CELLS, LONGEST_NAME))
    return Content.assemble((set_cell_size(name, _NAME_CELLS), "bold"), "  ", one_line(saved.filter, 200))
