"""`recjudge run saer`: two runs, one estimate, one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.judging.start import (
    exit_if_interrupted,
    exit_if_nothing_judged,
    narrate_address,
    outcome,
    print_failures,
    work_here,
)
from recjudge_tui.cli.options import narrate, put_page

if TYPE_CHECKING:
    from recjudge_tui.runs.saer.plan import SaerPlan, Stage
    from recjudge_tui.runs.saer.request import SaerRequest
    from recjudge_tui.store.database import Database


@dataclass(frozen=True)
class Mode:
    """What to do with the plan, and where and how the page is written."""

    dry_run: bool
    plan_only: bool
    detach: bool
    fmt: str | None
    out: Path | None


def run_saer(database: Database, project_id: int, request: SaerRequest, rater: str, mode: Mode) -> None:
    """Plan both stages, or find them, work on what is outstanding, and print the page. Exit 130 if one was stopped."""
    from recjudge_tui.cli.progress import counting
    from recjudge_tui.runs.saer.plan import plan_saer
    from recjudge_tui.runs.saer.work import next_stage

    with counting("planning", "cases") as advance:
        plan = plan_saer(database, project_id, request, rater=rater, dry_run=mode.dry_run, progress=advance)
    _tell(database, request, plan)
    if plan.group_id is None:
        return
    if mode.plan_only:
        for planned in plan.stages:
            if planned.run_id is not None:
                click.echo(f"run {planned.run_id} planned: {planned.estimate.calls} calls")
        return
    if mode.detach and (stage := next_stage(database, plan.group_id)) is not None:
        _detach(database, plan, stage, mode)
        return
    work_on_group(database, plan.group_id, mode.fmt, mode.out)


def work_on_group(database: Database, group_id: int, fmt: str | None, out: Path | None) -> None:
    """Work through the outstanding stages of a SAER run and print its page. Exit 130 if one was stopped."""
    from recjudge_tui.project import Project
    from recjudge_tui.reports.papers.saer import Stages, saer_page
    from recjudge_tui.runs.saer.work import next_stage, result_of

    while (stage := next_stage(database, group_id)) is not None:
        assert stage.run_id is not None
        if not stage.existing:
            narrate(f"{stage.protocol}: run {stage.run_id}, {stage.estimate.calls:,} calls")
        result = work_here(database, stage.run_id)
        narrate(f"{stage.protocol}: {outcome(result)}")
        print_failures(database, result)
        exit_if_interrupted(result, "to resume, repeat the same command; answered calls are not repeated")
        exit_if_nothing_judged(result)
    saer = result_of(database, group_id)
    stages = Stages(saer.rater, saer.first, saer.second, saer.left_out, saer.drop_poor_over, saer.why_none)
    put_page(saer_page(Project.numbered(database, saer.project_id), stages), fmt, out)


def _tell(database: Database, request: SaerRequest, plan: SaerPlan) -> None:
    from recjudge_tui.reports.runs import cost_range, duration, estimate_lines
    from recjudge_tui.runs.saer.plan import is_finished
    from recjudge_tui.store.runs import run_progress

    for stage in plan.stages:
        if stage.existing and stage.run_id is not None:
            progress = run_progress(database, stage.run_id)
            state = "done" if is_finished(database, stage.run_id) else "to be resumed"
            narrate(
                f"{stage.protocol}: run {stage.run_id} of {stage.rater} exists ({state}),"
                f" {progress.done + progress.failed:,} of {progress.calls:,} calls ended, {progress.failed:,} failed"
            )
            continue
        lines = estimate_lines(stage.estimate, rater=stage.rater, prompt=stage.prompt)
        narrate(f"{stage.protocol}: {lines[0]}")
        for line in lines[1:]:
            narrate(f"  {line}")
    narrate_address(request.judge)
    if request.drop_poor_over is not None and plan.second.run_id is None:
        narrate("pairwise is planned when pointwise has ended; the estimate above is its upper bound")
    if not any(stage.existing for stage in plan.stages):
        whole = plan.total
        narrate(
            f"together: {whole.calls:,} calls · cost {cost_range(whole)} · time {duration(whole.seconds)}"
        )


def _detach(database: Database, plan: SaerPlan, stage: Stage, mode: Mode) -> None:
    from recjudge_tui.runs.saer.work import detach_saer

    assert plan.group_id is not None
    assert stage.run_id is not None
    words = [f"--format={mode.fmt}"] if mode.fmt else []
    words += ["-o", str(mode.out)] if mode.out else []
    detach_saer(database, plan.group_id, stage.run_id, words)
    first, second = plan.first.run_id, plan.second.run_id
    if stage.run_id != first:
        click.echo(f"run {stage.run_id} started in the background")
    elif second is None:
        click.echo(f"run {first} started in the background; the pairs are planned when it has ended")
    else:
        click.echo(f"runs {first} and {second} started in the background, one after the other")
    narrate("to print the page when both are done, repeat the same command")
