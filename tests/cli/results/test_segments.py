"""Reports on some occasions, and group by group: leaderboard, agreement and metrics."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.project import Project
from recjudge_tui.reports.common.segments import segmented
from recjudge_tui.reports.common.table import Table
from recjudge_tui.store.schema import connect
from tests.support.commands import ran
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
