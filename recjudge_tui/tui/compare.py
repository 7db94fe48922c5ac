"""Two raters case by case: what changed, towards whom, and what both said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from recjudge_tui.domain.filters import Term, VerdictFilter, occasion_terms, whole_term
from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import compares_lists
from recjudge_tui.domain.text import one_line, quantity, safe_text
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts import Opinions, verdict_rows
from recjudge_tui.tui import screens, widgets
from recjudge_tui.tui.row_list import READER, Column, Reader, RowList

if TYPE_CHECKING:
    from recjudge_tui.reports.changes import Comparison, PromptChange
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.answers import ChangedCase
    from recjudge_tui.store.case_detail import CaseDetail

_LONGEST_LINE = 2000
_LINE_STYLES = {"+": "$success", "-": "$error", "@": "$accent"}
_MOST_NOTES = 3
# two columns of reasoning need this many cells
_BESIDE = 60

# ---- jobs --------------------------------------------------------------------------------------------------------


class Changed(NamedTuple):
    """A changed case and what people said on it."""

    case: ChangedCase
    people: tuple[Opinions, ...]

    def words(self, label: str, value: float, protocol: str) -> str:
        """The system that an answer about two lists chooses, else the label or the value."""
        if compares_lists(protocol) and self.case.system_b:
            chosen = self.case.system_a if value > 0 else self.case.system_b
            return "tie" if value == 0 else one_line(chosen, 40)
        return one_line(widgets.short_label(label), 40) or f"{value:.3g}"

    def toward(self, ways: tuple[str, str]) -> tuple[str, str]:
        """Where a change went, and its kind: towards people or away from them, else one of two ways, up and down."""
        if count := sum(given.n for given in self.people):
            mean = sum(given.value * given.n for given in self.people) / count
            nearer = abs(self.case.value_a - mean) - abs(self.case.value_b - mean)
            return ("people", "up") if nearer > 0 else ("away", "down") if nearer < 0 else ("neither", "")
        return ways[self.case.value_b < self.case.value_a], ""


# ---- text --------------------------------------------------------------------------------------------------------


def not_compared(row: Mapping[str, Any], names: tuple[str, str]) -> str:
    """`940 of 1,200 cases were judged by v3 only and are not compared`; empty where all were."""
    first, second = (one_line(name, 30) for name in names)
    parts = (
        (row["only_a"], f"judged by {first} only"),
        (row["only_b"], f"judged by {second} only"),
        (row["failed"], "answered by neither or one, because a call failed"),
    )
    outside = [f"{count:,} {what}" for count, what in parts if count]
    every = row["n"] + sum(count or 0 for count, _ in parts)
    return f"Not compared, of {quantity(every, 'case')}: {'; '.join(outside)}." if outside else ""


def diff_words(prompt: PromptChange, differences: tuple[str, ...]) -> Content:
    """The settings that differ, then the diff. Each line keeps its sign, and colour only repeats it."""
    lines = [Content.styled(f"{widgets.GLYPHS.dot} {one_line(text, 400)}", "dim") for text in differences]
    if prompt.note:
        lines.append(Content.styled(f"{widgets.GLYPHS.dot} {one_line(prompt.note, 400)}", "dim"))
    for at, line in enumerate(prompt.lines):
        shown = safe_text(line[:_LONGEST_LINE]).replace("\n", " ").replace("\t", "    ")
        if len(line) > _LONGEST_LINE:
            shown += f"{widgets.GLYPHS.cut} {widgets.number(len(line) - _LONGEST_LINE)} more characters"
        lines.append(Content.styled(shown, "bold" if at < 2 else _LINE_STYLES.get(line[:1], "")))
    return Content("\n").join(lines)


def both_reasonings(names: tuple[str, str], cases: Sequence[CaseDetail | None], width: int) -> Content:
    """What both sides said, side by side where there is room, else one below the other."""
    beside = width >= _BESIDE
    room = (width - 3) // 2 if beside else width
    columns = [list(_reasoning(name, case, room)) for name, case in zip(names, cases, strict=True)]
    if not beside:
        return Content("\n").join([line for column in columns for line in column])
    empty = Content("")
    lines = []
    for left, right in zip_longest(*columns, fillvalue=empty):
        gap = " " * max(room - left.cell_length, 0)
        lines.append(Content.assemble(left, gap, (" │ ", "dim"), right))
    return Content("\n").join(lines)


def _reasoning(name: str, case: CaseDetail | None, width: int) -> Iterator[Content]:
    from recjudge_tui.tui.case import head, reasonings

    yield widgets.title_rule(one_line(name, max(width - 4, 8)), width)
    if case is None:
        yield Content.styled("a newer verdict has replaced this one", "dim")
        return
    yield from (line for part in list(head(case))[:1] for line in part.wrap(width))
    for title, body in reasonings(case, case.answers, widgets.LONGEST_TEXT):
        yield Content.styled(widgets.fit(title, width).rstrip(), "bold $accent")
        yield from (line.rstrip() for part in body for line in part.wrap(width))
    if not case.answers:
        yield Content.styled(one_line(case.note, 400) or "(no reasoning)", "dim")


# ---- the list ----------------------------------------------------------------------------------------------------


class ChangeList(RowList[Changed]):
    """The changed cases of a comparison; ids are those of cases."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "case", key_display="enter", id="changes.open")
    ]

    def __init__(self, screen: CompareScreen) -> None:
        self._comparing = screen
        columns: tuple[Column[Changed], ...] = (
            Column("user", lambda row, _: (row.case.user_id, ""), 16, 6, rank=2, middle=True),
            Column("about", self._about, 36, 10, rank=1),
            Column("change", self._change, 32, 12, middle=True),
            Column("people", self._people, 20, 8, rank=3),
            Column("toward", self._toward, 20, 6),
        )
        super().__init__(columns, lambda row: row.case.case_id, screen.read_rows, id="changes")

    @property
    def _protocol(self) -> str:
        comparison = self._comparing.comparison
        return "" if comparison is None else comparison.part.meeting.protocol

    def heading(self, column: Column[Changed]) -> str:
        comparison = self._comparing.comparison
        if column.name == "change" and comparison is not None and comparison.changes is not None:
            return f" {widgets.GLYPHS.to} ".join(one_line(name, 14) for name in comparison.names)
        return column.name

    def _about(self, row: Changed, _: int) -> tuple[str, str]:
        case = row.case
        occasion = [occasion_text(case.occasion)] if case.several_occasions else []
        return f" {widgets.GLYPHS.dot} ".join(filter(None, [*occasion, case.systems, case.item_id])), "dim"

    def _change(self, row: Changed, _: int) -> tuple[str, str]:
        """`als → cooc`."""
        said = zip(row.case.labels, (row.case.value_a, row.case.value_b), strict=True)
        return f" {widgets.GLYPHS.to} ".join(row.words(*answer, self._protocol) for answer in said), ""

    def _people(self, row: Changed, _: int) -> tuple[str, str]:
        said = (
            row.words(given.label, given.value, self._protocol)
            + f" {widgets.GLYPHS.times}{given.n}" * (given.n > 1)
            for given in row.people
        )
        return ", ".join(said), ""

    def _toward(self, row: Changed, _: int) -> tuple[str, str]:
        told = self._comparing.comparison.summary if self._comparing.comparison is not None else {}
        return row.toward((told.get("up_is") or "", told.get("down_is") or ""))


