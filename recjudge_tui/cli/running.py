"""Commands that run a judge: `run`, `runs`, `robustness`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.command import database_report, in_database, in_project, report_command, report_commands
from recjudge_tui.cli.options import (
    PROJECT_VARIABLE,
    Command,
    FiniteRange,
    ProtocolChoice,
    address_options,
    chosen_judge,
    setting_options,
    table_options,
    trust_option,
    with_help_all,
    with_options,
)
from recjudge_tui.cli.output import counting, following_run, names, narrate, put
from recjudge_tui.domain.made_lists import ADVERSARIAL, PLANTED
from recjudge_tui.domain.protocols import SAER, decidable, offered, protocol_facts
from recjudge_tui.domain.run_options import RUN_OPTIONS, SAER_NAME, summary_of
from recjudge_tui.errors import JudgeError
from recjudge_tui.reports.declare import REPORTS

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.runs.experiment import Experiment
    from recjudge_tui.runs.plan import Plan, RunRequest
    from recjudge_tui.runs.saer import SaerPlan, SaerRequest
    from recjudge_tui.store.database import Database


def plan_and_print(database: Database, requests: Sequence[RunRequest], *, dry_run: bool) -> tuple[Plan, ...]:
    """Plan the runs and print the estimate of each; a dry run stores nothing."""
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


def work_on(
    database: Database, run_id: int, tell: Callable[[str], object], next_step: str = "", *more: str
) -> None:
    """Work on a run here, showing progress on stderr, and tell in one line how it ended.

    Exit 130 if it was stopped or paused, with the reason and what to do next; 1 if no call was answered.
    """
    from recjudge_tui.domain.run import RunSettings
    from recjudge_tui.reports.listings import failure_lines
    from recjudge_tui.reports.runs import outcome_line
    from recjudge_tui.runs.start import work
    from recjudge_tui.store.runs import run_progress, run_row

    with following_run(run_progress(database, run_id)) as show:
        result = work(database, run_id, show)
    tell(outcome_line(run_id, result.progress))
    for line in (
        (*failure_lines(database, run_id), *_remedies(database, run_id)) if result.progress.failed else ()
    ):
        narrate(line)
    if RunSettings.model_validate_json(run_row(database, run_id)["settings"]).until:
        from recjudge_tui.reports.early_stopping import stop_lines

        for line in stop_lines(database, run_id):
            narrate(line)
    if result.is_interrupted:
        budget = " --budget USD" if result.reason and result.progress.state == "stopped" else ""
        for line in filter(None, (result.reason, next_step or how_to_resume(run_id) + budget, *more)):
            narrate(line)
        raise click.exceptions.Exit(130)
    if result.progress.done:
        from recjudge_tui.reports.sanity import lines_of_run

        for line in lines_of_run(database, run_id):
            narrate(f"no conclusion: {line}")
    if result.progress.failed and not result.progress.done:
        narrate(
            f"nothing was judged; when the cause is removed, ask again with: recjudge runs retry {run_id}"
        )
        raise click.exceptions.Exit(1)


# what may help a call that failed for this reason, when it is asked again
_REMEDIES = {
    "timeout": "--timeout S waits longer, --max-tokens N asks for less",
    "length": "--max-tokens N raises the cap",
    "thinking": "--max-tokens N raises the cap; --option reasoning_effort=low thinks less",
    "loop": "--option frequency_penalty=1 or --option repeat_penalty=1.3 where the server takes it",
    "overflow": "--history N shows fewer events",
}


def _remedies(database: Database, run_id: int) -> list[str]:
    from recjudge_tui.store.runs import run_failures

    kinds = [row["error_kind"] for row in run_failures(database, run_id)]
    return [
        f"{kind}: recjudge runs retry {run_id} with {_REMEDIES[kind]}" for kind in kinds if kind in _REMEDIES
    ]


def how_to_resume(run_id: int) -> str:
    return f"to resume: recjudge runs resume {run_id}"


def _work(database: Database, run_id: int, *, detach: bool) -> None:
    """Work on a run here, or in the background."""
    from recjudge_tui.runs import start

    if detach:
        start.detach(database, run_id)
        click.echo(f"run {run_id} started in the background")
    else:
        work_on(database, run_id, click.echo)


def _about(method: str) -> str:
    """What a method judges, and the paper that it is from."""
    published = protocol_facts(SAER[0] if method == SAER_NAME else method).published
    return summary_of(method) + (f" ({published.paper.partition(' (')[0]})" if published else "")


_LIST = "\n".join(f"{name:<12} {_about(name)}" for name in (*offered(), SAER_NAME))
_HELP = f"""Judge lists or explanations with a published method.

