"""Commands that run a judge: `run`, `runs resume`, `runs retry`, `robustness`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.commands import EXPERIMENT, TESTED
from recjudge_tui.cli.options import chosen_judge, only_with_judge
from recjudge_tui.cli.output import counting, following_run, how_to_resume, names, narrate, put
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.made_lists import ADVERSARIAL, PLANTED
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import SAER_NAME
from recjudge_tui.errors import JudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import save_text
from recjudge_tui.reports.declare import REPORTS
from recjudge_tui.reports.runs import cost_range, duration, estimate_lines, outcome_line
from recjudge_tui.runs import groups, start
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import Plan, RunRequest, arms_of
from recjudge_tui.runs.settings import AlreadyJudgedError, settings_for
from recjudge_tui.store.runs import group_by_id, run_failures, run_progress, run_row

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeAddress
    from recjudge_tui.store.database import Database

_AGAIN = "to resume, repeat the same command; answered calls are not repeated"


def plan_and_print(database: Database, requests: Sequence[RunRequest], *, dry_run: bool) -> tuple[Plan, ...]:
    """Plan the runs and print the estimate of each; a dry run stores nothing."""
    with counting("planning", "cases") as advance:
        plans = start.plan(database, requests, dry_run=dry_run, progress=advance)
    for planned in plans:
        for line in estimate_lines(planned.estimate, rater=planned.rater, prompt=planned.prompt):
            narrate(line)
    _tell_address(requests)
    return plans


def _tell_address(requests: Iterable[RunRequest | groups.SaerRequest]) -> None:
    """Print which servers and keys the judges have, where these are not their provider's own."""
    for where in dict.fromkeys(request.judge.where for request in requests):
        if where:
            narrate(f"asks {where}")


def work_on(
    database: Database, run_id: int, tell: Callable[[str], object], next_step: str = "", *more: str
) -> None:
    """Work on a run here, showing progress on stderr, and tell in one line how it ended.

    Exit 130 if it was stopped or paused, with the reason and what to do next; 1 if no call was answered.
    """
    with following_run(run_progress(database, run_id)) as show:
        ended = work(database.path, run_id, show)
    row = run_row(database, run_id)
    tell(outcome_line(run_id, ended))
    if ended.failed:
        from recjudge_tui.reports.listings import failure_lines

        for line in failure_lines(database, run_id):
            narrate(line)
        for failure in run_failures(database, run_id):
            if (kind := failure["error_kind"]) in _REMEDIES:
                narrate(f"{kind}: recjudge runs retry {run_id} with {_REMEDIES[kind]}")
    if RunSettings.model_validate_json(row["settings"]).until:
        from recjudge_tui.reports.early_stopping import stop_lines

        for line in stop_lines(database, run_id):
            narrate(line)
    if ended.state in ("stopped", "paused"):
        budget = " --budget USD" if row["error"] and ended.state == "stopped" else ""
        for line in filter(None, (row["error"], next_step or how_to_resume(run_id) + budget, *more)):
            narrate(line)
        raise click.exceptions.Exit(130)
    if ended.done:
        from recjudge_tui.reports.sanity import lines_of_run

        for line in lines_of_run(database, run_id):
            narrate(f"no conclusion: {line}")
    elif ended.failed:
        again = f"recjudge runs retry {run_id}"
        narrate(f"nothing was judged; when the cause is removed, ask again with: {again}")
        raise click.exceptions.Exit(1)


# what may help a call that failed for this reason, when it is asked again
_REMEDIES = {
    "timeout": "--timeout S waits longer, --max-tokens N asks for less",
    "length": "--max-tokens N raises the cap",
    "thinking": "--max-tokens N raises the cap; --option reasoning_effort=low thinks less",
    "loop": "--option frequency_penalty=1 or --option repeat_penalty=1.3 where the server takes it",
    "overflow": "--history N shows fewer events",
}


def _work(database: Database, run_id: int, *, detach: bool) -> None:
    """Work on a run here, or in the background."""
    if detach:
        start.start_detached(database, run_id)
        click.echo(f"run {run_id} started in the background")
    else:
        work_on(database, run_id, click.echo)


