"""The table of Zhang et al. (2024) from a folder of its data."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.domain.published import ZHANG_ASPECTS
from recjudge_tui.errors import NotFoundError
from recjudge_tui.importers.zhang2024 import import_zhang2024
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.papers.zhang2024 import COST, PAPERS_WAY, ScoresSource, zhang_table
from recjudge_tui.reports.papers.zhang_evaluators import LEVELS, FillValues
from recjudge_tui.store.schema import connect
from recjudge_tui.store.projects.projects import project_id
from tests.support.verdicts import give, new_project, text_case
from tests.support.zhang_folder import joined_rows, write_joined, write_release

Make = Callable[..., Table]


def table_in(
    scratch: Path,
    folder: Path,
    missing: FillValues = PAPERS_WAY,
    own: ScoresSource | None = None,
    raters: tuple[str, ...] = (),
) -> Table:
    """The table of the data in `folder`, which are imported to an empty folder."""
    scratch.mkdir()
    with connect(scratch / "r.db") as db:
        import_zhang2024(db, "paper", folder, scratch)
        released = ScoresSource(db, project_id(db, "paper"), "paper", markup=True)
        return zhang_table(released, missing, own, raters)


@pytest.fixture
def table(tmp_path: Path) -> Make:
    return lambda *args, **more: table_in(tmp_path / f"scratch{len(list(tmp_path.iterdir()))}", *args, **more)


@pytest.fixture(scope="module")
def papers_table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The table of all the data of the paper, which takes three seconds."""
    return table_in(
        tmp_path_factory.mktemp("paper") / "scratch", Path(os.environ["RECJUDGE_DATA"]) / "zhang2024"
    )


def row_of(table: Table, evaluator: str, aspect: str, level: str) -> Row:
    (row,) = (
        r for r in table.rows if (r["evaluator"], r["aspect"], r["level"]) == (evaluator, aspect, level)
    )
    return row


def annotation(table: Table) -> list[Row]:
    return [row for row in table.rows if row["section"] == "Annotation"]


def by_group(rows: list[dict[str, str]], key: Callable[[dict[str, str]], str], aspect: str) -> float:
    """Mean over groups of annotator 1's correlation with the users, by NumPy, 3 for a missing score."""
    found = []
    for group in {key(row) for row in rows}:
        part = [row for row in rows if key(row) == group]
        a = [float(row[f"{aspect}_1"]) for row in part]
        b = [float(row[aspect] or 3) for row in part]
        if len(set(a)) > 1 and len(set(b)) > 1:
            found.append(np.corrcoef(a, b)[0, 1])
    return round(100 * float(np.mean(found)), 2)


def test_three_levels_and_the_mean_of_the_aspects(table: Make, tmp_path: Path) -> None:
    rows = joined_rows()
    found = table(write_joined(tmp_path / "data", rows))
    keys: dict[str, Callable[[dict[str, str]], str]] = {
        "dataset": lambda row: "",
        "user": lambda row: row["user_id"],
        "pair": lambda row: row["user_id"] + row["movie_id"],
    }
    for level in LEVELS:
        figures = []
        for aspect in ZHANG_ASPECTS:
            row = row_of(found, "Annotator-1", aspect, level)
            assert row["recomputed"] == by_group(rows, keys[level], aspect), (aspect, level)
            figures.append(row["recomputed"])
        mean = row_of(found, "Annotator-1", "average", level)["recomputed"]
        assert mean == pytest.approx(np.mean(figures), abs=0.006)
    assert row_of(found, "Annotator-1", "accuracy", "pair")["groups"] == 8
    assert "1 of the users' 160 scores are missing: replaced by 3" in found.notes


