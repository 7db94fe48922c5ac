"""The rows of a trend: one figure of one system, or of two, in one period."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.table import Column, Row
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.store.verdicts.ratings import Question

COLUMNS = (
    Column("period", "Period"),
    Column("system", "System"),
    Column("opponent", "Against"),
    Column("rater", "Rater"),
    Column("protocol", "Protocol", minor=True),
    Column("aspect", "Aspect", minor=True),
    Column("figure", "Figure"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True),
    Column("failed", "Failed", "int", minor=True),
    Column("note", "Note"),
)


class Series(NamedTuple):
    """The values shared by all rows of one line of a trend.

    `question` is None for measured figures, which nobody judged.
    """

    figure: str
    system: str
    opponent: str | None = None
    question: Question | None = None


def series_rows(
    series: Series, periods: Sequence[str], estimates: Sequence[Estimate], failed: Sequence[int]
) -> Iterator[Row]:
    """One row per period in which something was judged, even if it failed."""
    for period, estimate, failures in zip(periods, estimates, failed, strict=True):
        if estimate.n or failures:
            yield row(series, period, estimate, failures)


def row(series: Series, period: str, estimate: Estimate, failed: int = 0) -> Row:
    """One row of COLUMNS."""
    question = series.question
    return {
        "period": period,
        "system": series.system,
        "opponent": series.opponent,
        "rater": question.rater if question else None,
        "protocol": question.protocol if question else None,
        "aspect": question.aspect if question else None,
        "figure": series.figure,
        "value": estimate.value,
        **interval_cells(estimate),
        "n": estimate.n,
        "users": estimate.groups,
        "failed": failed,
        "note": estimate.note,
    }
