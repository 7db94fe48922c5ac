"""`recjudge robustness`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recjudge_tui.cli.declared import setting_options
from recjudge_tui.cli.judging.start import (
    exit_if_interrupted,
    exit_if_nothing_judged,
    how_to_resume,
    outcome,
    plan_and_print,
    print_failures,
    work_here,
)
from recjudge_tui.cli.options import ProtocolChoice, address_options, names, narrate, project_option
from recjudge_tui.cli.report_command import project_report
from recjudge_tui.domain.adversarial import ADVERSARIAL
from recjudge_tui.domain.planted import PLANTED
from recjudge_tui.domain.protocols import SAER

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database

# the judge whose figures every other one should exceed
_FLOOR = "rules"
Command = TypeVar("Command", bound=Callable[..., Any])
_SETTINGS = (
    "systems", "domain", "use_cache", "sample", "seed", "top_k", "history", "history_days", "concurrency", "timeout_s",
    "budget_usd",
)  # fmt: skip
_RUN_OPTIONS = (
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


def run_options(command: Command) -> Command:
    """The options of the run whose table is printed."""
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


def _made_case_options(made: str) -> Callable[[Command], Command]:
    """The options of a test on cases made from real lists; `made` is what these are called."""

    def add(command: Command) -> Command:
        for option in reversed(
            (
                click.option(
                    "--prompt",
                    metavar="NAME[@VERSION]",
                    default="",
                    help="The prompt to use. Default: SAER's own for this kind of data.",
                ),
                click.option(
                    "--name", "new_rater", metavar="RATER", default="", help="The judge's name as a rater."
                ),
                click.option(
                    "--rater",
                    metavar="R",
                    help=f"Show all raters on the {made} that R judged. Default with --judge: that judge.",
                ),
                click.option(
                    "--by-system", is_flag=True, help="Add a row for each system whose lists were used."
                ),
            )
        ):
            command = option(command)
        return command

    return add


@click.group()
def robustness() -> None:
    """Test a judge with planted faults, prompts and positions."""


@robustness.command()
@project_option
@run_options
@_made_case_options("pairs")
@project_report
def adversarial(
    database: Database,
    project_id: int,
    spec: str | None,
    prompt: str,
    new_rater: str,
    rater: str | None,
    by_system: bool,
    **options: Any,
) -> Table | None:
    """Test whether a judge can tell a user's own list from one made for somebody else.

    The judge compares a user's own list with another user's list by the same system, in one call per pair, without
    knowing which is which (SAER; Liu et al., SIGIR 2026). The order is random and recorded. N users are drawn,
    equally many from each system, and each gives two pairs: one as published, and one in which the foreign list
    contains no item that the user already has, since such items give it away; both lists are cut to equal length.

    Prints how many pairs each rater judged correct, wrong and tie, with intervals over users. To compare people, import
    their labels for the lists foreign:SYSTEM and own:SYSTEM (foreign-unseen:, own-unseen:) of a user; “recjudge
    export cases” has the names. The same seed draws the same pairs. Leaderboards and agreement leave them out.

    \b
    Example:
      recjudge robustness adversarial -p movies --judge rules
      recjudge robustness adversarial -p movies --judge ollama:llama3.1:8b --sample 50 --by-system
      recjudge robustness adversarial -p movies --rater rules
    """
    from recjudge_tui.reports.reliability.adversarial import AdversarialOptions, adversarial_table

    if spec is None:
        _no_run(options)
    else:
        judge = _judge(spec, options)
        judged = _judged(database, project_id, judge, options, [(new_rater, prompt)])
        if not judged:
            return None
        rater = rater or judged[0]
    return adversarial_table(database, project_id, AdversarialOptions(rater, by_system))


@robustness.command()
@project_option
@run_options
@_made_case_options("lists")
@click.option(
    "--floor/--no-floor",
    default=True,
    help="With --judge: let the built-in rules judge the same lists, as a baseline (default), or not.",
)
@project_report
def injected(
    database: Database,
    project_id: int,
    spec: str | None,
    prompt: str,
    new_rater: str,
    rater: str | None,
    by_system: bool,
    floor: bool,
    **options: Any,
) -> Table | None:
    """Plant known faults into real lists, and measure how many a judge finds.

    N users are drawn, equally many from each system. For each user, one fault of every kind that the user's history
    allows is planted at a random rank, each in a separate copy of the list: a variant of another item, an item the user
    has, a refill that comes too early, a second durable good, an item that is off-category. The judge sees each copy
    as an ordinary list. The issues are those of SAER (Liu et al., SIGIR 2026).

    Prints for each kind of fault how many planted items each rater flagged for the right issue, for another one or not
    at all, and how often it flagged items that certainly have no such fault. The built-in rules judge the same lists,
    as a baseline. The same seed plants the same faults. Leaderboards, agreement and flags leave these lists out.

    \b
    Example:
      recjudge robustness injected -p shop --judge rules
      recjudge robustness injected -p shop --judge ollama:llama3.1:8b --sample 50 --by-system
      recjudge robustness injected -p shop --rater rules
    """
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.reports.reliability.injected import InjectedOptions, injected_table

    if spec is None:
        _no_run(options)
    else:
        judge = _judge(spec, options)
        judged = _judged(database, project_id, judge, options, [(new_rater, prompt)], PLANTED)
        if floor and spec != _FLOOR and not options["dry_run"]:
            _judged(database, project_id, JudgeSpec(spec=_FLOOR), options, [("", prompt)], PLANTED)
        if not judged:
            return None
        rater = rater or judged[0]
    return injected_table(database, project_id, InjectedOptions(rater, by_system))


@robustness.command()
@project_option
@run_options
@click.option(
    "--prompts",
    metavar="A,B,...",
    default="generic,overspecified,saer",
    show_default=True,
    help="generic: the history and which list is better; overspecified: a rubric of five criteria; saer;"
    " or prompts by name.",
)
@click.option(
    "--raters",
    metavar="A,B,...",
    help="Compare these raters, who have already judged the pairs; no judge is asked.",
)
@project_report
def ablation(
    database: Database,
    project_id: int,
    spec: str | None,
    prompts: str,
    raters: str | None,
    **options: Any,
) -> Table | None:
    """Compare prompts on the same adversarial pairs: accuracy and cost.

    The answers to each prompt belong to a rater called “JUDGE PROMPT”. Two prompts are compared on the pairs
    answered with both: the difference of the shares correct with its interval over users, and the exact sign test
    over users, each counted once (McNemar's test for one pair a user), Holm-adjusted. In the paper (Liu et al.,
    SIGIR 2026), the three prompts got 74, 88 and 91 % of the pairs right. --budget applies to each prompt.

    \b
    Example:
      recjudge robustness ablation -p movies --judge ollama:llama3.1:8b --prompts generic,overspecified,saer
      recjudge robustness ablation -p movies --raters "ollama:llama3.1:8b generic,ollama:llama3.1:8b saer"
    """
    from recjudge_tui.reports.reliability.ablation import ablation_table
    from recjudge_tui.runs.plan.ablation import arms_of

    if (spec is None) == (raters is None):
        raise click.UsageError("give either --judge to ask a judge, or --raters to compare stored verdicts")
    compared = names(raters)
    if spec is None:
        _no_run(options)
    else:
        judge = _judge(spec, options)
        arms = arms_of(database, project_id, judge, names(prompts))
        runs = [(arm.rater, arm.prompt) for arm in arms]
        compared = _judged(database, project_id, judge, options, runs)
        if not compared:
            return None
    return ablation_table(database, project_id, compared)


@robustness.command()
@project_option
@run_options
@click.option(
    "--protocol",
    type=ProtocolChoice(pairs=True),
    default=SAER[1],
    show_default=True,
    help="The protocol whose verdicts are analysed.",
)
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option(
    "--rater",
    metavar="R",
    help="Only this judge. pairwise: also compare its calls with its verdicts.",
)
@click.option(
    "--quality",
    metavar="R",
    help="The rater whose pointwise ratings define the quality gap. Default: the judge's own.",
)
@click.option("--no-gap", is_flag=True, help="Leave out the rows by quality gap.")
@project_report
def position(
    database: Database,
    project_id: int,
    spec: str | None,
    protocol: str,
    aspect: str | None,
    rater: str | None,
    quality: str | None,
    no_gap: bool,
    **options: Any,
) -> Table | None:
    """Measure the effect of list order: consistency, true and position-dependent ties, the favoured set.

    One row per judge, pair of systems and aspect (SAER; Liu et al., SIGIR 2026), then one per quality gap: how far
    apart the two lists are rated pointwise (Good 2, Partial 1, Poor 0), since position matters most where the gap
    is small. The net share is the share of calls that chose Set 1 minus the share that chose Set 2. Intervals
    are over users. With --rater alone, the table shows wins, ties and losses of its calls (two per pair) next to
    those of its adjudicated verdicts. --judge asks a judge first, in both orders.

    \b
    Example:
      recjudge robustness position -p movies
      recjudge robustness position -p movies --protocol arena --aspect satisfaction
      recjudge robustness position -p movies --rater rules
      recjudge robustness position -p movies --judge ollama:llama3.1:8b --sample 100
    """
    from recjudge_tui.project import Project
    from recjudge_tui.reports.benchmark import pair_counts_table
    from recjudge_tui.reports.reliability.position import PositionOptions, position_table
    from recjudge_tui.store.raters.raters import rater_row

    if spec is not None and rater is not None:
        raise click.UsageError("give either --judge to ask a judge, or --rater to analyse stored verdicts")
    for name in filter(None, (rater, quality)):
        rater_row(database, project_id, name)
    if spec is None:
        _no_run(options)
        if rater is not None and protocol == SAER[1] and aspect is None and quality is None:
            return pair_counts_table(Project.numbered(database, project_id), rater)
    else:
        judge = _judge(spec, options)
        judged = _judged(database, project_id, judge, options, [("", "")], protocol)
        if not judged:
            return None
        rater = judged[0]
    shown = PositionOptions(rater, aspect, not no_gap, quality)
    return position_table(database, project_id, protocol, options=shown)


def _judge(spec: str, options: dict[str, Any]) -> JudgeSpec:
    from recjudge_tui.cli.judging.judge_choice import chosen_judge

    return chosen_judge(spec, options["address"])


def _no_run(options: dict[str, Any]) -> None:
    for name in ("sample", "systems", "dry_run", "detach", "budget_usd"):
        if options[name]:
            word = name.removesuffix("_usd").replace("_", "-")
            raise click.UsageError(f"--{word} needs --judge, because it is an option of a run")


def _judged(
    database: Database,
    project_id: int,
    judge: JudgeSpec,
    options: dict[str, Any],
    runs: Sequence[tuple[str, str]],
    protocol: str = ADVERSARIAL,
) -> tuple[str, ...]:
    """Run the judge once for each (rater, prompt) and return the raters. Exit 130 if a run was stopped.

    Returns () after a dry run and with --detach, because there is nothing to show yet.
    """
    from recjudge_tui.runs import start
    from recjudge_tui.runs.plan.plan import RunRequest
    from recjudge_tui.runs.plan.series import AlreadyJudgedError
    from recjudge_tui.runs.plan.settings import settings_for

    settings = settings_for(protocol, **{name: options[name] for name in _SETTINGS})
    requests = [RunRequest(project_id, judge, settings, rater, prompt) for rater, prompt in runs]
    raters = []
    for request in list(requests):
        try:
            raters.append(start.plan(database, [request], dry_run=True)[0].rater)
        except AlreadyJudgedError as error:
            narrate(f"{error.title}: its verdicts are shown")
            raters.append(error.rater)
            requests.remove(request)
    plans = plan_and_print(database, requests, dry_run=options["dry_run"])
    planned = [plan.run_id for plan in plans if plan.run_id is not None]
    for number, run_id in enumerate(planned):
        if options["detach"]:
            start.detach(database, run_id)
            narrate(f"run {run_id} started in the background: “recjudge runs show {run_id}”")
            continue
        result = work_here(database, run_id)
        narrate(outcome(result))
        print_failures(database, result)
        exit_if_interrupted(result, *map(how_to_resume, planned[number:]))
        exit_if_nothing_judged(result)
    return () if options["dry_run"] or options["detach"] else tuple(raters)
