"""Figures as files: what stands in them, that they are the same each time, and that no name harms them."""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import NotFoundError, RecjudgeError, StoreError, UsageError
from recjudge_tui.reports.figures.calibration import cases_of_bin
from recjudge_tui.reports.figures.data import FigureData
from recjudge_tui.reports.figures.loading import figure_data
from recjudge_tui.reports.figures.options import FigureOptions
from recjudge_tui.reports.figures.paper.files import draw_picture, save_figure
from recjudge_tui.reports.figures.paper.style import WIDTHS, wrapped
from recjudge_tui.reports.figures.registry import FIGURES
from recjudge_tui.store.schema import connect
from tests.support.app.lists import import_labels, import_lists, judge
from tests.support.drawn_project import SYSTEMS, USERS, drawn_project
from tests.support.hostile import NAMED
from tests.support.verdicts import Project, agreement, give, judge_lists, list_case, new_project

ROOT = Path(__file__).resolve().parents[3]
# all but Q against a metric
OF_VERDICTS = [name for name in FIGURES if name != "q-metric"]
STRICT = FigureOptions()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return drawn_project(tmp_path_factory.mktemp("figures") / "p.db")


def data_of(project: Project, name: str, options: FigureOptions = STRICT) -> FigureData:
    return figure_data(project.db, project.id, name, options)


def texts(svg: bytes) -> list[str]:
    """What an SVG says; raises when it is no XML."""
    return [
        "".join(element.itertext())
        for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def caption_in(said: list[str], data: FigureData) -> bool:
    return data.caption in " ".join(said)


@pytest.mark.parametrize("name", OF_VERDICTS)
def test_a_figure_is_text_with_its_caption_and_the_same_each_time(project: Project, name: str) -> None:
    data = data_of(project, name)
    content, notes = draw_picture(data, "svg")
    assert notes == ()
    assert caption_in(texts(content), data)
    assert "n = " in data.caption
    assert draw_picture(data_of(project, name), "svg").content == content
    assert not caption_in(texts(draw_picture(data, "svg", caption=False).content), data)


@pytest.mark.parametrize("fmt", ["png", "pdf"])
def test_other_formats_are_the_same_each_time(project: Project, fmt: str) -> None:
    data = data_of(project, "leaderboard")
    content = draw_picture(data, fmt).content
    assert content.startswith({"png": b"\x89PNG", "pdf": b"%PDF"}[fmt])
    assert draw_picture(data, fmt).content == content


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("name", OF_VERDICTS)
def test_a_png_is_as_wide_as_columns_of_a_page(project: Project, name: str, columns: int) -> None:
    width, height = struct.unpack(">II", draw_picture(data_of(project, name), "png", columns).content[16:24])
    assert width == round(WIDTHS[columns] * 300)
    assert 200 < height < 4000


def test_confusion_has_every_count_and_share(project: Project) -> None:
    data = data_of(project, "confusion", FigureOptions("pairwise", rater="poor", truth="anna"))
    said = texts(draw_picture(data, "svg").content)
    assert [row["count"] for row in data.rows] == [int(text) for text in said if text.isdecimal()]
    assert {"A", "Tie", "B", "anna", "poor"} <= set(said)
    diagonal = next(row for row in data.rows if row["label_a"] == row["label_b"] == "A")
    row_total = sum(int(str(row["count"])) for row in data.rows if row["label_a"] == "A")
    assert f"{int(str(diagonal['count'])) / row_total:.0%}" in said


def test_q_matrix_has_q_and_interval_of_each_pair(project: Project) -> None:
    data = data_of(project, "q-matrix", FigureOptions(rater="good"))
    said = texts(draw_picture(data, "svg").content)
    assert len(data.rows) == 6
    for row in data.rows:
        assert f"{row['q']:.2f}" in said
        assert f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}]" in said
    assert set(SYSTEMS) <= set(said)
    assert f"n = {USERS} pairs of lists per cell" in data.caption