def run(
    project: Project,
    protocol: str,
    spec: str | None,
    address: JudgeAddress,
    rater: str,
    prompt: str,
    dry_run: bool,
    save: Path | None,
    plan_only: bool,
    detach: bool,
    drop_poor_over: float | None,
    human_price: float | None,
    fmt: str | None,
    out: Path | None,
    **options: object,
) -> None:
    if protocol.endswith(EXPERIMENT):
        _run_experiment(project, Path(protocol), dry_run, fmt, out)
        return
    judge = chosen_judge(spec, address)
    if protocol == SAER_NAME:
        given: dict[str, Any] = {"prompts": names(prompt), "drop_poor_over": drop_poor_over, **options}
        request = groups.saer_request(project.db, project.id, judge, **given)
        page = {"fmt": fmt, "out": out, "human_price": human_price}
        _run_saer(project, request, rater, dry_run, plan_only, detach, **page)
        return
    if drop_poor_over is not None or human_price or fmt or out:
        of_saer = "--drop-poor-over, --human-price, --format and -o"
        raise click.UsageError(f"{of_saer} are only for “recjudge run saer”")
    wanted = RunRequest(project.id, judge, settings_for(protocol, **options), rater, prompt)
    if save is not None:
        _save(save, wanted)
    elif (plan := _planned(project.db, wanted, dry_run)) is None or plan.run_id is None:
        return
    elif plan_only:
        click.echo(f"run {plan.run_id} planned: {plan.estimate.calls} calls")
    else:
        _work(project.db, plan.run_id, detach=detach)


def _save(path: Path, request: RunRequest) -> None:
    if path.suffix != EXPERIMENT:
        raise click.UsageError(f"{path.name} must end in {EXPERIMENT}, so that “recjudge run” knows it")
    if path.exists():
        raise click.UsageError(f"{path} exists; delete it, or choose another name")
    save_text(groups.saved_experiment(request), path)
    narrate(f"written to {path}; run it with: recjudge run {path}")


def _planned(database: Database, request: RunRequest, dry_run: bool) -> Plan | None:
    """The plan of a run; None if all is judged and shall not be judged again."""
    try:
        (plan,) = plan_and_print(database, [request], dry_run=dry_run)
    except AlreadyJudgedError as error:
        asks = not dry_run and sys.stdin.isatty() and sys.stderr.isatty()
        if not asks or not click.confirm(f"{error.title}. Judge again, and replace the verdicts?", err=True):
            narrate(f"{error.title}: nothing is left to judge (--again judges them once more)")
            return None
        again = request.settings.model_copy(update={"again": True})
        (plan,) = plan_and_print(database, [replace(request, settings=again)], dry_run=False)
    if request.settings.until:
        narrate("this is the upper bound: the run stops as soon as the comparison is decided")
    return plan


# what else may be given with a file
_BESIDE_FILE = {"project", "protocol", "db", "dry_run", "fmt", "out", "trust_hosts"}


def _run_experiment(project: Project, path: Path, dry_run: bool, fmt: str | None, out: Path | None) -> None:
    """Plan, resume and print the runs of a file. Exit 130 if one was stopped, 1 if nothing was judged by one."""
    from recjudge_tui.reports.experiment import experiment as table_of_runs

    ctx = click.get_current_context()
    for given in ctx.command.params:
        source = ctx.get_parameter_source(str(given.name))
        if source is click.core.ParameterSource.COMMANDLINE and given.name not in _BESIDE_FILE:
            raise click.UsageError(
                f"{path.name} says what to run; leave out {given.opts[0]}, or write it into the file"
            )
    experiment = groups.read_experiment(project.db, project.id, path)
    with counting("planning", "cases") as advance:
        plans = groups.plan_experiment(project.db, experiment, dry_run=dry_run, progress=advance)
    tell_plans(project.db, plans, experiment.requests)
    if not dry_run:
        runs, failed = work_through(project.db, experiment, plans)
        put(table_of_runs(project, runs, experiment.truth), fmt, out)
        if failed:
            raise click.exceptions.Exit(1)


