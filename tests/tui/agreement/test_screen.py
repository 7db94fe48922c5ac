from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.text import Text
from textual.pilot import Pilot

from recjudge_tui.people.raters import combine
from recjudge_tui.reports.common.table import Column, Table
from recjudge_tui.reports.figures.marks import METHOD_NAMES
from recjudge_tui.reports.leaderboard import METHODS
from recjudge_tui.stats.agreement import FUNCTIONS
from recjudge_tui.stats.registry import SHARE, STATISTICS, Statistic, label_of
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from recjudge_tui.store.triage import record
from recjudge_tui.tui.agreement.matrix import ceiling_line, notes_about, pair_sentence, short_number
from recjudge_tui.tui.agreement.outcomes import OutcomeChoice
from recjudge_tui.tui.agreement.ranking import Ranking, RankingLine, columns
from recjudge_tui.tui.agreement.screen import AgreementScreen
from recjudge_tui.tui.cases.screen import CasesScreen
from recjudge_tui.tui.cases.verdict_list import VerdictList
from recjudge_tui.tui.home.screen import HomeScreen
from recjudge_tui.tui.kit.glyphs import UNICODE
from recjudge_tui.tui.kit.steady_table import FigureTable
from tests.support.app.driving import SIZES, press, running, settle, shown, until
from tests.support.app.lists import import_labels, import_lists, judge
from tests.support.verdicts import Project, agreement, table


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `rated` keeps the project that it made first; nothing is there until then."""
    return tmp_path_factory.mktemp("rated") / "recjudge.db"


@pytest.fixture
def rated(project_db: Path, kept: Path) -> Path:
    """Six pairs judged by the rules and labelled by two people; their lists judged one by one, too. Made once, and copied
    for each test."""
    if not kept.exists():
        project = import_lists(project_db, users=6)
        judge(project_db, project, "pairwise")
        judge(project_db, project, "pointwise")
        import_labels(project_db)
        shutil.copy(project_db, kept)
    else:
        shutil.copy(kept, project_db)
    return project_db


async def open_screen(pilot: Pilot[Any]) -> AgreementScreen:
    await pilot.press("a")
    await until(pilot, lambda: isinstance(pilot.app.screen, AgreementScreen))
    screen = pilot.app.screen
    assert isinstance(screen, AgreementScreen)
    await until(pilot, lambda: screen.agreement is not None)
    await settle(pilot)
    return screen


def expected(path: Path) -> dict[tuple[object, object], Any]:
    with connect(path) as db:
        options = {"protocol": "pairwise", "aspect": "overall", "stat": ("qwk",)}
        return {(row["rater_a"], row["rater_b"]): row for row in agreement(Project(db, 1), **options).rows}


@pytest.mark.parametrize("size", SIZES)
async def test_the_matrix_shows_the_figures_of_the_report(rated: Path, size: tuple[int, int]) -> None:
    rows = expected(rated)
    async with running(rated, size=size) as pilot:
        await open_screen(pilot)
        text = shown(pilot)
        assert "Quadratic weighted κ" in text
        assert "n=6" in text
        assert f"{short_number(rows['anna', 'bert']['value'], UNICODE)}? h" in text
        assert "h: people with each other" in text
        for pair in (("rules", "anna"), ("rules", "bert")):
            assert short_number(rows[pair]["value"], UNICODE) in text


async def test_the_details_give_interval_and_n_of_the_figure(rated: Path) -> None:
    rows = expected(rated)
    async with running(rated) as pilot:
        await open_screen(pilot)
        await press(pilot, "down", "right")
        row = rows["anna", "bert"]
        who = "anna with bert (people with each other: human ceiling)"
        wanted = f"{row['value']:.2f}, n=6"
        await until(pilot, lambda: who in shown(pilot) and wanted in shown(pilot))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_number_of_the_ranking_is_cut(rated: Path, size: tuple[int, int]) -> None:
    async with running(rated, "shop", size) as pilot:
        screen = await open_screen(pilot)
        board = screen.query_one("#board", FigureTable)
        for _ in range(2):
            await until(pilot, lambda: board.row_count > 0)
            assert board.virtual_size.width <= board.size.width
            await press(pilot, "m", "right", "enter")


async def test_an_override_changes_no_figure_until_it_is_asked_for(rated: Path) -> None:
    async with running(rated, "shop") as pilot:
        screen = await open_screen(pilot)
        await press(pilot, "m", "right", "enter")
        assert screen.agreement is not None
        chosen = screen.agreement.topic
        assert chosen != screen.agreement.topics[0]
        await press(pilot, "q")
        verdict = pilot.app.screen.query_one(VerdictList).cursor_id
        with connect(rated) as db:
            assert verdict is not None
            record(db, verdict, "reader", "override", label="Tie", value=0.0)
        screen = await open_screen(pilot)
        assert screen.agreement is not None
        assert screen.agreement.topic == chosen
        await press(pilot, "m", "left", "enter")
        assert "without the overrides of reader" in shown(pilot)
        await press(pilot, "m", "up", "right", "enter")
        assert "without the overrides" not in shown(pilot)
        assert "reader" in shown(pilot)


async def test_enter_on_a_figure_opens_the_cases_behind_it(rated: Path) -> None:
    async with running(rated) as pilot:
        await open_screen(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, CasesScreen)
        assert pilot.app.screen.pane.chosen.text() == "protocol:pairwise judge=rules judge=anna why:disagree"
        await press(pilot, "q")
        await press(pilot, "tab", "enter")
        assert isinstance(pilot.app.screen, CasesScreen)
        assert pilot.app.screen.pane.chosen.text() == "protocol:pairwise judge=rules"
        # what a system won, tied and lost is listed apart, as many as the ranking counts
        await press(pilot, "q", "j", "enter")
        assert isinstance(pilot.app.screen, OutcomeChoice)
        row = pilot.app.screen._row
        counts = {"won": row["wins"], "tied": row["ties"], "lost": row["losses"], "system": row["n"]}
        await press(pilot, "escape")
        for key, (term, count) in zip("1234", counts.items(), strict=True):
            await press(pilot, "enter", key)
            assert isinstance(pilot.app.screen, CasesScreen)
            sign = "=" if term == "system" else ":"
            wanted = f"protocol:pairwise judge=rules {term}{sign}{row['system']}"
            assert pilot.app.screen.pane.chosen.text() == wanted
            assert len(pilot.app.screen.rows.ids) == count
            await press(pilot, "q")
        await press(pilot, "enter", "j", "enter")
        assert isinstance(pilot.app.screen, CasesScreen)
        assert "tied:" in pilot.app.screen.pane.chosen.text()


async def test_the_leaderboard_shows_the_rows_of_the_report(rated: Path) -> None:
    with connect(rated) as db:
        rows = table(Project(db, 1), "leaderboard", protocol="pairwise", aspect="overall").rows
    async with running(rated) as pilot:
        await open_screen(pilot)
        text = shown(pilot)
        assert "Leaderboard: pairwise" in text
        assert "●" in text
        lines = [line.strip("│ ").split() for line in text.splitlines()]
        raters = list(dict.fromkeys(str(row["rater"]) for row in rows))
        begins = [lines.index([rater, "n=6"]) for rater in raters[:1]]
        for row in rows[:2]:
            (cells,) = [cells for cells in lines[begins[0] :] if cells[1:2] == [str(row["system"])]][:1]
            counts = [str(row[name]) for name in ("wins", "ties", "losses", "n")]
            assert [c for c in cells if c.isdigit()][1:5] == counts
        # a column of failures would be 0 in every row
        assert "  fail  " not in text
        assert "┼" in text
        assert "└ not separable: " in text
        assert "κ rules·anna" in text
        assert "▏anna·bert" in text
        await press(pilot, "tab")
        first = rows[0]
        await until(pilot, lambda: f"{first['system']}, judged by {first['rater']}: Win rate" in shown(pilot))


async def test_m_chooses_question_and_statistic(rated: Path) -> None:
    async with running(rated) as pilot:
        screen = await open_screen(pilot)
        await press(pilot, "m", "down", "down", "down", "right", "right", "enter")
        await until(pilot, lambda: "Leaderboard: pairwise by Bradley–Terry, 95% CI" in shown(pilot))
        await press(pilot, "m", "right", "enter")
        await until(
            pilot,
            lambda: screen.agreement is not None and screen.agreement.topic == ("pointwise", "overall"),
        )
        await until(pilot, lambda: "Shares of labels: pointwise" in shown(pilot))
        assert "Good" in shown(pilot)
        assert "█" in shown(pilot) or "▒" in shown(pilot) or "▓" in shown(pilot)
        await press(pilot, "m", "left", "down", "right", "enter")
        await until(pilot, lambda: screen.agreement is not None and screen.agreement.stat == "alpha_nominal")
        await until(pilot, lambda: "Krippendorff's α, nominal" in shown(pilot))


async def test_a_registered_statistic_is_in_the_list(rated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, "match_rate", FUNCTIONS["percent"])
    monkeypatch.setitem(STATISTICS, "match_rate", Statistic("Match rate", "no cases", SHARE))
    async with running(rated) as pilot:
        screen = await open_screen(pilot)
        steps = len(STATISTICS) - 1 - list(STATISTICS).index("qwk")
        await press(pilot, "m", "down", *["right"] * steps, "enter")
        await until(pilot, lambda: screen.agreement is not None and screen.agreement.stat == "match_rate")
        await until(pilot, lambda: "Match rate" in shown(pilot))


async def test_scores_are_ranked_by_their_mean_and_correlated_at_three_levels(project_db: Path) -> None:
    project = import_lists(project_db, users=4)
    judge(project_db, project, "absolute")
    judge(project_db, project, "absolute", "random")
    with connect(project_db) as db:
        rows = table(Project(db, 1), "leaderboard", protocol="absolute", aspect="overall").rows
        options = {"protocol": "absolute", "stat": ("pearson",), "level": ("user",)}
        (pair,) = agreement(Project(db, 1), **options).rows
    async with running(project_db) as pilot:
        screen = await open_screen(pilot)
        lines = shown(pilot).splitlines()
        assert any(line.startswith("╭─ Mean scores: absolute, 95% CI") for line in lines)
        for row in rows:
            told = [str(row["rank"]), str(row["system"])]
            ends = [line.strip("│ ").split()[-2:] for line in lines if line.strip("│ ").split()[:2] == told]
            assert [short_number(row["score"], UNICODE), "4"] in ends
        await press(pilot, "m", "down", "down", "right", "enter")
        await until(pilot, lambda: screen.agreement is not None and screen.agreement.level == "user")
        groups = f"in {pair['groups']} groups"
        await until(pilot, lambda: groups in " ".join(shown(pilot).replace("│", " ").split()))
        await press(pilot, "tab")
        first = rows[0]
        await until(
            pilot, lambda: f"judged by {first['rater']}: mean score {first['score']:.2f}" in shown(pilot)
        )
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, CasesScreen)


async def test_an_undefined_figure_is_a_dash_with_its_reason(project_db: Path) -> None:
    import_lists(project_db, users=3)
    import_labels(project_db, given={"anna": ("A", "A", "A"), "bert": ("A", "A", "A")})
    async with running(project_db, size=(120, 40)) as pilot:
        await open_screen(pilot)
        await until(pilot, lambda: "– h" in shown(pilot))
        await until(pilot, lambda: "no disagreement is expected by chance" in shown(pilot))


async def test_one_rater_alone_and_nobody_at_all(project_db: Path) -> None:
    import_lists(project_db)
    import_labels(project_db, given={"anna": ("A", "B", "A")})
    async with running(project_db) as pilot:
        await open_screen(pilot)
        await until(
            pilot, lambda: "only anna has judged this; agreement needs a second rater" in shown(pilot)
        )
        assert "Leaderboard: pairwise" in shown(pilot)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, CasesScreen)


async def test_nothing_judged_names_the_next_key(project_db: Path) -> None:
    with connect(project_db) as db:
        create_project(db, "empty")
    async with running(project_db) as pilot:
        await open_screen(pilot)
        await until(pilot, lambda: "Nothing has been judged yet" in shown(pilot))
        await press(pilot, "m", "e", "tab")
        assert isinstance(pilot.app.screen, AgreementScreen)


async def test_the_table_of_the_panel_is_exported(
    rated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with running(rated) as pilot:
        await open_screen(pilot)
        await press(pilot, "e", "enter")
        await until(pilot, lambda: (tmp_path / "agreement.csv").exists())
        await press(pilot, "tab", "e", *["backspace"] * 3, *"json", "enter")
        await until(pilot, lambda: (tmp_path / "leaderboard.json").exists())
        await press(pilot, "e", "enter")
        await press(pilot, "e", *["backspace"] * 3, *"xls", "enter")
        await until(pilot, lambda: "no format for" in shown(pilot))
        await press(pilot, "escape")
        await press(pilot, "tab", "e", "enter")
        await until(pilot, lambda: "exists already" in shown(pilot))
    with (tmp_path / "agreement.csv").open(encoding="utf-8", newline="") as file:
        found = {(row["rater_a"], row["rater_b"]) for row in csv.DictReader(file)}
    assert found == {("rules", "anna"), ("rules", "bert"), ("anna", "bert")}
    board = json.loads((tmp_path / "leaderboard.json").read_text(encoding="utf-8"))
    assert {row["system"] for row in board["rows"]} == {"als", "text"}


async def test_hostile_raters_do_no_harm(project_db: Path) -> None:
    import_lists(project_db)
    given = {"[/path]\x1b[31m": ("A", "B", "A"), "\u202e[red]x 漢字": ("A", "B", "Tie")}
    import_labels(project_db, given=given)
    async with running(project_db) as pilot:
        await open_screen(pilot)
        await until(pilot, lambda: "‹RLO›" in shown(pilot))
        assert "[/path]" in shown(pilot)
        for key in ("m", "escape", "v", "2", "3", "4", "m", "escape", "1", "q"):
            text = shown(pilot)
            assert not [c for c in text if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)]
            await press(pilot, key)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, HomeScreen)


def test_every_statistic_and_ranking_of_the_reports_has_a_name() -> None:
    assert all(label_of(stat) != stat for stat in STATISTICS)
    assert set(METHODS) <= set(METHOD_NAMES)


async def test_ascii(rated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECJUDGE_ASCII", "1")
    async with running(rated) as pilot:
        await open_screen(pilot)
        for key in ("f", "2", "3", "4"):
            odd = {c for c in shown(pilot) if not c.isascii()}
            assert odd <= {"κ", *"▁▂▃▄▅▆▇", "‹", "›"}
            await press(pilot, key)
            await until(pilot, lambda: "computing" not in shown(pilot))
        assert "@" in shown(pilot)


async def test_a_note_says_that_a_consensus_is_made_from_others(rated: Path) -> None:
    with connect(rated) as db:
        combine(db, 1, "crowd", "conservative", ["anna", "bert"])
    async with running(rated) as pilot:
        await open_screen(pilot)
        about = "crowd is made from other raters"
        await until(pilot, lambda: about in " ".join(shown(pilot).split()))


def test_notes_are_about_what_is_shown() -> None:
    named = tuple(Column(name, name) for name in ("rater_a", "rater_b", "value"))
    rows = ({"rater_a": "a", "rater_b": "b", "value": 0.5}, {"rater_a": "a", "rater_b": "c", "value": None})
    notes = (
        "a and b (pairwise): one",
        "b and a (pairwise), c and a (pairwise): two",
        "a and c (pairwise): 3",
        "all",
    )
    made = Table("Agreement", named, rows, notes)
    assert notes_about(made, rows[0]) == [notes[0], notes[1], "all"]
    assert notes_about(made, rows[1]) == [notes[1], notes[2], "all"]
    assert notes_about(made, None) == list(notes)
    assert ceiling_line(made, "qwk", "a", frozenset({"b", "c"}), UNICODE) == "κ a·b 0.50  a·c –"
    assert ceiling_line(made, "qwk", "b", frozenset({"b", "c"}), UNICODE) == ""


def test_notes_on_columns_that_only_an_export_has_are_left_out() -> None:
    notes = ("People: the mean agreement between them", "People leaves out 2 cases", "People of all kinds")
    row = {"rater_a": "a", "rater_b": "b", "value": 0.428, "stat": "qwk", "level": "dataset", "n": 40,
           "ci_low": 0.047, "ci_high": 0.705, "groups": None, "groups_undefined": None,
           "note": "one side is constant; People: no interval"}  # fmt: skip
    named = (*(Column(name, name) for name in row), Column("top", "People", minor=True))
    made = Table("Agreement", named, (row,), notes)
    assert notes_about(made, row) == ["People of all kinds"]
    said = "".join(str(getattr(part, "text", part)) for part in pair_sentence(made, row, frozenset()))
    # the figures of the matrix, in the same form
    assert said == "a with b: Quadratic weighted κ 0.43 [0.05, 0.70], n=40; one side is constant"


@pytest.mark.parametrize("room", range(30, 90, 7))
def test_names_are_cut_before_a_number_below_the_ranking(room: int) -> None:
    named = tuple(Column(name, name) for name in ("rater_a", "rater_b", "value"))
    pairs = (("qwen2.5:14b-instruct", "annotator_1", 0.43), ("qwen2.5:14b-instruct", "annotator_2", 0.30),
             ("annotator_1", "annotator_2", 0.52))  # fmt: skip
    rows = tuple({"rater_a": a, "rater_b": b, "value": value} for a, b, value in pairs)
    made, people = Table("Agreement", named, rows), frozenset({"annotator_1", "annotator_2"})
    line = ceiling_line(made, "qwk", "qwen2.5:14b-instruct", people, UNICODE, room)
    assert cell_len(line) <= room
    assert line.split()[-1] in ("0.52", "0.43", "0.30")
    assert room < 60 or all(number in line for number in ("0.43", "0.30", "0.52"))


def test_an_answer_runs_over_all_columns() -> None:
    lines = tuple(
        RankingLine((Text("1"), Text("als"), Text("12", justify="right")), {}, (), text)
        for text in (None, Text("漢字 not separable: 漢字漢字漢字"), Text("x"))
    )
    heads, cells = columns(Ranking("", ("#", "system", "n"), lines, many_pairs=False), UNICODE)
    assert [head.plain for head in heads] == [" # ", " system ", "  n "]
    assert [cell.plain for cell in cells[0]] == [" 1 ", " als    ", " 12 "]
    assert [sum(cell.cell_len for cell in line) for line in cells] == [15, 15, 15]
    assert all(cell.cell_len in (2, 3, 4, 7, 8, 9) for cell in cells[1])
    assert "".join(cell.plain for cell in cells[1]) == " 漢字 not sep… "
    assert "".join(cell.plain for cell in cells[2]) == " x" + " " * 13
