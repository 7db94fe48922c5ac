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
from tests.support.visits import USERS, VISITS, make_visits

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


@pytest.mark.parametrize("what", WHAT)
def test_days_are_whole_and_what_has_no_time_is_counted(visits: Path, capsys: Capture, what: str) -> None:
    may, err = _rows(visits, capsys, what, "--from", "2024-05-01", "--to", "2024-05-31")
    first, _ = _rows(visits, capsys, what, "--to", "2024-05-01")
    last, _ = _rows(visits, capsys, what, "--from", "2024-05-31")
    assert len(may) == len(first) + len(last) > len(last) > 0
    assert first == _rows(visits, capsys, what, "--context", "home")[0]
    lists, cases = len(USERS) * 2, len(USERS) * 3
    counted = f"{lists} lists" if what == "lists" else f"{cases} cases"
    assert f"{counted} without served_at left out, because a time was chosen" in err


def test_a_filter_and_the_options_both_apply(visits: Path, capsys: Capture) -> None:
    anna, _ = _rows(visits, capsys, "verdicts", "--filter", "judge:anna", "--context", "cart")
    cart, _ = _rows(visits, capsys, "cases", "--context", "cart")
    assert {row["rater"] for row in anna} == {"anna"}
    assert {row["case_id"] for row in anna} == {row["case_id"] for row in cart if row["system_a"] == "a"}
    assert len(anna) == len(USERS) * 2
    run, _ = _rows(visits, capsys, "lists", "--systems", "a", "--context", "home")
    assert len(run) == len(USERS) * 3


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("cases", "--context", "desk"), 1, "no context “desk” in this project"),
        (("cases", "--from", "soon"), 2, "“soon” is not a time"),
        (("cases", "--from", "2024-06-01", "--to", "2024-05-01"), 2, "is after --to"),
        (("qrels", "--context", "desk"), 1, "no context “desk” in this project"),
        (
            ("verdicts", "--filter", "context:home", "--context", "cart"),
            2,
            "cannot be combined with “context:”",
        ),
        (
            ("--figure", "confusion", "--filter", "context:home"),
            2,
            "--figure draws a picture and exports no rows",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    visits: Path, capsys: Capture, words: tuple[str, ...], code: int, says: str
) -> None:
    done, out, err = ran(capsys, "export", "-p", "films", "--db", str(visits), *words)
    assert (done, out) == (code, "")
    assert says in " ".join(err.split())


def test_a_run_file_has_the_lists_of_the_context(visits: Path, capsys: Capture) -> None:
    words = ("export", "-p", "films", "--db", str(visits), "lists", "--systems", "a", "--format", "trec")
    done, out, err = ran(capsys, *words, "--context", "home")
    assert done == 0, err
    assert {line.split()[0].split("|")[1] for line in out.splitlines()} == {"home"}
    assert len(out.splitlines()) == len(USERS) * 3
    assert "queries are named user|context|served_at" in err
