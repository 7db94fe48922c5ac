"""`recjudge report`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import (
    db_option,
    narrate,
    output_option,
    project_option,
    put_plain_text,
    raters_option,
    systems_option,
)
from recjudge_tui.cli.report_command import open_project

_SECTIONS = (
    "about", "runs", "leaderboards", "agreement", "shares", "metrics", "flags", "position", "biases", "failures",
    "cost", "pictures", "prompts",
)  # fmt: skip


@click.command()
@project_option
@output_option("FILE.html", required=True)
@click.option(
    "--section",
    "sections",
    multiple=True,
    type=click.Choice(_SECTIONS),
    help="Only this section; repeatable. Default: all.",
)
@systems_option
@raters_option
@db_option
def report(
    project: str,
    out: Path | None,
    sections: tuple[str, ...],
    systems: tuple[str, ...],
    raters: tuple[str, ...],
    db: str | None,
) -> None:
    """Write a project report as one HTML file.

    It contains settings and versions, leaderboards, agreement with people, shares of labels, position bias,
    failures, cost, pictures and prompts. The file loads no other file, runs no scripts, and prints well. Pictures
    need the extra “figures” (pip install 'recjudge[figures]'); without it, the report says so.
    --systems is for leaderboards, agreement, shares of labels, flags and pictures; --raters is for these and position
    bias.

    \b
    Example:
      recjudge report -p movies -o movies.html
      recjudge report -p movies --raters qwen,anna,ben -o qwen.html
      recjudge report -p movies --section leaderboards --section agreement -o boards.html
    """
    from recjudge_tui.cli.progress import counting_up_to
    from recjudge_tui.project import Project
    from recjudge_tui.reports.html_report import ReportOptions, project_report

    options = ReportOptions(sections, systems, raters)
    with open_project(db, project) as (database, identity), counting_up_to("report", "sections") as advance:
        written = project_report(Project.numbered(database, identity), options, advance)
    for note in written.notes:
        narrate(note)
    put_plain_text(written.text.removesuffix("\n"), out)