def test_label_shares_has_shares_and_n(project: Project) -> None:
    data = data_of(project, "label-shares", FigureOptions(rater="anna"))
    said = texts(draw_picture(data, "svg", 2).content)
    assert data.topic == ("pointwise", "overall")
    assert said.count(f"n={USERS}") == 3
    for row in data.rows:
        assert f"{row['share']:.0%}" in said
        ends = float(str(row["ci_low"])) * 100, float(str(row["ci_high"])) * 100
        assert f"{ends[0]:.0f}–{ends[1]:.0f}" in said


def test_leaderboard_has_everyone_or_one_rater(project: Project) -> None:
    everyone = texts(draw_picture(data_of(project, "leaderboard"), "svg").content)
    assert {"good", "poor", "anna", "ben", *SYSTEMS} <= set(everyone)
    assert everyone.count(f"n={2 * USERS}") == 12
    one = texts(draw_picture(data_of(project, "leaderboard", FigureOptions(rater="good")), "svg").content)
    assert one.count(f"n={2 * USERS}") == 3
    assert "poor" not in one


def test_ensembles_has_means_and_how_many_sets(project: Project) -> None:
    data = data_of(project, "ensembles", FigureOptions("pairwise", truth="anna"))
    said = texts(draw_picture(data, "svg").content)
    for row in data.rows:
        assert f"{row['mean']:.3f}" in said
        assert f"{row['subsets']} sets" in said


def test_a_few_adjudicated_cases_do_not_become_the_default_truth(tmp_path: Path) -> None:
    project = drawn_project(tmp_path / "own.db")
    cases = [
        row[0] for row in project.db.rows("SELECT id FROM cases WHERE kind = 'pair' ORDER BY id LIMIT 9")
    ]
    give(project, "all", dict.fromkeys(cases, 1.0), protocol_name="pairwise", kind="consensus")
    give(project, "adjudicated", dict.fromkeys(cases[:2], 1.0), protocol_name="pairwise", kind="consensus")
    assert data_of(project, "confusion", FigureOptions("pairwise")).choices["truth"].value == "all"


def test_calibration_names_its_error_and_leads_to_the_cases(project: Project) -> None:
    options = FigureOptions("pairwise", rater="good", truth="anna")
    data = data_of(project, "calibration", options)
    assert "As given: expected calibration error 0." in data.caption
    assert {"as given", "calibrated"} <= set(texts(draw_picture(data, "svg").content))
    chosen = {name: choice.value for name, choice in data.choices.items()}
    for row in data.rows:
        assert len(cases_of_bin(project.db, project.id, chosen, row)) == row["n"]
    given = [row for row in data.rows if row["stage"] == "as given"]
    assert sum(int(str(row["n"])) for row in given) == 3 * USERS
    temperature = data_of(project, "calibration", FigureOptions("pairwise", method="temperature"))
    assert "Calibrated (temperature)" in temperature.caption


def test_q_against_a_metric(project_db: Path) -> None:
    judge(project_db, import_lists(project_db, users=6))
    import_labels(project_db)
    with connect(project_db) as db:
        data = figure_data(db, 1, "q-metric", FigureOptions(rater="anna", metric="urd@10"))
        said = texts(draw_picture(data, "svg").content)
        assert {"als", "text", "urd@10", "Q"} <= set(said)
        assert "no correlation, 2 systems" in data.caption
        with pytest.raises(UsageError, match="no metric “nix”"):
            figure_data(db, 1, "q-metric", FigureOptions(metric="nix"))


# ---- agreement over runs


