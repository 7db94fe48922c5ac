"""The same mistake gets the same error, whichever command it is made in."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.store.schema import connect
from tests.support.commands import ran
from tests.support.visits import make_visits

Capture = pytest.CaptureFixture[str]

NO_SYSTEM = "error: no system “nobody” in this project\n  Available: a, b.\n"
NO_CONTEXT = "error: no context “nowhere” in this project\n  There are “” (none), “cart”, “home”.\n"
NO_RATER = "error: no rater “nobody” in this project\n  Available: anna, ben.\n"
OF_ALL = (
    "leaderboard --protocol pairwise",
    "agreement",
    "metrics",
    "flags",
    "run pairwise --judge rules --dry-run",
)
OF_SYSTEMS = (
    "trend",
    "export lists -o -",
    "plan",
    "gate --rater anna --at-least win_rate=0.5",
    "report -o report.html",
)
OF_RATERS = (
    "leaderboard --protocol pairwise --rater nobody",
    "agreement --truth nobody",
    "flags --raters nobody",
    "passport nobody",
    "verdicts list --filter judge:nobody",
    "verdicts list --filter judge=nobody",
    "export verdicts -o - --filter disagree:nobody",
)


@pytest.fixture
def visits(project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with connect(project_db) as db:
        make_visits(db)
    return project_db


@pytest.mark.parametrize(
    ("command", "says"),
    [
        *((f"{command} --systems a,nobody", NO_SYSTEM) for command in (*OF_ALL, *OF_SYSTEMS)),
        *(
            (f"{command} --context nowhere", NO_CONTEXT)
            for command in (*OF_ALL, "trend", "export verdicts -o -")
        ),
        *((command, NO_RATER) for command in OF_RATERS),
        *(
            (f"verdicts list --filter {term}", says)
            for term, says in (
                ("system:nobody", NO_SYSTEM),
                ("system=nobody", NO_SYSTEM),
                ("won:nobody", NO_SYSTEM),
                ("context:nowhere", NO_CONTEXT),
            )
        ),
    ],
)
def test_an_unknown_name_is_reported_with_the_existing_ones(
    visits: Path, capsys: Capture, command: str, says: str
) -> None:
    code, _, err = ran(capsys, *command.split(), "-p", "films", "--db", str(visits))
    assert (code, err[: len(says)]) == (1, says)


def test_a_part_of_a_name_and_a_name_that_matches_nothing_else_are_no_mistake(
    visits: Path, capsys: Capture
) -> None:
    for term in ("judge:NN", "disagree:human", "won:b context:home", "system:A"):
        code, out, err = ran(capsys, "verdicts", "list", "--filter", term, "-p", "films", "--db", str(visits))
        assert (code, " match “" in out) == (0, True), err