# ---- screen ------------------------------------------------------------------------------------------------------


_NOBODY = """Nothing has been judged yet.

Press r, then n, to start a run, and i to import labels."""
_ALONE = """A comparison needs two raters who answered the same question, and there are none yet.

Press r to start a run with another judge, or with another prompt under another rater name."""
_APART = """These two raters have no question in common.

Press m to choose others, or r to start a run."""


class CompareScreen(screens.ReadingScreen, screens.OccasionScreen):
    AUTO_FOCUS = "ChangeList"
    CSS = """
    CompareScreen #answer { height: auto; max-height: 3; padding: 0 1; text-style: bold; }
    CompareScreen #about { height: auto; max-height: 3; padding: 0 1; color: $text-muted; }
    CompareScreen.-tall #about { max-height: 6; }
    CompareScreen #lower { height: 1fr; layout: vertical; }
    CompareScreen ChangeList { width: 1fr; height: 1fr; }
    CompareScreen Reader { width: 1fr; height: 1fr; }
    CompareScreen.-wide #lower { layout: horizontal; }
    CompareScreen.-wide ChangeList { width: 56; height: 1fr; }
    CompareScreen.-huge ChangeList { width: 80; }
    CompareScreen.-none #lower { display: none; }
    CompareScreen.-none #answer { max-height: 100%; text-style: none; padding: 1 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose", "choose", id="compare.choose"),
        Binding("s", "swap", "swap", id="compare.swap"),
        Binding("o", "cases", "open all", id="compare.cases"),
        Binding("p", "prompt", "prompts", id="compare.prompt"),
        Binding("e", "export", "export", id="compare.export"),
        Binding("r", "open('runs')", "runs", show=False, id="compare.runs"),
        *READER,
        *screens.COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.comparison: Comparison | None = None
        # the two sides and the question; empty: the usual ones
        self._asked: tuple[str, str, tuple[str, str]] = ("", "", ("", ""))

    def compose(self) -> ComposeResult:
        yield widgets.TopBar("recjudge", self.project_title(self.project_id), "Compare")
        yield self.occasion_bar()
        yield Static(Content.styled("computing", "dim"), id="answer")
        yield Static(id="about")
        with Horizontal(id="lower"):
            yield ChangeList(self)
            yield Reader()
        yield widgets.KeyLine()

    def on_mount(self) -> None:
        self.add_class("-none")
        self.occasions_changed()

    # ---- the comparison

    def occasions_changed(self) -> None:
        occasions, asked = self.occasions, self._asked
        self.query_one(widgets.TopBar).show(right="computing")

        def job(db: Database) -> Comparison:
            from recjudge_tui.project import Project
            from recjudge_tui.reports.changes import compared  # loads NumPy

            return compared(Project.numbered(db, self.project_id), *asked, occasions)

        self.background.start("compare", job, self._show, self._not_compared)

    def _show(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._asked = comparison.first, comparison.second, comparison.question
        self.occasions_shown()
        self.set_class(comparison.changes is None, "-none")
        answer, about = self.query_one("#answer", Static), self.query_one("#about", Static)
        if comparison.changes is None:
            reason = _APART if comparison.first else _ALONE if comparison.offered else _NOBODY
            answer.update(Content(reason))
            about.update("")
        else:
            row = comparison.summary
            same = f"{quantity(row['n'], 'case')} were judged by both." if row["n"] else row["note"]
            answer.update(Content(one_line(comparison.answer or same, 400)))
            about.update(Content("\n").join(self._about(comparison)))
            changes = self.query_one(ChangeList)
            changes.border_title = Content(f"{widgets.number(len(comparison.ids))} changed")
            changes.show(comparison.ids)
            self._read_both()
            changes.focus()
        self.query_one(widgets.TopBar).show(right=self._question())
        self.refresh_bindings()

    def _about(self, comparison: Comparison) -> Iterator[Content]:
        """What is not compared, the test of several questions, and notes about these data."""
        row, dot = comparison.summary, widgets.GLYPHS.dot
        if left_out := not_compared(row, comparison.names):
            yield Content(left_out)
        if len(comparison.questions) > 1 and isinstance(p := row["p_holm"], float):
            value = "p < .001" if p < 0.001 else f"p {p:.3f}"
            yield Content(f"{value} with Holm's correction for {len(comparison.questions)} questions")
        for note in dict.fromkeys(filter(None, (row["note"], *comparison.notes[:_MOST_NOTES]))):
            yield Content.styled(f"{dot} {one_line(note, 300)}", "dim")

    def _question(self) -> str:
        """The question of the comparison, for the top line."""
        comparison = self.comparison
        if comparison is None or comparison.changes is None:
            return ""
        asked = comparison.part.meeting
        more = f" ({len(comparison.questions)} questions)" if len(comparison.questions) > 1 else ""
        return one_line(f"{asked.protocol} {asked.aspect}", 40) + more

    def runs_moved(self, *, live: bool) -> None:
        if not live:
            self.occasions_changed()

    def _not_compared(self, error: RecjudgeError) -> None:
        self.query_one(widgets.TopBar).show(right=self._question())
        self.occasions_refused(error)
        if (last := self.comparison) is not None:
            self._asked = last.first, last.second, last.question
        else:
            self.query_one("#answer", Static).update(Content("No comparison. Press m to choose the raters."))

    # ---- the list, and what both said

    def read_rows(self, ids: Sequence[int]) -> list[Changed]:
        """These cases with the verdicts of both sides and of people."""
        if (comparison := self.comparison) is None or comparison.changes is None:
            return []
        cases = comparison.changes.on(self.host.db).listed(comparison.part.meeting, ids)
        seen = [key for case in cases if (key := case.verdict_b or case.verdict_a) is not None]
        people = {row.case_id: row.people for row in verdict_rows(self.host.db, seen)}
        return [Changed(case, people.get(case.case_id, ())) for case in cases]

    @on(RowList.Moved)
    def _read_both(self) -> None:
        row, comparison = self.query_one(ChangeList).cursor_row, self.comparison
        if comparison is None or comparison.changes is None:
            return
        changes, names = comparison.changes, comparison.names
        diff = diff_words(changes.prompt, changes.differences)

        def read(db: Database) -> list[CaseDetail | None]:
            from recjudge_tui.tui.case import read_case

            keys = () if row is None else (row.case.verdict_a, row.case.verdict_b)
            found = [None if key is None else read_case(db, key) for key in keys]
            return [None if one is None else one[0] for one in found]

        def show(cases: list[CaseDetail | None]) -> None:
            title = "nothing changed" if row is None else f"case {widgets.case_number(row.case.case_id)}"
            said = partial(both_reasonings, names, cases) if cases else lambda _: Content("")
            self.reader.show_tabs(title, {"said": said, "prompts": lambda _: diff}, "said", stay=False)

        self.background.start("case", read, show)

    @on(RowList.Opened)
    def _open_case(self) -> None:
        case = self.query_one(ChangeList).cursor_id
        if case is not None:
            self._open_cases((case,), f"case {widgets.case_number(case)}", "")

    def action_cases(self) -> None:
        """Opens all listed cases, with the verdicts of both sides."""
        comparison, ids = self.comparison, self.query_one(ChangeList).ids
        if comparison is None or comparison.changes is None or not ids:
            self.notify("No case is listed.", severity="warning", markup=False)
            return
        changes = comparison.changes
        judges = tuple(whole_term("judge", side.rater) for side in (changes.first, changes.second))
        aspect = Term("aspect", ":", comparison.part.meeting.aspect)
        terms = (*judges, aspect, *occasion_terms(comparison.occasions))
        self._open_cases(tuple(ids), f"{' to '.join(comparison.names)}: changed", VerdictFilter(terms).text())

    def _open_cases(self, cases: tuple[int, ...], name: str, filter_text: str) -> None:
        from recjudge_tui.tui.triage import CasesScreen

        self.app.push_screen(CasesScreen(self.project_id, filter_text, cases, name))

    # ---- other keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("swap", "cases", "prompt", "export", "scroll_text", "turn", "find"):
            return self.comparison is not None and self.comparison.changes is not None and self.takes_keys
        if action == "choose":
            return self.comparison is not None and len(self.comparison.offered) > 1 and self.takes_keys
        return super().check_action(action, parameters)

    def action_choose(self) -> None:
        comparison = self.comparison
        if comparison is None:
            return
        first, second, offered = comparison.first, comparison.second, comparison.offered
        keys = [(pair.protocol, pair.aspect) for pair in comparison.questions]
        questions = [(str(at), " ".join(key)) for at, key in enumerate(keys)]
        here = str(keys.index(comparison.question)) if comparison.question in keys else "0"
        picks = (
            screens.ChoiceField("first", "from", offered, first),
            screens.ChoiceField("second", "to", offered, second or offered[-1][0]),
            screens.ChoiceField("question", "question", questions, here),
        )

        def compare(chosen: dict[str, str]) -> None:
            question = keys[int(chosen["question"])] if keys else ("", "")
            self._asked = chosen["first"], chosen["second"], question
            self.occasions_changed()

        self.ask(screens.choice_form(*picks), compare)

    def action_swap(self) -> None:
        first, second, question = self._asked
        self._asked = second, first, question
        self.occasions_changed()

    def action_prompt(self) -> None:
        """The prompts and settings that differ."""
        self.reader.go("prompts")

    def action_export(self) -> None:
        comparison = self.comparison
        if comparison is None or comparison.changes is None:
            return
        if self.reader.tab == "prompts":
            hint = f"The differences of the prompts are written to this file: {' '.join(DIFF_ENDINGS)}"
            self.ask_file("prompts.diff", hint, partial(save_diff, lines=comparison.changes.prompt.lines))
        else:
            write = partial(screens.write_table, make=partial(_cases, comparison=comparison), noun="case")
            self.ask_file("changed-cases.csv", screens.format_hint("The cases listed are"), write)


DIFF_ENDINGS = (".diff", ".patch")


def save_diff(_: Database, path: Path, lines: tuple[str, ...]) -> screens.WrittenFile:
    """Write a unified diff; raises UsageError for another ending, StoreError when it cannot be written."""
    if path.suffix.lower() not in DIFF_ENDINGS:
        follows = "The format follows the ending of the file name."
        raise UsageError(f"no format for “{path.name}”", follows, f"Use {' '.join(DIFF_ENDINGS)}.")
    return screens.write_text(path, "".join(f"{safe_text(line)}\n" for line in lines), "Differences")


def _cases(db: Database, comparison: Comparison) -> Table:
    from recjudge_tui.reports.changes import cases_table
    from recjudge_tui.reports.common.segments import about_occasions

    assert comparison.changes is not None
    return about_occasions(cases_table(comparison.changes.on(db)), comparison.occasions)