def tell_plans(
    database: Database, plans: Sequence[Plan], requests: Iterable[RunRequest | groups.SaerRequest], note: str = "",
    most: int | None = 1,
) -> None:  # fmt: skip
    """Print what each run is (the first `most` lines of its estimate), and what those that are new take together."""
    for planned in plans:
        if planned.existing and planned.run_id is not None:
            now = run_progress(database, planned.run_id)
            state = "done" if groups.is_finished(database, planned.run_id) else "to be resumed"
            ended = f"{now.done + now.failed:,} of {now.calls:,} calls ended, {now.failed:,} failed"
            lines = [f"run {planned.run_id} of {planned.rater} exists ({state}), {ended}"]
        else:
            lines = [*estimate_lines(planned.estimate, rater=planned.rater, prompt=planned.prompt)]
        narrate(f"{planned.protocol}: {lines[0]}")
        for line in lines[1:most]:
            narrate(f"  {line}")
    _tell_address(requests)
    if note:
        narrate(note)
    fresh = [planned.estimate for planned in plans if not planned.existing]
    if len(fresh) > 1:
        whole = groups.total_of(fresh)
        takes = f"cost {cost_range(whole)} · time {duration(whole.seconds)}"
        narrate(f"together: {whole.calls:,} calls · {takes}")


def work_through(
    database: Database, experiment: groups.Experiment, plans: Sequence[Plan]
) -> tuple[list[int], bool]:
    """Work on the runs that are not finished, one after the other, within the budget for all; their ids, and whether one
    could judge nothing. Exit 130 if one was stopped."""
    runs = [planned.run_id for planned in plans if planned.run_id is not None]
    failed = False
    for run_id in runs:
        if groups.is_finished(database, run_id):
            continue
        others = {*runs, *experiment.spent_by} - {run_id}
        start.leave_rest_of_budget(database, experiment.budget, others, run_id)
        try:
            work_on(database, run_id, narrate, _AGAIN)
        except JudgeError as error:
            narrate(f"run {run_id} goes no further: {error.title}. {error.cause}".rstrip())
            failed = True
        except click.exceptions.Exit as ended:
            if ended.exit_code != 1:
                raise
            failed = True
    return runs, failed


def _run_saer(
    project: Project,
    request: groups.SaerRequest,
    rater: str,
    dry_run: bool,
    plan_only: bool,
    detach: bool,
    **page: Any,
) -> None:
    """Plan both stages, or find them, work on what is outstanding, and print the page. Exit 130 if one was stopped."""
    with counting("planning", "cases") as advance:
        group_id, stages = groups.plan_saer(
            project.db, project.id, request, rater=rater, dry_run=dry_run, progress=advance
        )
    first, second = (planned.run_id for planned in stages)
    waits = request.drop_poor_over is not None and second is None
    note = "pairwise is planned when pointwise has ended; the estimate above is its upper bound"
    tell_plans(project.db, stages, [request], note if waits else "", most=None)
    if group_id is None:
        return
    if plan_only:
        for planned in stages:
            if planned.run_id is not None:
                click.echo(f"run {planned.run_id} planned: {planned.estimate.calls} calls")
    elif detach and (stage := groups.next_stage(project.db, group_id)) is not None:
        assert stage.run_id is not None
        flags = {"fmt": "--format", "out": "-o", "human_price": "--human-price"}
        words = [word for name, value in page.items() if value for word in (flags[name], str(value))]
        start.start_detached(project.db, stage.run_id, group_id, words)
        if stage.run_id != first:
            click.echo(f"run {stage.run_id} started in the background")
        elif second is None:
            click.echo(f"run {first} started in the background; the pairs are planned when it has ended")
        else:
            click.echo(f"runs {first} and {second} started in the background, one after the other")
        narrate("to print the page when both are done, repeat the same command")
    else:
        runs_work_group(project.db, group_id, **page)


