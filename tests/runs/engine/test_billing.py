"""A budget is a promise: what the server bills is never above it, whatever it says, loses or fails, and who is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.store.database import Database
from tests.support.billing import PRICES, SCENARIOS, Scenario, play
from tests.support.runs import intact, make_project

USERS = 12


@pytest.fixture(autouse=True)
def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recjudge_tui.runs.calls.FIRST_WAIT_S", 0.005)
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "prices.toml").write_text(PRICES, encoding="utf-8")
    monkeypatch.setenv("RECJUDGE_CONFIG", str(folder))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_server_never_bills_more_than_the_budget(db: Database, scenario: Scenario) -> None:
    make_project(db, users=USERS)
    outcome = play(db, scenario, 2 * USERS, seed=18)
    assert outcome.billed <= outcome.budget
    assert outcome.billed <= outcome.counted * (1 + 1e-9), "what is billed is counted"
    # a kill may come before the server answers: then nothing is billed, and the calls under way count
    assert outcome.counted > 0
    assert intact(db)
    if scenario.name == "true usage":
        assert outcome.counted > outcome.budget * 0.75, "the budget is used"
