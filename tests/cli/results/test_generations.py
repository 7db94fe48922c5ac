"""No figure mixes the lists of one import with those of a later one."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.commands import ran
from tests.support.runs import load

USERS = tuple(f"u{n:02d}" for n in range(12))
SYSTEMS = ("als", "knn", "pop")
LABELS = {"pairwise": ("A", "Tie", "B"), "pointwise": ("Good Match", "Partial Match", "Poor Match")}
_ITEMS = 40
_LENGTH = 4


def make_films(db: Database) -> None:
    """Items, what users rated, and what they rated later; no lists yet."""
    items = [(f"i{n}", f"Film number {n}", f"genre {n % 5}") for n in range(_ITEMS)]
    load(db, "items", [("item_id", "title", "category"), *items])
    events: list[tuple[object, ...]] = [("user_id", "item_id", "type", "timestamp", "value")]
    for n, user in enumerate(USERS):
        events += [(user, f"i{(n * 3 + day) % _ITEMS}", "rating", f"2024-05-0{day}T12:00:00Z", 2 + (n + day) % 4)
                   for day in range(1, 6)]  # fmt: skip
        events += [(user, f"i{(n * 5 + later) % _ITEMS}", "heldout_rating", "2024-06-01T12:00:00Z", 5)
                   for later in range(8)]  # fmt: skip
    load(db, "events", events)


def import_lists(db: Database, generation: int, users: Sequence[str] = USERS) -> None:
    """A list by every system for each user. Of `pop` every third list is the same in all generations."""
    rows: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank", "score")]
    for n, user in enumerate(USERS):
        for at, system in enumerate(SYSTEMS):
            start = n * (5 - at) + at * 2 + (0 if _stays(n, system) else generation * (7 + 2 * at))
            rows += [(user, system, f"i{(start + rank * (1 + at)) % _ITEMS}", rank + 1, _LENGTH - rank)
                     for rank in range(_LENGTH) if user in users]  # fmt: skip
    load(db, "lists", rows)


def import_labels(db: Database, generation: int, rater: str = "people", users: Sequence[str] = USERS) -> None:
    """Labels of every list and every pair of lists that stands now, by one person; they differ where the lists do."""
    rows: list[tuple[object, ...]] = [
        ("rater", "user_id", "system", "system_a", "system_b", "aspect", "value", "protocol")
    ]
    for n, user in enumerate(users):
        for at, system in enumerate(SYSTEMS):
            # a person who labels the same list again says the same
            moved = 0 if _stays(n, system) else generation
            value = LABELS["pointwise"][(n + at * 2 + moved) % 3]
            rows.append((rater, user, system, "", "", "overall", value, "pointwise"))
            value = LABELS["pairwise"][(n * 2 + at + generation) % 3]
            pair = sorted((system, SYSTEMS[(at + 1) % 3]))
            rows.append((rater, user, "", *pair, "overall", value, "pairwise"))
    load(db, "labels", rows)


def _stays(user: int, system: str) -> bool:
    return system == "pop" and user % 3 == 0


def judge_all(run: Run, judge: str, name: str) -> None:
    """Judge every list alone and in pairs: as SAER does under this name, as RecSys Arena does under one beside it."""
    for protocol in ("pointwise", "pairwise", "absolute", "arena"):
        name = f"{name} wide" if protocol == "absolute" else name
        code, _, err = run(f"run {protocol} -p films --judge {judge} --name '{name}' --top 4")
        assert code == 0, err


Run = Callable[[str], tuple[int, str, str]]
OUTCOME = "outcome add -p films --systems als,pop --impressions 900,900 --clicks 90,60"
METRICS = "rater metric -p films ndcg@4 recall@4 ild@4 popularity@4"
# every command whose figures rest on verdicts, and on what else there is about the same lists
COMMANDS = (
    "leaderboard --protocol pairwise",
    "leaderboard --protocol pairwise --method winrate",
    "leaderboard --protocol pairwise --method bt",
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
    "estimate --rater rules --truth people --protocol pairwise",
    "estimate --rater rules --truth people --protocol pointwise",
    "flags",
    "flags --of items",
    "flags --by rank",
    "biases --truth people",
    "robustness position",
    "robustness position --rater rules",
    "robustness adversarial --by-system",
    "robustness adversarial --rater rules",
    "robustness ablation --raters rules,random",
    "gate --rater rules --truth people --at-least qwk=-1 --at-most failure_rate=1",
    "gate --rater rules --against random --truth people --systems als,pop",
    "cost --truth people",
    "outcome show --judges",
    "plan",
    "passport rules",
)
# cells that say when and at what cost, and ids
_NOT_FIGURES = {"seconds", "case_id", "verdict_a", "verdict_b"}
# these count runs, not cases
_OF_RUNS = ("cost", "passport", "plan")


@pytest.fixture
def run(db: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("RECJUDGE_DB", str(db.path))
    return lambda words: ran(capsys, *shlex.split(words))


@pytest.fixture(scope="module")
def kept() -> Iterator[sqlite3.Connection]:
    """A database in memory for what `judged` made first; empty until then."""
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


@pytest.fixture
def judged(db: Database, run: Run, kept: sqlite3.Connection) -> Database:
    """Everybody judged the lists of one import. Made once, which takes a second; each test has a copy of its own."""
    if kept.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        kept.backup(db.connection)
        return db
    make_films(db)
    judge_generation(db, run, 1)
    assert run(OUTCOME)[0] == 0
    db.connection.backup(kept)
    return db


def judge_generation(db: Database, run: Run, generation: int, **names: str) -> None:
    import_lists(db, generation)
    import_labels(db, generation)
    for judge in ("rules", "random"):
        judge_all(run, judge, names.get(judge, judge))
        words = f"robustness adversarial -p films --judge {judge} --name '{names.get(judge, judge)}'"
        assert run(f"{words} --sample {len(USERS)} --top 4")[0] == 0
    assert run(METRICS)[0] == 0


def table_of(run: Run, command: str) -> dict[str, Any]:
    code, out, err = run(f"{command} -p films --format json")
    assert out, (command, code, err)
    found: dict[str, Any] = json.loads(out)
    return found


def figures(run: Run, db: Database) -> dict[str, list[dict[str, Any]]]:
    rows = {command: table_of(run, command)["rows"] for command in COMMANDS}
    rows["v_leaderboard"] = [dict(row) for row in db.rows("SELECT * FROM v_leaderboard")]
    return {
        command: [
            {key: _rounded(cell) for key, cell in row.items() if key not in _NOT_FIGURES} for row in each
        ]
        for command, each in rows.items()
    }


def _rounded(cell: object) -> object:
    return round(cell, 9) if isinstance(cell, float) else cell


def test_figures_stay_as_they_are_when_other_lists_are_imported(judged: Database, run: Run) -> None:
    before = figures(run, judged)
    assert all(before.values()), [command for command, rows in before.items() if not rows]
    import_lists(judged, 2)
    for command, rows in figures(run, judged).items():
        assert rows == before[command], command
    assert run(METRICS)[0] == 0
    for command, rows in figures(run, judged).items():
        assert _without_metrics(rows) == _without_metrics(before[command]), command


def _without_metrics(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that are not about metrics alone: these have measured the new lists by now."""
    return [row for row in rows if not all("@" in name for name in _raters(row)) or not _raters(row)]


