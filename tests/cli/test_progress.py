"""What is said while a command works: how far it is, for how long, and what is left."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from click.testing import CliRunner

from recjudge_tui.cli import output as progress
from recjudge_tui.cli.app import recjudge
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.runs import make_project, planned
from tests.support.waiting import wait_until


class Screen(io.StringIO):
    """A terminal in name only."""

    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(progress, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(progress, "TICK_S", 0.001)
    monkeypatch.setattr(progress, "FIRST_S", 2.0)
    return Clock(monkeypatch)


def test_a_terminal_counts_the_seconds_of_work_without_a_count(clock: Clock) -> None:
    with redirect_stderr(Screen()) as screen, progress.working("leaderboard"):
        clock.now = 5.0
        wait_until(lambda: "leaderboard, 5 s elapsed" in screen.getvalue(), "the seconds are counted")
    assert screen.getvalue().endswith("\r\x1b[K"), "and taken away at the end"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("plan", "-p", "films"), "plan"),
        (("reproduce", "arena"), "reproducing arena"),
        (("outcome", "show", "-p", "films"), "outcome show"),
        (("export", "verdicts", "-p", "films", "-o", "verdicts.csv"), "export verdicts"),
        (("export", "-p", "films", "--figure", "label-shares", "-o", "shares.svg"), "figure label-shares"),
    ],
)
def test_commands_that_may_take_long_report_progress(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], what: str
) -> None:
    make_project(db, users=2)
    work(db.path, planned(db))
    monkeypatch.chdir(tmp_path)
    said = []

    class Noted(progress._Line):
        def __init__(self, what: str) -> None:
            said.append(what)
            super().__init__(what)

    monkeypatch.setattr(progress, "_Line", Noted)
    database = () if words[0] == "reproduce" else ("--db", db.path)
    told = CliRunner().invoke(recjudge, [*words, *map(str, database)], catch_exceptions=False)
    assert told.exit_code == 0, told.stderr
    assert said == [what]


def test_without_a_terminal_the_first_line_comes_before_anything_is_counted(
    clock: Clock,
) -> None:
    """A file of lists is read to its end before the first of them is stored."""
    with redirect_stderr(io.StringIO()) as said, progress.reading("lists") as tell:
        clock.now = 2.0
        wait_until(lambda: said.getvalue() != "", "the first line")
        clock.now = 60.0
        tell(1000, 0.5)
        clock.now = 62.0
        wait_until(lambda: said.getvalue().count("\n") > 1, "the second line")
    assert said.getvalue().splitlines() == [
        "reading lists, 2 s elapsed",
        "reading lists: 1,000 rows, 50%, 62 s elapsed, about 62 s remaining",
    ]


def test_an_inner_progress_line_replaces_the_outer_one(clock: Clock) -> None:
    with redirect_stderr(Screen()) as screen, progress.working("agreement"):
        with progress.counting("comparing", "pairs"):
            clock.now = 7.0
            wait_until(lambda: "comparing, 7 s elapsed" in screen.getvalue(), "the inner line is shown")
            assert "agreement" not in screen.getvalue()
        clock.now = 9.0
        wait_until(lambda: "agreement, 9 s elapsed" in screen.getvalue(), "then the outer one again")


def test_work_of_less_than_two_seconds_says_nothing(clock: Clock) -> None:
    before = threading.active_count()
    with redirect_stderr(Screen()) as screen, progress.counting("metrics", "users") as tell:
        clock.now = 1.9
        tell(9, 10)
    assert screen.getvalue() == ""
    assert threading.active_count() == before