def test_figures_are_marked_against_the_printed_ones(table: Make, tmp_path: Path) -> None:
    found = table(write_joined(tmp_path / "data", joined_rows()))
    row = row_of(found, "Annotator-1", "persuasiveness", "dataset")
    assert (row["printed"], row["published"], row["result"]) == ("19.88", 19.88, "does not follow")
    assert row["difference"] == pytest.approx(float(str(row["recomputed"])) - 19.88)
    usual = row_of(found, "ROUGE-1 F1 of single words", "accuracy", "user")
    assert usual["result"] == "not compared"
    assert usual["recomputed"] is not None
    assert len(found.rows) == 320
    differing = sum(r["result"] == "does not follow" for r in found.rows if r["section"] == "Annotation")
    assert differing >= 40
    assert any(f"{differing} do not" in note for note in found.notes if note.startswith("Annotation"))


def test_a_missing_score_of_a_user_may_be_left_out(table: Make, tmp_path: Path) -> None:
    folder = write_joined(tmp_path / "data", joined_rows())
    found = table(folder, FillValues(None, None))
    assert row_of(found, "Annotator-1", "persuasiveness", "dataset")["n"] == 39
    assert row_of(found, "Annotator-1", "accuracy", "dataset")["n"] == 40
    assert any(note.endswith("are missing: left out") for note in found.notes)


def test_the_release_alone_gives_the_same_but_for_the_texts(table: Make, tmp_path: Path) -> None:
    rows = joined_rows()
    joined = table(write_joined(tmp_path / "joined", rows))
    released = write_release(tmp_path / "release", rows)
    # a pickle that would leave a trace if anything opened it
    trace = tmp_path / "opened"
    (released / "df_explanation.pkl").write_bytes(b"cbuiltins\nopen\n(V%b\nVw\ntR." % str(trace).encode())
    found = table(released)
    assert annotation(found) == annotation(joined)
    assert not trace.exists()
    for row in found.rows:
        if row["section"] == "Reference-based Metric" and row["aspect"] != "average":
            assert (row.get("recomputed"), row["result"]) == (None, "needs texts")
            assert "pickle" in str(row["note"])
    assert row_of(found, "BLEU-1", "accuracy", "pair")["published"] == 12.18