\b
{_LIST}

Prints the estimate, then progress, then one line: run id, done, failed, cost. Resume an
interrupted run with “recjudge runs resume ID”; calls that have an answer are not repeated. Runs of one judge with
the same prompt and settings belong to one rater; cases it has judged are left out, unless you add --again. saer prints
a page of results instead (--format, -o); to resume it, run the same command again. With saer, --budget
covers both stages, and --prompt may name one prompt for each stage: A,B.
A FILE.toml names protocols, judges and prompts instead: all their combinations are planned, resumed and paid for
as one, and end in one table. --save writes such a file from a command. Keys: protocols, judges, prompts, truth, budget,
[options], and [options.PROTOCOL] for one protocol; options are named as here, without the dashes.
--until decided ({", ".join(decidable())}) stops when the systems can be told apart: after every user
it checks the win rate (ties count half) or the difference between shares of the best label, with the
betting confidence sequence of Waudby-Smith and Ramdas (2024).

\b
Example:
  recjudge run pairwise -p movies --judge rules
  recjudge run saer -p movies --judge rules --systems als,pop
  recjudge run pointwise -p movies --judge ollama:llama3.1:8b --sample 200
  recjudge run pairwise -p movies --judge openai:gpt-4o --until decided --margin 0.1
  recjudge run arena -p movies --judge openai:gpt-4o --baseline popularity --profile llm
  recjudge run explanation -p movies --judge ollama:qwen2.5:14b --shots personal
  recjudge run arena -p movies --judge openai:gpt-4o --baseline popularity --as-published --dry-run
  recjudge run experiment.toml -p movies
