"""The confusion table of two raters, and the cases of one cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recjudge_tui.reports.agreement.agreement import compare_pair, settings_of
from recjudge_tui.reports.agreement.labelled_pairs import LabelledPair, labelled_pairs
from recjudge_tui.reports.common.pairing import AgreementOptions, pairs_of, questions_in
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.agreement import confusion
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import load_questions, project_questions, project_raters

_COLUMNS = (
    Column("rater_a", "Rater"),
    Column("rater_b", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("label_a", "Gave"),
    Column("label_b", "Against gave"),
    Column("value_a", "Value", "float", minor=True),
    Column("value_b", "Against value", "float", minor=True),
    Column("count", "Count", "int"),
    Column("share", "Share", "share"),
    Column("n", "n", "int"),
)


def confusion_table(db: Database, project_id: int, options: AgreementOptions) -> Table:
    """One row per cell of each pair of raters, including empty cells: labels and values of both, count, share of n.

    Rows are ordered by a's label, then b's, highest first. Pairs of several systems without a common one are counted twice,
    from the side of either system; `n` counts them once. Values that are not labels (an ensemble's mean) are shown
    as they are if there are at most 20 of them; metrics on a scale of their own have no table. `stats`, `levels` and
    `by_system` are ignored. Raises as `agreement_table`.
    """
    chosen = labelled_pairs(db, project_id, options)
    rows = [row for labelled in chosen.pairs for row in _rows(labelled)]
    return Table("Confusion", _COLUMNS, tuple(rows), chosen.notes, settings_of(options))


def _rows(labelled: LabelledPair) -> Iterator[Row]:
    pair, values = labelled.pair, labelled.values
    if values.size == 0:
        return
    counts = confusion(labelled.a, labelled.b, values.tolist())
    total, n = int(counts.sum()), labelled.n
    for at_a in reversed(range(values.size)):
        for at_b in reversed(range(values.size)):
            a, b, count = float(values[at_a]), float(values[at_b]), int(counts[at_a, at_b])
            yield {
                "rater_a": pair.a.rater,
                "rater_b": pair.b.rater,
                "protocol": pair.protocol,
                "aspect": pair.aspect,
                "label_a": labelled.name(a),
                "label_b": labelled.name(b),
                "value_a": a,
                "value_b": b,
                "count": count,
                "share": count / total if total else None,
                "n": n,
            }


def cell_cases(db: Database, project_id: int, row: Row, options: AgreementOptions) -> list[int]:
    """The ids of the cases that one row of `confusion_table` counts; `options` are the table's own."""
    raters = project_raters(db, project_id)
    of_pair = replace(options, raters=(str(row["rater_a"]), str(row["rater_b"])), aspect=str(row["aspect"]))
    ids: list[int] = []
    for pair in pairs_of(project_questions(db, project_id), raters, of_pair):
        if (pair.a.rater, pair.b.rater, pair.protocol, pair.aspect) == tuple(
            row[name] for name in ("rater_a", "rater_b", "protocol", "aspect")
        ):
            ratings = load_questions(db, project_id, questions_in([pair]), options.selection)
            compared = compare_pair(ratings, pair, options)
            here = (compared.a == row["value_a"]) & (compared.b == row["value_b"])
            if compared.seen.mirrored:
                here |= (-compared.a == row["value_a"]) & (-compared.b == row["value_b"])
            ids += ratings.cases.ids[compared.row[here]].tolist()
    return ids
