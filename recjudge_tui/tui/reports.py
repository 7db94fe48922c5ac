"""Every declared report, each a tab: its answer, its table, and the cases behind each row one key away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import DataTable, Static

from recjudge_tui.domain.filters import Term, VerdictFilter, occasion_terms, whole_term
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.options import OCCASIONS
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import NotFoundError, RecjudgeError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import readable
from recjudge_tui.reports.common.table import Page, Row, Table, format_of_file, note_kind, render
from recjudge_tui.reports.common.table import Screen as Output
from recjudge_tui.reports.common.writers.plain import text_columns
from recjudge_tui.reports.declare import REPORTS, make
from recjudge_tui.reports.figures.declared import FIGURES, behind, figure
from recjudge_tui.reports.figures.files import PICTURES, save_figure
from recjudge_tui.reports.figures.marks import (
    LEVEL_NAMES,
    METHOD_NAMES,
    Behind,
    Figure,
    Grid,
    Lines,
    Mark,
    Scatter,
    axis,
    real,
)
from recjudge_tui.reports.topics import Topic, asked, topic_terms, topics
from recjudge_tui.stats.defaults import EVEN
from recjudge_tui.stats.registry import STATISTICS
from recjudge_tui.store.data import known_systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.ratings import project_raters
from recjudge_tui.tui import screens, widgets
from recjudge_tui.tui.figures import MarksTable, Plot, content_of, is_drawn, marks_table
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.words import advice

PAPER = "paper"
# reports that another screen shows, or that need more than a question and a rater
_ELSEWHERE = ("runs", "cases", "verdicts", "imports", "rater", "gate", "compare", "estimate")
_FIRST = ("leaderboard", "agreement", "flags", "metrics", "trend", "biases")
# the figure about the same cells
_FIGURES = {"leaderboard": "q-matrix", "agreement": "confusion"}
# figure -> its key, and its tab
FIGURE_KEYS = dict(zip(FIGURES, "1234567890", strict=True))
FIGURE_TABS = {f"figure {name}": name for name in FIGURES}
_FIGURE_WORDS = dict.fromkeys(("confusion", "q-matrix"), "heat map heatmap")
_VALUE_NAMES = {
    "stat": {name: statistic.label for name, statistic in STATISTICS.items()},
    "level": LEVEL_NAMES,
    "method": METHOD_NAMES,
}
_SHOWN = {name: report for name, report in REPORTS.items() if name.split()[0] not in _ELSEWHERE}
_OTHERS = [name for name, of in _SHOWN.items() if of.section in ("Results", "Judge") and name not in _FIRST]
TABS = (*_FIRST, *_OTHERS, PAPER, *FIGURE_TABS)
# a report about one rater, by default the first of the question
_OF_ONE = "why"
# how the cases of its rows are found
_SAID = {"phrase": "text", "flag": "flag", "theme": "theme"}
_MOST_ROWS = 1_000
_MOST_NOTES = 8
_FIGURE_HINT = "The file's ending says what is written: .svg .png .pdf for the figure, .csv .json .md .tex for its numbers"
_AXIS = (12, 40)
_EMPTY = """Nothing has been judged yet.

