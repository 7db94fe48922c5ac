"""Prompts: every version as a file, as the text of a case, or as a diff; edited as a new version, and tried."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import DataTable, Input, Static

from recjudge_tui.domain.calls import Order
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError
from recjudge_tui.store.cases import Direction
from recjudge_tui.store.database import StoredRow
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.dialogs import AskLine
from recjudge_tui.tui.kit.filter_bar import FilterBar
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.text_pane import TextPane
from recjudge_tui.tui.kit.top_bar import TopBar
from recjudge_tui.tui.prompts.editing import EditingScreen
from recjudge_tui.tui.prompts.jobs import (
    CasePreview,
    PromptText,
    Step,
    listed,
    read_case,
    read_diff,
    read_text,
)
from recjudge_tui.tui.prompts.pane import (
    case_heading,
    case_layout,
    prompt_label,
    searched,
    text_layout,
    tokens_of,
)
from recjudge_tui.tui.prompts.picker import PromptPicker
from recjudge_tui.tui.prompts.table import PromptTable

View = Literal["text", "case", "diff"]
_NOTHING_FOUND = "No prompt matches. Press / to change the filter."


class PromptsScreen(EditingScreen):
    """A list, and beside it the prompt under the cursor; in a narrow window, `enter` shows the prompt instead of the
    list."""

    CSS = """
    PromptsScreen #prompts, PromptsScreen #prompt { border: round $primary; border-title-color: $accent; }
    PromptsScreen #prompts:focus-within, PromptsScreen #prompt:focus { border: round $accent; }
    PromptsScreen #prompts { width: 1fr; }
    PromptsScreen #prompt { display: none; width: 1fr; }
    PromptsScreen.-wide #prompts { width: 60; }
    PromptsScreen.-wide #prompt { display: block; }
    PromptsScreen.-reading #prompts { display: none; }
    PromptsScreen.-reading #prompt { display: block; }
    PromptsScreen DataTable { height: 1fr; background: $background; scrollbar-size-vertical: 1; }
    PromptsScreen #no-prompts { display: none; padding: 1 2; }
    PromptsScreen.-empty DataTable { display: none; }
    PromptsScreen.-empty #no-prompts { display: block; }
    .-ascii PromptsScreen #prompts, .-ascii PromptsScreen #prompt, .-ascii PromptsScreen #prompts:focus-within,
    .-ascii PromptsScreen #prompt:focus { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "case", "text/case", key_display="tab", priority=True, id="prompts.case"),
        Binding("left", "step('previous')", "previous case", show=False, priority=True, id="prompts.previous"),
        Binding("right", "step('next')", "next case", show=False, priority=True, id="prompts.next"),
        Binding("number_sign", "number", "case by its number", show=False, key_display="#", id="prompts.number"),
        Binding("o", "order", "other order", show=False, id="prompts.order"),
        Binding("d", "diff", "diff", id="prompts.diff"),
        Binding("D", "diff_with", "diff with another prompt", show=False, id="prompts.diff_with"),
        Binding("E", "edit", "edit", id="prompts.edit"),
        Binding("T", "try", "try", id="prompts.try"),
        Binding("j", "move(1)", "next", show=False, id="prompts.down"),
        Binding("k", "move(-1)", "previous", show=False, id="prompts.up"),
        Binding("slash", "filter", "filter", key_display="/", id="prompts.filter"),
        *COMMON,
    ]  # fmt: skip

    def __init__(
        self, project_id: int, prompt: tuple[str, int] | None = None, case: tuple[str, int] | None = None
    ) -> None:
        """With `prompt` (name, version) and `case` (kind, id) it opens on that prompt as it reads for that case."""
        super().__init__()
        self.project_id = project_id
        self.view: View = "text" if case is None else "case"
        self.case: CasePreview | None = None
        self.rows: list[StoredRow] = []
        self._wanted = ""
        self._places: dict[str, int] = {} if case is None else dict([case])
        self._order: Order | None = None
        self._against: int | None = None
        self._select: tuple[str, int] | None = prompt
        self._seen = False
        self._ahead = 0

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Prompts")
        yield FilterBar(lambda text: tuple(text.split()), "part of a name, protocol, domain or origin")
        with Horizontal():
            with Vertical(id="prompts") as box:
                box.border_title = Content("Prompts")
                yield PromptTable()
                yield Static(Content(_NOTHING_FOUND), id="no-prompts")
            yield TextPane(id="prompt")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(PromptTable).focus()
        self._list()

    def on_resize(self) -> None:
        # the pane has just appeared beside the list and is empty
        self.call_after_refresh(self._show)

    # ---- the list

    def _list(self) -> None:
        self.background.start("list", listed, self._show_list)

    def _show_list(self, rows: list[StoredRow]) -> None:
        self.rows = rows
        self._fill()

    def _fill(self) -> None:
        words = self._wanted.casefold().split()
        shown = [row for row in self.rows if all(word in searched(row) for word in words)]
        if self.query_one(PromptTable).fill(shown, self._select):
            self._select = None
        self.set_class(bool(self.rows) and not shown, "-empty")
        count = f"{len(shown)}" if len(shown) == len(self.rows) else f"{len(shown)} of {len(self.rows)}"
        self.query_one("#prompts").border_title = Content(f"Prompts ({count})")
        self._show()

    @property
    def current(self) -> StoredRow | None:
        """The row of the prompt under the cursor."""
        return self.query_one(PromptTable).current

    @on(DataTable.RowHighlighted)
    def _moved(self) -> None:
        self._against = None
        self._show()

    # ---- the pane

    def _show(self) -> None:
        """Read the content of the pane for the prompt under the cursor; does nothing while the pane is hidden."""
        current, pane = self.current, self.query_one(TextPane)
        self.refresh_bindings()
        if current is None:
            pane.border_title = Content("prompt")
            pane.show(lambda _: Content(""))
        elif not pane.display:
            return
        elif self.view == "case":
            self._read_case(None)
        elif self.view == "diff" and (before := self._before()) is not None:
            names = (prompt_label(before), prompt_label(current))
            job = partial(read_diff, before_id=before["id"], prompt_id=current["id"], names=names)
            self.background.start("pane", job, self._show_text)
        else:
            self.view = "text"
            self.background.start("pane", partial(read_text, prompt_id=current["id"]), self._show_text)

    def _show_text(self, shown: PromptText) -> None:
        current = self.current
        if current is None or shown.prompt_id != current["id"]:
            return
        pane, self._seen = self.query_one(TextPane), False
        title = f"{shown.names[0]} to {shown.names[1]}" if shown.names[1] else prompt_label(current)
        pane.border_title = Content(one_line(title, 70))
        pane.border_subtitle = Content(
            one_line(current["description"] or "", 60) if not shown.names[1] else "diff"
        )
        pane.show(text_layout(shown))

    def _read_case(self, step: Step | None) -> None:
        if (current := self.current) is not None:
            job = partial(
                read_case,
                project_id=self.project_id,
                prompt_id=current["id"],
                step=step,
                order=self._order,
                places=dict(self._places),
            )
            self.background.start("pane", job, self._show_case)

    def _show_case(self, shown: CasePreview) -> None:
        current = self.current
        if current is None or shown.prompt_id != current["id"]:
            return
        # keep the scroll position from case to case
        stay = (
            self._shows_case()
            and self.case is not None
            and self.case.prompt_id == shown.prompt_id
            and self._seen
        )
        self.case, self._seen, self._ahead = shown, True, 0
        if shown.case is not None:
            self._places[shown.kind] = shown.case["id"]
        pane = self.query_one(TextPane)
        pane.border_title = Content(one_line(f"{prompt_label(current)} {case_heading(shown)}", 100))
        pane.border_subtitle = Content(self._case_hint(shown))
        pane.show(case_layout(shown), stay=stay)
        self.refresh_bindings()

    def _case_hint(self, shown: CasePreview) -> str:
        """The size of the text, and the keys of this view, for which the footer has no room."""
        wanted = ("prompts.previous", "prompts.next", "prompts.order")
        bindings = {
            active.binding.id: active.binding for active in self.active_bindings.values() if active.enabled
        }
        keys = [self.app.get_key_display(bindings[name]) for name in wanted if name in bindings]
        hints = [f"{' '.join(keys[:2])} case"] if len(keys) > 1 else []
        hints += [f"{keys[2]} order"] if len(keys) > 2 else []
        return "  ".join([*hints, tokens_of(shown)])

    @on(DataTable.RowSelected)
    def _read(self) -> None:
        self._open_pane()
        self._show()

    def _open_pane(self) -> None:
        self.add_class("-reading")
        self.query_one(TextPane).focus()

    def _turn_to(self, view: View) -> None:
        """Change the view of the pane, and open the pane if only the list is visible."""
        self.view = view
        if not self.query_one(TextPane).display:
            self._open_pane()
        self._show()

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return action in ("step_back", "app.command_palette")
        if action in ("case", "diff", "diff_with", "edit", "try"):
            return self.current is not None
        if action in ("step", "number"):
            return self._shows_case()
        if action == "order":
            return self._shows_case() and self.case is not None and len(self.case.orders) > 1
        if action in ("filter", "move"):
            return not self.has_class("-reading")
        return super().check_action(action, parameters)

    def _shows_case(self) -> bool:
        seen = self.view == "case" and self.query_one(TextPane).display
        return seen and self.case is not None and self.case.case is not None

    def action_move(self, rows: int) -> None:
        self.query_one(PromptTable).move(rows)

    def action_case(self) -> None:
        self._turn_to("text" if self.view == "case" else "case")

    def action_step(self, direction: Literal["next", "previous"]) -> None:
        if self.case is not None and self.case.case is not None:
            # keys may arrive faster than texts are rendered
            self._ahead += 1 if direction == "next" else -1
            towards: Direction = "next" if self._ahead > 0 else "previous" if self._ahead else "at"
            self._read_case(Step(towards, self.case.case["id"], max(abs(self._ahead), 1)))

    def action_number(self, typed: str = "") -> None:
        self.app.push_screen(AskLine("Case", "The number of a case of this project", typed), self._go_to_case)

    def on_key(self, event: events.Key) -> None:
        if (
            event.character
            and event.character.isdecimal()
            and self._shows_case()
            and not isinstance(self.focused, Input)
        ):
            event.stop()
            self.action_number(event.character)

    def _go_to_case(self, wanted: str | None) -> None:
        if wanted is None:
            return
        digits = wanted.lstrip("#")
        if digits.isascii() and digits.isdecimal() and len(digits) < 16:
            self._read_case(Step("at", int(digits)))
        else:
            self.host.show_error(UsageError(f"“{one_line(wanted, 40)}” is not the number of a case"))

    def action_order(self) -> None:
        if self.case is not None and len(self.case.orders) > 1:
            orders = self.case.orders
            self._order = orders[(orders.index(self.case.order) + 1) % len(orders)]
            self._read_case(None)

    def action_diff(self) -> None:
        if self.view == "diff":
            self._turn_to("text")
        elif self._before() is None:
            self.action_diff_with()
        else:
            self._turn_to("diff")

    def _before(self) -> StoredRow | None:
        """The prompt to compare with: the chosen one, or else the previous version."""
        current = self.current
        if current is None:
            return None
        if self._against is not None:
            return next((row for row in self.rows if row["id"] == self._against), None)
        older = [r for r in self.rows if r["name"] == current["name"] and r["version"] < current["version"]]
        return older[0] if older else None

    def action_diff_with(self) -> None:
        current = self.current
        if current is None:
            return
        others = [(row["id"], prompt_label(row)) for row in self.rows if row["id"] != current["id"]]
        # prompts of the same protocol first, because comparisons with other protocols are rarely useful
        others.sort(key=lambda other: self._by_id(other[0])["protocol"] != current["protocol"])
        self.app.push_screen(PromptPicker(others), self._compare)

    def _by_id(self, prompt_id: int) -> StoredRow:
        return next(row for row in self.rows if row["id"] == prompt_id)

    def _compare(self, chosen: int | None) -> None:
        if chosen is not None:
            self._against = chosen
            self._turn_to("diff")

    def action_try(self) -> None:
        from recjudge_tui.tui.prompts.trial import PromptTryScreen, Question

        current = self.current
        if current is None:
            return
        case = self.case.case if self._shows_case() and self.case else None
        label, case_id = prompt_label(current), case["id"] if case is not None else None
        question = Question(self.project_id, current["id"], label, case_id, self._order)
        self.app.push_screen(PromptTryScreen(question, self._places))

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    @on(FilterBar.Applied)
    def _filter(self, message: FilterBar.Applied) -> None:
        self._wanted = message.text
        self._fill()

    @on(FilterBar.Closed)
    def _back_to_table(self) -> None:
        self.query_one(PromptTable).focus()

    def action_step_back(self) -> None:
        if self.has_class("-reading"):
            self.remove_class("-reading")
            self.query_one(PromptTable).focus()
            self.refresh_bindings()
        else:
            self.action_leave()

    def action_edit(self) -> None:
        current = self.current
        if current is not None:
            self.edit_prompt(current["id"], current["name"])

    def prompt_stored(self, name: str, version: int) -> None:
        """Move the cursor to the new version as soon as it is listed."""
        self._select = (name, version)
        self._list()
