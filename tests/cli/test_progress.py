"""What is said while a command works: how far it is, for how long, and what is left."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stderr
from typing import Any

import pytest

from recjudge_tui.cli import output as progress
from recjudge_tui.domain.run import Progress
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


def test_without_a_terminal_the_first_line_comes_before_anything_is_counted(clock: Clock) -> None:
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


def test_work_of_less_than_two_seconds_says_nothing(clock: Clock) -> None:
    before = threading.active_count()
    with redirect_stderr(Screen()) as screen, progress.counting("metrics", "users") as tell:
        clock.now = 1.9
        tell(9, 10)
    assert screen.getvalue() == ""
    assert threading.active_count() == before


@pytest.mark.parametrize(("pause", "kept"), [
    ({"left_s": 80.0}, "about 80 s left, 8 in flight, 26 attempts, 5 s"),
    ({"waiting_s": 30.0}, "waiting 30 s as the server asked, 5 s"),
    ({"unreachable": f"No connection to {'a' * 60}", "retry_s": 20.0}, "server unreachable, retry in 20 s, "),
])  # fmt: skip
def test_a_narrow_line_loses_the_least(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, pause: Any, kept: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    counts = {"in_flight": 8, "attempts": 26, "tokens_in": 34_465, "tokens_out": 282}
    now = Progress(calls=60, done=14, failed=0, cached=0, cost_usd=0.0, **counts, **pause)
    with redirect_stderr(Screen()) as screen, progress.following_run(now):
        clock.now = 5.0
        wait_until(lambda: f"14/60 calls, 0 failed, {kept}" in screen.getvalue(), "the line")
    assert all(len(line) < 80 for line in screen.getvalue().split("\r\x1b[K"))
