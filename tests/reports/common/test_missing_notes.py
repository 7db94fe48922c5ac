"""What is missing of whom is said once, and never of a comparison that it is not true of."""

from __future__ import annotations

from recjudge_tui.reports.common.comparison import MissingCounts
from recjudge_tui.reports.common.missing_notes import MissingVerdicts, missing_notes
from recjudge_tui.reports.common.pairing import Pair
from recjudge_tui.store.verdicts.ratings import Question


def lack(a: str, b: str, aspect: str, *, of_a: int = 0, of_b: int = 0, system: str = "") -> MissingVerdicts:
    pair = Pair(Question(a, "explanation", aspect), Question(b, "explanation", aspect), "explanation", aspect)
    return MissingVerdicts(
        pair, MissingCounts(cases=8, not_judged_a=of_a, not_judged_b=of_b, failed_a=0, failed_b=0), system
    )


def test_one_pair_is_named_with_its_aspect_and_system() -> None:
    assert missing_notes([lack("x", "y", "accuracy", of_a=2, system="pop")]) == [
        "x and y (explanation, accuracy, pop): 2 of 8 cases (25.0%) not judged by x: left out"
    ]


def test_what_is_true_of_many_is_said_once() -> None:
    found = missing_notes(
        lack(a, b, aspect, of_a=2 if a == "x" else 0, of_b=2 if b == "x" else 0)
        for aspect in ("accuracy", "satisfaction")
        for a, b in (("x", "y"), ("x", "z"), ("w", "x"), ("y", "z"))
    )
    assert found == [
        "x with y, z, w (explanation, accuracy; satisfaction): 2 of 8 cases (25.0%) not judged by x: left out"
    ]


def test_other_pairs_and_other_counts_stay_apart() -> None:
    found = missing_notes(
        [
            lack("x", "y", "accuracy", of_a=2),
            lack("x", "z", "accuracy", of_a=2),
            lack("x", "y", "satisfaction", of_a=2),
            lack("x", "z", "satisfaction", of_a=3),
        ]
    )
    assert found == [
        "x with y, z (explanation, accuracy): 2 of 8 cases (25.0%) not judged by x: left out",
        "x and y (explanation, satisfaction): 2 of 8 cases (25.0%) not judged by x: left out",
        "x and z (explanation, satisfaction): 3 of 8 cases (37.5%) not judged by x: left out",
    ]