def runs_work_group(
    database: Database, group_id: int, fmt: str | None, out: Path | None, human_price: float | None
) -> None:
    """Work through the outstanding stages of a SAER run and print its page. Exit 130 if one was stopped."""
    from recjudge_tui.reports.papers.saer import Stages, saer_page

    while (stage := groups.next_stage(database, group_id)) is not None:
        assert stage.run_id is not None
        if not stage.existing:
            narrate(f"{stage.protocol}: run {stage.run_id}, {stage.estimate.calls:,} calls")

        def tell(line: str, of: str = stage.protocol) -> None:
            narrate(f"{of}: {line}")

        work_on(database, stage.run_id, tell, _AGAIN)
    group, asked = group_by_id(database, group_id), groups.asked_in(database, group_id)
    first = group.runs[groups.FIRST]
    left_out, _, why = groups.exclusion(database, asked, first)
    second = None if why else group.runs[groups.SECOND]
    stages = Stages(group.rater, first, second, left_out, asked.drop_poor_over, why, human_price)
    put(saer_page(Project.numbered(database, group.project_id), stages), fmt, out)


def runs_resume(database: Database, run_id: int, detach: bool, **changes: object) -> None:
    start.prepare_resume(database, run_id, **changes)
    _work(database, run_id, detach=detach)


def runs_retry(database: Database, run_id: int, detach: bool, **changes: object) -> None:
    failed = start.prepare_retry(database, run_id, **changes)
    if not failed:
        narrate(f"run {run_id} has no failed calls")
    else:
        narrate(f"asking {failed:,} failed {'call' if failed == 1 else 'calls'} again")
    _work(database, run_id, detach=detach)


# the judge whose figures every other one should exceed
_FLOOR = "rules"


def judged_first(name: str, project: Project, given: dict[str, Any]) -> dict[str, Any] | None:
    """Before a report on robustness: run the judge, if one is named; the options of the report, about that judge."""
    test = name.rpartition(" ")[2]
    values = {option.name: given[option.name] for option in REPORTS[name].options}
    own = "raters" if test == "ablation" else "rater"
    if given["spec"] is None:
        only_with_judge(given, "sample", "systems", "dry_run", "detach", "budget_usd")
        if test == "ablation" and not values[own]:
            raise click.UsageError(
                "give either --judge to ask a judge, or --raters to compare stored verdicts"
            )
        return values
    if values[own] and test in ("ablation", "position"):
        raise click.UsageError(f"give either --judge to ask a judge, or --{own} to analyse stored verdicts")
    judge = chosen_judge(given["spec"], given["address"])
    runs = [(judge, given.get("new_rater", ""), given.get("prompt", ""))]
    if test == "ablation":
        arms = arms_of(project.db, project.id, judge, names(given["prompts"]))
        runs = [(judge, *arm) for arm in arms]
    protocol = {"injected": PLANTED, "position": values.get("protocol", "")}.get(test, ADVERSARIAL)
    judged = _judged(project, given, runs, protocol)
    if given.get("floor") and given["spec"] != _FLOOR and not given["dry_run"]:
        _judged(project, given, [(JudgeSpec(spec=_FLOOR), "", given["prompt"])], protocol)
    if not judged:
        return None
    return values | {own: judged if test == "ablation" else values[own] or judged[0]}


def _judged(
    project: Project, given: dict[str, Any], runs: Sequence[tuple[JudgeSpec, str, str]], protocol: str
) -> tuple[str, ...]:
    """Run each (judge, rater, prompt) and return the raters. Exit 130 if a run was stopped.

    Returns () after a dry run and with --detach, because there is nothing to show yet.
    """
    settings = settings_for(protocol, **{name: given[name] for name in TESTED})
    requests = [RunRequest(project.id, judge, settings, rater, prompt) for judge, rater, prompt in runs]
    raters = []
    for request in list(requests):
        try:
            raters.append(start.plan(project.db, [request], dry_run=True)[0].rater)
        except AlreadyJudgedError as error:
            narrate(f"{error.title}: its verdicts are shown")
            raters.append(error.rater)
            requests.remove(request)
    plans = plan_and_print(project.db, requests, dry_run=given["dry_run"])
    planned = [plan.run_id for plan in plans if plan.run_id is not None]
    for number, run_id in enumerate(planned):
        if given["detach"]:
            start.start_detached(project.db, run_id)
            narrate(f"run {run_id} started in the background: “recjudge runs show {run_id}”")
            continue
        work_on(project.db, run_id, narrate, *map(how_to_resume, planned[number:]))
    return () if given["dry_run"] or given["detach"] else tuple(raters)