Press i to import labels, and r, then n, to start a run."""


def title_of(tab: str) -> str:
    if tab in FIGURE_TABS:
        return FIGURES[FIGURE_TABS[tab]].title
    return tab.removeprefix("robustness ").removesuffix(" show")


def about_tab(tab: str) -> tuple[str, str]:
    """The tab and what it shows, and other words by which it is found."""
    title = title_of(tab)
    if tab in FIGURE_TABS:
        return f"Figure: {title}, {FIGURES[FIGURE_TABS[tab]].about}", _FIGURE_WORDS.get(FIGURE_TABS[tab], "")
    if tab == PAPER:
        return "Paper: the table of the paper whose data this is", ""
    return f"{title.capitalize()}: {REPORTS[tab].summary}", REPORTS[tab].words


class ReportChoice(NamedTuple):
    """What the user chose to see: the tab, the question, and the values of each report's options. `any_topic`: a figure that
    cannot be drawn of this question turns to the first one of which it can."""

    tab: str = "leaderboard"
    topic: Topic | None = None
    values: Mapping[str, Mapping[str, Any]] = {}
    any_topic: bool = True


class TabContent(NamedTuple):
    """A report that was made, or the reason why it could not be; `values` are those that it was made with."""

    tab: str
    topics: tuple[Topic, ...]
    topic: Topic | None
    raters: tuple[str, ...]
    systems: tuple[str, ...]
    values: Mapping[str, Any] = {}
    content: Table | Page | Figure | str | None = None
    error: RecjudgeError | None = None
    rows: Table | None = None

    @property
    def has_rows(self) -> bool:
        return isinstance(self.content, Table | Figure) and bool(self.content.rows)


def load(db: Database, project_id: int, chosen: ReportChoice, occasions: OccasionFilter) -> TabContent:
    """A report about the chosen question on these occasions; call it in a worker. A report that does not fit the project
    is its error, so that the other tabs stay usable."""
    project = Project.numbered(db, project_id)
    known = topics(project)
    topic = chosen.topic if chosen.topic in known else next(iter(known), None)
    raters = tuple(rater.name for rater in project_raters(db, project_id).values() if rater.kind != "metric")
    made = TabContent(chosen.tab, known, topic, raters, tuple(sorted(known_systems(db, project_id))))
    if chosen.tab in FIGURE_TABS:
        return made if topic is None else _with_figure(project, made, topic, chosen, occasions)
    if chosen.tab == PAPER:
        from recjudge_tui.reports.papers.runner import of_project

        try:
            paper = of_project(project)
        except RecjudgeError as error:
            return made._replace(error=error)
        return made._replace(content=paper.page, rows=paper.rows)
    report, values = REPORTS[chosen.tab], dict[str, Any]()
    if topic is not None and report.name in (*_FIGURES, _OF_ONE):
        # other reports answer for all questions
        own = {"protocol": topic.protocol, "aspect": topic.aspect}
        values = {name: value for name, value in own.items() if report.option(name)}
    if topic is not None and report.name == _OF_ONE:
        values["rater"] = asked(project, topic, known).raters[0]
    option = report.option("rater")
    values |= {"rater": raters[0]} if option is not None and option.required and raters else {}
    values |= chosen.values.get(chosen.tab, {})
    served = zip(OCCASIONS, (occasions.contexts, occasions.start, occasions.end), strict=True)
    values |= {option.name: value for option, value in served if option in report.options and value}
    made = made._replace(values=values)
    try:
        return made._replace(content=make(project, report, **values))
    except RecjudgeError as error:
        if isinstance(error, NotFoundError) and occasions != EVERY_OCCASION:
            raise  # the filter names what is not there: the one before stays
        return made._replace(error=error)


def _with_figure(
    project: Project, made: TabContent, topic: Topic, chosen: ReportChoice, occasions: OccasionFilter
) -> TabContent:
    given = chosen.values.get(chosen.tab, {})

    def drawn(topic: Topic) -> Figure:
        values = {**given, "protocol": topic.protocol, "aspect": topic.aspect}
        return figure(project, FIGURE_TABS[chosen.tab], values, occasions=occasions, strict=False)

    data = drawn(topic)
    if chosen.any_topic and not is_drawn(data):
        data = next((other for other in map(drawn, data.topics) if is_drawn(other)), data)
    values = {name: choice.value for name, choice in data.choices.items()}
    return made._replace(topic=data.topic, values=values, content=data)


def row_filter(made: TabContent, row: Row, occasions: OccasionFilter, outcome: str = "system") -> str:
    """The filter for the verdicts behind a row of a report; `outcome`: those that the system won, tied or lost."""
    terms: list[Term] = []
    values = dict(made.values) | {name: value for name, value in row.items() if value not in (None, "")}
    protocol, aspect = values.get("protocol"), values.get("aspect")
    if made.topic is not None and (protocol, aspect) in ((None, None), made.topic):
        terms += topic_terms(made.topics, made.topic)
    else:
        about = (("protocol", protocol), ("aspect", aspect))
        terms += [Term(key, ":", str(value)) for key, value in about if value]
    raters = [str(values[name]) for name in ("rater", "rater_a", "rater_b") if values.get(name)]
    terms += [whole_term("judge", name) for name in dict.fromkeys(raters) if name in made.raters]
    system = row.get("system")
    if system is not None and str(system) in made.systems:
        terms.append(whole_term(outcome, str(system)))
    own = (("label", row.get("label")), ("flag", row.get("issue")))
    terms += [Term(key, ":", str(value)) for key, value in own if value]
    if "goes_with" in row and row["kind"] in _SAID:
        terms.append(Term(_SAID[str(row["kind"])], ":", str(row["what"])))
    if "rater_a" in row:
        terms.append(Term("why", ":", "disagree"))
    return VerdictFilter((*terms, *occasion_terms(occasions))).text()


class ReportsScreen(screens.OccasionScreen):
    """A tab for each report and each figure: the answer, the table or the page, and what is to be known about it."""

    CSS = """
    ReportsScreen #tabs { height: 1; padding: 0 1; }
    ReportsScreen #answer { height: auto; max-height: 4; padding: 0 1; text-style: bold; }
    ReportsScreen #about { height: auto; max-height: 2; padding: 0 1; color: $text-muted; }
    ReportsScreen #body { height: 1fr; }
    ReportsScreen #body > * { display: none; }
    ReportsScreen #body.-table FigureTable, ReportsScreen #body.-page TextPane, ReportsScreen #body.-plot #plot {
        display: block;
    }
    ReportsScreen FigureTable { height: 1fr; background: $background; scrollbar-size-vertical: 1;
                                scrollbar-size-horizontal: 1; }
    ReportsScreen #body.-plot FigureTable { height: auto; max-height: 30%; }
    ReportsScreen #plot { height: 1fr; }
    ReportsScreen #details { max-height: 6; }
    ReportsScreen.-tall #details { max-height: 10; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "turn(1)", "report", key_display="tab", priority=True, id="tabs.next"),
        Binding("shift+tab", "turn(-1)", "the one before", show=False, priority=True, id="tabs.previous"),
        Binding("m", "choose", "choose", id="tabs.choose"),
        Binding("o", "topic", "question", id="reports.topic"),
        Binding("plus", "whole", "columns", key_display="+", id="reports.whole"),
        Binding("D", "explain", "definitions", show=False, id="reports.explain"),
        Binding("e", "export", "export", show=False, id="tabs.export"),
        Binding("f", "figures", "figures", id="reports.figures"),
        Binding("y", "copy", "copy the table", show=False, id="reports.copy"),
        Binding("r", "open('runs')", "runs", show=False, id="tabs.runs"),
        Binding("R", "compute", "compute again", show=False, id="reports.compute"),
        Binding("P", "tab('paper')", "the paper's table", show=False, id="reports.paper"),
        *[
            Binding(FIGURE_KEYS[name], f"tab({tab!r})", f"figure: {title_of(tab)}", show=False,
                    id=f"views.{name.replace('-', '_')}")
            for tab, name in FIGURE_TABS.items()
        ],
        Binding("J", "scroll_details(2)", "scroll the notes down", show=False, id="tabs.details_down"),
        Binding("K", "scroll_details(-2)", "scroll the notes up", show=False, id="tabs.details_up"),
        *screens.COMMON,
    ]  # fmt: skip

    def __init__(self, project_id: int, tab: str = "", occasion_text: str = "") -> None:
        super().__init__(occasion_text)
        self.project_id = project_id
        self.made: TabContent | None = None
        self._first = tab
        self._chosen = ReportChoice()
        self._report = self._chosen.tab
        self._whole = self._explain = False
        self._table: Table | None = None
        self._marks = MarksTable([], [], [])
        self._rows: tuple[Row, ...] = ()

    def compose(self) -> ComposeResult:
        yield widgets.TopBar("recjudge", self.project_title(self.project_id), "Reports")
        yield self.occasion_bar()
        yield widgets.ClickText(id="tabs")
        yield Static(Content.styled("computing", "dim"), id="answer")
        yield Static(id="about")
        with Vertical(id="body", classes="pane"):
            yield Plot(id="plot")
            yield widgets.FigureTable(
                id="table", cursor_type="row", cell_padding=1, cursor_background_priority="css"
            )
            yield widgets.TextPane(id="page")
        yield widgets.DetailsPane(id="details", classes="pane")
        yield widgets.KeyLine()

    def on_mount(self) -> None:
        kept = self.host.chosen.get((type(self).__name__, self.project_id))
        if isinstance(kept, ReportChoice):
            self._chosen = kept
        if self._first:
            self._chosen = self._chosen._replace(tab=self._first)
        self.action_compute()

    # ---- the tabs

    def _show_tabs(self) -> None:
        """The tabs in one line; where it is too short, those around the current one."""
        current = TABS.index(self._chosen.tab)
        titles = [f"[{title_of(tab)}]" if at == current else title_of(tab) for at, tab in enumerate(TABS)]
        first, last = _tabs_in(titles, current, max(self.size.width - 2, 1))
        shown = []
        for at in range(first, last):
            title = Content.styled(titles[at], "bold $accent" if at == current else "dim")
            shown.append(widgets.clickable(title, f"screen.tab({TABS[at]!r})"))
        more = [Content.styled(widgets.GLYPHS.cut, "dim")]
        line = [*(more if first else []), *shown, *(more if last < len(TABS) else [])]
        self.query_one("#tabs", Static).update(Content("  ").join(line))

    def action_turn(self, by: int) -> None:
        self.action_tab(TABS[(TABS.index(self._chosen.tab) + by) % len(TABS)])

    def action_tab(self, name: str) -> None:
        self._chosen = self._chosen._replace(tab=name, any_topic=True)
        self.action_compute()

    # ---- the report

    def action_compute(self) -> None:
        chosen = self._chosen
        if chosen.tab not in FIGURE_TABS:
            self._report = chosen.tab
        self._show_tabs()
        self.query_one("#body").border_subtitle = Content("computing")
        self.host.chosen[type(self).__name__, self.project_id] = chosen
        job = partial(load, project_id=self.project_id, chosen=chosen, occasions=self.occasions)
        self.background.start("report", job, self._show, self._show_failure)

    def occasions_changed(self) -> None:
        self.action_compute()

    def runs_moved(self, *, live: bool) -> None:
        if not live:
            self.action_compute()

    def _show(self, made: TabContent) -> None:
        self.made = made
        self.occasions_shown()
        self._chosen = self._chosen._replace(topic=made.topic)
        self.query_one(widgets.TopBar).show(right=made.topic.text() if made.topic is not None else "")
        self._fill()
        self.refresh_bindings()

    def _show_failure(self, error: RecjudgeError) -> None:
        self.query_one("#body").border_subtitle = Content("")
        self.occasions_refused(error)

    def _fill(self) -> None:
        made = self.made
        if made is None:
            return
        content = made.content
        body, about = self.query_one("#body"), self.query_one("#about", Static)
        body.border_subtitle = Content("")
        self._table = table = content if isinstance(content, Table) and content.rows else None
        answer, title, about.display = "", title_of(made.tab), False
        if isinstance(content, Figure) and is_drawn(content):
            answer = content.title
            self._fill_marks(content)
        elif table is not None:
            answer, title = table.answer or table.title, one_line(table.title, max(self.size.width - 6, 20))
            self._fill_table(table, about)
        else:
            answer = content.answer if isinstance(content, Table) else ""
            body.set_classes("pane -page")
            self.query_one(widgets.TextPane).show(partial(self._page, made))
        self.query_one("#answer", Static).update(Content(one_line(answer, 600)))
        body.border_title = Content(title)
        if self.takes_keys:
            self.query_one("#page" if body.has_class("-page") else "#table").focus()
        self._show_details()

    def _fill_table(self, table: Table, about: Static) -> None:
        self.query_one("#body").set_classes("pane -table")
        seen, _ = readable(table, whole=self._whole)
        if self._whole or (len(seen.rows) < len(table.rows) and table.brief is None):
            seen = table
        self._rows = rows_behind(table, seen)
        common, heads, lines = cells(seen, self._rows, self.size.width - 3)
        about.display = bool(common)
        about.update(Content(" · ".join(common)))
        self.query_one("#table", widgets.FigureTable).fill(heads, lines[:_MOST_ROWS])

    def _fill_marks(self, figure: Figure) -> None:
        body, grid = self.query_one("#body"), self.query_one("#table", widgets.FigureTable)
        marks = figure.marks
        assert marks is not None
        self._marks = marks_table(marks, self.size.width - 4)
        body.set_classes(f"pane -table{' -plot' if isinstance(marks, Scatter | Lines) else ''}")
        cells = isinstance(marks, Grid)
        tall = 2 if isinstance(marks, Grid) and marks.below_title else 1
        grid.fill(self._marks.heads, self._marks.lines, "cell" if cells else "row", tall)
        if self._row() is None:
            grid.move_cursor(row=0, column=self._marks.first_cell(), animate=False)
        below = marks.below_title if isinstance(marks, Grid) else ""
        body.border_subtitle = Content(f"below: {below}" if below else "")

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_tabs)
        self.call_after_refresh(self._fill)

    def _row(self) -> Row | None:
        """The row of the report under the cursor."""
        grid = self.query_one("#table", widgets.FigureTable)
        if self.made is not None and isinstance(self.made.content, Figure):
            return self._marks.row(grid.cursor_row, grid.cursor_column)
        at = grid.cursor_row
        return self._rows[at] if self._table is not None and at < len(self._rows) else None

    @on(DataTable.RowHighlighted)
    @on(DataTable.CellHighlighted)
    def _show_details(self) -> None:
        """The note of the row, then what is to be known about these data; definitions behind a key."""
        made, row = self.made, self._row()
        if made is None:
            return
        lines: list[Content] = []
        notes: Sequence[str] = ()
        if isinstance(made.content, Figure) and is_drawn(made.content):
            lines += [] if row is None else [content_of(made.content.sentence(row))]
            if isinstance(made.content.marks, Scatter | Lines):
                self.query_one(Plot).show(made.content.marks, row)
            notes = _figure_notes(made.content)
        elif self._table is not None:
            lines += [Content(one_line(row["note"], 400))] if row is not None and row.get("note") else []
            notes = readable(self._table, explain=self._explain, notes="some")[0].notes
            if len(self._rows) > _MOST_ROWS:
                lines.append(
                    Content(f"the first {_MOST_ROWS:,} of {len(self._rows):,} rows; an export has all")
                )
        for note in notes:
            warns = note_kind(note) == "warning"
            mark = widgets.GLYPHS.marked if warns else widgets.GLYPHS.dot
            step = advice(self.app, getattr(note, "step", None))
            lines.append(
                Content.styled(f"{mark} {one_line(f'{note} {step}', 600)}", "$warning" if warns else "dim")
            )
        pane = self.query_one(widgets.DetailsPane)
        pane.display = bool(lines)
        pane.show(Content("\n").join(lines))

    def _page(self, made: TabContent, width: int) -> Content:
        """A page, a text, an empty table or figure, or the reason why there is none, with the next step."""
        content, output = made.content, Output(width, unicode=True)
        if made.topic is None and not isinstance(content, Page | str):
            return Content(_EMPTY)
        if made.error is not None:
            step = made.error.next_step or advice(self.app, made.error.step)
            parts = [part for part in (made.error.title, made.error.cause, step) if part]
            return Content("\n".join(map(safe_text, parts)))
        if isinstance(content, Figure):
            why = dict.fromkeys((*content.reasons, *_figure_notes(content)))
            lines = [f"{widgets.GLYPHS.dot} {one_line(note, 400)}" for note in why]
            other = f"{widgets.key_name(self.app, 'reports.topic')} chooses another question."
            return Content("\n".join([*(lines or ["Nothing to draw."]), "", other]))
        if isinstance(content, Page):
            return Content(render(content, "text", output).text)
        if isinstance(content, Table):
            return Content(render(readable(content)[0], "text", output).text)
        return Content(safe_text(content or ""))

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        made = self.made
        if action in ("choose", "whole", "explain", "copy", "export", "turn", "topic", "figures", "tab"):
            if made is None or not self.takes_keys:
                return False
            drawn = isinstance(made.content, Figure)
            possible = {
                "choose": made.tab != PAPER,
                "export": made.has_rows if drawn else made.content is not None,
                "figures": made.topic is not None,
                **dict.fromkeys(("whole", "explain", "copy"), made.has_rows and not drawn),
            }
            return possible.get(action, True)
        return super().check_action(action, parameters)

    def action_scroll_details(self, lines: int) -> None:
        self.query_one("#details").scroll_relative(y=lines, animate=False)

    def action_whole(self) -> None:
        self._whole = not self._whole
        self._fill()

    def action_explain(self) -> None:
        self._explain = not self._explain
        self._show_details()

    def action_topic(self) -> None:
        """Choose the question that the reports are about."""
        if self.made is not None and self.made.topic is not None:
            known = self.made.topics
            options = [(str(at), topic.text()) for at, topic in enumerate(known)]
            here = str(known.index(self.made.topic)) if self.made.topic in known else "0"

            def ask_about(chosen: dict[str, str]) -> None:
                values = {
                    tab: {name: value for name, value in given.items() if name not in ("protocol", "aspect")}
                    for tab, given in self._chosen.values.items()
                }
                topic = known[int(chosen["topic"])]
                self._chosen = self._chosen._replace(topic=topic, values=values, any_topic=False)
                self.action_compute()

            self.ask(screens.choice_form(screens.ChoiceField("topic", "question", options, here)), ask_about)

    def action_choose(self) -> None:
        """The own options of the report or the figure as a form."""
        made = self.made
        if made is None or made.tab == PAPER:
            return
        if isinstance(made.content, Figure):
            choices = made.content.choices
            # an option without values has nothing to choose
            options = [
                option.but(required=True)
                for option in FIGURES[made.content.name].options
                if option.name in choices and choices[option.name].values
            ]
            offered = {
                name: [(word, _VALUE_NAMES.get(name, {}).get(word, word)) for word in choice.values]
                for name, choice in choices.items()
            }
        else:
            options = [option for option in REPORTS[made.tab].options if option not in OCCASIONS]
            names = {
                "protocol": dict.fromkeys(topic.protocol for topic in made.topics),
                "aspect": dict.fromkeys(topic.aspect for topic in made.topics),
                **dict.fromkeys(
                    ("rater", "raters", "truth", "quality", "crowd", "first", "second"), made.raters
                ),
                **dict.fromkeys(("systems", "system"), made.systems),
            }
            offered = {name: [(word, word) for word in words] for name, words in names.items()}

        def choose(given: dict[str, Any]) -> None:
            values = dict(self._chosen.values) | {self._chosen.tab: given}
            asked = Topic(str(given.get("protocol")), str(given.get("aspect")))
            topic = asked if asked in made.topics else made.topic
            self._chosen = self._chosen._replace(values=values, topic=topic, any_topic=False)
            self.action_compute()

        self.ask(Form(title_of(made.tab), options, made.values, offered), choose)

    def action_figures(self) -> None:
        """The figure of the raters in the row under the cursor; of a figure the report before it."""
        made, row = self.made, self._row() or {}
        if made is None or made.tab in FIGURE_TABS:
            self.action_tab(self._report)
            return
        tab = f"figure {_FIGURES.get(made.tab, 'q-matrix')}"
        options = (("rater_a", "rater"), ("rater_b", "truth"), ("rater", "rater"))
        raters = {option: str(row[key]) for key, option in options if row.get(key)}
        self._chosen = self._chosen._replace(values=dict(self._chosen.values) | {tab: raters})
        self.action_tab(tab)

    def action_export(self) -> None:
        made = self.made
        content = None if made is None else made.rows or made.content
        if made is None or content is None:
            return
        name = f"{made.tab.replace(' ', '-')}.csv"
        if isinstance(content, Table):
            self.ask_export(name, lambda _: content)
        elif isinstance(content, Figure):
            self.ask_file(f"{content.name}.svg", _FIGURE_HINT, partial(_write_figure, data=content))
        else:
            hint = "The file's ending says what is written: .txt .md .html .json .csv .tex"
            self.ask_file(name, hint, partial(_write_page, content=content))

    def action_copy(self) -> None:
        """Copy the table as Markdown, CSV or LaTeX."""
        if self._table is not None:
            options = [("md", "Markdown"), ("csv", "CSV"), ("latex", "LaTeX")]
            table, _ = readable(self._table, whole=self._whole)
            form = screens.choice_form(screens.ChoiceField("format", "copy as", options, "md"))
            self.ask(form, lambda chosen: self.copy_text(render(table, chosen["format"]).text))

    @on(DataTable.RowSelected)
    @on(DataTable.CellSelected)
    def _open_cases(self) -> None:
        row, made = self._row(), self.made
        if row is None or made is None:
            return
        if isinstance(made.content, Figure):
            data = made.content
            self.background.start(
                "behind", lambda db: behind(Project.numbered(db, self.project_id), data, row), self._open
            )
        elif row.get("wins") is not None and row.get("system") is not None:
            counts = [(key, count) for key, name in _OUTCOMES if isinstance(count := row.get(name), int)]
            options = [("system", "all"), *((key, f"{key}: {count:,}") for key, count in counts)]
            behind_row = partial(row_filter, made, row, self.occasions)
            form = screens.choice_form(screens.ChoiceField("outcome", "cases", options, "system"))
            self.ask(form, lambda chosen: self._open(Behind(behind_row(chosen["outcome"]))))
        else:
            self._open(Behind(row_filter(made, row, self.occasions)))

    def _open(self, cases: Behind) -> None:
        from recjudge_tui.tui.triage import CasesScreen

        self.app.push_screen(CasesScreen(self.project_id, *cases))


