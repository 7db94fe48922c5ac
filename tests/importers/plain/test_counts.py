"""Tables of counts: battles without users."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.importing import Load, rows_of
from tests.support.verdicts import Project, table

COUNTS = "system_a,system_b,aspect,win,tie,lose\nnew,old,overall,12,3,5\nnew,old,accuracy,4,0,9\nold,pop,overall,7,1,2\n"


def test_each_battle_is_a_verdict_of_a_user_of_its_own(load: Load, db: Database) -> None:
    summary = load("labels", COUNTS, "people.csv")
    counted = db.rows(
        """SELECT system_a, system_b, rater, rater_kind, aspect, label, rule, count(*), count(DISTINCT user_id)
           FROM v_verdicts GROUP BY 1, 2, 5, 6 ORDER BY 1, 2, 5, 6"""
    )
    start = "people", "annotator"
    assert [tuple(row) for row in counted] == [
        ("new", "old", *start, "accuracy", "A", "counted", 4, 4),
        ("new", "old", *start, "accuracy", "B", "counted", 9, 9),
        ("new", "old", *start, "overall", "A", "counted", 12, 12),
        ("new", "old", *start, "overall", "B", "counted", 5, 5),
        ("new", "old", *start, "overall", "Tie", "counted", 3, 3),
        ("old", "pop", *start, "overall", "A", "counted", 7, 7),
        ("old", "pop", *start, "overall", "B", "counted", 2, 2),
        ("old", "pop", *start, "overall", "Tie", "counted", 1, 1),
    ]
    assert db.value("SELECT count(DISTINCT user_id) FROM cases") == 43
    remarks = " ".join(summary.files[0].remarks)
    assert "users are unknown" in remarks
    assert "it gets the file's name, “people”" in remarks
    assert summary.stored == 43


def test_the_leaderboard_has_exact_intervals_and_says_that_users_are_not_known(
    load: Load, db: Database
) -> None:
    load("labels", "rater,model_a,model_b,wins,losses\nann,new,old,14,4\n")
    project = Project(db, project_id(db, "p"))
    board = table(project, "leaderboard", protocol="pairwise", method="winrate")
    new = board.rows[0]
    assert (new["system"], new["wins"], new["losses"], new["n"]) == ("new", 14, 4, 18)
    ends = beta.ppf(0.025, 14, 5), beta.ppf(0.975, 15, 4)
    np.testing.assert_allclose([new["ci_low"], new["ci_high"]], ends, rtol=1e-9)
    unknown = [note for note in board.notes if "known only as counts" in note]
    assert len(unknown) == 1
    assert unknown[0].startswith("ann, overall: 18 battles")
    matrix = table(project, "leaderboard", protocol="pairwise", table="matrix")
    assert matrix.rows[0]["p"] == pytest.approx(binomtest(4, 18).pvalue)
    assert unknown[0] in matrix.notes


def test_an_exported_leaderboard_can_be_imported_again(load: Load, db: Database) -> None:
    """Its rows over all opponents are no pairs, and each pair stands in it from both sides."""
    summary = load(
        "labels",
        "system,opponent,rater,aspect,rank,wins,ties,losses,position_ties,failed,n,q,score\n"
        "a,,qwen,overall,1,7,1,2,0,1,10,2.67,2.67\n"
        "a,b,qwen,overall,,5,1,0,0,1,6,,\n"
        "a,c,qwen,overall,,2,0,2,0,0,4,,\n"
        "b,a,qwen,overall,,0,1,5,0,1,6,,\n"
        "c,a,qwen,overall,,2,0,2,0,0,4,,\n",
    )
    board = table(Project(db, project_id(db, "p")), "leaderboard", protocol="pairwise")
    top = next(row for row in board.rows if row["system"] == "a" and row["opponent"] is None)
    assert [top[name] for name in ("rater", "wins", "ties", "losses", "failed", "n")] == [
        "qwen", 7, 1, 2, 1, 10,
    ]  # fmt: skip
    assert summary.warning_kinds == {"same battles from the other side": 2, "no pair of systems": 1}
    assert any("in.csv:5: these seem to be the battles of line 3" in text for text in summary.warnings)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("a,b,-1,0,3,", "in.csv:2: wins “-1” is below 0; left out"),
        ("a,b,45.5,10,44.5,", "in.csv:2: wins “45.5” is not a whole number"),
        ("a,b,45%,0,55%,", "in.csv:2: wins “45%” is not a finite number"),
        ("a,b,,0,3,", "in.csv:2: wins “” is not a finite number"),
        ("a,b,0,0,0,", "in.csv:2: all counts are 0; left out"),
        ("a,b,3,1,3,8", "in.csv:2: 3 wins, 1 ties and 3 losses are not “8” battles; left out"),
        ("a,a,3,1,3,7", "in.csv:2: system_a and system_b are both “a”; left out"),
        ("a,,3,1,3,7", "in.csv:2: the row names no two systems; left out"),
        ("a,b,9999999,1,3,", "in.csv:2: more than 1,000,000 battles in a row; left out"),
    ],
)
def test_rows_that_are_no_counts(load: Load, db: Database, row: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        load("labels", f"system_a,system_b,wins,ties,losses,n\n{row}\n")
    assert says in caught.value.cause
    assert db.value("SELECT count(*) FROM verdicts") == 0


def test_a_mapping_names_the_columns(load: Load, db: Database, tmp_path: Path) -> None:
    mapping = (
        '[labels]\nrater = { value = "crowd" }\nsystem_a = "ours"\nsystem_b = "theirs"\ncontext = "query"\n'
        'wins = "better"\nties = "same"\nlosses = "worse"\n'
    )
    rows = "ours,theirs,query,better,same,worse\nx,y,q1,2,1,0\nx,y,q2,0,1,2\ny,x,q2,2,1,0\n"
    summary = load("labels", rows, mapping=mapping)
    assert rows_of(db, "SELECT context, sum(value) FROM v_verdicts WHERE rater = 'crowd' GROUP BY 1") == [
        ("q1", 2.0),
        ("q2", -2.0),
    ]
    assert summary.warning_kinds == {"same battles from the other side": 1}


def test_a_corrected_table_is_not_added_to_the_first(load: Load, db: Database) -> None:
    load("labels", COUNTS, "people.csv")
    with pytest.raises(InputError) as caught:
        load("labels", COUNTS.replace("12,3,5", "13,3,5"), "people.csv")
    assert "people.csv:2: the counts of this row are already stored" in caught.value.title
    assert "(import 1)" in caught.value.cause
    assert db.value("SELECT count(*) FROM verdicts") == 43
