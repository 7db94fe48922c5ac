"""`recjudge run PROTOCOL`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import setting_options, with_help_all
from recjudge_tui.cli.judging.start import plan_and_print, work_and_print
from recjudge_tui.cli.options import (
    FiniteRange,
    ProtocolChoice,
    address_options,
    db_option,
    names,
    narrate,
    project_option,
    table_options,
)
from recjudge_tui.cli.report_command import open_project
from recjudge_tui.domain.protocols import SAER, decidable, offered, protocol_facts
from recjudge_tui.domain.run_options import SAER_NAME, summary_of

if TYPE_CHECKING:
    from recjudge_tui.cli.judging.saer import Mode
    from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
    from recjudge_tui.runs.plan.plan import RunRequest
    from recjudge_tui.store.database import Database


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
a page of results instead (--format, -o); to resume it, run the same command again. With saer, --limit and
--sample count users, --budget covers both stages, and --prompt may name one prompt for each stage: A,B.
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
"""


@click.command(help=_HELP)
@click.argument("protocol", type=ProtocolChoice(SAER_NAME))
@project_option
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
@db_option
@table_options
def run(
    protocol: str,
    project: str,
    spec: str | None,
    address: JudgeAddress,
    rater: str,
    prompt: str,
    dry_run: bool,
    plan_only: bool,
    detach: bool,
    drop_poor_over: float | None,
    db: str | None,
    fmt: str | None,
    out: Path | None,
    **options: object,
) -> None:
    from recjudge_tui.cli.judging.judge_choice import chosen_judge
    from recjudge_tui.cli.judging.saer import Mode
    from recjudge_tui.runs.plan.plan import RunRequest
    from recjudge_tui.runs.plan.settings import settings_for

    judge = chosen_judge(spec, address)
    mode = Mode(dry_run, plan_only, detach, fmt, out)
    if protocol == SAER_NAME:
        with open_project(db, project) as (database, identity):
            _run_saer(database, identity, judge, rater, names(prompt), mode, drop_poor_over, **options)
        return
    if drop_poor_over is not None or fmt or out:
        raise click.UsageError("--drop-poor-over, --format and -o are only for “recjudge run saer”")
    settings = settings_for(protocol, **options)
    with open_project(db, project) as (database, identity):
        _run_protocol(database, RunRequest(identity, judge, settings, rater, prompt), mode)


# the 15 options that most runs need are left
with_help_all(
    run, "api_key_env", "header_env", "trust_hosts", "plan_only", "drop_poor_over", "db", "fmt", "out", "columns",
    "plain", "notes", "explain", "all",
)  # fmt: skip


def _run_saer(
    database: Database,
    project_id: int,
    judge: JudgeSpec,
    rater: str,
    prompts: tuple[str, ...],
    mode: Mode,
    drop_poor_over: float | None,
    **options: object,
) -> None:
    from recjudge_tui.cli.judging.saer import run_saer
    from recjudge_tui.runs.saer.request import saer_request

    request = saer_request(
        database, project_id, judge, prompts=prompts, drop_poor_over=drop_poor_over, **options
    )
    run_saer(database, project_id, request, rater, mode)


def _run_protocol(database: Database, request: RunRequest, mode: Mode) -> None:
    from recjudge_tui.runs.plan.series import AlreadyJudgedError

    try:
        (plan,) = plan_and_print(database, [request], dry_run=mode.dry_run)
    except AlreadyJudgedError as error:
        if mode.dry_run or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        click.confirm(f"{error.title}. Judge again, and replace the verdicts?", abort=True, err=True)
        again = request.settings.model_copy(update={"again": True})
        (plan,) = plan_and_print(database, [replace(request, settings=again)], dry_run=False)
    if request.settings.until:
        narrate("this is the upper bound: the run stops as soon as the comparison is decided")
    if plan.run_id is None:
        return
    if mode.plan_only:
        click.echo(f"run {plan.run_id} planned: {plan.estimate.calls} calls")
    elif mode.detach:
        from recjudge_tui.runs import start

        start.detach(database, plan.run_id)
        click.echo(f"run {plan.run_id} started in the background")
    else:
        work_and_print(database, plan.run_id)
