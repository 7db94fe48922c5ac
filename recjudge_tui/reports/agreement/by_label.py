"""How well one rater matches another's labels: precision, recall and F1 of each label, and their averages."""

from __future__ import annotations

from collections.abc import Iterator

from recjudge_tui.reports.agreement.agreement import settings_of
from recjudge_tui.reports.agreement.labelled_pairs import LabelledPair, labelled_pairs
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_columns
from recjudge_tui.reports.common.pairing import AgreementOptions
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.agreement import label_scores
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.store.database import Database

_COLUMNS = (
    Column("rater_a", "Rater"),
    Column("rater_b", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("label", "Label"),
    Column("average", "Average"),
    Column("label_value", "Label value", "float", minor=True),
    Column("stat", "Statistic"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("note", "Note"),
)
_ABOUT = (
    "precision: of the cases where the rater gave the label, the share where the reference (Against) did too; recall: of"
    " the cases where the reference gave it; f1: their harmonic mean; macro: the mean over labels; weighted: the mean"
    " weighted by the reference's cases of each label; interval over users"
)


def by_label_table(db: Database, project_id: int, options: AgreementOptions) -> Table:
    """One row per pair of raters, aspect, label (then average) and statistic; the second rater is the reference.

    Labels come highest first. An undefined figure is None with the reason in `note`; it is left out of the averages.
    `stats`, `levels` and `by_system` are ignored. Raises as `agreement_table`.
    """
    chosen = labelled_pairs(db, project_id, options)
    rows = [row for labelled in chosen.pairs for row in _rows(labelled, options)]
    notes = (_ABOUT, *chosen.notes) if rows else chosen.notes
    return Table("Agreement by label", _COLUMNS, tuple(rows), notes, settings_of(options))


def _rows(labelled: LabelledPair, options: AgreementOptions) -> Iterator[Row]:
    if labelled.values.size == 0:
        return
    scores = label_scores(
        labelled.a,
        labelled.b,
        labelled.users,
        labelled.values,
    )
    for value, by_stat in reversed(scores.by_label.items()):
        yield from _figures(labelled, by_stat, labelled.name(value), None, value)
    for average, by_stat in scores.averages.items():
        yield from _figures(labelled, by_stat, None, average, None)


def _figures(
    labelled: LabelledPair,
    by_stat: dict[str, Estimate],
    label: str | None,
    average: str | None,
    value: float | None,
) -> Iterator[Row]:
    for stat, estimate in by_stat.items():
        yield {
            "rater_a": labelled.pair.a.rater,
            "rater_b": labelled.pair.b.rater,
            "protocol": labelled.pair.protocol,
            "aspect": labelled.pair.aspect,
            "label": label,
            "average": average,
            "label_value": value,
            "stat": stat,
            **estimate_cells(estimate),
        }
