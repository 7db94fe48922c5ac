"""Commands about judges and prompts: `judge`, `prompt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.command import PrintedWithExit
from recjudge_tui.cli.options import chosen_judge, only_with_judge
from recjudge_tui.cli.output import narrate, open_db, put
from recjudge_tui.domain.text import quantity, safe_text
from recjudge_tui.domain.where import TEACH, TEST
from recjudge_tui.errors import JudgeError, PromptError, UsageError
from recjudge_tui.prompting.drafts import examples_from_outcomes, located_findings
from recjudge_tui.prompting.trial import probe, request_now, try_prompt
from recjudge_tui.reports import changes, judges, listings
from recjudge_tui.runs.estimate import price_of
from recjudge_tui.store import prompts
from recjudge_tui.store.runs import save_capabilities

if TYPE_CHECKING:
    from collections.abc import Callable

    from recjudge_tui.domain.calls import Order
    from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.runs.plan import Plan, RunRequest
    from recjudge_tui.store.database import Database


def judge_test(
    spec: str, address: JudgeAddress, timeout_s: float, db: str | None, fmt: str | None, out: Path | None
) -> None:
    judge = chosen_judge(spec, address)
    with open_db(db) as database:
        try:
            capabilities = probe(judge, timeout_s)
        except JudgeError:
            put(judges.probe_table(judge, None, ""), fmt, out)
            raise
        save_capabilities(database, judge, capabilities)
        put(judges.probe_table(judge, capabilities, _price(judge)), fmt, out)


def _price(judge: JudgeSpec) -> str:
    price = price_of(judge)
    if price is None:
        return "unknown; add it to prices.toml"
    if price.source == "local":
        return "none (local server)"
    read, written = (1000 * price.cost(*tokens) for tokens in ((1000, 0), (0, 1000)))
    return f"${read:g} in, ${written:g} out per million tokens ({price.source})"


def prompt_list(database: Database) -> Table:
    prompts.load_shipped(database)
    return listings.prompts(database)


def prompt_show(database: Database, name: str, case_id: int | None, as_published: bool) -> None:
    if as_published and case_id is None:
        raise click.UsageError("--as-published needs --case ID: the form shows in the text of a case")
    prompts.load_shipped(database)
    if case_id is None:
        click.echo(safe_text(prompts.prompt_text(database, name)))
        return
    chosen = prompts.get_prompt(database, name)[2]
    for message in request_now(database, chosen, case_id, as_published=as_published).messages:
        click.echo(f"--- {message.role}")
        click.echo(safe_text(message.content))


def prompt_copy(database: Database, name: str, file: Path) -> None:
    prompts.load_shipped(database)
    own = prompts.copy_prompt(database, name, file)
    narrate(f"written to {file} under the name “{own}”; edit it, then: recjudge prompt add {file}")


def prompt_diff(database: Database, first: str, second: str) -> None:
    prompts.load_shipped(database)
    before, after = (prompts.prompt_text(database, name) for name in (first, second))
    for line in changes.prompt_diff(before, after, first, second):
        click.echo(safe_text(line))


def prompt_lint(file: Path) -> None:
    findings = located_findings(file, prompts.read_prompt(file))
    for finding in findings:
        click.echo(safe_text(finding))
    if findings:
        raise click.exceptions.Exit(1)
    narrate(f"{file}: OK")


def prompt_add(database: Database, file: Path) -> None:
    for finding in located_findings(file, prompts.read_prompt(file)):
        narrate(finding)
    name, version = prompts.add_prompt(database, file)
    click.echo(f"{name}@{version}")


def prompt_add_examples(project: Project, name: str, most: int, **_: str) -> None:
    prompts.load_shipped(project.db)
    made, version, users = examples_from_outcomes(project.db, project.id, name, most)
    click.echo(f"{made}@{version}")
    narrate(f"examples about {quantity(len(users), 'user')}, to be left out of runs: {', '.join(users)}")


def _worker(database: Database, budget: float | None) -> Callable[..., list[Plan]]:
    """Plans requests, tells them, and works on the runs that are not finished, all within one budget. Exit 1 where a run
    could judge nothing, 130 where one was stopped."""
    from recjudge_tui.cli.running import tell_plans, work_through
    from recjudge_tui.runs.groups import Experiment, plan_experiment

    spent: list[int] = []

    def work(*requests: RunRequest, dry_run: bool = False) -> list[Plan]:
        experiment = Experiment(requests, budget=budget, spent_by=tuple(spent))
        plans = plan_experiment(database, experiment, dry_run=dry_run)
        tell_plans(database, plans, requests)
        if not dry_run:
            runs, failed = work_through(database, experiment, plans)
            spent.extend(runs)
            if failed:
                raise click.exceptions.Exit(1)
        return plans

    return work


def prompt_tune(
    project: Project, name: str, spec: str, address: JudgeAddress, source: str, truth: str, count: int,
    budget_usd: float | None, rewrite: bool,
) -> Table:  # fmt: skip
    from recjudge_tui.prompting import tuning
    from recjudge_tui.reports.experiment import tuned

    judge = chosen_judge(spec, address)
    prompts.load_shipped(project.db)
    taught = tuning.lesson(project, name, source, truth)
    narrate(f"{taught.truth} teaches with {len(taught.users(TEACH))} users, {len(taught.users(TEST))} test")
    work = _worker(project.db, budget_usd)
    (teaching,) = work(*tuning.requests_of(taught, judge, [taught.name], TEACH, budget_usd))
    wrong = tuning.mistakes(taught, teaching.rater)
    if not wrong:
        reason = f"the judge agrees with {taught.truth} on all cases that teach"
        raise UsageError(reason, "There is no mistake to learn from.")
    tried, cause = [], "No case that the judge got wrong has a label on every question."
    try:
        tried = list(tuning.candidates(taught, wrong, count))
    except PromptError as error:
        cause = error.sentences
    if not tried and not rewrite:
        raise UsageError("no example can be made", cause, "Add --rewrite to try rules instead.")
    if not tried:
        narrate(f"no example can be made: {cause}")
    if rewrite:
        (written,) = work(tuning.rewriting(taught, teaching.rater, wrong, judge, budget_usd))
        assert written.run_id is not None
        tried.append(tuning.rewritten(taught, written.run_id))
    names = [taught.name, *(prompt for prompt, _ in tried)]
    plans = work(*tuning.requests_of(taught, judge, names, TEST, budget_usd))
    trials = tuning.compared(taught, plans, ["", *(added for _, added in tried)])
    new, version = tuning.keep_best(taught, trials)
    return tuned(project, trials, taught.truth, f"{new}@{version}")


def themes_first(name: str, project: Project, given: dict[str, Any]) -> dict[str, Any] | None:
    """Before the report on reasons: let the judge that is named find their themes, run by run; the report's options."""
    from recjudge_tui.prompting.themes import labelling, merging, naming, reasons_to_read
    from recjudge_tui.reports.declare import REPORTS, undivided

    values = {option.name: given[option.name] for option in REPORTS[name].options}
    spec, budget, dry_run = given["spec"], given["budget_usd"], given["dry_run"]
    if spec is None:
        only_with_judge(given, "budget_usd", "dry_run")
        return values
    judge = chosen_judge(spec, given["address"])
    prompts.load_shipped(project.db)
    reasons = reasons_to_read(project, undivided(project, REPORTS[name], **values))
    work = _worker(project.db, budget)
    (named,) = work(naming(reasons, judge, budget), dry_run=dry_run)
    if dry_run:
        many = quantity(len(reasons.texts), "reason")
        narrate(f"then one call for each of {many}, up to 100 of them twice")
        return None
    assert named.run_id is not None  # planned and stored
    if (merged := merging(reasons, named.run_id, judge, budget)) is not None:
        (named,) = work(merged)
    assert named.run_id is not None
    work(*labelling(reasons, named.run_id, judge, budget))
    return values


def prompt_delete(database: Database, name: str) -> None:
    prompts.load_shipped(database)
    versions = prompts.delete_prompt(database, name)
    deleted = ", ".join(f"{name.partition('@')[0]}@{version}" for version in versions)
    narrate(f"deleted: {deleted}")


def prompt_try(
    database: Database,
    name: str,
    case_id: int,
    spec: str | None,
    order: Order | None,
    address: JudgeAddress,
    timeout_s: float,
) -> PrintedWithExit:
    judge = chosen_judge(spec, address)
    prompts.load_shipped(database)
    _, version, chosen = prompts.get_prompt(database, name)
    trial = try_prompt(database, chosen, case_id, judge, order, timeout_s=timeout_s)
    table = judges.trial_table(trial, f"{chosen.name}@{version}")
    return PrintedWithExit(table, exit_code=1 if trial.parsed is None else 0)
