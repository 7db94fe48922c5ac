"""Agreement between raters and the ranking of systems; `enter` on a cell or line opens the cases behind it."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import DataTable, Static

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.figures.marks import LEVEL_NAMES, METHOD_NAMES, Sentence
from recjudge_tui.shapes import FEWEST_CASES
from recjudge_tui.stats.registry import STATISTICS, label_of
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.agreement.jobs import (
    DEFAULT_LEVEL,
    Agreement,
    AgreementChoice,
    board_filter,
    load_agreement,
    pair_filter,
)
from recjudge_tui.tui.agreement.matrix import ceiling_line, matrix, n_range, notes_about, pair_sentence
from recjudge_tui.tui.agreement.outcomes import OutcomeChoice
from recjudge_tui.tui.agreement.ranking import OF_PAIRS, Ranking, RankingLine, columns, notes_on, ranking
from recjudge_tui.tui.figures.grid import TableCell
from recjudge_tui.tui.figures.render import content_of
from recjudge_tui.tui.kit.base_screen import COMMON
from recjudge_tui.tui.kit.details_pane import DetailsPane
from recjudge_tui.tui.kit.glyphs import glyphs, middle
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.occasion_screen import OccasionScreen
from recjudge_tui.tui.kit.steady_table import FigureTable
from recjudge_tui.tui.kit.top_bar import TopBar

_EMPTY = """Nothing has been judged yet.