_OUTCOMES = (("won", "wins"), ("tied", "ties"), ("lost", "losses"))


def rows_behind(table: Table, seen: Table) -> tuple[Row, ...]:
    """For each row seen the row of the whole table that has the same names, and more cells."""
    if len(seen.rows) == len(table.rows):
        return table.rows
    rows = []
    for row in seen.rows:
        named = [(key, cell) for key, cell in row.items() if isinstance(cell, str)]
        alike = (
            full
            for full in table.rows
            if all(full[key] == cell for key, cell in named if isinstance(full.get(key), str))
        )
        rows.append(next(alike, row))
    return tuple(rows)


def cells(table: Table, rows: Sequence[Row], width: int) -> tuple[list[str], list[Text], list[list[Text]]]:
    """What all rows share, the headings, and the cells of each row, for a table this wide; `rows` have its figures.

    A text that is the same in all rows stands above; minor columns that do not fit are left out, the last one first; an
    interval is drawn on one axis where there is room.
    """
    columns, _ = text_columns(table)
    shared = [c for c in columns if len(table.rows) > 1 and not c.number and len(set(c.cells)) == 1]
    if len(shared) == len(columns):
        shared = []
    kept = [column for column in columns if column not in shared]
    widths = [max(cell_len(column.label), *map(cell_len, column.cells)) + 2 for column in kept]
    while sum(widths) > width and any(column.minor for column in kept):
        at = max(place for place, column in enumerate(kept) if column.minor)
        del kept[at], widths[at]
    heads = [Text(column.label, justify="right" if column.number else "left") for column in kept]
    lines = [
        [
            Text(cell, justify="right" if column.number else "left")
            for cell, column in zip(row, kept, strict=True)
        ]
        for row in zip(*(column.cells for column in kept), strict=True)
    ]
    ends = [place + 1 for place, column in enumerate(kept) if column.interval or column.label.endswith("CI")]
    room = min(width - sum(widths) - 2, _AXIS[1])
    name, even = _value_name(rows), EVEN.get(str(table.settings.get("method", "")))
    if len(ends) == 1 and name and room >= _AXIS[0]:
        of_rows = ([real(row.get(key)) for key in (name, "ci_low", "ci_high")] for row in rows)
        marks = [Mark("", value, low, high) for value, low, high in of_rows]
        bounds = axis(marks, even)
        percent = 100 if any(column.label.endswith("%") for column in kept[: ends[0]]) else 1
        low, high = widgets.tick(bounds[0] * percent), widgets.tick(bounds[1] * percent)
        heads.insert(ends[0], Text(low + high.rjust(room - len(low))))
        for mark, line in zip(marks, lines, strict=True):
            drawn = widgets.interval(mark.low, mark.value, mark.high, bounds, room, even)
            line.insert(ends[0], Text(drawn, "cyan"))
    return [f"{column.label}: {column.cells[0]}" for column in shared], heads, lines


