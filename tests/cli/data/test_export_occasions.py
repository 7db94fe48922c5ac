"""`recjudge export` of some occasions: contexts, days, and what has no time."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.runs import start
from recjudge_tui.store.schema import connect
from tests.support.commands import ran
from tests.support.runs import planned
from tests.support.visits import VISITS, make_visits

Capture = pytest.CaptureFixture[str]
WHAT = ("verdicts", "calls", "flags", "cases", "labels", "lists")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three visits of every user, judged by the rules too, some of which flag items."""
    path = tmp_path_factory.mktemp("visits") / "recjudge.db"
    with connect(path) as db:
        make_visits(db)
        start.work(db, planned(db, JudgeSpec(spec="rules"), "pointwise", no_history=True))
    return path


def _rows(visits: Path, capsys: Capture, *words: str) -> tuple[list[dict[str, str]], str]:
    done, out, err = ran(capsys, "export", "-p", "films", "--db", str(visits), *words)
    assert done == 0, err
    return list(csv.DictReader(io.StringIO(out))), err


@pytest.mark.parametrize("what", WHAT)
def test_the_contexts_together_are_everything(visits: Path, capsys: Capture, what: str) -> None:
    everything, err = _rows(visits, capsys, what)
    assert "served_at" not in err
    parts = [_rows(visits, capsys, what, "--context", context)[0] for context in VISITS]
    assert all(parts)
    assert sum(map(len, parts)) == len(everything)
    key = lambda row: sorted(row.items())  # noqa: E731
    assert sorted((row for part in parts for row in part), key=key) == sorted(everything, key=key)
    words = [word for context in VISITS for word in ("--context", context)]
    assert _rows(visits, capsys, what, *words)[0] == everything
