"""The distribution over all subsets of raters."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.raters.combine import combine
from recjudge_tui.reports.agreement.ensembles import ensembles_table
from recjudge_tui.reports.common.pairing import AgreementOptions
from recjudge_tui.stats.agreement import group_mean
from tests.support.verdicts import Project, give, new_project, text_case

JUDGES = ("one", "two", "six")
SCORES = np.random.default_rng(4).integers(1, 6, (2, 4, 24)).astype(float)
USERS = np.arange(24) // 6


@pytest.fixture
def project(project_db: Path) -> Project:
    project = new_project(project_db)
    cases = [text_case(project, f"u{USERS[at]}", f"i{at // 3}", "xyz"[at % 3]) for at in range(24)]
    for place, aspect in enumerate(("accuracy", "satisfaction")):
        for at, rater in enumerate((*JUDGES, "user")):
            values = dict(zip(cases, SCORES[place, at].tolist(), strict=True))
            kind = "ground_truth" if rater == "user" else "judge"
            if rater == "two" and aspect == "satisfaction":
                values[cases[0]] = None
            give(
                project, rater, values, protocol_name="explanation", aspect=aspect,
                kind="judge" if kind == "judge" else "ground_truth",
            )  # fmt: skip
    give(project, "rouge_l", dict.fromkeys(cases, 0.5), protocol_name="explanation", kind="metric")
    combine(project.db, project.id, "mean", "mean", ["one", "two"], quorum=1)
    return project


def test_all_subsets_of_every_size(project: Project) -> None:
    options = AgreementOptions(truth="user", aspect="accuracy", levels=("dataset", "user"))
    table = ensembles_table(project.db, project.id, options)
    assert [(row["level"], row["size"], row["subsets"]) for row in table.rows] == [
        (level, size, subsets) for level in ("dataset", "user") for size, subsets in ((1, 3), (2, 3), (3, 1))
    ]
    # raters stand in the order of their names
    order = {"one": 0, "six": 2, "two": 1}
    for row in table.rows:
        groups = np.zeros(24) if row["level"] == "dataset" else USERS
        size = row["size"]
        assert isinstance(size, int)
        figures = {
            " + ".join(names): group_mean(
                "pearson", SCORES[0, [order[name] for name in names]].mean(axis=0), SCORES[0, 3], groups
            ).value
            or 0.0
            for names in combinations(order, size)
        }
        assert row["best"] == max(figures, key=lambda names: figures[names])
        assert row["worst"] == min(figures, key=lambda names: figures[names])
        assert row["max"] == pytest.approx(max(figures.values()))
        assert row["min"] == pytest.approx(min(figures.values()))
        assert row["mean"] == pytest.approx(np.mean(list(figures.values())))
        assert (row["n"], row["stat"], row["aspect"]) == (24, "pearson", "accuracy")


def test_a_case_counts_where_all_have_a_value(project: Project) -> None:
    table = ensembles_table(project.db, project.id, AgreementOptions(truth="user", stats=("kendall",)))
    counted = {(row["aspect"], row["n"]) for row in table.rows}
    assert counted == {("accuracy", 24), ("satisfaction", 23)}
    assert "explanation, satisfaction: 1 of 24 cases with a truth (4.2%) left out" in " ".join(table.notes)
    without = ensembles_table(
        project.db, project.id, AgreementOptions(truth="user", raters=("one", "six"), aspect="satisfaction")
    )
    assert {row["n"] for row in without.rows} == {24}
    filled = ensembles_table(
        project.db, project.id, AgreementOptions(truth="user", aspect="satisfaction", missing_judge=0.0)
    )
    assert {row["n"] for row in filled.rows} == {24}


def test_made_raters_are_members_only_when_named(project: Project) -> None:
    named = AgreementOptions(truth="user", aspect="accuracy", raters=("mean", "one"))
    assert ensembles_table(project.db, project.id, named).rows[-1]["best"] == "one + mean"


def test_bounds_and_invalid_options(project: Project) -> None:
    wrong = (
        AgreementOptions(),
        AgreementOptions(truth="user", stats=("qwk",)),
        AgreementOptions(truth="user", raters=("one",)),
        AgreementOptions(truth="user", raters=("one", "user")),
        AgreementOptions(truth="user", raters=("one", "rouge_l")),
        AgreementOptions(truth="user", by_system=True),
        AgreementOptions(truth="user", missing_truth=9.0),
        AgreementOptions(truth="user", aspect="bogus"),
    )
    for options in wrong:
        with pytest.raises(UsageError):
            ensembles_table(project.db, project.id, options)
    with pytest.raises(NotFoundError):
        ensembles_table(project.db, project.id, AgreementOptions(truth="nobody"))


def test_more_than_fifteen_raters_are_refused_with_the_number_of_subsets(project: Project) -> None:
    cases = [text_case(project, f"u{USERS[at]}", f"i{at // 3}", "xyz"[at % 3]) for at in range(24)]
    for at in range(13):
        give(
            project, f"more{at:02}", dict.fromkeys(cases, 3.0), protocol_name="explanation", aspect="accuracy",
            kind="judge",
        )  # fmt: skip
    with pytest.raises(UsageError, match="16 raters have 65,535 subsets"):
        ensembles_table(project.db, project.id, AgreementOptions(truth="user", aspect="accuracy"))
    fifteen = (*JUDGES, *(f"more{at:02}" for at in range(12)))
    table = ensembles_table(
        project.db, project.id, AgreementOptions(truth="user", aspect="accuracy", raters=fifteen)
    )
    assert sum(int(str(row["subsets"])) for row in table.rows) == 2**15 - 1
    # twelve of them gave one value throughout
    assert table.rows[0]["note"] == "12 of 15 sets undefined"
