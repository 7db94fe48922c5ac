"""`recjudge plan`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import FiniteRange, db_option, names, open_db, put_table, table_options
from recjudge_tui.domain.protocols import OVERALL, SAER
from recjudge_tui.stats.defaults import ALPHA, DIFFERENCES, POWER

_RATE = FiniteRange(0, 1)
_INNER = FiniteRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.option(
    "-p",
    "--project",
    metavar="PROJECT",
    help="Measure from this project's verdicts the values that you leave out.",
)
@click.option(
    "--protocol", default=SAER[1], show_default=True, metavar="P",
    help="pairwise, arena: win rates; pointwise, explanation: shares of the best label.",
)  # fmt: skip
@click.option(
    "--difference", "differences", default=",".join(map(str, DIFFERENCES)), show_default=True, metavar="D,...",
    help="The difference to detect: of the win rate from one half (0.05: 55 %), or between two shares.",
)  # fmt: skip
@click.option(
    "--ties", type=_RATE, metavar="T", help="Share of true ties among pairs judged alike in both orders."
)
@click.option(
    "--consistency",
    type=_RATE,
    metavar="C",
    help="Share of pairs judged alike in both orders; the rest are ties.",
)
@click.option(
    "--share", type=_RATE, metavar="S", help="The second system's share of the label. Default: 0.5."
)
@click.option(
    "--correlation", type=FiniteRange(-1, 1), metavar="R",
    help="The correlation of one user's labels for the two systems. Default: 0.",
)  # fmt: skip
@click.option("--cases-per-user", type=FiniteRange(1), metavar="M", help="Cases of each user. Default: 1.")
@click.option(
    "--icc", type=_RATE, metavar="R", help="Intraclass correlation of one user's cases. Default: 0."
)
@click.option(
    "--power",
    type=_INNER,
    default=POWER,
    show_default=True,
    metavar="P",
    help="The probability of detecting the difference.",
)
@click.option(
    "--alpha",
    type=_INNER,
    default=ALPHA,
    show_default=True,
    metavar="A",
    help="Two-sided significance level.",
)
@click.option("--systems", metavar="A,B", help="In a project: only these two. --share is that of B.")
@click.option("--rater", metavar="R", help="In a project: only this rater.")
@click.option("--aspect", default=OVERALL, show_default=True, metavar="A", help="In a project: this aspect.")
@db_option
@table_options
def plan(
    project: str | None,
    protocol: str,
    differences: str,
    ties: float | None,
    consistency: float | None,
    share: float | None,
    correlation: float | None,
    cases_per_user: float | None,
    icc: float | None,
    power: float,
    alpha: float,
    systems: str | None,
    rater: str | None,
    aspect: str,
    db: str | None,
    fmt: str | None,
    out: Path | None,
) -> None:
    """Compute how many cases it takes to show a difference. With a project, also what its cases could have shown.

    Plans for the exact sign test over users, each counted once, for the system that most of the user's cases favour;
    beyond a few thousand users, by Connor's formula for McNemar's test (1987). With -p, it measures from the project's
    verdicts the values that you leave out: ties, position consistency, shares and the intraclass correlation.

    \b
    Example:
      recjudge plan --difference 0.05 --ties 0.2 --consistency 0.8
      recjudge plan -p movies --systems new,old --rater rules --power 0.9
      recjudge plan --protocol pointwise --share 0.5 --difference 0.1
    """
    from recjudge_tui.cli.progress import working
    from recjudge_tui.reports.reliability.plan_options import PlanOptions
    from recjudge_tui.reports.reliability.sample_size import assumed_table, project_plan
    from recjudge_tui.store.projects.projects import project_id

    options = PlanOptions(
        protocol=protocol,
        differences=_differences(differences),
        power=power,
        alpha=alpha,
        ties=ties,
        consistency=consistency,
        share=share,
        correlation=correlation,
        cases_per_user=cases_per_user,
        icc=icc,
        systems=names(systems),
        rater=rater,
        aspect=aspect,
    )
    if project is None:
        if systems or rater:
            raise click.UsageError("--systems and --rater need a project: -p PROJECT")
        put_table(assumed_table(options), fmt, out)
        return
    with open_db(db) as database:
        with working("plan"):
            table = project_plan(database, project_id(database, project), options)
        put_table(table, fmt, out)


def _differences(text: str) -> tuple[float, ...]:
    try:
        differences = tuple(float(part) for part in names(text))
    except ValueError as error:
        raise click.UsageError(f"--difference {text}: expected numbers, as in 0.05,0.1") from error
    if not differences or not all(0 < difference <= 1 for difference in differences):
        raise click.UsageError(f"--difference {text}: expected numbers above 0 and at most 1")
    return differences
