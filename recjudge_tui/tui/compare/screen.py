"""Compares two raters case by case: the changed verdicts, a test, each case, and the differences of the prompts."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import DataTable, Static

from recjudge_tui.domain.filters import Term, VerdictFilter, occasion_terms, whole_term
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.compare import text as words
from recjudge_tui.tui.compare.change_list import CasesHead, ChangeList
from recjudge_tui.tui.compare.grid import ChangeGrid
from recjudge_tui.tui.compare.jobs import (
    DIFF_ENDINGS,
    Comparison,
    ComparisonRequest,
    compared,
    listed,
    save_cases,
    save_diff,
)
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.exporting import WrittenFile, export_table, format_hint
from recjudge_tui.tui.kit.glyphs import case_number, glyphs, number
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.occasion_screen import OccasionScreen
from recjudge_tui.tui.kit.top_bar import TopBar

if TYPE_CHECKING:
    from recjudge_tui.store.answers import Cell, ChangedCase

_DIFF, _LISTED = "prompts.diff", "changed-cases.csv"
_NOBODY = """Nothing has been judged yet.

Press r, then n, to start a run, and i to import labels."""
_ALONE = """A comparison needs two raters who answered the same question, and there are none yet.

Press r to start a run with another judge, or with another prompt under another rater name."""
_APART = """These two raters have no question in common.

