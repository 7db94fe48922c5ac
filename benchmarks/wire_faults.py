"""Network faults, each applied to the call of one user, directly and through a proxy: the results of the calls."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, run_command
from recjudge_tui.judges import replies
from recjudge_tui.runs import calls as limits
from recjudge_tui.runs import calls as retries
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project
from tests.support.wire_faults import FAULTS, QUICK, SLOW, WireRun, judge_over_faults

ROUNDS = 10
SLOW_TIMEOUT_S, TIMEOUT_S = 0.5, 10.0


def measure(quick: bool = False) -> Iterator[Row]:
    # no waiting between attempts, and no stop after many failures in a row
    limits.FIRST_WAIT_S, replies.LONGEST_DELAY_S, retries.FAILURES_IN_A_ROW = 0.001, 0.002, 10**9
    retries.PATIENCE_S = {"rate_limit": 0.0}
    retries.MAX_ATTEMPTS = 2
    yield from (_row(proxied, 1 if quick else ROUNDS) for proxied in (False, True))


def _row(proxied: bool, rounds: int) -> Row:
    started = time.perf_counter()
    runs = [run for _ in range(rounds) for run in _runs(proxied)]
    seconds = time.perf_counter() - started
    wrong = [outcome for run in runs for outcome in run.outcomes if not outcome.holds]
    leaks = sum(len(run.leaks) for run in runs)
    calls = sum(len(run.outcomes) for run in runs)
    return {
        "name": f"{len(FAULTS)} faults of the wire {'through a proxy' if proxied else 'directly'}, wrong ends",
        "ours": len(wrong) + leaks,
        "comparison": None,
        "ratio": None,
        "bound": "none",
        "holds": not wrong and not leaks and calls == rounds * len(FAULTS),
        "note": f"{calls:,} calls, {sum(run.requests for run in runs):,} requests, {seconds:.0f} s; "
        + (", ".join(sorted({f"{outcome.fault.name}: {outcome.kind}" for outcome in wrong})) or "no label, no leak"),
    }  # fmt: skip


def _runs(proxied: bool) -> Iterator[WireRun]:
    for faults, timeout_s in ((SLOW, SLOW_TIMEOUT_S), (QUICK, TIMEOUT_S)):
        with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "wire.db") as db:
            make_project(db, users=len(faults))
            yield judge_over_faults(db, faults, timeout_s=timeout_s, proxied=proxied)


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
