"""Runs that stop when decided: their anytime-valid interval, and the calls and cost saved."""

from __future__ import annotations

from itertools import groupby, takewhile

from recjudge_tui.domain.run import Estimate, Progress, RunSettings
from recjudge_tui.domain.text import money
from recjudge_tui.protocols.early_stopping import (
    StoppingStatus,
    deciding_aspect,
    pair_text,
    status_text,
    stopping_criterion,
    stopping_status,
    user_outcomes,
)
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.reports.common.table import Note
from recjudge_tui.shapes import Base
from recjudge_tui.stats.planning import initial_state, update_state
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.runs import case_statuses, run_progress, run_row, stored_runs

MOST_PAIRS = 10


def run_stopping_status(db: Database, run: StoredRow) -> StoppingStatus | None:
    """The current status of a run that stops when decided; None for any other run, and for one without comparisons.
    `run` is a row of `runs`. Evaluated as during the run: user by user in the order of the plan, up to the user who
    decides or the first one with an outstanding call."""
    settings = RunSettings.model_validate_json(run["settings"])
    if settings.until != "decided":
        return None
    prompt, chosen = prompt_by_id(db, run["prompt_id"]), protocol_named(run["protocol"])
    cases = case_statuses(db, run["id"], deciding_aspect(prompt))
    what = stopping_criterion(chosen, prompt, settings, ((case.system_a, case.system_b) for case in cases))
    if what is None:
        return None
    users = [list(mine) for _, mine in groupby(cases, key=lambda case: case.user_id)]
    ended = takewhile(lambda mine: not any(case.open for case in mine), users)
    values = [{(case.system_a, case.system_b): case.value for case in mine} for mine in ended]
    return stopping_status(
        what, update_state(what.rule, initial_state(what.rule), user_outcomes(what, values)), len(users)
    )


def decided_notes(chosen: Base) -> list[Note]:
    """One line for each run behind a base that was to stop when decided: where it stopped, and the interval that is valid
    although the run was checked after every user."""
    db, notes = chosen.project.db, []
    ranked = {(question.rater, question.protocol) for question in chosen.ratings.single_questions}
    for run in stored_runs(db, project_id=chosen.project.id):
        if (run["rater"], run["protocol"]) in ranked and (status := run_stopping_status(db, run)) is not None:
            text = (
                f"{run['rater']}: run {run['id']} was checked after every user, to stop when decided; the valid"
                f" result ({_holds(status)}): {_shortened(status)}. The table's own intervals are too narrow for that"
            )
            notes.append(Note(text, "warning"))
    return notes


def stop_lines(db: Database, run_id: int) -> list[str]:
    """The status of a run that stops when decided, and what it saved; empty for any other run."""
    run = run_row(db, run_id)
    status = run_stopping_status(db, run)
    if status is None:
        return []
    saved = saved_line(run_progress(db, run_id), Estimate.model_validate_json(run["estimate"]))
    holds = f"{_holds(status)}, by the betting confidence sequence of Waudby-Smith and Ramdas (2024)"
    return [_shortened(status), holds, *([saved] if status.decided and saved else [])]


def _holds(status: StoppingStatus) -> str:
    if len(status.compared) == 1:
        return f"anytime-valid {status.level:.0%} interval"
    return f"anytime-valid intervals, {status.level:.0%} for all {len(status.compared)} pairs together"


def saved_line(progress: Progress, estimate: Estimate) -> str:
    """How many planned calls were not made, and their share of the estimated cost; empty if all were made."""
    left = progress.outstanding
    if not left:
        return ""
    line = f"saved {left:,} of {progress.calls:,} calls ({left / progress.calls:.0%})"
    low, high = estimate.cost_usd_low, estimate.cost_usd_high
    if low is None or high is None:
        return f"{line}; their price is unknown"
    if not high:
        return line
    share = left / progress.calls
    return f"{line}, by the estimate {money(low * share)} to {money(high * share)}"


def _shortened(status: StoppingStatus) -> str:
    """The status as a sentence; with many pairs, only those closest to even."""
    if len(status.compared) <= MOST_PAIRS:
        return status_text(status)
    start = status_text(status).partition(": ")[0]
    nearest = sorted(status.compared, key=lambda pair: max(pair.low - pair.even, pair.even - pair.high))[
        :MOST_PAIRS
    ]
    rest = len(status.compared) - MOST_PAIRS
    return (
        f"{start}: {'; '.join(pair_text(status, pair) for pair in nearest)}; {rest} more pairs, further apart"
    )
