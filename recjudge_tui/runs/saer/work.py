"""Work through the two stages of SAER: the next stage to work on, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.domain.text import money
from recjudge_tui.errors import RunError
from recjudge_tui.runs.batches.hosted import refuse_when_away
from recjudge_tui.runs.control.detach import start_detached
from recjudge_tui.runs.control.lease import is_active
from recjudge_tui.runs.saer.plan import Stage, existing_stage, is_finished, plan_second
from recjudge_tui.runs.saer.request import FIRST, SECOND, SaerRequest
from recjudge_tui.runs.saer.shares import exclusion
from recjudge_tui.runs.start import change_budget
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import group_by_id, lease_owner, mark_ended, run_progress


class SaerResult(NamedTuple):
    """The runs of both stages. `second` is None where there was none, `why_none` says why; `left_out` are the systems
    kept out of it with their shares of the lowest label, over `drop_poor_over`."""

    project_id: int
    rater: str
    first: int
    second: int | None
    left_out: dict[str, float]
    drop_poor_over: float | None
    why_none: str


def next_stage(db: Database, group_id: int) -> Stage | None:
    """The stage to work on next, ready for it; None when both are done.

    The second stage is planned here where that had to wait for the first, and gets what is left of the budget.
    Raises RunError when nothing is left, or when calls of the run are in a batch at a provider.
    """
    group, request = group_by_id(db, group_id), _request(db, group_id)
    if FIRST not in group.runs:
        raise RunError(
            "the first stage was deleted", "The second one needs it.", "Start again with “recjudge run saer”."
        )
    first = group.runs[FIRST]
    if not is_finished(db, first):
        refuse_when_away(db, first)
        return existing_stage(db, first)
    _close(db, first)
    out = exclusion(db, request, first)
    if out.why_none:
        return None
    if SECOND in group.runs:
        stage = existing_stage(db, group.runs[SECOND])
    else:
        systems = out.kept if out.left_out else request.settings[SECOND].systems
        stage = plan_second(db, group.project_id, request, group.rater, group_id, systems)
    assert stage.run_id is not None
    if is_finished(db, stage.run_id):
        _close(db, stage.run_id)
        return None
    refuse_when_away(db, stage.run_id)
    _leave_budget(db, request, first, stage.run_id)
    return stage


def result_of(db: Database, group_id: int) -> SaerResult:
    """The runs of both stages, once `next_stage` returns None."""
    group, request = group_by_id(db, group_id), _request(db, group_id)
    first = group.runs[FIRST]
    left_out, _, why_none = exclusion(db, request, first)
    second = None if why_none else group.runs[SECOND]
    return SaerResult(
        group.project_id, group.rater, first, second, left_out, request.drop_poor_over, why_none
    )


def detach_saer(db: Database, group_id: int, run_id: int, words: Sequence[str] = ()) -> None:
    """Work through the stages in another process, beginning with run `run_id`.

    `words` are further arguments of its command. Raises RunError if it does not start.
    """
    start_detached(db, run_id, ("runs", "work-group", str(group_id), *words))


def _request(db: Database, group_id: int) -> SaerRequest:
    text = group_by_id(db, group_id).request
    if text is None:
        raise RunError("these runs have no stored request", next_step="Start again with “recjudge run saer”.")
    return SaerRequest.model_validate_json(text)


def _close(db: Database, run_id: int) -> None:
    """Mark a run done if its process was killed after the last answer, before it could do so."""
    owner, _ = lease_owner(db, run_id)
    if owner is not None and not is_active(db, run_id):
        mark_ended(db, run_id, owner, "done")


def _leave_budget(db: Database, request: SaerRequest, first: int, second: int) -> None:
    """Give the second stage the rest of the common budget. Raises RunError if nothing is left."""
    budget = request.settings[SECOND].budget_usd
    if budget is None:
        return
    left = budget - run_progress(db, first).spent_usd
    if left <= 0:
        raise RunError(
            "the budget is spent",
            f"The first stage cost {money(budget - left)} of {money(budget)}.",
            "To resume, repeat the command with a larger --budget.",
        )
    change_budget(db, second, left)
