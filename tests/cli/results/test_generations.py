"""No figure mixes the lists of one import with those of a later one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect
from tests.support.commands import ran
from tests.support.generations import USERS, import_labels, import_lists, judge_all, make_films

Run = Callable[[str], tuple[int, str, str]]
METRICS = "rater metric -p films ndcg@4 recall@4 ild@4 popularity@4"
# every command whose figures rest on verdicts, and on what else there is about the same lists
COMMANDS = (
    "leaderboard --protocol pairwise",
    "leaderboard --protocol pairwise --method winrate",
    "leaderboard --protocol pairwise --method bt",
    "leaderboard --protocol pairwise --method elo",
    "leaderboard --protocol pairwise --table matrix",
    "leaderboard --protocol pairwise --table metrics",
    "leaderboard --protocol pairwise --table metrics --rater 'random'",
    "leaderboard --protocol arena --table metrics",
    "leaderboard --protocol arena --table side-by-side",
    "leaderboard --protocol pointwise",
    "leaderboard --protocol absolute",
    "agreement",
    "agreement --truth people --by system --level dataset,user",
    "agreement --truth people --raters rules,random --confusion",
    "agreement --truth people --raters rules,random --ensembles",
    "agreement --truth people --raters rules,random,ndcg@4 --protocol pairwise",
    "compare rules random",
    "compare rules random --table transitions",
    "compare rules people --by system",
    "calibration --rater random --truth people --show error",
    "calibration --rater random --truth people --show sets",
    "estimate --rater rules --truth people --protocol pairwise",
    "estimate --rater rules --truth people --protocol pointwise",
    "flags",
    "flags --of items",
    "flags --by rank",
    "diversity",
    "diversity --truth people",
    "robustness position",
    "robustness position --rater rules",
    "gate --rater rules --truth people --at-least qwk=-1 --at-most failure_rate=1",
    "gate --rater rules --against random --truth people --systems als,pop",
    "cost --truth people",
    "outcome show --judges",
    "plan",
    "passport rules",
)


@pytest.fixture
def run(db: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("RECJUDGE_DB", str(db.path))
    return lambda words: ran(capsys, *shlex.split(words))


@pytest.fixture
def judged(db: Database, run: Run) -> Database:
    """Everybody judged the lists of one import."""
    make_films(db)
    judge_generation(db, run, 1)
    assert run("outcome add -p films --systems als,pop --impressions 900,900 --clicks 90,60")[0] == 0
    return db


def judge_generation(db: Database, run: Run, generation: int, **names: str) -> None:
    import_lists(db, generation)
    import_labels(db, generation)
    for judge in ("rules", "random"):
        judge_all(run, judge, names.get(judge, judge))
    assert run(METRICS)[0] == 0


def table_of(run: Run, command: str) -> dict[str, Any]:
    code, out, err = run(f"{command} -p films --format json")
    assert out, (command, code, err)
    found: dict[str, Any] = json.loads(out)
    return found


def figures(run: Run) -> dict[str, list[dict[str, Any]]]:
    return {command: table_of(run, command)["rows"] for command in COMMANDS}


def test_figures_stay_as_they_are_when_other_lists_are_imported(judged: Database, run: Run) -> None:
    before = figures(run)
    assert all(before.values()), [command for command, rows in before.items() if not rows]
    import_lists(judged, 2)
    for command, rows in figures(run).items():
        assert rows == before[command], command
    assert run(METRICS)[0] == 0
    for command, rows in figures(run).items():
        assert _without_metrics(rows) == _without_metrics(before[command]), command


def _without_metrics(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that are not about metrics alone: these have measured the new lists by now."""
    return [row for row in rows if not all("@" in name for name in _raters(row)) or not _raters(row)]


def _raters(row: dict[str, Any]) -> list[str]:
    return [row[key] for key in ("rater", "rater_a", "rater_b") if isinstance(row.get(key), str)]


def test_figures_of_new_lists_are_those_of_a_project_that_never_had_the_old_ones(
    db: Database, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = [
        "leaderboard --protocol pairwise",
        "leaderboard --protocol pairwise --table metrics --rater people",
        "leaderboard --protocol pointwise",
        "agreement",
        "compare people anna",
        "estimate --rater people --truth anna --protocol pairwise",
        "diversity",
        "diversity --truth people",
        "gate --rater people --truth anna --at-least qwk=0",
        "plan",
    ]

    def label(generation: int) -> None:
        import_lists(db, generation)
        import_labels(db, generation)
        import_labels(db, generation + 1, "anna", USERS[:8])
        assert run(METRICS)[0] == 0

    make_films(db)
    label(1)
    label(2)
    both = {command: table_of(run, command) for command in commands}
    notes = [note for table in both.values() for note in table["notes"]]
    assert {"people: 36 cases of earlier lists left out", "people: 32 cases of earlier lists left out"} <= {
        *notes
    }
    with connect(tmp_path / "fresh.db") as db:
        monkeypatch.setenv("RECJUDGE_DB", str(db.path))
        make_films(db)
        label(2)
        for command in commands:
            assert table_of(run, command)["rows"] == both[command]["rows"], command


def test_what_was_judged_of_replaced_lists_says_so(judged: Database, run: Run) -> None:
    import_lists(judged, 2)
    notes = table_of(run, "leaderboard --protocol pointwise --rater rules")["notes"]
    assert "rules: 32 of 36 cases are about lists that were imported again since" in notes
    # the next person labels the new lists only: nobody else has judged them
    import_labels(judged, 2, "anna")
    table = table_of(run, "agreement --raters rules --truth anna --protocol pointwise")
    assert [row["n"] for row in table["rows"]] == [4, 4]
    assert "32 cases of later lists, which not all of them judged, left out" in table["notes"][1]


def test_a_gate_holds_new_lists_against_old_ones_user_by_user(judged: Database, run: Run) -> None:
    judge_generation(judged, run, 2, rules="rules now", random="random now")
    command = (
        "gate --rater 'random now' --against random --truth people --systems als,knn --protocol pairwise"
    )
    table = table_of(run, command)
    changes = {row["figure"]: row for row in table["rows"]}
    assert {row["paired"] for row in changes.values()} == {"by user: the lists differ"}
    assert "paired by user: the lists differ" in table["notes"]
    assert [changes[name]["n"] for name in ("qwk", "win_rate", "failure_rate")] == [36, 12, 36]
    for side, rater in (("value", "random now"), ("earlier", "random")):
        bound = f"gate --rater '{rater}' --truth people --at-least qwk=-1 --protocol pairwise"
        (own,) = table_of(run, bound)["rows"]
        assert changes["qwk"][side] == own["value"], side
    same = table_of(run, "gate --rater rules --against random --systems als,knn --protocol pairwise")
    assert {row["paired"] for row in same["rows"]} == {"by case: both judged the same lists"}


def test_a_rater_of_one_import_cannot_be_held_against_itself(judged: Database, run: Run) -> None:
    code, _, err = run("gate -p films --rater rules --against rules")
    assert code == 2
    assert "it judged no earlier lists" in err