Press m to choose others, or r to start a run."""


class CompareScreen(OccasionScreen):
    CSS = """
    CompareScreen .pane { border: round $primary; border-title-color: $accent; }
    CompareScreen .pane:focus, CompareScreen .pane:focus-within { border: round $accent; }
    CompareScreen #grid-pane { height: auto; max-height: 45%; }
    CompareScreen ChangeGrid { height: auto; max-height: 100%; background: $background;
                               scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    CompareScreen #summary { height: auto; max-height: 6; padding: 0 1; scrollbar-size-vertical: 1; }
    CompareScreen.-tall #summary { max-height: 12; }
    CompareScreen #lower { height: 1fr; }
    CompareScreen #cases-pane { width: 1fr; }
    CompareScreen #prompt { width: 1fr; padding: 0 1; display: none; scrollbar-size-vertical: 1; }
    CompareScreen.-prompt #prompt { display: block; }
    CompareScreen.-prompt #cases-pane { display: none; }
    CompareScreen.-wide #prompt, CompareScreen.-wide.-prompt #cases-pane { display: block; }
    CompareScreen.-wide.-same #prompt { display: none; }
    CompareScreen.-same.-prompt #prompt { display: block; }
    CompareScreen #none { display: none; height: 1fr; padding: 1 2; }
    CompareScreen.-none #none { display: block; }
    CompareScreen.-none #grid-pane, CompareScreen.-none #summary, CompareScreen.-none #lower { display: none; }
    .-ascii CompareScreen .pane, .-ascii CompareScreen .pane:focus-within { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose", "choose", id="compare.choose"),
        Binding("s", "swap", "swap", id="compare.swap"),
        Binding("o", "cases", "open all", id="compare.cases"),
        Binding("p", "prompt", "prompts", id="compare.prompt"),
        Binding("e", "export", "export", id="compare.export"),
        Binding("r", "runs", "runs", show=False, id="compare.runs"),
        Binding("backspace", "all_changed", "all changed cases", show=False, id="compare.all_changed"),
        Binding(
            "J", "scroll_text(3)", "scroll the prompts or the notes down", show=False, id="compare.text_down"
        ),
        Binding(
            "K", "scroll_text(-3)", "scroll the prompts or the notes up", show=False, id="compare.text_up"
        ),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.comparison: Comparison | None = None
        self.cell: tuple[str, Cell] | None = None
        self._request = ComparisonRequest()
        self._live = False

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Compare")
        yield self.occasion_bar()
        yield Static(Content.styled("computing", "dim"), id="none")
        with Vertical(id="grid-pane", classes="pane"):
            yield ChangeGrid(grid_id="grid")
        with VerticalScroll(id="summary", can_focus=False):
            yield Static(id="summary-text")
        with Horizontal(id="lower"):
            with Vertical(id="cases-pane", classes="pane"):
                yield CasesHead()
                yield ChangeList(self._read, list_id="changes")
            with VerticalScroll(id="prompt", classes="pane"):
                yield Static(id="prompt-text")
        yield KeyLine()

    def on_mount(self) -> None:
        self.add_class("-none")
        self._compute(self._request)

    # ---- the comparison

    def _compute(self, request: ComparisonRequest) -> None:
        self.query_one(TopBar).show(right="computing")
        job = partial(compared, project_id=self.project_id, request=request)
        self.background.start("compare", job, self._show, self._not_compared)

    def occasions_changed(self) -> None:
        self._compute(self._request._replace(occasions=self.occasions))

    def _show(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.occasions_shown()
        self._request, self.cell = comparison.request, None
        shared = comparison.changes is not None
        self.set_class(not shared, "-none")
        if shared:
            self._show_grid(comparison)
            self._show_summary(comparison)
            self._show_prompt(comparison)
            self._show_list(comparison.ids)
            if self.focused is None or not self.focused.display:
                self.query_one(ChangeGrid).focus()
        else:
            reason = _APART if comparison.request.first else _ALONE if comparison.offered else _NOBODY
            self.query_one("#none", Static).update(Content(reason))
            self.set_focus(None)
        self.query_one(TopBar).show(right=self._question())
        self.refresh_bindings()

    def _show_grid(self, comparison: Comparison) -> None:
        assert comparison.part is not None
        names = " to ".join(one_line(name, 24) for name in self._names(comparison))
        title = f"{names}: before (down), now (across)"
        self.query_one("#grid-pane").border_title = Content(one_line(title, max(self.size.width - 6, 20)))
        self.query_one(ChangeGrid).fill(words.grid_cells(comparison.part) if comparison.part.levels else [])

    def _question(self) -> str:
        """The question of the comparison, for the top line."""
        comparison = self.comparison
        if comparison is None or comparison.part is None:
            return ""
        asked = comparison.part.meeting
        more = f" ({len(comparison.questions)} questions)" if len(comparison.questions) > 1 else ""
        return one_line(f"{asked.protocol} {asked.aspect}", 40) + more

    def _names(self, comparison: Comparison) -> tuple[str, str]:
        assert comparison.changes is not None
        return comparison.changes.first.name, comparison.changes.second.name

    def _show_summary(self, comparison: Comparison) -> None:
        assert comparison.summary is not None
        symbols = glyphs()
        lines = words.summary_words(
            comparison.summary, self._names(comparison), len(comparison.questions), symbols
        )
        lines += [Content.styled(f"{symbols.dot} {one_line(note, 300)}", "dim") for note in comparison.notes]
        self.query_one("#summary-text", Static).update(Content("\n").join(lines))
        self.query_one("#summary").scroll_home(animate=False)

    def _show_prompt(self, comparison: Comparison) -> None:
        assert comparison.changes is not None
        changes = comparison.changes
        # no difference to show: the list takes the whole width until the user opens the prompts
        self.set_class(not changes.prompt.lines and not changes.differences, "-same")
        pane = self.query_one("#prompt")
        prompts = [name for name in (changes.prompt.first, changes.prompt.second) if name]
        pane.border_title = Content(
            one_line(f"Prompts {' to '.join(dict.fromkeys(prompts))}" if prompts else "Prompts", 60)
        )
        self.query_one("#prompt-text", Static).update(
            words.diff_words(changes.prompt, changes.differences, glyphs())
        )
        pane.scroll_home(animate=False)

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        ended, self._live = self._live and not live, live
        if ended:
            self._compute(self._request)

    def _not_compared(self, error: RecjudgeError) -> None:
        self.host.show_error(error)
        self.query_one(TopBar).show(right=self._question())
        self.occasions_refused()
        if self.comparison is None:
            self.query_one("#none", Static).update(Content("No comparison. Press m to choose the raters."))

    # ---- the list

    def _read(self, ids: Sequence[int]) -> list[ChangedCase]:
        comparison = self.comparison
        if comparison is None or comparison.changes is None or comparison.part is None:
            return []
        return comparison.changes.on(self.host.db).listed(comparison.part.meeting, ids)

    def _show_list(self, ids: array[int]) -> None:
        name = self.cell[0] if self.cell else "changed"
        pane = self.query_one("#cases-pane")
        pane.border_title = Content(f"{number(len(ids))} {name}")
        pane.border_subtitle = Content("backspace: all changed cases" if self.cell else "")
        part = self.comparison.part if self.comparison else None
        self.query_one(ChangeList).show(ids, ordered=part is None or part.ordered)

    @on(DataTable.CellSelected)
    def _list_cell(self, event: DataTable.CellSelected) -> None:
        comparison = self.comparison
        if comparison is None or comparison.part is None:
            return
        self.remove_class("-prompt")
        self.cell = words.cell_at(comparison.part, event.coordinate.row, event.coordinate.column)
        self._list(comparison)
        self.query_one(ChangeList).focus()

    def _list(self, comparison: Comparison) -> None:
        cell = self.cell[1] if self.cell else None
        self.background.start("list", partial(listed, comparison=comparison, cell=cell), self._show_list)

    def action_all_changed(self) -> None:
        if self.cell is not None and self.comparison is not None:
            self.cell = None
            self._list(self.comparison)

    @on(ChangeList.Opened)
    def _open_case(self, message: ChangeList.Opened) -> None:
        self._open_cases((message.case_id,), f"case {case_number(message.case_id)}", "")

    def action_cases(self) -> None:
        """Opens all listed cases, with the verdicts of both sides."""
        comparison, ids = self.comparison, self.query_one(ChangeList).ids
        if comparison is None or comparison.changes is None or not ids:
            self.notify("No case is listed.", severity="warning", markup=False)
            return
        changes = comparison.changes
        judges = tuple(whole_term("judge", side.rater) for side in (changes.first, changes.second))
        assert comparison.part is not None
        aspect = Term("aspect", ":", comparison.part.meeting.aspect)
        occasions = occasion_terms(comparison.request.occasions)
        name = f"{' to '.join(self._names(comparison))}: {self.cell[0] if self.cell else 'changed'}"
        self._open_cases(tuple(ids), name, VerdictFilter((*judges, aspect, *occasions)).text())

    def _open_cases(self, cases: tuple[int, ...], name: str, filter_text: str) -> None:
        from recjudge_tui.tui.cases.screen import CasesScreen

        self.app.push_screen(CasesScreen(self.project_id, filter_text, cases, name))

    # ---- other keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("swap", "cases", "prompt", "export", "scroll_text", "all_changed"):
            return self.comparison is not None and self.comparison.changes is not None and self.takes_keys
        if action == "choose":
            return self.comparison is not None and len(self.comparison.offered) > 1 and self.takes_keys
        return super().check_action(action, parameters)

    def action_choose(self) -> None:
        from recjudge_tui.tui.kit.choice_form import ChoiceField, ChoiceForm

        comparison = self.comparison
        if comparison is None:
            return
        questions = [
            (str(at), f"{pair.protocol} {pair.aspect}") for at, pair in enumerate(comparison.questions)
        ]
        keys = [(pair.protocol, pair.aspect) for pair in comparison.questions]
        here = str(keys.index(comparison.request.question)) if comparison.request.question in keys else "0"
        picks = (
            ChoiceField("first", "from", comparison.offered, comparison.request.first),
            ChoiceField(
                "second", "to", comparison.offered, comparison.request.second or comparison.offered[-1][0]
            ),
            ChoiceField("question", "question", questions, here),
        )
        self.app.push_screen(ChoiceForm(picks), partial(self._chosen, keys=keys))

    def _chosen(self, chosen: dict[str, str] | None, keys: list[tuple[str, str]]) -> None:
        if chosen is not None:
            question = keys[int(chosen["question"])] if keys else ("", "")
            self._compute(ComparisonRequest(chosen["first"], chosen["second"], question, self.occasions))

    def action_swap(self) -> None:
        self._compute(self._request._replace(first=self._request.second, second=self._request.first))

    def action_prompt(self) -> None:
        """Switch to the prompts and back; in a wide window they are beside the list anyway."""
        away = self.query_one("#prompt").has_focus
        self.set_class(not away, "-prompt")
        self.query_one(ChangeList if away else "#prompt").focus()

    def action_scroll_text(self, lines: int) -> None:
        prompt = self.query_one("#prompt")
        (prompt if prompt.display else self.query_one("#summary")).scroll_relative(y=lines, animate=False)

    def action_step_back(self) -> None:
        if self.has_class("-prompt"):
            self.remove_class("-prompt")
            self.query_one(ChangeList).focus()
        elif self.cell is not None:
            self.action_all_changed()
        else:
            self.action_leave()

    # ---- export

    def action_export(self) -> None:
        name, what = "transitions.csv", "transitions"
        if self.query_one("#prompt").has_focus:
            name, what = _DIFF, "differences of the prompts"
        elif self.query_one(ChangeList).has_focus:
            name, what = _LISTED, "cases listed"
        hint = format_hint(f"The {what} are")
        if name == _DIFF:
            hint = f"The {what} are written to this file: {' '.join(DIFF_ENDINGS)}"
        comparison, cell = self.comparison, self.cell[1] if self.cell else None
        if comparison is not None and comparison.changes is not None:
            self.ask_file(name, hint, partial(_write, comparison=comparison, cell=cell, name=name, what=what))


def _write(
    db: Database, path: Path, comparison: Comparison, cell: Cell | None, name: str, what: str
) -> WrittenFile:
    """Write a file; `name` is the proposed file name, which also says what to write."""
    assert comparison.changes is not None
    assert comparison.transitions is not None
    if name == _DIFF:
        notes = save_diff(comparison.changes.prompt.lines, path)
    elif name == _LISTED:
        notes = save_cases(db, comparison, cell, path)
    else:
        notes = export_table(comparison.transitions, path)
    return WrittenFile(path, what[:1].upper() + what[1:], notes)
