"""`recjudge agreement`."""

from __future__ import annotations

from pathlib import Path

import click

from recjudge_tui.cli.options import db_option, names, open_db, project_option, put_table, table_options


@click.command()
@project_option
@click.option(
    "--protocol", metavar="P", help="pointwise, pairwise, ...; arena meets people's pairwise labels."
)
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option("--raters", metavar="A,B,...", help="Only these raters. Default: everyone.")
@click.option("--truth", metavar="RATER", help="Compare everyone with this rater, not all pairs.")
@click.option(
    "--stat",
    "stats",
    metavar="NAME,...",
    help="percent, kappa, kappa_linear, qwk, alpha_nominal, alpha_ordinal, alpha_interval, ac2, pearson,"
    " spearman, kendall, bias, concurrence. Default: qwk and percent, and concurrence for pairs against people.",
)
@click.option(
    "--level", "levels", metavar="NAME,...", default="dataset", show_default=True,
    help="dataset; user, pair: the mean over users, over user-item pairs.",
)  # fmt: skip
@click.option("--missing-truth", type=float, metavar="X", help="Stands for a truth that is missing.")
@click.option("--missing-judge", type=float, metavar="X", help="Stands for a verdict that failed.")
@click.option("--by", type=click.Choice(["system"]), help="One row for each system or pair of systems.")
@db_option
@table_options
def agreement(
    project: str,
    protocol: str | None,
    aspect: str | None,
    raters: str | None,
    truth: str | None,
    stats: str | None,
    levels: str,
    missing_truth: float | None,
    missing_judge: float | None,
    by: str | None,
    db: str | None,
    fmt: str | None,
    out: Path | None,
) -> None:
    """How far raters agree, on the cases that both judged, with 95 % intervals from users resampled.

    Missing and failed verdicts are left out and counted in the notes.

    \b
    Example:
      recjudge agreement -p movies --protocol pointwise --raters rules,anna,ben
      recjudge agreement -p movies --truth user --stat pearson --level dataset,user,pair
    """
    from recjudge_tui.reports.agreement import AgreementOptions, agreement_table
    from recjudge_tui.store.projects import project_id

    options = AgreementOptions(
        protocol=protocol,
        aspect=aspect,
        raters=names(raters),
        truth=truth,
        stats=names(stats),
        levels=names(levels) or ("dataset",),
        missing_truth=missing_truth,
        missing_judge=missing_judge,
        by_system=by == "system",
    )
    with open_db(db) as database:
        put_table(agreement_table(database, project_id(database, project), options), fmt, out)
