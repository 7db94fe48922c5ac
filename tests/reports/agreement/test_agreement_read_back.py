"""The notes of agreement and the human ceiling follow from the labels: computed again on any labels, with other programs."""

from __future__ import annotations

import re
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.metrics import cohen_kappa_score

from recjudge_tui.raters.combine import combine
from recjudge_tui.reports.agreement.agreement import AgreementOptions, agreement_table
from recjudge_tui.reports.common.table import Row
from tests.support.verdicts import Project, give, judge_lists, list_case, new_project

Values = npt.NDArray[np.float64]
PEOPLE = ("anna", "ben", "cleo")
LABELS = (0.0, 1.0, 2.0)
SIZES = (2, 5, 9, 10, 12, 40, 60, 80)
RULES = ("strict", "majority")


class Drawn(NamedTuple):
    """Labels of the people (3, cases) and of the judge (cases,), NaN where missing."""

    people: Values
    judge: Values


def drawn(draw: int) -> Drawn:
    """Few or many lists; a label that hardly anybody gives, or not; a good or a bad judge; some people left out some."""
    rng = np.random.default_rng(draw)
    size = SIZES[draw % len(SIZES)]
    marginal = ((0.3, 0.4, 0.3), (0.02, 0.05, 0.93), (0.1, 0.0, 0.9))[draw % 3]
    truth = rng.choice(LABELS, size, p=marginal)

    def rated(right: float, there: float) -> Values:
        said = np.where(rng.random(size) < right, truth, rng.choice(LABELS, size, p=marginal))
        return np.where(rng.random(size) < there, said, np.nan)

    return Drawn(np.stack([rated(0.8, 0.9) for _ in PEOPLE]), rated((0.0, 0.5, 0.9)[draw % 3], 0.95))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return new_project(tmp_path_factory.mktemp("read") / "a.db")


@pytest.fixture(scope="module")
def rows(project: Project) -> list[tuple[Drawn, str, dict[str, Row]]]:
    """For each draw the labels, the rule of the reference, and the rows of the judge against it, by statistic."""
    made = []
    for draw in range(12):
        labels, rule = drawn(draw), RULES[draw % 2]
        cases = [list_case(project, f"d{draw}-u{at:02}", f"s{draw}") for at in range(labels.judge.size)]
        names = [f"{person}{draw}" for person in PEOPLE]
        for name, values in zip(names, labels.people, strict=True):
            give(project, name, {c: v for c, v in zip(cases, values.tolist(), strict=True) if v == v})
        judge_lists(
            project,
            f"llm{draw}",
            {c: None if v != v else v for c, v in zip(cases, labels.judge.tolist(), strict=True)},
        )
        if np.isnan(_reference(labels, rule)).all():
            continue
        combine(project.db, project.id, f"gold{draw}", rule, names)  # type: ignore[arg-type]
        options = AgreementOptions(
            "pointwise", raters=(f"llm{draw}",), truth=f"gold{draw}",
            stats=("percent", "kappa", "qwk", "ac2", "bias"), resamples=100,
        )  # fmt: skip
        table = agreement_table(project.db, project.id, options)
        made.append((labels, rule, {str(row["stat"]): row for row in table.rows}))
    return made


def _reference(labels: Drawn, rule: str) -> Values:
    """The label of the people where all three gave one: the lowest, or that of two of them."""
    return _rule(labels.people, rule)


def _rule(table: Values, rule: str) -> Values:
    whole = ~np.isnan(table).any(axis=0)
    out = np.full(table.shape[1], np.nan)
    for at in np.flatnonzero(whole):
        levels, counts = np.unique(table[:, at], return_counts=True)
        if rule == "strict":
            out[at] = levels[0]
        elif counts.max() * 2 > table.shape[0]:
            out[at] = levels[counts.argmax()]
    return out


def _ac2(a: Values, b: Values) -> float:
    """Gwet 2014, quadratic weights, two raters."""
    weights = 1 - np.subtract.outer(LABELS, LABELS) ** 2 / 4
    table = np.array([[np.mean((a == x) & (b == y)) for y in LABELS] for x in LABELS])
    mean = (table.sum(axis=0) + table.sum(axis=1)) / 2
    chance = weights.sum() / 6 * float((mean * (1 - mean)).sum())
    return float(((weights * table).sum() - chance) / (1 - chance))


