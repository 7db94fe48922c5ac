"""The progress of blind annotation: cases judged by each annotator, their speed, and their agreement so far."""

from __future__ import annotations

from itertools import groupby
from statistics import median
from typing import NamedTuple

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.steps import Step
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import label_names
from recjudge_tui.reports.common.table import Column, Note, Row, Table, definition
from recjudge_tui.stats.estimate import Estimate, join_notes
from recjudge_tui.stats.registry import usual_statistic
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import Assignment, Vote, done_seconds, project_assignments, votes

_COLUMNS = (
    Column("annotator", "Annotator"),
    Column("protocol", "Protocol"),
    Column("open", "Open", "int"),
    Column("done", "Done", "int"),
    Column("skipped", "Skipped", "int"),
    Column("median_seconds", "Median time", "seconds"),
    Column("stat", "Statistic", "statistic", minor=True),
    Column("agreement", "Agreement", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("note", "Note"),
)
_ABOUT = definition(
    "agreement: with the other annotators on the n cases that both finished, over all aspects, interval over users"
)


class RunningAgreement(NamedTuple):
    """One annotator's agreement with the others; `n` counts the cases that others have finished too. `side` says from
    which side pairs are seen."""

    stat: str
    estimate: Estimate
    n: int
    side: str = ""


def annotation_table(db: Database, project_id: int) -> Table:
    """One row per annotator and protocol. Undefined agreement is None with the reason in `note`."""
    rows: list[Row] = []
    for assignment in sorted(
        project_assignments(db, project_id), key=lambda assignment: (assignment.protocol, assignment.rater)
    ):
        rows.append(_row(db, project_id, assignment))
    notes = (_ABOUT,) if rows else (Note("no annotators yet", step=Step("label")),)
    return Table("Annotation", _COLUMNS, tuple(rows), notes)


def running_agreement(db: Database, project_id: int, rater_id: int, protocol: str) -> RunningAgreement:
    """One annotator against all others on tasks that both finished; every pair and aspect is a row of its own.

    Quadratic weighted kappa on labels (SAER), Pearson's r on scores without labels; intervals over users.
    """
    import numpy as np

    from recjudge_tui.shapes import orientation
    from recjudge_tui.stats.agreement import agreement_estimates

    cast = votes(db, project_id, protocol)
    pairs = _pairs(cast, rater_id)
    labels = None
    if pairs:
        values = np.array([vote.value for vote in cast])
        names = label_names(db, project_id, protocol, cast[0].aspect, values)
        labels = None if names is None else sorted(names)
    stat = usual_statistic(labels is not None or (not pairs and bool(protocol_facts(protocol).labels)))
    first, second = ([getattr(mine, name) for mine, _ in pairs] for name in ("system_a", "system_b"))
    systems, codes = np.unique([*first, *second], return_inverse=True)
    a, b = np.split(codes.astype(np.int64), 2)
    seen = orientation(a, b, np.array([name != "" for name in second], dtype=np.bool_), systems.tolist())
    figures = agreement_estimates(
        [mine.value * turn for (mine, _), turn in zip(pairs, seen.turn.tolist(), strict=True)],
        [theirs.value * turn for (_, theirs), turn in zip(pairs, seen.turn.tolist(), strict=True)],
        [mine.user_id for mine, _ in pairs],
        seen.labels(labels),
        (stat,),
        mirrored=seen.mirrored,
    )
    return RunningAgreement(stat, figures[stat], len({mine.case_id for mine, _ in pairs}), seen.words())


def _pairs(cast: list[Vote], rater_id: int) -> list[tuple[Vote, Vote]]:
    """Each of the rater's votes with every other vote on the same question."""
    pairs: list[tuple[Vote, Vote]] = []
    for _, given in groupby(cast, key=lambda vote: (vote.case_id, vote.aspect)):
        on_one = list(given)
        mine = [vote for vote in on_one if vote.rater_id == rater_id]
        pairs += [(own, vote) for own in mine for vote in on_one if vote.rater_id != rater_id]
    return pairs


def _row(db: Database, project_id: int, assignment: Assignment) -> Row:
    times = done_seconds(db, assignment.rater_id, assignment.protocol)
    so_far = running_agreement(db, project_id, assignment.rater_id, assignment.protocol)
    return {
        "annotator": assignment.rater,
        "protocol": assignment.protocol,
        "open": assignment.open,
        "done": assignment.done,
        "skipped": assignment.skipped,
        "median_seconds": median(times) if times else None,
        "stat": so_far.stat,
        "agreement": so_far.estimate.value,
        **interval_cells(so_far.estimate),
        "n": so_far.n,
        "note": join_notes(so_far.estimate.note, so_far.side)
        if so_far.n
        else "no case that another annotator has also finished",
    }
