"""Agreement of two raters on the flagged items and their issues."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import question_of as question_answered
from recjudge_tui.reports.common.comparison import Comparison, Side, compare
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import MissingVerdicts, missing_notes, untimed_notes
from recjudge_tui.reports.common.pairing import Pair
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.flags.project_flags import (
    ANY,
    NOTHING,
    FlagOptions,
    ProjectFlags,
    issue_place,
    load_flagged,
    question_of,
    silent_notes,
)
from recjudge_tui.stats.agreement import detection_estimates
from recjudge_tui.stats.arrays import BoolArray, IntArray
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.flags import Flagger

SAME_ISSUE = "same_issue"
_COLUMNS = (
    Column("rater_a", "Rater"),
    Column("rater_b", "Against"),
    Column("protocol", "Protocol", minor=True),
    Column("issue", "Issue"),
    Column("stat", "Statistic"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("flagged_a", "Flagged", "int", minor=True),
    Column("flagged_b", "Against flagged", "int", minor=True),
    Column("both", "Both", "int", minor=True),
    Column("items", "Items", "int", minor=True),
    Column("users", "Users", "int", minor=True),
    Column("note", "Note"),
)
_ABOUT = (
    "on the items that both were shown, interval over users; precision: of what the rater flagged, the share that the other"
    " flagged too; recall: of what the other flagged; f1: their harmonic mean; kappa: corrected for chance, over all items;"
    " same_issue: of the items that both flagged, the share with an issue in common"
)


class _Items(NamedTuple):
    """The items that two raters were shown: rows of the list items, and the user of each."""

    row: IntArray
    user: IntArray


def flag_agreement_table(db: Database, project_id: int, options: FlagOptions) -> Table:
    """One row per pair of raters, kind of issue and statistic, on the items of the lists that both judged. The issue
    ANY compares which items are flagged at all; `SAME_ISSUE` compares whether for the same reason. With `truth`
    everyone is compared with that rater, else all pairs are. Kinds that neither flagged are left out. Raises what
    `load_flagged` raises, and UsageError for an unknown issue.
    """
    flagged = load_flagged(db, project_id, options)
    chosen = None if options.issue is None else issue_place(flagged, options.issue)
    rows: list[Row] = []
    lacks: list[MissingVerdicts] = []
    pairs = _pairs(flagged, options)
    for a, b in pairs:
        compared = _compared(flagged, a, b)
        lacks.append(
            MissingVerdicts(Pair(question_of(a), question_of(b), a.protocol, "flags"), compared.missing)
        )
        items = _items(flagged, a, b, compared)
        every = range(len(flagged.lists.issues))
        issues = (None, *every) if options.issue is None else (chosen,)
        for issue in issues:
            marks = [flagged.items_with(flagger, issue)[items.row] for flagger in (a, b)]
            if issue is None or options.issue is not None or (marks[0] | marks[1]).any():
                rows += _rows(flagged, (a, b), issue, items, marks[0], marks[1])
    notes = [_ABOUT, *missing_notes(lacks), *untimed_notes(flagged.ratings)] if rows else [_nothing(flagged)]
    notes += silent_notes(flagged)
    notes += rater_notes(flagger.rater for pair in pairs for flagger in pair)
    settings: dict[str, object] = {
        "protocol": options.protocol,
        "truth": options.truth,
        "issue": options.issue,
    }
    settings |= {}
    return Table("Agreement on flagged items", _COLUMNS, tuple(rows), tuple(notes), settings)


def _pairs(flagged: ProjectFlags, options: FlagOptions) -> list[tuple[Flagger, Flagger]]:
    """Raters of one question, the reference second: people after judges."""
    pairs = []
    for a, b in combinations(flagged.flaggers, 2):
        if question_answered(a.protocol) != question_answered(b.protocol) or a.rater == b.rater:
            continue
        if options.truth == a.rater.name:
            a, b = b, a
        if options.truth in (None, b.rater.name):
            pairs.append((a, b))
    return pairs


def _compared(flagged: ProjectFlags, a: Flagger, b: Flagger) -> Comparison:
    """The lists that both judged, of one generation."""
    verdicts = flagged.ratings.verdicts
    left, right = (Side(flagger.rater, verdicts[question_of(flagger)]) for flagger in (a, b))
    return compare(flagged.ratings.cases, left, right)


def _items(flagged: ProjectFlags, a: Flagger, b: Flagger, compared: Comparison) -> _Items:
    items = flagged.lists.items
    both: BoolArray = flagged.shown_to(a) & flagged.shown_to(b) & np.isin(items.row, compared.row)
    row = np.flatnonzero(both)
    return _Items(row, flagged.ratings.cases.user[items.row[row]])


def _rows(
    flagged: ProjectFlags,
    pair: tuple[Flagger, Flagger],
    issue: int | None,
    items: _Items,
    by_a: BoolArray,
    by_b: BoolArray,
) -> Iterator[Row]:
    a, b = pair
    estimates = detection_estimates(by_a, by_b, items.user)
    if issue is None:
        estimates[SAME_ISSUE] = _same_issue(flagged, pair, items, by_a & by_b)
    for stat, estimate in estimates.items():
        yield {
            "rater_a": a.rater.name,
            "rater_b": b.rater.name,
            "protocol": a.protocol,
            "issue": ANY if issue is None else flagged.lists.issues[issue],
            "stat": stat,
            **estimate_cells(estimate),
            "flagged_a": int(by_a.sum()),
            "flagged_b": int(by_b.sum()),
            "both": int((by_a & by_b).sum()),
            "items": items.row.size,
            "users": int(np.unique(items.user).size),
        }


def _same_issue(
    flagged: ProjectFlags, pair: tuple[Flagger, Flagger], items: _Items, both: BoolArray
) -> Estimate:
    """Of the items that both flagged, the share with an issue in common."""
    if not both.any():
        return undefined("no item was flagged by both")
    common = np.zeros(flagged.lists.items.row.size, dtype=np.bool_)
    for issue in range(len(flagged.lists.issues)):
        common |= flagged.items_with(pair[0], issue) & flagged.items_with(pair[1], issue)
    return share_estimate(common[items.row[both]], items.user[both])


def _nothing(flagged: ProjectFlags) -> str:
    if not flagged.flaggers:
        return NOTHING
    names = ", ".join(dict.fromkeys(flagger.rater.name for flagger in flagged.flaggers))
    return f"agreement needs two raters whose flags are about the same kind of list; there is {names}"
