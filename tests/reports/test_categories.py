"""Categories without an order: each report works with them, or says in a line why it cannot."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score

from recjudge_tui.domain.scales import Scale, worded
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.changes import MCNEMAR, SIGN_FLIPS, UNORDERED
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.stats.registry import NO_ORDER
from recjudge_tui.store.ratings import add_scale
from tests.support.verdicts import Project, give, import_target, new_project, table, text_case

TONES = ("warm", "cold", "odd")
USERS = 12


def _project(path: Path, scale: Scale, items: int = 1) -> Project:
    """Two judges, one with confidences, and two people who name tones; `items` texts a user."""
    project = new_project(path)
    add_scale(project.db, project.id, import_target(project).import_id, "explanation", "overall", scale)
    rng = random.Random(4)
    cases = [
        text_case(project, f"u{user:02}", f"i{item}", ("x", "y")[user % 2])
        for user in range(USERS)
        for item in range(items)
    ]
    truth = {case: float(rng.randrange(len(scale.words))) for case in cases}
    for name, kind, share in (
        ("one", "judge", 0.8),
        ("two", "judge", 0.5),
        ("ann", "annotator", 0.9),
        ("ben", "annotator", 0.6),
    ):
        said = {
            c: v if rng.random() < share else float(rng.randrange(len(scale.words))) for c, v in truth.items()
        }
        give(project, name, said, protocol_name="explanation", kind=kind)
    project.db.execute("UPDATE verdicts SET confidence = 0.5 + 0.1 * (case_id % 5) WHERE rater_id = 1")
    project.db.execute("UPDATE cases SET served_at = '2026-05-01T08:00:00+00:00'")
    project.db.connection.commit()
    return project


@pytest.fixture
def tones(tmp_path: Path) -> Project:
    return _project(tmp_path / "a.db", worded(TONES, ordered=False))


def _values(project: Project, rater: str) -> list[float]:
    sql = "SELECT v.value FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = ? ORDER BY v.case_id"
    return [row[0] for row in project.db.rows(sql, (rater,))]


def _said(table: Table) -> str:
    return " ".join((*table.notes, *(str(row.get("note") or "") for row in table.rows)))


@pytest.mark.parametrize(
    ("words", "items", "test", "note"),
    [(("warm", "cold"), 1, MCNEMAR, ""), (("warm", "cold"), 3, SIGN_FLIPS, ""), (TONES, 3, None, UNORDERED)],
)
def test_changes_between_two_categories_are_tested_over_users(
    tmp_path: Path, words: tuple[str, ...], items: int, test: str | None, note: str
) -> None:
    project = _project(tmp_path / "a.db", worded(words, ordered=False), items)
    (row,) = table(project, "compare", first="ann", second="ben").rows
    assert (row["test"], row["note"]) == (test, note)
    turned = _project(tmp_path / "b.db", worded(words[::-1], ordered=False), items)
    turned.db.execute("UPDATE verdicts SET value = ? - value", (len(words) - 1,))
    (same,) = table(turned, "compare", first="ann", second="ben").rows
    assert {**same, "statistic": None} == {**row, "statistic": None}


def test_gates_and_costs_use_kappa_and_refuse_what_needs_an_order(tones: Project) -> None:
    kappa = cohen_kappa_score(_values(tones, "one"), _values(tones, "ann"))
    gate = table(tones, "gate", rater="one", at_least=("qwk=0", f"kappa={kappa - 0.01}"), truth="ann")
    assert [(row["state"], row["value"]) for row in gate.rows] == [
        ("not met", None),
        ("met", pytest.approx(kappa)),
    ]
    assert gate.rows[0]["note"] == NO_ORDER
    change = table(tones, "gate", rater="one", against="two", truth="ann")
    assert [row["figure"] for row in change.rows] == ["kappa", "failure_rate"]
    opened = Opened.numbered(tones.db, tones.id)
    costs = table_of(opened, "cost", truth="ann", raters=("one", "two"))
    alone = next(row for row in costs.rows if row["jury"] == "one")
    assert (alone["stat"], alone["value"]) == ("kappa", pytest.approx(kappa))
    for option in ({"rule": "mean"}, {"stat": "qwk"}):
        refused = table_of(opened, "cost", truth="ann", **option)
        assert not refused.rows
        assert "order" in _said(refused)


def test_estimates_are_shares(tones: Project) -> None:
    asked = {"rater": "one", "truth": "ann", "protocol": "explanation"}
    opened = Opened.numbered(tones.db, tones.id)
    assert {row["measure"] for row in table_of(opened, "estimate", **asked).rows} == {"share"}
    with pytest.raises(UsageError, match="“mean” does not fit"):
        table_of(opened, "estimate", **asked, measure="mean")


def test_means_of_raters_are_refused(tones: Project) -> None:
    made = table(tones, "agreement", truth="ann", raters=("one", "two"), ensembles=True)
    assert not made.rows
    assert NO_ORDER in _said(made)
