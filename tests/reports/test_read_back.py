"""What reports say in words follows from the verdicts, on any outcome: read back and computed again from the rows."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from itertools import combinations

import pytest
from scipy.stats import binomtest

from recjudge_tui.reports.common.table import Row
from recjudge_tui.store.projects import Outcome, add_outcome
from tests.support.verdicts import Project, give, judge_pairs, new_project, pair_case, table

DRAWS = 10
SYSTEMS = ("als", "bpr", "pop")
Key = tuple[str, str, str]
Answers = dict[Key, tuple[float, float]]
_DRAWN: dict[int, tuple[Answers, Answers, dict[Key, float]]] = {}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """For each draw two judges and a person: few or many users, two systems or three, of which one may never win."""
    made = new_project(tmp_path_factory.mktemp("read") / "a.db")
    add_outcome(made.db, made.id, Outcome("online", "als", "bpr", 900, 900, 90, 60))
    for draw in range(DRAWS):
        rng = random.Random(draw)
        systems = SYSTEMS[: rng.choice((2, 3))]
        lead = {pair: rng.choice((-1, -0.5, 0, 0.5, 1)) for pair in combinations(systems, 2)}
        ties, first_set, skill = (
            rng.choice((0, 0.3, 0.9)),
            rng.choice((0, 0.1, 0.6, 1)),
            rng.choice((0, 0.7, 1)),
        )
        one: Answers = {}
        other: Answers = {}
        person: dict[Key, float] = {}
        for at in range((2, 3, 5, 8, 12, 20)[draw % 6]):
            for pair, share in lead.items():
                key = (f"d{draw}-u{at:02}", *pair)
                truth = 0.0 if rng.random() < ties else 1.0 if rng.random() < (1 + share) / 2 else -1.0
                person[key] = truth
                for answers in (one, other):
                    said = truth if rng.random() < skill else rng.choice((1.0, 0.0, -1.0))
                    answers[key] = (1.0, -1.0) if rng.random() < first_set else (said, said)
        cases = {key: pair_case(made, *key) for key in person}
        for name, answers in (("one", one), ("other", other)):
            judge_pairs(made, f"{name}{draw}", {cases[key]: both for key, both in answers.items()})
        give(made, f"person{draw}", {cases[k]: v for k, v in person.items()}, protocol_name="pairwise")
        _DRAWN[draw] = one, other, person
    return made


def _adjudicated(answers: Answers) -> dict[Key, float]:
    """Both orders agree, else it is a tie."""
    return {key: a if a == b else 0.0 for key, (a, b) in answers.items()}


def _sides(differences: dict[Key, float]) -> tuple[int, int]:
    """The users with more above 0 than below, and with fewer."""
    net: dict[str, int] = defaultdict(int)
    for (user, *_), value in differences.items():
        net[user] += (value > 0) - (value < 0)
    return sum(n > 0 for n in net.values()), sum(n < 0 for n in net.values())


def _p(sides: tuple[int, int]) -> float | None:
    return binomtest(sides[0], sum(sides)).pvalue if sum(sides) else None


def _outside(row: Row, low: str, high: str, point: float) -> bool:
    return row[low] is not None and not row[low] <= point <= row[high]  # type: ignore[operator]


def test_a_verdict_on_an_experiment_is_significant_where_the_users_show_it(project: Project) -> None:
    log = table(project, "outcome show", judges=True)
    matrix = table(project, "leaderboard", protocol="pairwise", table="matrix")
    separable = {
        row["rater"]
        for row in matrix.rows
        if {row["system"], row["opponent"]} == {"als", "bpr"} and (row["p_holm"] or 1) < 0.05
    }
    seen = set()
    for row in log.rows:
        one, other, person = _DRAWN[int(re.sub(r"\D", "", str(row["rater"])))]
        verdicts = {"o": _adjudicated(one), "t": _adjudicated(other), "p": person}
        values = verdicts[
            "p" if "person" in str(row["rater"]) else "t" if "other" in str(row["rater"]) else "o"
        ]
        pair = {key: value for key, value in values.items() if key[1:] == ("als", "bpr")}
        total, sides = sum(pair.values()), _sides(pair)
        assert row["pointed"] == ("als" if total > 0 else "bpr" if total < 0 else "even")
        assert row["judged"] == pytest.approx((1 + total / len(pair)) / 2)
        shown = (_p(sides) or 1) < 0.05 and not (
            row["judged_low"] is not None and not _outside(row, "judged_low", "judged_high", 0.5)
        )
        assert row["sure"] == shown
        assert row["hit"] == (row["pointed"] == "als")
        if row["rater"] in separable:
            assert row["sure"]
        seen.add(row["sure"])
    assert seen == {True, False}
