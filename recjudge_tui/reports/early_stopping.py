"""Runs that stop when decided: their anytime-valid interval, and the calls and cost saved."""

from __future__ import annotations

from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.domain.text import money
from recjudge_tui.protocols import early_stopping as rule
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.reports.common.table import Note
from recjudge_tui.shapes import Base
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.runs import case_statuses, run_progress, run_row, stored_runs

MOST_PAIRS = 10


def run_stopping_status(db: Database, run: StoredRow) -> rule.StoppingStatus | None:
    """The current status of a run that stops when decided; None for any other run, and for one without comparisons.
    `run` is a row of `runs`. Evaluated as during the run: user by user in the order of the plan, up to the user who
    decides or the first one with an outstanding call."""
    settings = RunSettings.model_validate_json(run["settings"])
    if settings.until != "decided":
        return None
    prompt, chosen = prompt_by_id(db, run["prompt_id"]), protocol_named(run["protocol"])
    cases = case_statuses(db, run["id"], rule.deciding_aspect(prompt))
    decision = rule.run_decision(chosen, prompt, settings, cases, lambda _: {})
    return None if decision is None else decision.status


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
    by = "by the betting confidence sequence of Waudby-Smith and Ramdas (2024)"
    lines = [_shortened(status), f"{_holds(status)}, {by}"]
    progress, planned = run_progress(db, run_id), Estimate.model_validate_json(run["estimate"])
    if status.decided and (left := progress.outstanding):
        share, low, high = left / progress.calls, planned.cost_usd_low, planned.cost_usd_high
        price = "; their price is unknown"
        if low is not None and high is not None:
            price = f", by the estimate {money(low * share)} to {money(high * share)}" if high else ""
        lines.append(f"saved {left:,} of {progress.calls:,} calls ({share:.0%}){price}")
    return lines


def _holds(status: rule.StoppingStatus) -> str:
    if len(status.compared) == 1:
        return f"anytime-valid {status.level:.0%} interval"
    return f"anytime-valid intervals, {status.level:.0%} for all {len(status.compared)} pairs together"


def _shortened(status: rule.StoppingStatus) -> str:
    """The status as a sentence; of many pairs, how many."""
    many = len(status.compared)
    return status.sentence() if many <= MOST_PAIRS else f"{status.progress}, of {many} pairs"