def test_without_jieba_the_text_rows_say_so(
    table: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    found = table(write_joined(tmp_path / "data", joined_rows()))
    row = row_of(found, "ROUGE-L-F", "accuracy", "pair")
    assert (row["published"], row.get("recomputed"), row["result"]) == (12.83, None, "needs recjudge[text]")
    assert "recjudge[text]" in str(row["note"])
    assert row_of(found, "Annotator-1", "accuracy", "pair")["recomputed"] is not None


def test_raters_of_the_users_project_are_shown_below(table: Make, tmp_path: Path) -> None:
    rows = joined_rows()
    project = new_project(tmp_path / "own.db", "mine")
    cases = [text_case(project, r["user_id"], r["movie_id"], r["explanation_type"]) for r in rows]
    for aspect in ZHANG_ASPECTS:
        truth = {case: float(row[aspect] or 3) for case, row in zip(cases, rows, strict=True)}
        judged = {case: float(row[f"{aspect}_1"]) for case, row in zip(cases, rows, strict=True)}
        give(project, "user", truth, protocol_name="explanation", kind="ground_truth", aspect=aspect)
        give(project, "llm", judged, protocol_name="explanation", kind="judge", aspect=aspect)
        # a failed score counts as 0, a case that was never asked is left out
        part: dict[int, float | None] = dict(list(judged.items())[:20])
        part[cases[0]] = None
        give(project, "half", part, protocol_name="explanation", kind="judge", aspect=aspect)
    own = ScoresSource(project.db, project.id, "mine")
    found = table(write_joined(tmp_path / "data", rows), own=own)
    for level in LEVELS:
        ours = row_of(found, "llm", "satisfaction", level)
        theirs = row_of(found, "Annotator-1", "satisfaction", level)
        assert ours["recomputed"] == theirs["recomputed"]
        assert ours["result"] == "not compared"
    assert row_of(found, "half", "satisfaction", "dataset")["n"] == 20
    assert not any(row["evaluator"] == "user" for row in found.rows)


def test_a_mean_over_few_groups_has_a_note(table: Make, tmp_path: Path) -> None:
    rows = joined_rows()
    project = new_project(tmp_path / "own.db", "mine")
    cases = [text_case(project, r["user_id"], r["movie_id"], r["explanation_type"]) for r in rows]
    users = sorted({row["user_id"] for row in rows})
    for aspect in ZHANG_ASPECTS:
        truth = {case: float(row[aspect] or 3) for case, row in zip(cases, rows, strict=True)}
        give(project, "user", truth, protocol_name="explanation", kind="ground_truth", aspect=aspect)
        # one score for all of everybody but the first user
        flat = {
            case: value if row["user_id"] == users[0] else 4.0
            for (case, value), row in zip(truth.items(), rows, strict=True)
        }
        give(project, "flat", flat, protocol_name="explanation", kind="judge", aspect=aspect)
        give(project, "same", truth, protocol_name="explanation", kind="judge", aspect=aspect)
    own = ScoresSource(project.db, project.id, "mine")
    notes = table(write_joined(tmp_path / "data", rows), own=own).notes
    (note,) = (note for note in notes if note.startswith("flat: one side is constant in most groups"))
    assert f"accuracy user on 1 of {len(users)}" in note
    assert not any(note.startswith("same:") for note in notes)


def test_an_own_project_needs_the_users_scores(table: Make, tmp_path: Path) -> None:
    project = new_project(tmp_path / "own.db", "mine")
    with pytest.raises(NotFoundError, match="users themselves"):
        table(
            write_joined(tmp_path / "data", joined_rows()), own=ScoresSource(project.db, project.id, "mine")
        )


def test_without_data_all_300_cells_stand_as_printed() -> None:
    found = zhang_table(None)
    assert [len([row for row in found.rows if row["table"] == name]) for name in ("Table 1", "Table 2")] == [
        300,
        5,
    ]
    row = row_of(found, "Annotator-2", "transparency", "pair")
    assert (row["printed"], row.get("recomputed"), row["result"]) == ("27.84", None, "needs --data")
    for model in ("GPT4 (single)", "GPT4 (multiple)", "Random"):
        row = row_of(found, model, "accuracy", "user")
        assert (row.get("recomputed"), row["result"]) == (None, "as printed")
        assert row["note"]
    assert [row["printed"] for row in found.rows if row["aspect"] == COST] == [
        "0.111$", "0.00123$", "0.000364$", "0.0652$", "0.0256$",
    ]  # fmt: skip


def test_every_average_is_the_mean_of_its_four_figures() -> None:
    averages = [row for row in zhang_table(None).rows if row["aspect"] == "average"]
    assert [row["result"] for row in averages] == ["follows"] * 60
    odd = [
        (row["evaluator"], row["level"], row["recomputed"])
        for row in averages
        if "within the rounding" in str(row["note"])
    ]
    assert odd == [
        ("BLEU-4", "user", 5.8675),
        ("Qwen1.5-7B (single)", "pair", 4.895),
        ("GPT3.5-Turbo (multiple)", "user", 16.6025),
    ]


@pytest.mark.data
def test_the_papers_table_from_its_data(papers_table: Table) -> None:
    found = papers_table
    results = Counter((row["section"], row["result"]) for row in found.rows)
    assert results["Annotation", "follows"] == 45
    assert (
        results["Reference-based Metric", "follows"] + results["Reference-based Metric", "within 0.1"] == 60
    )
    assert results["Single-Aspect Prompt", "as printed"] + results["Single-Aspect Prompt", "follows"] == 90
    assert "does not follow" not in {row["result"] for row in found.rows}
    assert row_of(found, "Annotator-1", "persuasiveness", "pair")["groups"] == 310
    assert row_of(found, "Annotator-1", "average", "pair")["n"] == 2536
    assert "9 of the users' 10,144 scores are missing: replaced by 3" in found.notes


@pytest.mark.data
def test_the_release_alone(papers_table: Table, table: Make, tmp_path: Path) -> None:
    source = Path(os.environ["RECJUDGE_DATA"]) / "zhang2024"
    for name in ("df_explanation_selected.csv", "third_party.csv"):
        (tmp_path / name).symlink_to(source / name)
    assert annotation(table(tmp_path)) == annotation(papers_table)