def _value_name(rows: Sequence[Row]) -> str:
    """The figure that the interval is about: the nearest number before it; none where the rows have no interval."""
    row = next((row for row in rows if real(row.get("ci_low")) is not None), {})
    low, high = real(row.get("ci_low")), real(row.get("ci_high"))
    before = takewhile(lambda cell: cell[0] != "ci_low", row.items())
    numbers = ((name, value) for name, value in before if isinstance(value, float))
    inside = [n for n, x in numbers if low is not None and high is not None and low <= x <= high]
    return inside[-1] if inside else ""


def _figure_notes(data: Figure) -> list[str]:
    """What is to be known of a figure, with the meaning of its level line."""
    line = data.marks.level if isinstance(data.marks, Scatter | Lines) else None
    told = [note for note in data.notes if note_kind(note) != "definition"]
    return [*([] if line is None else [f"line: {line.about}"]), *told][:_MOST_NOTES]


def _tabs_in(titles: Sequence[str], current: int, room: int) -> tuple[int, int]:
    """The first tab and the one behind the last that fit into a line with the current one, with room for two dots."""
    first, last = current, current + 1
    while True:
        wider = [(first, last + 1)] if last < len(titles) else []
        wider += [(first - 1, last)] if first else []
        fitting = [
            (start, end)
            for start, end in wider
            if sum(cell_len(title) + 2 for title in titles[start:end]) + 4 <= room
        ]
        if not fitting:
            return first, last
        # both sides grow alike
        first, last = min(fitting, key=lambda ends: abs((ends[0] + ends[1] - 1) / 2 - current))


def _write_page(_: Database, path: Path, content: Page | str) -> screens.WrittenFile:
    """Write a page. Raises UsageError for an unknown ending, StoreError."""
    text = content if isinstance(content, str) else render(content, format_of_file(path)).text
    return screens.write_text(path, text)


def _write_figure(_: Database, path: Path, data: Figure) -> screens.WrittenFile:
    """Write the figure, or the table of its numbers, as the file's ending says. Raises UsageError for another ending,
    RecjudgeError without Matplotlib, StoreError."""
    if path.suffix.lower() in PICTURES:
        return screens.WrittenFile(path, data.name, save_figure(data, path))
    try:
        return screens.WrittenFile(path, data.name, screens.export_table(data.table, path))
    except UsageError as error:
        step = f"{', '.join(PICTURES)} draw it; for its numbers: {error.next_step}"
        raise UsageError(error.title, error.cause, step) from error
