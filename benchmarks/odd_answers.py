"""Odd answers of three kinds of servers: no run may end early, and every call is done or failed with a known kind of
error.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.judges import replies
from recjudge_tui.runs import calls as limits
from recjudge_tui.runs import calls as retries
from recjudge_tui.store.schema import connect
from tests.support.odd_answers import JUDGES, judge_oddly
from tests.support.runs import intact, make_project

ANSWERS, QUICK_ANSWERS = 60_000, 100


def measure(quick: bool = False) -> list[Row]:
    wanted = QUICK_ANSWERS if quick else ANSWERS
    # no waiting between attempts, and no stop after many failures in a row
    limits.FIRST_WAIT_S, replies.LONGEST_DELAY_S, retries.FAILURES_IN_A_ROW = 0.001, 0.002, 10**9
    retries.PATIENCE_S = {"rate_limit": 0.0}
    ends: Counter[str] = Counter()
    ended_early: list[str] = []
    answers = seed = 0
    with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "odd.db") as db:
        make_project(db, users=5 if quick else 150)
        while answers < wanted:
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


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
