"""A gate of one night against another: which verdicts are paired, and which are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.reliability.gate import gate_table
from recjudge_tui.reports.reliability.gate_options import GateOptions
from recjudge_tui.store.cases.cases import CaseKey, ensure_case
from tests.support.verdicts import Project, give, judge_pairs, list_case, new_project

MONDAY, TUESDAY = "2026-05-04T08:00:00Z", "2026-05-05T08:00:00Z"
OTHER_TIMES = "by user: lists of other times, averaged by context"
Wins = Mapping[tuple[str, str], float]


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def night(project: Project, served_at: str, wins: Wins, rater: str = "nightly") -> int:
    """A run on two lists for each (user, context), served at a time: 1 a wins, -1 b wins."""
    with project.db.transaction():
        cases = {
            ensure_case(
                project.db, project.id, CaseKey("pair", user, "a", "b", context=context, served_at=served_at)
            ): value
            for (user, context), value in wins.items()
        }
    return judge_pairs(project, rater, {case: (value, value) for case, value in cases.items()})


def of_users(values: Sequence[float], first: int = 0) -> Wins:
    return {(f"u{at:02d}", ""): value for at, value in enumerate(values, first)}


def change(
    project: Project, rater: str = "nightly", against: str = "nightly", **more: object
) -> tuple[Row, Table]:
    options = {"systems": ("a", "b"), "stats": ("win_rate",), **more}
    table = gate_table(project.db, project.id, GateOptions(rater, against=against, **options))  # type: ignore[arg-type]
    (row,) = table.rows
    return row, table


def test_a_night_against_the_night_before(project: Project) -> None:
    first = night(project, MONDAY, of_users([1.0] * 20))
    second = night(project, TUESDAY, of_users([1.0, -1.0] * 10))
    row, table = change(project)
    assert (row["value"], row["earlier"], row["change"], row["state"]) == (0.5, 1.0, -0.5, "not met")
    assert (row["paired"], row["paired_users"], row["left_out"]) == (OTHER_TIMES, 20, 0)
    assert f"paired {OTHER_TIMES}: 20 users paired, 20 cases with 20 before; left out: none" in table.notes
    assert any(note.startswith(f"nightly (run {second}) was answered by") for note in table.notes)
    named, _ = change(project, f"run:{second}", f"run:{first}")
    assert named == row
    back, _ = change(project, f"run:{first}", f"run:{second}")
    assert (back["change"], back["state"]) == (0.5, "met")
    night(project, "2026-05-06T08:00:00Z", of_users([-1.0, 1.0] * 10))
    third, _ = change(project)
    assert (third["value"], third["earlier"], third["change"], third["state"]) == (0.5, 0.5, 0.0, "met")


def test_users_of_one_night_alone_are_left_out_and_counted(project: Project) -> None:
    night(project, MONDAY, of_users([1.0] * 10))
    night(project, TUESDAY, of_users([-1.0] * 2 + [1.0] * 10, first=4))
    row, table = change(project)
    # u04 to u09 had lists in both nights; of these the first two lost
    assert (row["value"], row["earlier"], row["n"]) == (pytest.approx(4 / 6), 1.0, 6)
    assert (row["paired_users"], row["left_out"]) == (6, 10)
    later = "6 cases of the later run (6 users that only it judged)"
    left_out = f"{later} and 4 cases of the earlier run (4 users that only it judged)"
    assert any(note.endswith(f"left out: {left_out}") for note in table.notes)


def test_lists_of_one_user_are_averaged_within_a_context(project: Project) -> None:
    night(project, MONDAY, {(f"u{at}", "home"): 1.0 for at in range(6)})
    home = {(f"u{at}", "home"): -1.0 if at < 3 else 1.0 for at in range(6)}
    night(project, TUESDAY, home | {(f"u{at}", "cart"): -1.0 for at in range(6)}, "other")
    night(project, "2026-05-05T20:00:00Z", {("u0", "home"): 1.0}, "other")
    row, _ = change(project, "other")
    # u0 lost once and won once at home; carts have no counterpart
    assert (row["value"], row["earlier"], row["n"]) == (pytest.approx((0.5 + 0 + 0 + 3) / 6), 1.0, 6)
    assert row["left_out"] == 6


def test_cases_judged_by_both_are_paired_and_a_few_of_them_do_not_stand_for_all(project: Project) -> None:
    night(project, MONDAY, of_users([1.0] * 12))
    same = night(project, MONDAY, of_users([-1.0] * 12))
    row, _ = change(project)
    assert (row["paired"], row["change"], row["paired_users"]) == (
        "by case: both judged the same lists",
        -1.0,
        12,
    )
    # a case of the night before is judged again together with the new ones
    retried = dict(of_users([1.0] * 12))
    third = night(project, TUESDAY, retried, "third")
    night(project, MONDAY, of_users([1.0]), "third")
    row, _ = change(project, "third", f"run:{same}")
    assert (row["paired"], row["paired_users"]) == (OTHER_TIMES, 12)
    row, _ = change(project, f"run:{third}", f"run:{same}")
    assert (row["value"], row["earlier"]) == (1.0, 0.0)


def test_the_agreement_with_people_is_that_of_each_night(project: Project) -> None:
    rng = np.random.default_rng(3)
    for served_at, right in ((MONDAY, 1.0), (TUESDAY, 0.2)):
        truth = [float(value) for value in rng.choice([-1.0, 1.0], 60)]
        said = [value if rng.random() < right else -value for value in truth]
        run = night(project, served_at, of_users(said))
        rows = project.db.rows("SELECT case_id FROM run_cases WHERE run_id = ? ORDER BY case_id", (run,))
        labels = dict(zip((case for (case,) in rows), truth, strict=True))
        give(project, "people", labels, protocol_name="pairwise")
    row, _ = change(project, truth="people", stats=("percent",))
    share = np.mean(np.array(said) == np.array(truth))
    assert (row["value"], row["earlier"], row["state"]) == (pytest.approx(share), 1.0, "not met")


def test_neither_the_order_of_rows_nor_names_matter(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    users, contexts = 15, ("home", "cart")
    nights = [
        {(f"u{at:02d}", context): float(rng.choice([-1.0, 0.0, 1.0]))
         for at in range(users) for context in contexts if rng.random() < 0.8}
        for _ in range(2)
    ]  # fmt: skip
    names = {f"u{at:02d}": f"user {number}" for at, number in enumerate(rng.permutation(users))}

    def figures(folder: str, rename: Callable[[tuple[str, str]], tuple[str, str]], shuffle: bool) -> Row:
        (tmp_path / folder).mkdir()
        project = new_project(tmp_path / folder / "recjudge.db")
        for served_at, wins in zip((MONDAY, TUESDAY), nights, strict=True):
            rows = [(rename(key), value) for key, value in wins.items()]
            if shuffle:
                rng.shuffle(rows)  # type: ignore[arg-type]
            night(project, served_at, dict(rows))
        row, _ = change(project)
        return {key: round(cell, 9) if isinstance(cell, float) else cell for key, cell in row.items()}

    plain = figures("plain", lambda key: key, False)
    assert plain["left_out"]
    for folder, rename in (
        ("shuffled", lambda key: key),
        ("renamed", lambda key: (names[key[0]], {"home": "z", "cart": "y"}[key[1]])),
    ):
        assert figures(folder, rename, True) == plain


def test_sides_that_are_not_two_nights(project: Project) -> None:
    run = night(project, MONDAY, of_users([1.0] * 6))
    for rater, against, error, words in (
        ("nightly", "nightly", UsageError, "has no earlier run"),
        (f"run:{run}", f"run:{run}", UsageError, "with itself"),
        ("nightly", f"run:{run}", UsageError, "one of its own"),
        (f"run:{run}", "nightly", UsageError, "Name two runs|one of its own"),
        ("nightly", "run:x", UsageError, "not a run"),
    ):
        with pytest.raises(error, match=words):
            change(project, rater, against)
    give(project, "people", {list_case(project, "u00"): 1.0})
    with pytest.raises(UsageError, match="own truth"):
        change(project, f"run:{run}", "people", truth="nightly")
