"""`recjudge robustness`: run a judge if one is named, then print the report of that name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.declared import report_command, setting_options
from recjudge_tui.cli.judging.start import (
    exit_if_interrupted,
    exit_if_nothing_judged,
    how_to_resume,
    outcome,
    plan_and_print,
    print_failures,
    work_here,
)
from recjudge_tui.cli.options import Command, address_options, names, narrate
from recjudge_tui.domain.made_lists import ADVERSARIAL, PLANTED
from recjudge_tui.reports.declare import REPORTS

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.store.database import Database

# the judge whose figures every other one should exceed
_FLOOR = "rules"
_SETTINGS = (
    "systems", "domain", "use_cache", "sample", "seed", "top_k", "history", "history_days", "concurrency", "timeout_s",
    "budget_usd",
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
        sample="Judge the cases of N users; position: N pairs.  [default: 100; position: all]",
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


def _judged_first(
    test: str, database: Database, project_id: int, given: dict[str, Any]
) -> dict[str, Any] | None:
    """Run the judge, if one is named; the options of the report, about that judge."""
    from recjudge_tui.cli.judging.judge_choice import chosen_judge
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.runs.plan.ablation import arms_of

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
        arms = arms_of(database, project_id, judge, names(given["prompts"]))
        runs = [(judge, arm.rater, arm.prompt) for arm in arms]
    protocol = {"injected": PLANTED, "position": values.get("protocol", "")}.get(test, ADVERSARIAL)
    judged = _judged(database, project_id, given, runs, protocol)
    if given.get("floor") and given["spec"] != _FLOOR and not given["dry_run"]:
        _judged(database, project_id, given, [(JudgeSpec(spec=_FLOOR), "", given["prompt"])], protocol)
    if not judged:
        return None
    return values | {own: judged if test == "ablation" else values[own] or judged[0]}


def _judged(
    database: Database,
    project_id: int,
    given: dict[str, Any],
    runs: Sequence[tuple[JudgeSpec, str, str]],
    protocol: str,
) -> tuple[str, ...]:
    """Run each (judge, rater, prompt) and return the raters. Exit 130 if a run was stopped.

    Returns () after a dry run and with --detach, because there is nothing to show yet.
    """
    from recjudge_tui.runs import start
    from recjudge_tui.runs.plan.plan import RunRequest
    from recjudge_tui.runs.plan.series import AlreadyJudgedError
    from recjudge_tui.runs.plan.settings import settings_for

    settings = settings_for(protocol, **{name: given[name] for name in _SETTINGS})
    requests = [RunRequest(project_id, judge, settings, rater, prompt) for judge, rater, prompt in runs]
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
        result = work_here(database, run_id)
        narrate(outcome(result))
        print_failures(database, result)
        exit_if_interrupted(result, *map(how_to_resume, planned[number:]))
        exit_if_nothing_judged(result)
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