"""
_EXPERIMENT = ".toml"


_human_price = click.option(
    "--human-price",
    type=FiniteRange(min=0, min_open=True),
    metavar="USD",
    help="saer: what a person is paid for a case, for comparison.",
)


@click.command(help=_HELP)
@in_project
@click.argument("protocol", type=ProtocolChoice(SAER_NAME, file=_EXPERIMENT))
@click.option(
    "--judge",
    "spec",
    metavar="SPEC",
    help="rules, random, replay:FILE, ollama:, openai:, anthropic:, bedrock:MODEL. Default: the judge under [run] in the"
    " settings file (recjudge config path).",
)
@address_options
@click.option("--name", "rater", metavar="RATER", default="", help="The rater's name. Default: the judge's.")
@click.option(
    "--prompt",
    metavar="NAME[@VERSION]",
    default="",
    help="The prompt to use. Default: the protocol's own for this kind of data.",
)
@setting_options()
@click.option("--dry-run", is_flag=True, help="Print the estimate and stop.")
@click.option(
    "--save", metavar="FILE.toml", type=click.Path(path_type=Path), help="Write this run to a file and stop."
)
@click.option(
    "--plan-only",
    is_flag=True,
    help="Store the plan and stop, for “recjudge batch” or “recjudge runs resume”.",
)
@click.option("--detach", is_flag=True, help="Run in the background; “recjudge runs show ID” shows progress.")
@click.option(
    "--drop-poor-over",
    type=FiniteRange(0, 1),
    metavar="X",
    help="saer: do not compare systems in pairs if more than this share of their lists is rated Poor (0.5: half)."
    " The authors of SAER warn against this. Default: every system is compared.",
)
@_human_price
@table_options
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
    from recjudge_tui.runs.plan import RunRequest
    from recjudge_tui.runs.saer import saer_request
    from recjudge_tui.runs.settings import settings_for

    mode = Mode(dry_run, plan_only, detach, fmt, out, human_price)
    if protocol.endswith(_EXPERIMENT):
        _run_experiment(project, Path(protocol), mode)
        return
    judge = chosen_judge(spec, address)
    if protocol == SAER_NAME:
        given: dict[str, Any] = {"prompts": names(prompt), "drop_poor_over": drop_poor_over, **options}
        _run_saer(project, saer_request(project.db, project.id, judge, **given), rater, mode)
        return
    if drop_poor_over is not None or human_price or fmt or out:
        raise click.UsageError(
            "--drop-poor-over, --human-price, --format and -o are only for “recjudge run saer”"
        )
    settings = settings_for(protocol, **options)
    if save is not None:
        _save(save, RunRequest(project.id, judge, settings, rater, prompt))
        return
    _run_protocol(project.db, RunRequest(project.id, judge, settings, rater, prompt), mode)


# the 15 options that most runs need are left
with_help_all(
    run, "api_key_env", "header_env", "trust_hosts", "plan_only", "save", "drop_poor_over", "human_price", "db", "fmt",
    "out", "columns", "plain", "notes", "explain", "all",
)  # fmt: skip


# what else may be given with a file
_BESIDE_FILE = {"project", "protocol", "db", "dry_run", "fmt", "out", "trust_hosts"}


def _run_experiment(project: Project, path: Path, mode: Mode) -> None:
    """Plan, resume and print the runs of a file. Exit 130 if one was stopped, 1 if nothing was judged by one."""
    from recjudge_tui.reports.experiment import experiment as table_of_runs
    from recjudge_tui.runs.experiment import plan_experiment, read_experiment

    ctx = click.get_current_context()
    given = [
        p
        for p in ctx.command.params
        if ctx.get_parameter_source(str(p.name)) is click.core.ParameterSource.COMMANDLINE
    ]
    if beside := [p.opts[0] for p in given if isinstance(p, click.Option) and p.name not in _BESIDE_FILE]:
        raise click.UsageError(
            f"{path.name} says what to run; leave out {beside[0]}, or write it into the file"
        )
    experiment = read_experiment(project.db, project.id, path)
    with counting("planning", "cases") as advance:
        plans = plan_experiment(project.db, experiment, dry_run=mode.dry_run, progress=advance)
    tell_plans(project.db, experiment, plans)
    if not mode.dry_run:
        runs, failed = work_through(project.db, experiment, plans)
        put(table_of_runs(project, runs, experiment.truth), mode.fmt, mode.out)
        if failed:
            raise click.exceptions.Exit(1)


def tell_plans(database: Database, experiment: Experiment, plans: Sequence[Plan]) -> None:
    """Print what each run is, and what those that are new take together."""
    from recjudge_tui.reports.runs import cost_range, duration, estimate_lines
    from recjudge_tui.runs.saer import is_finished, total_of

    for planned in plans:
        if planned.existing and planned.run_id is not None:
            state = "done" if is_finished(database, planned.run_id) else "to be resumed"
            said = f"run {planned.run_id} of {planned.rater}, {planned.prompt}, exists ({state})"
        else:
            said = estimate_lines(planned.estimate, rater=planned.rater, prompt=planned.prompt)[0]
        narrate(f"{planned.protocol}: {said}")
    narrate_address(*(request.judge for request in experiment.requests))
    fresh = [planned.estimate for planned in plans if not planned.existing]
    if len(fresh) > 1:
        whole = total_of(fresh)
        narrate(
            f"together: {whole.calls:,} calls · cost {cost_range(whole)} · time {duration(whole.seconds)}"
        )


def work_through(database: Database, experiment: Experiment, plans: Sequence[Plan]) -> tuple[list[int], bool]:
    """Work on the runs that are not finished, one after the other, within the budget for all; their ids, and whether one
    could judge nothing. Exit 130 if one was stopped."""
    from recjudge_tui.runs.experiment import with_rest_of_budget
    from recjudge_tui.runs.saer import is_finished

    runs = [planned.run_id for planned in plans if planned.run_id is not None]
    failed = False
    for run_id in runs:
        if is_finished(database, run_id):
            continue
        with_rest_of_budget(database, experiment, runs, run_id)
        try:
            again = "to go on, repeat the same command; answered calls are not repeated"
            work_on(database, run_id, narrate, again)
        except JudgeError as error:
            narrate(f"run {run_id} goes no further: {error.title}. {error.cause}".rstrip())
            failed = True
        except click.exceptions.Exit as ended:
            if ended.exit_code != 1:
                raise
            failed = True
    return runs, failed


def _save(path: Path, request: RunRequest) -> None:
    from recjudge_tui.reports.common.table import save_text
    from recjudge_tui.runs.experiment import saved_experiment

    if path.suffix != _EXPERIMENT:
        raise click.UsageError(f"{path.name} must end in {_EXPERIMENT}, so that “recjudge run” knows it")
    if path.exists():
        raise click.UsageError(f"{path} exists; delete it, or choose another name")
    save_text(saved_experiment(request), path)
    narrate(f"written to {path}; run it with: recjudge run {path}")


def _run_protocol(database: Database, request: RunRequest, mode: Mode) -> None:
    from recjudge_tui.runs.settings import AlreadyJudgedError

    try:
        (plan,) = plan_and_print(database, [request], dry_run=mode.dry_run)
    except AlreadyJudgedError as error:
        asks = not mode.dry_run and sys.stdin.isatty() and sys.stderr.isatty()
        if not asks or not click.confirm(f"{error.title}. Judge again, and replace the verdicts?", err=True):
            narrate(f"{error.title}: nothing is left to judge (--again judges them once more)")
            return
        again = request.settings.model_copy(update={"again": True})
        (plan,) = plan_and_print(database, [replace(request, settings=again)], dry_run=False)
    if request.settings.until:
        narrate("this is the upper bound: the run stops as soon as the comparison is decided")
    if plan.run_id is None:
        return
    if mode.plan_only:
        click.echo(f"run {plan.run_id} planned: {plan.estimate.calls} calls")
    else:
        _work(database, plan.run_id, detach=mode.detach)


@dataclass(frozen=True)
class Mode:
    """What to do with the plan, and where and how the page is written."""

    dry_run: bool
    plan_only: bool
    detach: bool
    fmt: str | None
    out: Path | None
    human_price: float | None = None


def _run_saer(project: Project, request: SaerRequest, rater: str, mode: Mode) -> None:
    """Plan both stages, or find them, work on what is outstanding, and print the page. Exit 130 if one was stopped."""
    from recjudge_tui.runs.saer import next_stage, plan_saer

    with counting("planning", "cases") as advance:
        plan = plan_saer(project.db, project.id, request, rater=rater, dry_run=mode.dry_run, progress=advance)
    _tell(project.db, request, plan)
    if plan.group_id is None:
        return
    if mode.plan_only:
        for planned in plan.stages:
            if planned.run_id is not None:
                click.echo(f"run {planned.run_id} planned: {planned.estimate.calls} calls")
        return
    if mode.detach and (stage := next_stage(project.db, plan.group_id)) is not None:
        _detach(project.db, plan, stage, mode)
        return
    work_on_group(project.db, plan.group_id, mode.fmt, mode.out, mode.human_price)


def work_on_group(
    database: Database, group_id: int, fmt: str | None, out: Path | None, human_price: float | None = None
) -> None:
    """Work through the outstanding stages of a SAER run and print its page. Exit 130 if one was stopped."""
    from recjudge_tui.project import Project
    from recjudge_tui.reports.papers.saer import Stages, saer_page
    from recjudge_tui.runs.saer import next_stage, result_of

    while (stage := next_stage(database, group_id)) is not None:
        assert stage.run_id is not None
        if not stage.existing:
            narrate(f"{stage.protocol}: run {stage.run_id}, {stage.estimate.calls:,} calls")
        work_on(
            database,
            stage.run_id,
            partial(_narrate_of, stage.protocol),
            "to resume, repeat the same command; answered calls are not repeated",
        )
    saer = result_of(database, group_id)
    stages = Stages(
        saer.rater, saer.first, saer.second, saer.left_out, saer.drop_poor_over, saer.why_none, human_price
    )
    put(saer_page(Project.numbered(database, saer.project_id), stages), fmt, out)


def _narrate_of(protocol: str, line: str) -> None:
    narrate(f"{protocol}: {line}")


def _tell(database: Database, request: SaerRequest, plan: SaerPlan) -> None:
    from recjudge_tui.reports.runs import cost_range, duration, estimate_lines
    from recjudge_tui.runs.saer import is_finished
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


def _detach(database: Database, plan: SaerPlan, stage: Plan, mode: Mode) -> None:
    from recjudge_tui.runs.saer import detach_saer

    assert plan.group_id is not None
    assert stage.run_id is not None
    words = [f"--format={mode.fmt}"] if mode.fmt else []
    words += ["-o", str(mode.out)] if mode.out else []
    words += [f"--human-price={mode.human_price}"] if mode.human_price else []
    detach_saer(database, plan.group_id, stage.run_id, words)
    first, second = plan.first.run_id, plan.second.run_id
    if stage.run_id != first:
        click.echo(f"run {stage.run_id} started in the background")
    elif second is None:
        click.echo(f"run {first} started in the background; the pairs are planned when it has ended")
    else:
        click.echo(f"runs {first} and {second} started in the background, one after the other")
    narrate("to print the page when both are done, repeat the same command")


# the settings that a stored run may get anew
_CHANGES = {
    "budget_usd": "A new budget for the whole run, including what it has spent.",
    "max_tokens": "Another cap on a reply, in tokens.",
    "history": "Show fewer events of each user, in cases without an answer.",
    "timeout_s": "Another timeout of each attempt, in seconds.",
    "sending": "Send this to the server too, such as frequency_penalty=0.5.",
}
changes_options = with_options(
    [RUN_OPTIONS[name].but(default=None, by_protocol=False, rare=False) for name in _CHANGES],
    offered(),
    **_CHANGES,
)


@click.group(commands=report_commands("runs"))
def runs() -> None:
    """List, resume, retry, rename, stop or delete runs."""


@runs.command("list")
@database_report
@click.option("-p", "--project", metavar="PROJECT", envvar=PROJECT_VARIABLE, help="Only this project's runs.")
def runs_list(database: Database, project: str | None) -> Table:
    """List all runs with their cost, newest first.

    Example:
      recjudge runs list -p movies
    """
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Note
    from recjudge_tui.reports.listings import runs as listed
    from recjudge_tui.runs.lease import is_active

    table = listed(database, Project.named(database, project) if project else None)
    running = [int(str(row["id"])) for row in table.rows if row["state"] == "running"]
    alone = [run for run in running if not is_active(database, run)]
    notes = [Note(f"run {run}: no process works on it; {how_to_resume(run)}", "warning") for run in alone]
    return replace(table, notes=(*table.notes, *notes))


@runs.command("show")
@database_report
@click.argument("run_id", metavar="ID", type=int)
@click.option("-p", "--project", metavar="PROJECT", help="The project of the run, whose id is enough.")
def runs_show(database: Database, run_id: int, project: str | None) -> Table:
    """Show one run: its settings, counts and latest errors.

    Example:
      recjudge runs show 3
    """
    from recjudge_tui.reports.listings import run
    from recjudge_tui.store.runs import run_row

    if project and run_row(database, run_id)["project"] != project:
        raise click.UsageError(f"run {run_id} is not of project “{project}”")
    return run(database, run_id)


@runs.command("resume")
@in_database
@click.argument("run_id", metavar="ID", type=int)
@changes_options
@click.option("--detach", is_flag=True, help="Run in the background.")
@trust_option
def runs_resume(database: Database, run_id: int, detach: bool, **changes: object) -> None:
    """Resume a run that was stopped, paused, interrupted or killed. Answered calls are not repeated.

    Example:
      recjudge runs resume 3
      recjudge runs resume 3 --budget 20
    """
    from recjudge_tui.runs.start import prepare_resume

    prepare_resume(database, run_id, **changes)
    _work(database, run_id, detach=detach)


@runs.command("retry")
@in_database
@click.argument("run_id", metavar="ID", type=int)
@changes_options
@click.option("--detach", is_flag=True, help="Run in the background.")
@trust_option
def runs_retry(database: Database, run_id: int, detach: bool, **changes: object) -> None:
    """Ask the failed calls of a run again.

    Example:
      recjudge runs retry 3
      recjudge runs retry 3 --max-tokens 4096 --timeout 300
    """
    from recjudge_tui.runs.start import prepare_retry

    failed = prepare_retry(database, run_id, **changes)
    if not failed:
        narrate(f"run {run_id} has no failed calls")
    else:
        narrate(f"asking {failed:,} failed {'call' if failed == 1 else 'calls'} again")
    _work(database, run_id, detach=detach)


@runs.command("work-group", hidden=True)
@in_database
@click.argument("group_id", metavar="GROUP", type=int)
@trust_option
@_human_price
@table_options
def runs_work_group(
    database: Database, group_id: int, fmt: str | None, out: Path | None, human_price: float | None
) -> None:
    """Work through the stages of a SAER run and print its page. “recjudge run saer --detach” starts this command.

    Example:
      recjudge runs work-group 1
    """
    work_on_group(database, group_id, fmt, out, human_price)


@runs.command("stop")
@in_database
@click.argument("run_id", metavar="ID", type=int)
@click.option("--pause", is_flag=True, help="Mark it as paused instead of stopped.")
def runs_stop(database: Database, run_id: int, pause: bool) -> None:
    """Stop a run: let the calls in flight finish, and wait for them.

    Example:
      recjudge runs stop 3
    """
    from recjudge_tui.runs.lease import stop_and_wait

    narrate(stop_and_wait(database, run_id, "pause" if pause else "stop"))


@runs.command("take-over")
@in_database
@click.argument("run_id", metavar="ID", type=int)
def runs_take_over(database: Database, run_id: int) -> None:
    """Release a run that a process on another machine holds and will not finish.

    Example:
      recjudge runs take-over 3
    """
    from recjudge_tui.runs.lease import take_over

    owner = take_over(database, run_id)
    narrate(f"run {run_id} is released; it was held by: {owner}" if owner else f"nobody held run {run_id}")
    narrate(how_to_resume(run_id))


@runs.command("concurrency")
@in_database
@click.argument("run_id", metavar="ID", type=int)
@click.argument("calls", metavar="N", type=click.IntRange(1, 1024))
def runs_concurrency(database: Database, run_id: int, calls: int) -> None:
    """Set how many calls a run makes at once. An active run follows within a second.

    No call is dropped or repeated. The new number also applies when the run is resumed.

    Example:
      recjudge runs concurrency 3 16
    """
    from recjudge_tui.runs.lease import is_active
    from recjudge_tui.runs.start import change_concurrency

    change_concurrency(database, run_id, calls)
    when = "from now on" if is_active(database, run_id) else "when it is resumed"
    click.echo(f"run {run_id}: {calls} call{'s' if calls > 1 else ''} at once, {when}")


@runs.command("rename")
@in_database
@click.argument("run_id", metavar="ID", type=int)
@click.argument("name", metavar="NAME")
def runs_rename(database: Database, run_id: int, name: str) -> None:
    """Give a run a name of your own, shown beside its number. An empty NAME removes it.

    Example:
      recjudge runs rename 3 "before the new prompt"
    """
    from recjudge_tui.store.runs import rename_run

    rename_run(database, run_id, name)
    narrate(f"run {run_id} is called “{name.strip()}”" if name.strip() else f"run {run_id} has no name")


@runs.command("delete")
@in_database
@click.argument("run_id", metavar="ID", type=int)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def runs_delete(database: Database, run_id: int, yes: bool) -> None:
    """Delete a run with its calls, answers and verdicts.

    Example:
      recjudge runs delete 3 --yes
    """
    from recjudge_tui.runs.lease import refuse_when_active
    from recjudge_tui.store.runs import delete_run, run_summary

    row = run_summary(database, run_id)
    refuse_when_active(database, run_id)
    if not yes:
        click.confirm(f"Delete run {run_id} with {row['done']} answers?", abort=True, err=True)
    delete_run(database, run_id)
    narrate(f"run {run_id} deleted")


# the judge whose figures every other one should exceed
_FLOOR = "rules"
_SETTINGS = (
    "as_published", "systems", "domain", "use_cache", "sample", "seed", "top_k", "history", "history_days", "concurrency",
    "timeout_s", "budget_usd", "max_tokens", "sending",
)  # fmt: skip
_RUN = (
    click.option("--judge", "spec", metavar="SPEC", help="Run this judge first: rules, ollama:MODEL, ..."),
    address_options,
    click.option("--dry-run", is_flag=True, help="Print the estimate and stop."),
    click.option(
        "--detach", is_flag=True, help="Run in the background. Print the table later, without --judge."
    ),
    setting_options(
        *_SETTINGS,
        protocols=(ADVERSARIAL,),
        sample="Judge the cases of N users.  [default: 100; position: all]",
        seed="The seed of the users and positions drawn.",
    ),
)
_NAMED = (
    click.option(
        "--prompt", metavar="NAME[@VERSION]", default="",
        help="The prompt to use. Default: SAER's own for this kind of data.",
    ),
    click.option("--name", "new_rater", metavar="RATER", default="", help="The judge's name as a rater."),
)  # fmt: skip
_FAULTS = click.option(
    "--floor/--no-floor", default=True,
    help="With --judge: let the built-in rules judge the same lists, as a baseline (default), or not.",
)  # fmt: skip
_PROMPTS = click.option(
    "--prompts", metavar="A,B,...", default="generic,overspecified,saer", show_default=True,
    help="generic: the history and which list is better; overspecified: a rubric of five criteria; saer; or prompts by"
    " name.",
)  # fmt: skip
# of each test the options of its run
_OPTIONS: dict[str, tuple[Callable[[Command], Command], ...]] = {
    "position": _RUN, "adversarial": (*_RUN, *_NAMED), "ablation": (*_RUN, _PROMPTS),
    "injected": (*_RUN, *_NAMED, _FAULTS),
}  # fmt: skip


@click.group()
def robustness() -> None:
    """Test a judge with planted faults, prompts and positions."""


def _judged_first(test: str, project: Project, given: dict[str, Any]) -> dict[str, Any] | None:
    """Run the judge, if one is named; the options of the report, about that judge."""
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.runs.plan import arms_of

    values = {option.name: given[option.name] for option in REPORTS[f"robustness {test}"].options}
    own = "raters" if test == "ablation" else "rater"
    if given["spec"] is None:
        for name in ("sample", "systems", "dry_run", "detach", "budget_usd"):
            if given[name]:
                word = name.removesuffix("_usd").replace("_", "-")
                raise click.UsageError(f"--{word} needs --judge, because it is an option of a run")
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
        runs = [(judge, arm.rater, arm.prompt) for arm in arms]
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
    from recjudge_tui.runs import start
    from recjudge_tui.runs.plan import RunRequest
    from recjudge_tui.runs.settings import AlreadyJudgedError, settings_for

    database = project.db
    settings = settings_for(protocol, **{name: given[name] for name in _SETTINGS})
    requests = [RunRequest(project.id, judge, settings, rater, prompt) for judge, rater, prompt in runs]
    raters = []
    for request in list(requests):
        try:
            raters.append(start.plan(database, [request], dry_run=True)[0].rater)
        except AlreadyJudgedError as error:
            narrate(f"{error.title}: its verdicts are shown")
            raters.append(error.rater)
            requests.remove(request)
    plans = plan_and_print(database, requests, dry_run=given["dry_run"])
    planned = [plan.run_id for plan in plans if plan.run_id is not None]
    for number, run_id in enumerate(planned):
        if given["detach"]:
            start.detach(database, run_id)
            narrate(f"run {run_id} started in the background: “recjudge runs show {run_id}”")
            continue
        work_on(database, run_id, narrate, *map(how_to_resume, planned[number:]))
    return () if given["dry_run"] or given["detach"] else tuple(raters)


def _with(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


for _test, _options in _OPTIONS.items():
    robustness.add_command(
        report_command(
            REPORTS[f"robustness {_test}"], partial(_with, _options), partial(_judged_first, _test)
        )
    )
