"""Commands about judges and prompts: `judge`, `prompt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.command import PrintedWithExit
from recjudge_tui.cli.options import chosen_judge
from recjudge_tui.cli.output import narrate, open_db, put
from recjudge_tui.domain.text import quantity, safe_text
from recjudge_tui.domain.where import TEACH, TEST
from recjudge_tui.errors import JudgeError, UsageError
from recjudge_tui.prompting.drafts import examples_from_outcomes, located_findings
from recjudge_tui.prompting.trial import probe, request_now, try_prompt
from recjudge_tui.reports import changes, judges, listings
from recjudge_tui.runs.estimate import price_of
from recjudge_tui.store import prompts
from recjudge_tui.store.runs import save_capabilities

if TYPE_CHECKING:
    from recjudge_tui.domain.calls import Order
    from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Table
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


def prompt_tune(
    project: Project, name: str, spec: str, address: JudgeAddress, source: str, truth: str, count: int,
    budget_usd: float | None,
) -> Table:  # fmt: skip
    from recjudge_tui.cli.running import tell_plans, work_through
    from recjudge_tui.prompting.tuning import candidates, compared, experiment_of, keep_best, lesson
    from recjudge_tui.reports.experiment import tuned
    from recjudge_tui.runs.groups import plan_experiment

    judge = chosen_judge(spec, address)
    prompts.load_shipped(project.db)
    taught = lesson(project, name, source, truth)
    first = experiment_of(taught, judge, [taught.name], TEACH, budget_usd)
    narrate(f"{taught.truth} teaches with {len(taught.users(TEACH))} users, {len(taught.users(TEST))} test")
    plans = plan_experiment(project.db, first, dry_run=False)
    tell_plans(project.db, first, plans)
    taught_by, _ = work_through(project.db, first, plans)
    tried = list(candidates(taught, plans[0].rater, count))
    if not tried:
        raise UsageError(
            f"the judge agrees with {taught.truth} on all cases that teach",
            "There is no mistake to learn from.",
        )
    rest = experiment_of(taught, judge, [taught.name, *(prompt for prompt, _ in tried)], TEST, budget_usd)
    rest = rest._replace(spent_by=tuple(taught_by))
    plans = plan_experiment(project.db, rest, dry_run=False)
    tell_plans(project.db, rest, plans)
    work_through(project.db, rest, plans)
    trials = compared(taught, plans, [len(taught.prompt.examples), *(examples for _, examples in tried)])
    new, version = keep_best(taught, trials)
    return tuned(project, trials, taught.truth, f"{new}@{version}")


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
