"""Measurements of systems in each period: offline metrics of their lists, and live experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter, Over, period_of
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.trend.series import Series, row, series_rows
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.intervals import group_means
from recjudge_tui.stats.planning import Arm, lift
from recjudge_tui.stats.retrieval import LIST_METRICS, list_values
from recjudge_tui.store.cases.metric_inputs import current_list_ids, ranked_slates
from recjudge_tui.store.data.catalogue import slate_systems
from recjudge_tui.store.data.heldout import load_evaluation_data
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.experiments import list_outcomes, outcome_days
from recjudge_tui.store.verdicts.dated import slate_periods


def check_metrics(names: Sequence[str]) -> None:
    """Raises UsageError for a name that is not a metric of lists."""
    for name in names:
        if name not in LIST_METRICS:
            raise UsageError(f"no metric “{name}”", f"Available: {', '.join(LIST_METRICS)}.")


def metric_rows(
    db: Database,
    project_id: int,
    metrics: Sequence[str],
    k: int,
    over: Over,
    occasions: OccasionFilter = EVERY_OCCASION,
) -> Iterator[Row]:
    """The mean of each metric over the lists of a system in a period for which it is defined: by import, over all
    lists that the import contained first, else over the current lists; only for these occasions.
    """
    if not metrics:
        return
    period_by_slate = slate_periods(db, project_id, over, occasions)
    system_by_slate = slate_systems(db, project_id)
    wanted = {*period_by_slate}
    if over != "import":
        wanted &= {slate for ids in current_list_ids(db, project_id).values() for slate in ids}
    ranked = list(ranked_slates(db, project_id, wanted))
    if not ranked:
        return
    lists = [slate_list for _, slate_list in ranked]
    values = list_values(lists, load_evaluation_data(db, project_id), k, metrics)
    periods = sorted({period_by_slate[slate] for slate, _ in ranked}, key=period_order)
    systems = sorted({system_by_slate[slate] for slate, _ in ranked})
    period_places = {name: at for at, name in enumerate(periods)}
    system_places = {name: at for at, name in enumerate(systems)}
    group = np.array([
        system_places[system_by_slate[slate]] * len(periods) + period_places[period_by_slate[slate]]
        for slate, _ in ranked
    ])  # fmt: skip
    users = np.array([slate_list.user_id for slate_list in lists])
    for name in metrics:
        kept = ~np.isnan(values[name])
        means = group_means(
            values[name][kept], users[kept], group[kept], len(systems) * len(periods),
            LIST_METRICS[name].bounds,
        )  # fmt: skip
        figure = name if name == "auc" else f"{name}@{k}"
        for at, system in enumerate(systems):
            here = slice(at * len(periods), (at + 1) * len(periods))
            yield from series_rows(Series(figure, system), periods, means[here], [0] * len(periods))


def outcome_rows(db: Database, project_id: int, over: Over) -> Iterator[Row]:
    """The click rates and the lift of each live experiment, in the period in which its result was recorded."""
    days = outcome_days(db, project_id)
    for outcome in list_outcomes(db, project_id):
        period = period_of(days[outcome.name], over)
        a = Arm(outcome.clicks_a, outcome.impressions_a)
        b = Arm(outcome.clicks_b, outcome.impressions_b)
        for system, arm in ((outcome.system_a, a), (outcome.system_b, b)):
            yield _outcome_row(Series("click_rate", system), period, arm.estimate(), outcome.name)
        series = Series("lift", outcome.system_a, outcome.system_b)
        yield _outcome_row(series, period, lift(a, b), outcome.name)


def _outcome_row(series: Series, period: str, estimate: Estimate, experiment: str) -> Row:
    cells = row(series, period, estimate)
    note = f"live experiment {experiment}"
    return {**cells, "note": f"{note}; {cells['note']}" if cells["note"] else note}


def period_order(period: str) -> tuple[int, str]:
    """A key that sorts periods in time: imports by their number, days, weeks and months by name."""
    number = period.removeprefix("import ")
    return (int(number), "") if number != period else (0, period)
