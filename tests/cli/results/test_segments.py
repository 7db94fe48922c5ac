"""Reports on some occasions, and group by group: leaderboard, agreement and metrics."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.project import Project
from recjudge_tui.reports.common.segments import segmented
from recjudge_tui.reports.common.table import Table
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.commands import ran
from tests.support.runs import load
from tests.support.visits import VISITS, make_visits

Capture = pytest.CaptureFixture[str]
Rows = list[dict[str, Any]]
PAIRS = ("leaderboard", "--protocol", "pairwise")
# a command, what tells its rows apart, and the counts that add up over groups
REPORTS = {
    "ranking": (PAIRS, ("system", "rater"), ("wins", "ties", "losses", "failed", "n")),
    "matrix": (
        (*PAIRS, "--table", "matrix"),
        ("system", "opponent", "rater"),
        ("wins", "ties", "losses", "n"),
    ),
    "side-by-side": ((*PAIRS, "--table", "side-by-side"), ("system", "rater"), ("n_q", "n_auc")),
    "shares": (("leaderboard", "--protocol", "pointwise"), ("system", "rater", "label"), ("count", "n")),
    "agreement": (("agreement",), ("rater_a", "rater_b", "protocol", "stat"), ("n",)),
    "confusion": (("agreement", "--confusion"), ("protocol", "label_a", "label_b"), ("count",)),
    "metrics": (("metrics", "--metrics", "ndcg,ild,coverage"), ("system", "metric"), ("n",)),
}
BY = ("plan", "age", "activity", "context", "user:plan")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("visits") / "recjudge.db"
    with connect(path) as db:
        make_visits(db)
    return path


def _table(visits: Path, capsys: Capture, *words: str) -> dict[str, Any]:
    done, out, err = ran(capsys, words[0], "-p", "films", "--db", str(visits), *words[1:], "--format", "json")
    assert done == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def _sums(rows: Rows, keys: tuple[str, ...], counts: tuple[str, ...]) -> dict[tuple[str, ...], Counter[str]]:
    found: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows:
        at = found.setdefault(tuple(str(row[key]) for key in keys), Counter())
        at.update({name: row[name] for name in counts})
    return {key: counter for key, counter in found.items() if any(counter.values())}


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("report", REPORTS)
def test_the_groups_together_are_the_whole(visits: Path, capsys: Capture, report: str, by: str) -> None:
    words, keys, counts = REPORTS[report]
    whole, parts = _table(visits, capsys, *words), _table(visits, capsys, *words, "--by", by)
    assert parts["columns"][0]["name"] == "segment"
    groups = parts["settings"]["segments"]
    assert {row["segment"] for row in parts["rows"]} <= set(groups)
    assert _sums(parts["rows"], keys, counts) == _sums(whole["rows"], keys, counts)
    assert any(note.startswith(f"{len(groups)} groups were compared") for note in parts["notes"])


@pytest.mark.parametrize("report", REPORTS)
def test_contexts_and_days_choose_and_together_they_are_the_whole(
    visits: Path, capsys: Capture, report: str
) -> None:
    words, keys, counts = REPORTS[report]
    whole = _table(visits, capsys, *words)
    rows: Rows = []
    for context in VISITS:
        part = _table(visits, capsys, *words, "--context", context)
        assert part["notes"][0] == f"only in the context “{context}”"
        rows += part["rows"]
    assert _sums(rows, keys, counts) == _sums(whole["rows"], keys, counts)
    everything = [word for context in VISITS for word in ("--context", context)]
    kept = _table(visits, capsys, *words, *everything)
    assert (kept["rows"], kept["notes"][1:]) == (whole["rows"], whole["notes"])
    may = _table(visits, capsys, *words, "--from", "2024-05-01", "--to", "2024-05-31")
    days = _table(visits, capsys, *words, "--context", "home", "--context", "cart")
    assert may["rows"] == days["rows"]
    assert any("without served_at left out, because a time was chosen" in note for note in may["notes"])
    assert may["settings"]["served_to"] == "2024-05-31T23:59:59.999999+00:00"


SYSTEMS_OF = {
    "ranking": PAIRS, "bt": (*PAIRS, "--method", "bt"),
    "matrix": (*PAIRS, "--table", "matrix"), "side-by-side": (*PAIRS, "--table", "side-by-side"),
    "shares": ("leaderboard", "--protocol", "pointwise"), "flags": ("flags",),
    "by context": (*PAIRS, "--by", "context"), "metrics": ("metrics", "--metrics", "ndcg"),
}  # fmt: skip


@pytest.mark.parametrize("report", SYSTEMS_OF)
def test_systems_choose_as_if_the_others_were_not_there(
    project_db: Path, capsys: Capture, report: str
) -> None:
    whole, part = project_db.with_name("whole.db"), project_db.with_name("part.db")
    for path, names in ((whole, "abc"), (part, "ab")):
        with connect(path) as db:
            _three_systems(db, names)
    rows = _table(whole, capsys, *SYSTEMS_OF[report], "--systems", "a,b")["rows"]
    assert rows == _table(part, capsys, *SYSTEMS_OF[report])["rows"]
    assert rows
    assert {row["system"] for row in rows if row["system"]} <= {"a", "b"}


def _three_systems(db: Database, names: str) -> None:
    """Lists of these systems for eight users, judged alone and in pairs by two people."""
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(9))])
    load(
        db,
        "lists",
        [
            ("user_id", "system", "item_id", "rank"),
            *((f"u{n}", s, f"i{(n + at) % 9}", 1) for n in range(8) for at, s in enumerate(names)),
        ],
    )
    load(
        db,
        "events",
        [("user_id", "item_id", "type", "timestamp"),
         *((f"u{n}", f"i{n}", "heldout_purchase", "2024-06-05") for n in range(8))],
    )  # fmt: skip
    rows: list[tuple[object, ...]] = [
        ("rater", "user_id", "system", "system_a", "system_b", "value", "flags")
    ]
    for n in range(8):
        for rater in ("anna", "ben"):
            for at, system in enumerate(names):
                poor = (n + at + (rater == "ben")) % 3 == 0
                flagged = f"i{(n + at) % 9}:owned" if poor else ""
                rows.append((rater, f"u{n}", system, "", "", "Poor Match" if poor else "Good Match", flagged))
            for first, second in combinations(names, 2):
                value = "A" if (n + len(rater) + ord(second)) % 3 else "B"
                rows.append((rater, f"u{n}", "", first, second, value, ""))
    load(db, "labels", rows)


@pytest.mark.parametrize("by", [None, "plan"])
def test_a_report_reads_one_state_of_the_file(tmp_path: Path, by: str | None) -> None:
    """Somebody deletes all verdicts while the report is made: its parts still agree with each other."""
    path = tmp_path / "recjudge.db"
    with connect(path) as db:
        make_visits(db)
        counts: list[int] = []

        def report(_: CaseSelection) -> Table:
            counts.append(db.value("SELECT count(*) FROM verdicts"))
            with connect(path) as other:
                other.execute("DELETE FROM verdicts")
            counts.append(db.value("SELECT count(*) FROM verdicts"))
            return Table("t", (), ())

        segmented(Project.numbered(db, 1), report, by=by)
        assert len(set(counts)) == 1
        assert counts[0] > 0
        assert db.value("SELECT count(*) FROM verdicts") == 0