def test_runs_say_what_the_agreement_table_says(project: Project) -> None:
    data = data_of(project, "runs", FigureOptions("pairwise", truth="anna", stat="kappa"))
    options = {"protocol": "pairwise", "raters": ("good", "poor"), "truth": "anna", "stats": ("kappa",)}
    known = {row["rater_a"]: row for row in agreement(project, **options).rows}
    assert [row["rater"] for row in data.rows] == ["good", "poor"]
    for row in data.rows:
        for key in ("value", "ci_low", "ci_high", "n", "ceiling"):
            assert row[key] == known[row["rater"]][key]
    said = texts(draw_picture(data, "svg").content)
    assert said.count(f"n={3 * USERS}") == 2
    assert {"run 1", "run 2", "people"} <= set(said)
    assert "Dashed line: agreement between people" in data.caption


def test_a_run_counts_the_verdicts_that_are_still_its_own(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p.db")
    cases = [list_case(project, f"u{at}") for at in range(12)]
    give(project, "anna", {case: float(at % 3) for at, case in enumerate(cases)})
    first = judge_lists(project, "llm", {case: float(at % 3) for at, case in enumerate(cases[:6])})
    second = judge_lists(
        project, "llm", {case: float((at + at // 4) % 3) for at, case in enumerate(cases[6:])}
    )
    alone = judge_lists(project, "other", {list_case(project, "u99"): 1.0})
    data = data_of(project, "runs")
    assert [(row["run"], row["n"], row["verdicts"]) for row in data.rows] == [
        (str(first), 6, 6),
        (str(second), 6, 6),
        (str(alone), 0, 1),
    ]
    assert data.rows[0]["value"] == 1.0
    assert isinstance(data.rows[1]["value"], float)
    assert data.rows[1]["value"] < 1
    assert data.rows[2]["value"] is None
    assert data.rows[2]["note"] == "no case that both judged"
    assert "undefined" in texts(draw_picture(data, "svg").content)


# ---- names that would harm


@pytest.fixture(scope="module")
def every_figure(project: Project) -> list[FigureData]:
    return [data_of(project, name) for name in OF_VERDICTS]


NAME_COLUMNS = ("system", "opponent", "rater", "rater_a", "rater_b", "truth", "label")


def names_in(data: FigureData) -> list[str]:
    return sorted({str(row[k]) for row in data.rows for k in NAME_COLUMNS if isinstance(row.get(k), str)})


def renamed(data: FigureData, names: dict[str, str], said: list[str]) -> FigureData:
    """The figure with other names in it, and its caption with more texts."""
    rows = tuple(
        {key: names.get(str(cell), cell) if key in NAME_COLUMNS else cell for key, cell in row.items()}
        for row in data.rows
    )
    return replace(data, table=replace(data.table, rows=rows), caption=" ".join([data.caption, *said]))


@pytest.mark.parametrize("figure", OF_VERDICTS)
def test_hostile_names_are_shown_as_they_are_and_harm_nothing(
    every_figure: list[FigureData], figure: str
) -> None:
    """Each hostile text in the caption and in the place of a name, as many at once as the figure has names."""
    data = next(data for data in every_figure if data.name == figure)
    names = names_in(data)
    hostile = [text[:2_000] for text in NAMED.values()]
    at_once = len(names) or 8
    for start in range(0, len(hostile), at_once):
        some = hostile[start : start + at_once]
        batch = {name: f"{name}{text}" for name, text in zip(names, some, strict=False)}
        said = texts(draw_picture(renamed(data, batch, some), "svg").content)
        whole = "".join(said)
        assert not [c for c in whole if ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066\u200b"]
        if figure in ("label-shares", "leaderboard"):
            assert {one_line(batch[name], 28) for name in systems_in(data) & set(batch)} <= set(said)


def systems_in(data: FigureData) -> set[str]:
    return {str(row["system"]) for row in data.rows if isinstance(row.get("system"), str)}


def test_dollars_and_low_lines_are_names_in_a_picture_too(tmp_path: Path) -> None:
    names = ("$\\frac{a}{b}$", "_hidden", "a & <b>")
    project = drawn_project(tmp_path / "p.db", names, " $x_1$\x1b[31m")
    for name in OF_VERDICTS:
        data = data_of(project, name)
        said = texts(draw_picture(data, "svg").content)
        assert draw_picture(data, "png").content.startswith(b"\x89PNG")
        if name in ("q-matrix", "label-shares", "leaderboard"):
            assert set(names) <= set(said)
        if name in ("leaderboard", "runs"):
            assert "good $x_1$[31m" in said


def test_characters_that_xml_cannot_hold_are_left_out(tmp_path: Path) -> None:
    project = drawn_project(tmp_path / "p.db", ("a\ufffe", "b\uffff", "漢字"))
    content, notes = draw_picture(data_of(project, "label-shares"), "svg")
    assert {"a", "b", "漢字"} <= set(texts(content))
    # whether a font here knows them or not
    assert all("they are drawn as boxes" in note for note in notes)


def test_wide_and_long_words_are_wrapped() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("漢字漢字漢字", 6) == ["漢字漢", "字漢字"]
    assert wrapped("x" * 10, 4) == ["xxxx", "xxxx", "xx"]
    assert wrapped("", 4) == []


# ---- what cannot be drawn


def test_missing_data_is_named(project: Project, tmp_path: Path) -> None:
    for name, options, said in (
        ("nix", STRICT, "no figure “nix”"),
        ("confusion", FigureOptions(rater="nobody"), "no rater “nobody”"),
        ("runs", FigureOptions(truth="nobody"), "no truth “nobody”"),
        ("runs", FigureOptions(stat="nix"), "no statistic “nix”"),
        ("q-matrix", FigureOptions("pointwise"), "cannot be drawn of pointwise"),
        ("label-shares", FigureOptions("pairwise"), "cannot be drawn of pairwise"),
        ("leaderboard", FigureOptions(aspect="taste"), "there are no verdicts on an aspect “taste”"),
        ("leaderboard", FigureOptions("pairwise", method="mean"), "no method “mean”"),
        ("leaderboard", FigureOptions("nix"), "no protocol “nix”"),
    ):
        with pytest.raises(UsageError, match=said):
            data_of(project, name, options)
    empty = new_project(tmp_path / "empty.db")
    for name in FIGURES:
        with pytest.raises(UsageError, match="there are no verdicts yet"):
            data_of(empty, name)


def test_a_screen_gets_the_reason_instead(project: Project) -> None:
    def told(name: str, protocol: str, aspect: str) -> str:
        data = data_of(project, name, FigureOptions(protocol, aspect, "gone", strict=False))
        assert not data.rows
        return " ".join(data.notes)

    assert "judges one thing at a time: choose one about pairwise" in told("q-matrix", "pointwise", "overall")
    assert "choose one about pointwise" in told("label-shares", "pairwise", "overall")
    assert "choose one about pairwise" in told("q-metric", "absolute", "overall")
    assert data_of(project, "confusion", FigureOptions("pairwise", "overall", "gone", strict=False)).rows


def test_a_figure_of_undefined_numbers_is_refused_with_the_reason(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p.db")
    judge_lists(project, "llm", {list_case(project, "u1"): 1.0})
    give(project, "anna", {list_case(project, "u2"): 1.0})
    with pytest.raises(RecjudgeError, match="every number of “runs” is undefined no case that both judged"):
        save_figure(data_of(project, "runs"), tmp_path / "runs.svg")
    with pytest.raises(RecjudgeError, match="no labelled verdict with a confidence"):
        data_of(project, "calibration")
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".svg"] == []


def test_without_matplotlib_one_error_names_the_extra(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = data_of(project, "confusion")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RecjudgeError, match=r"pip install 'recjudge\[figures\]'"):
        save_figure(data, tmp_path / "a.svg")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_whole_or_left_unchanged(project: Project, tmp_path: Path) -> None:
    data, path = data_of(project, "confusion"), tmp_path / "a.svg"
    path.write_text("old")
    assert save_figure(data, path) == ()
    assert path.read_bytes() == draw_picture(data, "svg").content
    with pytest.raises(UsageError, match=r"no picture format for “a\.jpg”"):
        save_figure(data, tmp_path / "a.jpg")
    with pytest.raises(StoreError, match="cannot be written"):
        save_figure(data, tmp_path / "none" / "a.svg")
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        save_figure(data, folder)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.svg", "folder.svg"]


def test_drawing_leaves_nothing_behind_and_loads_no_pyplot(tmp_path: Path) -> None:
    drawn_project(tmp_path / "p.db").db.close()
    code = """
import sys
from pathlib import Path
import matplotlib
from recjudge_tui.reports.figures.paper.files import draw_picture
from recjudge_tui.reports.figures.options import FigureOptions
from recjudge_tui.reports.figures.loading import figure_data
from recjudge_tui.store.schema import connect
def settings():
    # asking for the backend would choose one
    return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
before = settings()
with connect(Path(sys.argv[1])) as db:
    draw_picture(figure_data(db, 1, "calibration", FigureOptions("pairwise")), "svg")
assert settings() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "p.db")], cwd=ROOT, check=True)


@pytest.mark.parametrize("name", OF_VERDICTS)
def test_a_figure_of_two_systems_has_the_numbers_of_these_alone(project: Project, name: str) -> None:
    chosen = data_of(project, name, FigureOptions(systems=("als", "text")))
    assert chosen.caption.count("Only the systems als, text.") == 1
    assert chosen.table.settings["systems"] == ["als", "text"]
    assert {row["system"] for row in chosen.rows if row.get("system")} <= {"als", "text"}
    assert [*chosen.rows] != [*data_of(project, name).rows]
    with pytest.raises(NotFoundError, match="no system “xyz”"):
        data_of(project, name, FigureOptions(systems=("als", "xyz")))


def test_one_system_has_no_confusion_on_pairs_and_its_trend_is_against_all(project: Project) -> None:
    alone = FigureOptions("pairwise", systems=("als",))
    with pytest.raises(RecjudgeError, match="no figure") as refused:
        data_of(project, "confusion", alone)
    assert "als alone makes no pair: name two systems" in refused.value.cause
    assert data_of(project, "confusion", FigureOptions("pointwise", systems=("als",))).rows
    for chosen, against_all in ((alone, 1), (FigureOptions("pairwise", systems=("als", "text")), 0)):
        trend = data_of(project, "trend", chosen)
        assert trend.caption.count("against all systems, those not shown too") == against_all
    rates = {row["period"]: 0.0 for row in trend.rows}
    for row in trend.rows:
        rates[row["period"]] += float(str(row["value"]))
    assert {*rates.values()} == {1.0}


def test_a_figure_of_named_raters_has_no_other(project: Project) -> None:
    options = FigureOptions(raters=("poor", "ben"))
    confusion = data_of(project, "confusion", options)
    assert {(row["rater_a"], row["rater_b"]) for row in confusion.rows} == {("poor", "ben")}
    assert {row["rater"] for row in data_of(project, "leaderboard", options).rows} == {"poor", "ben"}
    assert {row["rater"] for row in data_of(project, "runs", options).rows} == {"poor"}
    with pytest.raises(UsageError, match="no rater “good” for this figure"):
        data_of(project, "q-matrix", replace(options, rater="good"))
    with pytest.raises(NotFoundError, match="no rater “zoe”"):
        data_of(project, "confusion", FigureOptions(raters=("poor", "zoe")))
    with pytest.raises(RecjudgeError, match="of the raters named, no judge answered this"):
        data_of(project, "calibration", FigureOptions(raters=("anna",)))
    with pytest.raises(RecjudgeError, match="of the raters named, no person judged this"):
        data_of(project, "calibration", FigureOptions(raters=("good",)))
