"""Runs with a budget against a server that bills, under kills, lies, faults, resumes and retries: billed by budget.

python benchmarks/billing.py prints each scenario as it ends.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recjudge_tui.runs.control import limits
from recjudge_tui.store.opening import connect
from tests.support.billing import PRICES, SCENARIOS, Outcome, Scenario, play
from tests.support.runs import make_project

ROUNDS = 8
USERS = 12


def measure() -> list[dict[str, Any]]:
    limits.FIRST_WAIT_S = 0.005
    return [_row(scenario) for scenario in SCENARIOS]


def _row(scenario: Scenario) -> dict[str, Any]:
    outcomes = [_played(scenario, seed) for seed in range(ROUNDS)]
    worst = max(outcome.billed / outcome.budget for outcome in outcomes)
    counted = all(outcome.billed <= outcome.counted * (1 + 1e-9) for outcome in outcomes)
    return {
        "name": f"budget: {scenario.name}",
        "ours": worst,
        "comparison": None,
        "ratio": None,
        "bound": "1.0",
        "holds": worst <= 1.0 and counted,
        "note": f"billed by budget, the worst of {ROUNDS} runs; {scenario.kills} kills in each",
    }


def _played(scenario: Scenario, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "prices.toml").write_text(PRICES, encoding="utf-8")
        os.environ["RECJUDGE_CONFIG"] = folder
        with connect(Path(folder) / "runs.db") as db:
            make_project(db, users=USERS)
            return play(db, scenario, 2 * USERS, seed)


def main() -> None:
    limits.FIRST_WAIT_S = 0.005
    for scenario in SCENARIOS:
        row = _row(scenario)
        print(
            f"{'holds' if row['holds'] else 'BROKEN'} {row['ours']:.3f} {row['name']}; {row['note']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