Press i to import labels, and r, then n, to start a run."""
_LONGEST_NOTES = 12
_FEW = f"?: fewer than {FEWEST_CASES} cases"
# readers' overrides, and people with few labels
_READERS = [(str(False), "left out, as overrides are"), (str(True), "counted, with overrides")]


class AgreementScreen(OccasionScreen):
    CSS = """
    AgreementScreen .pane { border: round $primary; border-title-color: $accent; }
    AgreementScreen .pane:focus-within { border: round $accent; }
    AgreementScreen #agreement { height: auto; max-height: 45%; }
    AgreementScreen #agreement FigureTable { height: auto; max-height: 100%; }
    AgreementScreen #ranking { height: 1fr; }
    AgreementScreen.-ranking.-short #agreement { max-height: 5; }
    AgreementScreen FigureTable { background: $background; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    AgreementScreen #ranking FigureTable { height: 1fr; }
    AgreementScreen #details { max-height: 6; }
    AgreementScreen.-wide #details { max-height: 8; }
    AgreementScreen.-wide.-tall #details { max-height: 12; }
    AgreementScreen #no-figures { display: none; height: 1fr; padding: 1 2; }
    AgreementScreen.-empty .pane { display: none; }
    AgreementScreen.-empty #no-figures { display: block; }
    .-ascii AgreementScreen .pane, .-ascii AgreementScreen .pane:focus-within { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "panel", "panel", key_display="tab", priority=True, id="agreement.panel"),
        Binding("m", "choose", "choose", id="agreement.choose"),
        Binding("f", "views", "figures", id="agreement.views"),
        Binding("e", "export", "export", id="agreement.export"),
        Binding("J", "scroll_details(2)", "scroll the details down", show=False, id="agreement.details_down"),
        Binding("K", "scroll_details(-2)", "scroll the details up", show=False, id="agreement.details_up"),
        Binding("r", "runs", "runs", show=False, id="agreement.runs"),
        Binding("R", "compute", "compute again", show=False, id="agreement.compute"),
        Binding("P", "paper", "the paper's table", show=False, id="agreement.paper"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.agreement: Agreement | None = None
        self._choice = AgreementChoice()
        self._matrix: list[tuple[str, list[TableCell]]] = []
        self._ranking: Ranking | None = None
        self._was_live = False

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Agreement + leaderboard")
        yield self.occasion_bar()
        with Vertical(id="agreement", classes="pane") as box:
            box.border_title = Content("Agreement: computing")
            yield FigureTable(id="matrix", cursor_type="cell", cell_padding=1)
        with Vertical(id="ranking", classes="pane") as box:
            box.border_title = Content("Leaderboard: computing")
            yield FigureTable(id="board", cursor_type="row", cell_padding=0)
        yield Static(Content(_EMPTY), id="no-figures")
        yield DetailsPane(id="details", classes="pane")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#matrix").focus()
        chosen = self.host.chosen.get((type(self).__name__, self.project_id))
        if isinstance(chosen, AgreementChoice):
            self._choice = chosen
        self.action_compute()

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        if self._was_live and not live:
            self.action_compute()
        self._was_live = live

    # ---- the two tables

    def action_compute(self) -> None:
        self.query_one("#agreement").border_subtitle = Content("computing")
        job = partial(
            load_agreement,
            project_id=self.project_id,
            choice=self._choice,
            occasions=self.occasions,
        )
        self.background.start("figures", job, self._show, self._show_failure)

    def occasions_changed(self) -> None:
        self.action_compute()

    def _show(self, agreement: Agreement) -> None:
        self.agreement = agreement
        self.occasions_shown()
        self.set_class(agreement.topic is None, "-empty")
        if agreement.topic is not None and agreement.pairs is not None and agreement.board is not None:
            self._choice = self._choice._replace(topic=agreement.topic)
            self._show_matrix(agreement, agreement.pairs)
            self._show_ranking(agreement.board)
            if not self._matrix and self.takes_keys:
                self.query_one("#board").focus()
            self.query_one(TopBar).show(right=agreement.topic.text())
        self._show_details()
        self.refresh_bindings()

    def _show_matrix(self, agreement: Agreement, table: Table) -> None:
        pane, grid, look = self.query_one("#agreement"), self.query_one("#matrix", FigureTable), glyphs()
        self._matrix = matrix(table, agreement.stat, agreement.people, look)
        cursor = grid.cursor_coordinate
        grid.clear(columns=True)
        # with the room that the rows' names and the space between columns leave
        room = (self.size.width - 28) // max(len(self._matrix), 1) - 2
        for place, (name, _) in enumerate(self._matrix):
            head = middle(one_line(name, 60), min(max(room, 11), 22), look)
            grid.add_column(Text(head, justify="right"), key=str(place))
        for name, cells in self._matrix:
            grid.add_row(*[cell.text for cell in cells], label=Text(middle(one_line(name, 60), 22, look)))
        if grid.is_valid_coordinate(cursor):
            grid.cursor_coordinate = cursor
        if self._matrix and self._matrix[0][1][0].row is None and len(self._matrix) > 1:
            grid.move_cursor(column=max(grid.cursor_column, 1), animate=False)
        stat = label_of(agreement.stat)
        level = "" if agreement.level == DEFAULT_LEVEL else f", {LEVEL_NAMES[agreement.level]}"
        pane.border_title = Content(f"{stat}{level} {look.rule} {n_range(table.rows) or 'no two raters'}")
        human = any(cell.text.plain.endswith(" h") for _, cells in self._matrix for cell in cells)
        few = any("?" in cell.text.plain for _, cells in self._matrix for cell in cells)
        legend = (*(["h: people with each other"] if human else []), *([_FEW] if few else []))
        pane.border_subtitle = Content(f" {look.dot} ".join(legend))

    def _show_ranking(self, table: Table) -> None:
        pane, board = self.query_one("#ranking"), self.query_one("#board", FigureTable)
        self._ranking = ranking(table, max(self.size.width - 2, 40), glyphs())
        cursor = board.cursor_row
        board.clear(columns=True)
        heads, lines = columns(self._ranking, glyphs())
        for place, head in enumerate(heads):
            board.add_column(head, key=str(place), width=head.cell_len)
        for line in lines:
            board.add_row(*line)
        if board.is_valid_row_index(cursor):
            board.move_cursor(row=cursor, animate=False)
        pane.border_title = Content(self._ranking.title)

    def on_resize(self) -> None:
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        agreement = self.agreement
        if agreement is not None and agreement.pairs is not None and agreement.board is not None:
            self._show_matrix(agreement, agreement.pairs)
            self._show_ranking(agreement.board)
            self._show_details()

    def _show_failure(self, error: RecjudgeError) -> None:
        self.host.show_error(error)
        if self.agreement is None:
            for name in ("#agreement", "#ranking"):
                self.query_one(name).border_title = Content("no figures: R computes them again")
        self.query_one("#agreement").border_subtitle = Content("")
        self.occasions_refused()

    # ---- the cell or line under the cursor

    @property
    def _on_board(self) -> bool:
        return self.query_one("#board", FigureTable).has_focus

    def _pair(self) -> Row | None:
        """The row of the report under the cursor of the matrix."""
        place = self.query_one("#matrix", FigureTable).cursor_coordinate
        if place.row < len(self._matrix) and place.column < len(self._matrix[place.row][1]):
            return self._matrix[place.row][1][place.column].row
        return None

    def _line(self) -> RankingLine | None:
        """The line of the ranking under its cursor."""
        lines = () if self._ranking is None else self._ranking.lines
        at = self.query_one("#board", FigureTable).cursor_row
        return lines[at] if at < len(lines) else None

    def _row(self) -> Row | None:
        """The row of the report under the cursor of the table in focus."""
        if not self._on_board:
            return self._pair()
        line = self._line()
        return None if line is None else line.row

    def _sentence(self, agreement: Agreement) -> Sentence | None:
        if self._on_board:
            line = self._line()
            return None if line is None else line.sentence
        pair = self._pair()
        if pair is None or agreement.pairs is None:
            return None
        return pair_sentence(agreement.pairs, pair, agreement.people)

    @on(DataTable.CellHighlighted)
    @on(DataTable.RowHighlighted)
    def _show_details(self) -> None:
        agreement, look = self.agreement, glyphs()
        if agreement is None or agreement.topic is None:
            return
        sentence = self._sentence(agreement)
        lines = [] if sentence is None else [content_of(sentence, look)]
        table = agreement.board if self._on_board else agreement.pairs
        notes = notes_about(table, self._row()) if table is not None else []
        if self._on_board and self._ranking is not None:
            notes = notes_on(notes)
        notes = notes[:_LONGEST_NOTES]
        if self._on_board and not self._matrix and agreement.pairs is not None:
            notes = [*agreement.pairs.notes, *notes]
        lines += [Content.styled(f"{look.dot} {one_line(note, 400)}", "dim") for note in notes]
        self.query_one(DetailsPane).show(Content("\n").join(lines))
        self._show_ceiling(agreement)

    def _show_ceiling(self, agreement: Agreement) -> None:
        """Below the ranking: how its judge agrees with people, beside how people agree with each other."""
        line, look = self._line(), glyphs()
        many = "f: all pairs of systems" if self._ranking is not None and self._ranking.many_pairs else ""
        text = ""
        if line is not None and agreement.pairs is not None:
            rater, room = str(line.row["rater"]), max(self.size.width - 8 - cell_len(many), 20)
            text = ceiling_line(agreement.pairs, agreement.stat, rater, agreement.people, look, room)
        shown = f" {look.rule} ".join(filter(None, (text, many)))
        self.query_one("#ranking").border_subtitle = Content(shown)

    def on_descendant_focus(self) -> None:
        # on a short screen the panel in focus gets most of the lines
        self.set_class(self._on_board and bool(self._matrix), "-ranking")
        self._show_details()

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("panel", "choose", "views", "export", "scroll_details"):
            return self.agreement is not None and self.agreement.topic is not None and self.takes_keys
        return super().check_action(action, parameters)

    def action_panel(self) -> None:
        self.query_one("#matrix" if self._on_board else "#board").focus()

    def action_scroll_details(self, lines: int) -> None:
        self.query_one("#details").scroll_relative(y=lines, animate=False)

    @on(DataTable.CellSelected)
    @on(DataTable.RowSelected)
    def _open_cases(self) -> None:
        from recjudge_tui.tui.cases.screen import CasesScreen

        row = self._row()
        if row is None or self.agreement is None:
            return
        if self._on_board and row.get("wins") is not None and "system" in row:
            self.app.push_screen(OutcomeChoice(row), partial(self._open_outcome, row=row))
            return
        filter_text = (
            board_filter(self.agreement, row)
            if self._on_board
            else pair_filter(self.agreement, str(row["rater_a"]), str(row["rater_b"]))
        )
        self.app.push_screen(CasesScreen(self.project_id, filter_text))

    def _open_outcome(self, outcome: str | None, row: Row) -> None:
        from recjudge_tui.tui.cases.screen import CasesScreen

        if outcome is not None and self.agreement is not None:
            self.app.push_screen(CasesScreen(self.project_id, board_filter(self.agreement, row, outcome)))

    def action_choose(self) -> None:
        from recjudge_tui.tui.kit.choice_form import ChoiceField, ChoiceForm

        agreement = self.agreement
        if agreement is None or agreement.topic is None:
            return
        topics = [(str(at), topic.text()) for at, topic in enumerate(agreement.topics)]
        methods = [(name, METHOD_NAMES.get(name, name)) for name in agreement.methods]
        fields = (
            ChoiceField("topic", "question", topics, str(agreement.topics.index(agreement.topic))),
            ChoiceField("stat", "statistic", [(name, label_of(name)) for name in STATISTICS], agreement.stat),
            ChoiceField("level", "level", list(LEVEL_NAMES.items()), agreement.level),
            ChoiceField("method", "ranking", methods, agreement.method),
            ChoiceField("readers", "few labels", _READERS, str(self._choice.readers)),
        )
        self.app.push_screen(ChoiceForm(fields), partial(self._choose, agreement=agreement))

    def _choose(self, chosen: dict[str, str] | None, agreement: Agreement) -> None:
        if chosen is None:
            return
        topic = agreement.topics[int(chosen["topic"])]
        # another question has its own default statistic, unless the user chose one with it
        use_default = topic != agreement.topic and chosen["stat"] == agreement.stat
        self._choice = AgreementChoice(
            topic,
            "" if use_default else chosen["stat"],
            chosen.get("method", ""),
            chosen["level"],
            chosen["readers"] == str(True),
        )
        self.host.chosen[type(self).__name__, self.project_id] = self._choice
        self.action_compute()

    def action_views(self) -> None:
        """Open the figures of the raters under the cursor."""
        from recjudge_tui.tui.figures.screen import FiguresScreen

        agreement, row = self.agreement, self._row()
        if agreement is None or agreement.topic is None:
            return
        chosen: dict[str, str] = {}
        for key, option in (("rater_a", "rater"), ("rater_b", "truth"), ("rater", "rater")):
            if row is not None and key in row:
                chosen[option] = str(row[key])
        ranked = (self._on_board or not self._matrix) and agreement.method in OF_PAIRS
        name = "q-matrix" if ranked else "confusion"
        self.app.push_screen(
            FiguresScreen(self.project_id, agreement.topic, name, chosen, self.occasion_text)
        )

    def action_paper(self) -> None:
        """Open the printed table of the paper whose data this project holds."""
        from recjudge_tui.tui.agreement.paper import PaperScreen

        self.app.push_screen(PaperScreen(self.project_id))

    def action_export(self) -> None:
        agreement = self.agreement
        table = None if agreement is None else agreement.board if self._on_board else agreement.pairs
        if table is not None:
            self.ask_export("leaderboard.csv" if self._on_board else "agreement.csv", lambda _: table)

    def action_step_back(self) -> None:
        self.action_leave()