def _raters(row: dict[str, Any]) -> list[str]:
    return [row[key] for key in ("rater", "rater_a", "rater_b") if isinstance(row.get(key), str)]


def test_figures_of_new_lists_are_those_of_a_project_whose_old_ones_nobody_judged(
    judged: Database, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_generation(judged, run, 2)
    notes = {note for command in COMMANDS[:15] for note in table_of(run, command)["notes"]}
    assert {
        "people: 36 cases of earlier lists left out",
        "rules: 36 cases of earlier lists left out",
    } <= notes
    both = figures(run, judged)
    keys = ("system", "opponent", "wins", "ties", "losses", "position_ties", "failed", "n")
    board = table_of(run, "leaderboard --protocol pairwise --rater random")["rows"]
    view = [row for row in both["v_leaderboard"] if (row["rater"], row["protocol"]) == ("random", "pairwise")]
    assert len(view) == 6
    assert {tuple(row[key] for key in keys) for row in board if row["opponent"]} == {
        tuple(row[key] for key in keys) for row in view
    }
    with connect(tmp_path / "fresh.db") as fresh:
        monkeypatch.setenv("RECJUDGE_DB", str(fresh.path))
        make_films(fresh)
        import_lists(fresh, 1)
        judge_generation(fresh, run, 2)
        assert run(OUTCOME)[0] == 0
        for command, rows in figures(run, fresh).items():
            if not command.startswith(_OF_RUNS):
                assert rows == both[command], command
