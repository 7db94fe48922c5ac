"""What every command that runs a judge shows: the estimate, progress while it works, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import narrate

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.runs.plan.plan import Plan, RunRequest
    from recjudge_tui.runs.start import WorkResult
    from recjudge_tui.store.database import Database


def plan_and_print(database: Database, requests: Sequence[RunRequest], *, dry_run: bool) -> tuple[Plan, ...]:
    """Plan the runs and print the estimate of each; a dry run stores nothing."""
    from recjudge_tui.cli.progress import counting
    from recjudge_tui.reports.runs import estimate_lines
    from recjudge_tui.runs.start import plan

    with counting("planning", "cases") as advance:
        plans = plan(database, requests, dry_run=dry_run, progress=advance)
    for planned in plans:
        for line in estimate_lines(planned.estimate, rater=planned.rater, prompt=planned.prompt):
            narrate(line)
    narrate_address(*(request.judge for request in requests))
    return plans


def narrate_address(*judges: JudgeSpec) -> None:
    """Print which servers and keys the judges have, where these are not their provider's own."""
    for where in dict.fromkeys(judge.where for judge in judges):
        if where:
            narrate(f"asks {where}")


def work_and_print(database: Database, run_id: int) -> None:
    """Work on a run here and print the one line that scripts read. Exit 130 when it was interrupted."""
    from recjudge_tui.domain.run import RunSettings
    from recjudge_tui.store.runs import run_row

    result = work_here(database, run_id)
    click.echo(outcome(result))
    print_failures(database, result)
    if RunSettings.model_validate_json(run_row(database, run_id)["settings"]).until:
        from recjudge_tui.reports.early_stopping import stop_lines

        for line in stop_lines(database, run_id):
            narrate(line)
    exit_if_interrupted(result, how_to_resume(run_id))
    exit_if_nothing_judged(result)


def work_here(database: Database, run_id: int) -> WorkResult:
    """Work on a run in this process, showing progress on stderr."""
    from recjudge_tui.cli.progress import following_run
    from recjudge_tui.runs.start import work
    from recjudge_tui.store.runs import run_progress

    with following_run(run_progress(database, run_id)) as show:
        return work(database, run_id, show)


def outcome(result: WorkResult) -> str:
    """The one line that says how work on a run ended."""
    from recjudge_tui.reports.runs import outcome_line

    return outcome_line(result.run_id, result.progress)


def how_to_resume(run_id: int) -> str:
    return f"to resume: recjudge runs resume {run_id}"


def exit_if_interrupted(result: WorkResult, *next_steps: str) -> None:
    """If the run was stopped or paused, print why and what to do next, and exit with 130."""
    if not result.is_interrupted:
        return
    for line in (result.reason, *next_steps):
        if line:
            narrate(line)
    raise click.exceptions.Exit(130)


def print_failures(database: Database, result: WorkResult) -> None:
    """Print why calls failed, one line for each kind of error."""
    from recjudge_tui.reports.listings import failure_lines

    if result.progress.failed:
        for line in failure_lines(database, result.run_id):
            narrate(line)


def exit_if_nothing_judged(result: WorkResult) -> None:
    """Exit with 1 if calls were made and none was answered."""
    if result.progress.done or not result.progress.failed:
        return
    narrate(
        f"nothing was judged; when the cause is removed, ask again with: recjudge runs retry {result.run_id}"
    )
    raise click.exceptions.Exit(1)
