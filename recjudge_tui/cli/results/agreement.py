"""`recjudge agreement`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.declared import occasion_options
from recjudge_tui.cli.options import names, project_option, readers_option, segment_option, systems_option
from recjudge_tui.cli.report_command import project_report
from recjudge_tui.domain.published import MISSING_JUDGE, MISSING_TRUTH
from recjudge_tui.stats.registry import MANY_RATERS, STATISTICS

if TYPE_CHECKING:
    from recjudge_tui.domain.occasions import OccasionFilter
    from recjudge_tui.domain.selection import CaseSelection
    from recjudge_tui.reports.common.pairing import AgreementOptions
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.command()
@project_option
@click.option(
    "--protocol",
    metavar="P",
    help="pointwise, pairwise, ...; arena is compared with people's pairwise labels.",
)
@click.option("--aspect", metavar="A", help="Only this aspect.")
@click.option(
    "--raters",
    metavar="A,B,...",
    help="Only these raters. Default: see --readers.",
)
@readers_option
@click.option(
    "--truth", metavar="RATER", help="Compare everyone with this rater. Default: all pairs of raters."
)
@click.option(
    "--stat",
    "stats",
    metavar="NAME,...",
    help=f"{', '.join(STATISTICS)}; all. Default: qwk and percent, and concurrence for pairs against"
    " people; pearson and spearman for scores without labels and for metrics.",
)
@click.option(
    "--level", "levels", metavar="NAME,...", default="dataset", show_default=True,
    help="dataset; user, pair: the mean over users, over user-item pairs.",
)  # fmt: skip
@click.option("--missing-truth", type=float, metavar="X", help="Use this value where the truth is missing.")
@click.option("--missing-judge", type=float, metavar="X", help="Use this value where a verdict failed.")
@click.option(
    "--as-published",
    is_flag=True,
    help="As Zhang et al. count explanations: a missing truth as 3, a failed verdict as 0.",
)
@click.option(
    "--confusion",
    is_flag=True,
    help="Show the confusion table: how often the raters gave each combination of labels, with shares.",
)
@click.option(
    "--by-label",
    is_flag=True,
    help="Show precision, recall and F1 of each label, with the rater in the column Against as the reference, and their"
    " macro and weighted averages.",
)
@click.option(
    "--together",
    is_flag=True,
    help="Show how well all people, or all of --raters, agree as a group, even if not everyone judged every case. --stat:"
    f" {', '.join(MANY_RATERS)}; all.",
)
@click.option(
    "--ensembles",
    is_flag=True,
    help="Compare the mean of every subset of 1 to K raters (at most 15) with --truth: lowest, mean and "
    "highest correlation by size, and the best and the worst set.",
)
@click.option(
    "--benchmark",
    is_flag=True,
    help="Compare one judge with people, as SAER reports it: agreement, concurrence, strictness of every rater, shares"
    " of labels, pairs, position. --raters names the judge and the annotators, --truth their consensus on lists and"
    " on pairs (A,B). Default: those in the data.",
)
@systems_option
@segment_option("“system”: one row for each system or pair of systems.")
@occasion_options
@project_report
def agreement(
    database: Database,
    project_id: int,
    protocol: str | None,
    aspect: str | None,
    raters: str | None,
    readers: bool,
    truth: str | None,
    stats: str | None,
    levels: str,
    missing_truth: float | None,
    missing_judge: float | None,
    as_published: bool,
    systems: tuple[str, ...],
    by: str | None,
    occasions: OccasionFilter,
    **tables: bool,
) -> Table:
    """Show how well raters agree on the cases that both judged. Intervals are over users, at 95 %.

    Missing and failed verdicts are left out and counted in the notes. The column People is the human ceiling: the
    same statistic between people.

    \b
    Example:
      recjudge agreement -p movies --protocol pointwise --raters rules,anna,ben
      recjudge agreement -p movies --truth user --stat pearson --level dataset,user,pair
      recjudge agreement -p movies --truth user --stat pearson --as-published
      recjudge agreement -p movies --truth user --raters qwen,llama,rules --ensembles
      recjudge agreement -p shop --protocol pointwise --by segment --context home
      recjudge agreement -p shop --truth people --raters qwen --by-label
      recjudge agreement -p shop --together --stat alpha_ordinal,ac1
      recjudge agreement -p movies --benchmark --raters rules,anna,ben --truth people,people-pairs
    """
    from recjudge_tui.reports.common.pairing import AgreementOptions

    table = _one_table(tables)
    _check_fit(table)
    if as_published:
        if (missing_truth, missing_judge) != (None, None):
            raise click.UsageError("--as-published sets --missing-truth and --missing-judge; leave these out")
        missing_truth, missing_judge = MISSING_TRUTH, MISSING_JUDGE
    if table == "benchmark":
        return _benchmark_table(database, project_id, names(raters), names(truth))
    options = AgreementOptions(
        protocol=protocol,
        aspect=aspect,
        raters=names(raters),
        truth=truth,
        stats=names(stats),
        levels=names(levels) or ("dataset",),
        missing_truth=missing_truth,
        missing_judge=missing_judge,
        by_system=by == BY_SYSTEM,
        readers=readers,
    )
    return _segmented(
        database, project_id, table, options, None if by == BY_SYSTEM else by, occasions, systems
    )


def _segmented(
    database: Database,
    project_id: int,
    table: str,
    options: AgreementOptions,
    by: str | None,
    occasions: OccasionFilter,
    systems: tuple[str, ...],
) -> Table:
    from recjudge_tui.reports.common.segments import segmented

    def compared(chosen: CaseSelection) -> Table:
        return _TABLES[table](database, project_id, replace(options, selection=chosen))

    return segmented(database, project_id, compared, by=by, occasions=occasions, systems=systems)


def _benchmark_table(
    database: Database, project_id: int, raters: tuple[str, ...], truths: tuple[str, ...]
) -> Table:
    from recjudge_tui.reports.reliability.benchmark_table import benchmark_table

    return benchmark_table(database, project_id, raters, truths)


def _confusion_table(database: Database, project_id: int, options: AgreementOptions) -> Table:
    from recjudge_tui.reports.agreement.confusion import confusion_table

    return confusion_table(database, project_id, options)


def _by_label_table(database: Database, project_id: int, options: AgreementOptions) -> Table:
    from recjudge_tui.reports.agreement.by_label import by_label_table

    return by_label_table(database, project_id, options)


def _together_table(database: Database, project_id: int, options: AgreementOptions) -> Table:
    from recjudge_tui.reports.agreement.together import together_table

    return together_table(database, project_id, options)


def _ensembles_table(database: Database, project_id: int, options: AgreementOptions) -> Table:
    from recjudge_tui.reports.agreement.ensembles import ensembles_table

    return ensembles_table(database, project_id, options)


def _agreement_table(database: Database, project_id: int, options: AgreementOptions) -> Table:
    from recjudge_tui.cli.progress import counting_up_to
    from recjudge_tui.reports.agreement.agreement import agreement_table

    with counting_up_to("comparing", "pairs of raters") as advance:
        return agreement_table(database, project_id, options, advance)


_TABLES = {
    "": _agreement_table,
    "confusion": _confusion_table,
    "by-label": _by_label_table,
    "together": _together_table,
    "ensembles": _ensembles_table,
}
BY_SYSTEM = "system"
# whether the command line has an option, from its parameters
_PRESENT: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "--protocol": lambda given: bool(given["protocol"]),
    "--aspect": lambda given: bool(given["aspect"]),
    "--truth": lambda given: bool(given["truth"]),
    "--stat": lambda given: bool(given["stats"]),
    "--level": lambda given: given["levels"] != "dataset",
    "--missing-truth": lambda given: given["missing_truth"] is not None,
    "--missing-judge": lambda given: given["missing_judge"] is not None,
    "--as-published": lambda given: bool(given["as_published"]),
    "--systems": lambda given: bool(given["systems"]),
    "--by": lambda given: bool(given["by"]),
    "--by system": lambda given: given["by"] == BY_SYSTEM,
    "--context, --from and --to": lambda given: any(
        given[name] for name in ("contexts", "served_from", "served_to")
    ),
}
# the options that a table ignores
_UNFIT = {
    "confusion": ("--by system",),
    "by-label": ("--stat", "--level", "--by system"),
    "together": (
        "--truth", "--level", "--missing-truth", "--missing-judge", "--as-published", "--by system",
    ),
    "benchmark": (
        "--protocol", "--aspect", "--stat", "--level", "--missing-truth", "--missing-judge", "--as-published",
        "--systems", "--by", "--context, --from and --to",
    ),
}  # fmt: skip


def _one_table(tables: Mapping[str, bool]) -> str:
    """The requested table, "" for the default one. Raises UsageError for more than one."""
    chosen = [name.replace("_", "-") for name, wanted in tables.items() if wanted]
    if len(chosen) > 1:
        raise click.UsageError(
            f"{' and '.join(f'--{name}' for name in chosen)} are different tables: choose one"
        )
    return chosen[0] if chosen else ""


def _check_fit(table: str) -> None:
    """Raise UsageError for an option on the command line that the table ignores."""
    given = click.get_current_context().params
    for option in _UNFIT.get(table, ()):
        if _PRESENT[option](given):
            rule = (
                "can be combined only with --raters and --truth"
                if table == "benchmark"
                else f"cannot be combined with {option}"
            )
            raise click.UsageError(f"--{table} {rule}")