def test_figures_and_their_remarks_follow_from_the_labels(
    rows: list[tuple[Drawn, str, dict[str, Row]]],
) -> None:
    remarks = set()
    for labels, rule, by_stat in rows:
        reference = _reference(labels, rule)
        both = ~np.isnan(labels.judge + reference)
        judge, truth = labels.judge[both], reference[both]
        equal = float((judge == truth).mean()) if both.any() else 0.0
        for stat, row in by_stat.items():
            assert row["n"] == both.sum()
            note = str(row["note"])
            assert (f"only {both.sum()} case" in note) == (0 < both.sum() < 10)
            if row["value"] is None:
                assert both.sum() == 0 or (stat in ("kappa", "qwk") and np.unique([judge, truth]).size == 1)
                continue
            if stat in ("kappa", "qwk"):
                weights = "quadratic" if stat == "qwk" else None
                assert row["value"] == pytest.approx(
                    cohen_kappa_score(judge, truth, labels=LABELS, weights=weights)
                )
            expected = {"percent": equal, "ac2": _ac2(judge, truth), "bias": float((judge - truth).mean())}
            if stat in expected:
                assert row["value"] == pytest.approx(expected[stat])
            chance = sum(float((judge == x).mean() * (truth == x).mean()) for x in LABELS)
            low = row["value"] < 0.2 and stat in ("kappa", "qwk")  # type: ignore[operator]
            odd = low and chance > 0.5 and max(equal, _ac2(judge, truth)) >= 0.6
            assert ("low although" in note) == odd
            if odd:
                assert (f"AC2 is {_ac2(judge, truth):.2f}" in note) == (_ac2(judge, truth) >= 0.6)
                assert (f"{equal:.0%} of the values are equal" in note) == (equal >= 0.6)
                assert f"{chance:.0%} of the values would be equal by chance" in note
                for values in (judge, truth):
                    levels, counts = np.unique(values, return_counts=True)
                    assert f"gave {levels[counts.argmax()]:g} in {counts.max() / values.size:.0%}" in note
            remarks.add(odd)
    assert remarks == {True, False}


def test_the_human_ceiling_follows_from_the_people_on_the_cases_of_the_row(
    rows: list[tuple[Drawn, str, dict[str, Row]]],
) -> None:
    left_out = set()
    for labels, rule, by_stat in rows:
        reference = _reference(labels, rule)
        both = ~np.isnan(labels.judge + reference)
        row = by_stat["percent"]
        if not both.any():
            assert row["ceiling"] is None
            continue
        people = labels.people[:, both]
        same = [a == b for a, b in combinations(people, 2)]
        assert row["ceiling"] == pytest.approx(np.mean(same))
        assert row["ceiling_n"] == 3 * both.sum()
        rest = [(people[at], _rule(np.delete(people, at, axis=0), rule)) for at in range(len(PEOPLE))]
        alike = np.concatenate([(own == others)[~np.isnan(others)] for own, others in rest])
        assert row["ceiling_rest"] == (pytest.approx(alike.mean()) if alike.size else None)
        kappas = [
            cohen_kappa_score(a, b, labels=LABELS, weights="quadratic")
            for a, b in combinations(people, 2)
            if np.unique([a, b]).size > 1
        ]
        assert by_stat["qwk"]["ceiling"] == (pytest.approx(np.mean(kappas)) if kappas else None)
        low, high = (np.nan_to_num(labels.people, nan=nan) for nan in (np.inf, -np.inf))
        differ = low.min(axis=0) < high.max(axis=0)
        undecided = int((differ & ~np.isnan(labels.judge) & np.isnan(reference)).sum())
        counted = re.search(r"People leaves out (\d+) cases? on which its raters differ", str(row["note"]))
        assert (int(counted.group(1)) if counted else 0) == undecided
        left_out.add(undecided > 0)
        for stat in ("percent", "qwk"):
            ends = by_stat[stat]["ceiling_low"], by_stat[stat]["ceiling_high"]
            said = re.search(r"People: no interval", str(by_stat[stat]["note"]))
            if by_stat[stat]["ceiling"] is not None and ends == (None, None):
                assert "no interval" in str(by_stat[stat]["note"])
            else:
                assert not said
    assert left_out == {True, False}
