"""60,000 odd answers of three kinds of servers: no run may end early, and every call is done or failed by a known kind."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.judges.http import failures
from recjudge_tui.runs.control import limits, retries
from recjudge_tui.runs.engine import pipeline
from recjudge_tui.store.opening import connect
from tests.support.odd_answers import JUDGES, judge_oddly
from tests.support.runs import intact, make_project

ANSWERS = 60_000


def measure() -> list[dict[str, Any]]:
    # no waiting between attempts, and no stop after many failures in a row
    limits.FIRST_WAIT_S, failures.LONGEST_DELAY_S, pipeline.FAILURES_IN_A_ROW = 0.001, 0.002, 10**9
    retries.PATIENCE_S = {"rate_limit": 0.0}
    ends: Counter[str] = Counter()
    ended_early: list[str] = []
    answers = seed = 0
    with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "odd.db") as db:
        make_project(db, users=150)
        while answers < ANSWERS:
            seed += 1
            for judge in JUDGES:
                try:
                    run = judge_oddly(db, judge, seed)
                except RecjudgeError as error:
                    ended_early.append(f"{judge}, seed {seed}: {error}")
                    continue
                answers += run.answers
                ends += run.ends
        whole = intact(db)
    kinds = ", ".join(f"{count:,} {kind or 'done'}" for kind, count in ends.most_common())
    return [
        {
            "name": f"{answers:,} odd answers, runs ended by one or calls that failed for no known reason",
            "ours": len(ended_early) + ends["unforeseen"],
            "comparison": None,
            "ratio": None,
            "bound": "none",
            "holds": not ended_early and not ends["unforeseen"] and whole,
            "note": "; ".join([*ended_early[:3], kinds]),
        }
    ]
