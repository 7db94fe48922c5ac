"""The distribution of each rater's labels for each system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes, no_verdicts
from recjudge_tui.reports.common.scales import is_metric, label_names, rater_notes, scale_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.arrays import IntArray
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import Question, Ratings

_COLUMNS = (
    Column("system", "System"),
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    Column("label", "Label"),
    Column("count", "Count", "int"),
    Column("share", "Share", "share"),
    *interval_columns("share"),
    Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True),
    Column("note", "Note"),
)
_INTERVAL = "interval over users: jackknife on the logit scale, Korn and Graubard's where rare"


def share_table(
    db: Database, project_id: int, ratings: Ratings, questions: Sequence[Question], protocol: str
) -> Table:
    """One row per system, rater, aspect and label, best label first; failed verdicts are not in n."""
    rows: list[Row] = []
    notes: list[str] = []
    for aspect in dict.fromkeys(q.aspect for q in questions):
        alike = [q for q in questions if q.aspect == aspect]
        values = np.concatenate([ratings.verdicts[q].value for q in alike])
        names = label_names(db, project_id, protocol, aspect, values)
        if names is None:
            notes.append(f"{aspect}: {protocol} scores have no labels to count")
            continue
        for question in alike:
            if _unlabelled(ratings, question, names):
                notes.append(
                    f"{question.rater}, {aspect}: scores lie between the labels, so there is nothing to count"
                )
                continue
            for system in np.unique(ratings.cases.system_a[ratings.verdicts[question].row]):
                here = _of_system(ratings, question, int(system))
                rows += _rows(ratings, question, int(system), here, names)
                notes += _failed(ratings, question, int(system), here)
    rows.sort(key=lambda row: (str(row["aspect"]) != OVERALL, str(row["aspect"]), str(row["system"])))
    if rows:
        notes[:0] = sorted({str(row.pop("interval")) for row in rows})
        notes += scale_notes(db, project_id, ((q.protocol, q.aspect) for q in questions))
        notes += earlier_notes(ratings, questions)
        notes += rater_notes(ratings.raters[question.rater] for question in questions)
    elif not notes:
        notes.append(no_verdicts(ratings))
    settings = {"protocol": protocol, "method": "share"}
    return Table(f"Shares of labels: {protocol}", _COLUMNS, tuple(rows), tuple(notes), settings)


def _unlabelled(ratings: Ratings, question: Question, names: dict[float, str]) -> bool:
    """Whether a rater's values are scores (of a metric, a mean) rather than labels."""
    if is_metric(ratings.raters[question.rater]):
        return True
    values = ratings.verdicts[question].value
    return bool(np.setdiff1d(values[~np.isnan(values)], list(names)).size > MOST_LABELS)


def _of_system(ratings: Ratings, question: Question, system: int) -> IntArray:
    of_rows = ratings.cases.system_a[ratings.verdicts[question].row]
    return np.flatnonzero(of_rows == system)


def _rows(
    ratings: Ratings,
    question: Question,
    system: int,
    here: IntArray,
    names: dict[float, str],
) -> Iterator[Row]:
    verdicts = ratings.verdicts[question]
    values = verdicts.value[here]
    users = ratings.cases.user[verdicts.row[here]]
    kept = ~np.isnan(values)
    beyond = {float(v): f"{v:g}" for v in np.unique(values[kept]) if float(v) not in names}
    distinct = np.unique(users[kept]).size
    for value, name in (names | beyond).items():
        hits = np.where(kept, values == value, np.nan)
        estimate = share_estimate(hits, users)
        yield {
            "system": ratings.cases.systems[system],
            "rater": question.rater,
            "aspect": question.aspect,
            "label": name,
            "count": int((values == value).sum()),
            "share": estimate.value,
            **interval_cells(estimate),
            "n": estimate.n,
            "users": distinct,
            "note": estimate.note.partition("; ")[0] if estimate.value is None else "",
            "interval": _INTERVAL,
        }


def _failed(ratings: Ratings, question: Question, system: int, here: IntArray) -> list[str]:
    failed = int(np.isnan(ratings.verdicts[question].value[here]).sum())
    if not failed:
        return []
    name = ratings.cases.systems[system]
    return [f"{question.rater}, {name}, {question.aspect}: {failed} of {here.size} failed and are not in n"]
