"""How many calls a run makes at once. It can be changed during the run, and also applies when the run is resumed."""

from __future__ import annotations

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import MOST_AT_ONCE
from recjudge_tui.errors import UsageError
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_row, set_wanted_concurrency


def requested_concurrency(db: Database, run_id: int) -> int:
    """The run's number of concurrent calls: as last requested, else as planned, else as it last was, else the judge's
    default.

    Raises NotFoundError.
    """
    row = run_row(db, run_id)
    requested: int | None = row["wanted_concurrency"]
    if requested is not None:
        return requested
    settings = RunSettings.model_validate_json(row["settings"])
    if (known := settings.concurrency or row["concurrency"]) is not None:
        return int(known)
    return make_judge(JudgeSpec.model_validate_json(row["judge"])).concurrency


def change_concurrency(db: Database, run_id: int, calls: int) -> None:
    """Request this number of concurrent calls. A process that works on the run follows within half a second.

    No call is dropped or repeated. Raises NotFoundError, and UsageError for a number out of range.
    """
    run_row(db, run_id)
    if not 1 <= calls <= MOST_AT_ONCE:
        raise UsageError(
            f"a run cannot make {calls} calls at once", f"The number can be from 1 to {MOST_AT_ONCE:,}."
        )
    set_wanted_concurrency(db, run_id, calls)


def step_concurrency(db: Database, run_id: int, up: bool) -> int:
    """Change the calls at once by one step and return the new number: 1 to 8, then 10, 12, 14, 16, 20, 24, ..."""
    with db.transaction():  # two key presses at the same moment both count
        now = requested_concurrency(db, run_id)
        then = min(max(higher(now) if up else lower(now), 1), MOST_AT_ONCE)
        if then != now:
            change_concurrency(db, run_id, then)
    return then


def higher(calls: int) -> int:
    """The next step up. A step is a quarter of the power of two below, at least 1."""
    step = _step(calls)
    return (calls // step + 1) * step


def lower(calls: int) -> int:
    """The next step down."""
    step = _step(calls - 1)
    return (calls - 1) // step * step


def _step(calls: int) -> int:
    return max(1, (1 << max(calls, 1).bit_length() - 1) // 4)
