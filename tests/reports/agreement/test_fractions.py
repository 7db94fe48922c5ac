"""Judges whose values lie between the labels: means of samples, probabilities."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from recjudge_tui.reports.agreement.agreement import AgreementOptions, agreement_table
from tests.support.verdicts import Project, give, new_project, pair_case, text_case

PEOPLE = (1.0, 3.0, 5.0, 2.0, 4.0, 4.0)
MEANS = (0.0, 2.6, 4.2, 2.2, 3.8, 4.6)


@pytest.fixture
def project(project_db: Path) -> Project:
    project = new_project(project_db)
    cases = [text_case(project, f"u{at}", "i", "x") for at in range(len(PEOPLE))]
    for rater, values in (("anna", PEOPLE), ("llm", MEANS), ("ben", PEOPLE[::-1])):
        given = dict(zip(cases, values, strict=True))
        give(project, rater, given, protocol_name="explanation", aspect="accuracy", kind="annotator")
    return project


def test_correlations_by_default_with_the_reason(project: Project) -> None:
    table = agreement_table(project.db, project.id, AgreementOptions(raters=("llm",), truth="anna"))
    value = {row["stat"]: row["value"] for row in table.rows}
    assert value == {
        "pearson": pytest.approx(pearsonr(MEANS, PEOPLE).statistic),
        "spearman": pytest.approx(spearmanr(MEANS, PEOPLE).statistic),
        "kendall": pytest.approx(kendalltau(MEANS, PEOPLE).statistic),
    }
    # 0 is a whole number beyond the labels, and not the reason
    assert any(
        "llm gives values between the labels (such as 2.2): correlations" in note for note in table.notes
    )
    assert not any("(0)" in note for note in (*table.notes, *(str(row["note"]) for row in table.rows)))


def test_people_beside_it_keep_their_kappa(project: Project) -> None:
    table = agreement_table(project.db, project.id)
    stats = {frozenset((row["rater_a"], row["rater_b"])): set() for row in table.rows}
    for row in table.rows:
        stats[frozenset((row["rater_a"], row["rater_b"]))].add(row["stat"])
    assert stats[frozenset(("anna", "ben"))] == {"qwk", "percent"}
    assert stats[frozenset(("anna", "llm"))] == {"pearson", "spearman", "kendall"}


def test_probabilities_of_pairs(project: Project) -> None:
    cases = [pair_case(project, f"p{at}") for at in range(5)]
    give(
        project, "anna", dict(zip(cases, (1.0, -1.0, 0.0, 1.0, -1.0), strict=True)), protocol_name="pairwise"
    )
    sure = dict(zip(cases, (0.8, -0.4, 0.1, 0.3, -0.9), strict=True))
    give(project, "soft", sure, protocol_name="pairwise", kind="judge")
    table = agreement_table(project.db, project.id, AgreementOptions(protocol="pairwise"))
    assert {row["stat"] for row in table.rows} == {"pearson", "spearman", "kendall"}
