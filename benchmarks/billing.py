"""Runs with a budget against a server that bills, with kills, wrong usage, faults, resumes and retries: billed /
budget.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command
from recjudge_tui.runs import calls as limits
from recjudge_tui.store.schema import connect
from tests.support.billing import MORE_SCENARIOS, PRICES, SCENARIOS, Outcome, Scenario, play
from tests.support.runs import make_project

ROUNDS, QUICK_ROUNDS = 8, 1
USERS = 12


def measure(quick: bool = False) -> Iterator[Row]:
    limits.FIRST_WAIT_S = 0.005
    yield from (_row(scenario, QUICK_ROUNDS if quick else ROUNDS) for scenario in SCENARIOS + MORE_SCENARIOS)


def _row(scenario: Scenario, rounds: int) -> Row:
    outcomes = [_outcome(scenario, seed) for seed in range(rounds)]
    worst = max(outcome.billed / outcome.budget for outcome in outcomes)
    counted = all(outcome.billed <= outcome.counted * (1 + 1e-9) for outcome in outcomes)
    return {
        "name": f"budget: {scenario.name}",
        "ours": worst,
        "comparison": None,
        "ratio": None,
        "bound": "1.0",
        "holds": worst <= 1.0 and counted,
        "note": f"billed / budget, the worst of {rounds} runs; {scenario.kills} kills in each",
    }


def _outcome(scenario: Scenario, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "prices.toml").write_text(PRICES, encoding="utf-8")
        os.environ["RECJUDGE_CONFIG"] = folder
        with connect(Path(folder) / "runs.db") as db:
            make_project(db, users=USERS)
            return play(db, scenario, 2 * USERS, seed)


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
