"""What the ablation of prompts and planted faults say follows from the verdicts: computed again on any answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binomtest

from recjudge_tui.domain.adversarial import CORRECT, adversarial_pair
from recjudge_tui.domain.material import SlateView
from recjudge_tui.judges.rules.faults import ISSUE_OF
from recjudge_tui.reports.reliability.ablation import ablation_table
from recjudge_tui.reports.reliability.injected import injected_table
from recjudge_tui.store.cases.planted import PlantedFault
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from tests.support.adversarial_project import judged_pairs_run, make_taste_project
from tests.support.planted_project import flagging_judge, judged_faults_run, make_shop

PROMPTS = ("generic", "over", "saer")


class Pairs(NamedTuple):
    """A project of adversarial pairs, and each rater's pairs: (rater, case) -> (kind of lists, user)."""

    db: Database
    project: int
    of: dict[tuple[str, int], tuple[str, str]]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pairs]:
    """Eight users, four of whom have two pairs of either kind."""
    with connect(tmp_path_factory.mktemp("ablation") / "a.db") as db:
        project = make_taste_project(db)
        for name in PROMPTS:
            judged_pairs_run(db, rater=name)
        for at in range(4):
            db.execute("UPDATE cases SET user_id = ? WHERE user_id = ?", (f"u{at:02}", f"u{at + 4:02}"))
        rows = db.rows(
            """SELECT r.name, c.id, c.system_a, c.system_b, c.user_id FROM verdicts v
               JOIN raters r ON r.id = v.rater_id JOIN cases c ON c.id = v.case_id"""
        )
        of = {}
        for name, case, a, b, user in rows:
            pair = adversarial_pair(a, b)
            assert pair is not None
            of[name, case] = pair.variant, user
        yield Pairs(db, project, of)


def _answer(pairs: Pairs, values: dict[tuple[str, int], float | None]) -> None:
    """Set every verdict; None is a failed one."""
    pairs.db.execute_many(
        """UPDATE verdicts SET value = ?, state = ? WHERE case_id = ? AND rater_id =
             (SELECT id FROM raters WHERE name = ?)""",
        [(v, "failed" if v is None else "ok", case, name) for (name, case), v in values.items()],
    )


def _p_values(net: list[dict[str, int]]) -> list[float | None]:
    sides = [(sum(n > 0 for n in by_user.values()), sum(n < 0 for n in by_user.values())) for by_user in net]
    return [binomtest(up, up + down).pvalue if up + down else None for up, down in sides]


def _holm(p_values: list[float | None]) -> list[float | None]:
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    highest, adjusted = 0.0, list(p_values)
    for rank, (p, at) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        adjusted[at] = highest
    return adjusted


@pytest.mark.parametrize("draw", range(8))
def test_prompts_are_compared_by_the_pairs_that_both_answered(pairs: Pairs, draw: int) -> None:
    rng = np.random.default_rng(draw)
    right = {name: rng.choice((0.1, 0.5, 0.95, 1.0)) for name in PROMPTS}
    failing = rng.choice((0.0, 0.0, 0.5))

    def answer(name: str) -> float | None:
        if rng.random() < failing:
            return None
        return CORRECT if rng.random() < right[name] else float(rng.choice((0.0, -CORRECT)))

    values = {key: answer(key[0]) for key in pairs.of}
    _answer(pairs, values)
    rows = [row for row in ablation_table(pairs.db, pairs.project, PROMPTS).rows if row.get("against")]
    for variant in ("published", "unseen"):
        hits: dict[str, dict[int, tuple[str, bool]]] = defaultdict(dict)
        for (name, case), value in values.items():
            if pairs.of[name, case][0] == variant and value is not None:
                hits[name][case] = pairs.of[name, case][1], value == CORRECT
        net, only, reasons = [], [], []
        for first, second in combinations(PROMPTS, 2):
            both = hits[first].keys() & hits[second].keys()
            by_user: dict[str, int] = defaultdict(int)
            for case in both:
                by_user[hits[first][case][0]] += hits[first][case][1] - hits[second][case][1]
            more = [
                sum(hits[a][c][1] > hits[b][c][1] for c in both)
                for a, b in ((first, second), (second, first))
            ]
            net.append(by_user)
            only.append((*more, len(both)))
            reasons.append("" if not both else "same pairs" if not any(more) else "for any user")
        p_values = _p_values(net)
        here = [row for row in rows if row["lists"] == variant]
        assert [(row["only_first"], row["only_second"], row["n"]) for row in here] == only
        assert [row["p"] for row in here] == pytest.approx(p_values)
        assert [row["p_holm"] for row in here] == pytest.approx(_holm(p_values))
        for row, (up, down, n), p, reason in zip(here, only, p_values, reasons, strict=True):
            assert row["share"] == (pytest.approx((up - down) / n) if n else None)
            untested = "nothing to test" in str(row["note"])
            assert untested == (p is None and n > 0)
            assert not untested or reason in str(row["note"])


def test_what_is_detected_is_what_was_flagged(project_db: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    flagged: list[tuple[str, str]] = []

    def choose(fault: PlantedFault, slate: SlateView) -> list[tuple[int, str]]:
        """The fault, another issue, both, or another item."""
        other = rng.choice([issue for kind, issue in ISSUE_OF.items() if kind != fault.kind])
        elsewhere = fault.rank % len(slate.items) + 1
        marks = [
            (fault.rank, ISSUE_OF[fault.kind]),
            (fault.rank, str(other)),
            (elsewhere, ISSUE_OF[fault.kind]),
        ]
        said = [mark for mark in marks if rng.random() < 0.4]
        outcome = "detected" if marks[0] in said else "other issue" if marks[1] in said else "missed"
        flagged.append((str(fault.kind), outcome))
        return said

    with connect(project_db) as db:
        project = make_shop(db)
        judged_faults_run(db, flagging_judge(db, tmp_path / "some.jsonl", choose))
        rows = [row for row in injected_table(db, project).rows if row["outcome"] != "false alarm"]
    assert {outcome for _, outcome in flagged} == {"detected", "other issue", "missed"}
    for row in rows:
        of_kind = [outcome for kind, outcome in flagged if row["fault"] in ("all", kind)]
        assert (row["count"], row["n"]) == (of_kind.count(str(row["outcome"])), len(of_kind))
        assert row["share"] == pytest.approx(of_kind.count(str(row["outcome"])) / len(of_kind))
