"""`recjudge compare`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import occasion_options
from recjudge_tui.cli.options import narrate, project_option
from recjudge_tui.cli.report_command import project_report

if TYPE_CHECKING:
    from recjudge_tui.cli.report_command import Report
    from recjudge_tui.domain.occasions import OccasionFilter
    from recjudge_tui.domain.selection import CaseSelection
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.reports.compare.run_differences import PromptChange
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.argument("first", metavar="RATER_A")
@click.argument("second", metavar="RATER_B")
@click.option("--protocol", metavar="P", help="pointwise, pairwise, ... Default: all that both judged.")
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option("--by", type=click.Choice(["system"]), help="One row for each system or pair of systems.")
@click.option(
    "--table",
    "which",
    type=click.Choice(["summary", "transitions", "cases", "prompt"]),
    default="summary",
    show_default=True,
    help="summary: how many verdicts changed, in which direction, and a test; transitions: how often each label"
    " became each other label; cases: each case that changed; prompt: how the prompts differ.",
)
@occasion_options
@project_report
def compare(
    database: Database,
    project_id: int,
    first: str,
    second: str,
    protocol: str | None,
    aspect: str | None,
    by: str | None,
    which: str,
    occasions: OccasionFilter,
) -> Report | Callable[[str], Report]:
    """Show what changed between two raters, case by case. The two may be runs, prompts, judges or people.

    Give a rater's name, or run:ID for the verdicts of one run. “Up” means milder for labels, towards A for
    pairs, higher for scores. The test is McNemar's exact test for two labels, Stuart-Maxwell's for more, and
    the sign test for scores without labels. Where users have several cases, it is the exact sign test over users,
    each counted once. The 95 % interval of the mean difference is over users.

    \b
    Example:
      recjudge compare -p movies rules-v1 rules-v2
      recjudge compare -p movies run:14 run:15 --table cases --format csv -o changed.csv
      recjudge compare -p movies run:14 run:15 --table prompt
      recjudge compare -p shop rules anna --context home --from 2024-05-01
    """
    from recjudge_tui.reports.common.segments import segmented
    from recjudge_tui.reports.compare.changes import ChangeOptions, compare_raters
    from recjudge_tui.reports.compare.run_differences import prompt_table
    from recjudge_tui.reports.compare.tables import cases_table, summary_table, transitions_table

    if by and which in ("cases", "prompt"):
        raise click.UsageError(
            f"--by cannot be used with --table {which}, only with --table summary or transitions"
        )
    options = ChangeOptions(first, second, protocol, aspect, by == "system")
    if which == "prompt":
        if any(occasions):
            raise click.UsageError(
                "--table prompt does not depend on cases: leave out --context, --from and --to"
            )
        prompt = compare_raters(database, project_id, options).prompt
        return lambda fmt: _diff(prompt) if fmt == "text" else prompt_table(prompt)

    def compared(chosen: CaseSelection) -> Table:
        changes = compare_raters(database, project_id, replace(options, selection=chosen))
        if which == "cases":
            return cases_table(database, changes)
        return summary_table(changes) if which == "summary" else transitions_table(changes)

    return segmented(database, project_id, compared, occasions=occasions)


def _diff(prompt: PromptChange) -> str:
    """A diff that programs can read; the note goes to stderr."""
    from recjudge_tui.domain.text import safe_text

    if prompt.note:
        narrate(prompt.note)
    return "\n".join(map(safe_text, prompt.lines))
