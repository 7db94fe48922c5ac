"""The progress of blind annotation: cases judged by each annotator, their speed, and their agreement so far."""

from __future__ import annotations

from itertools import groupby
from statistics import median

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.reports.common.estimate_cells import interval_cells
from recjudge_tui.reports.common.scales import label_names
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definition
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.stats.registry import usual_statistic
from recjudge_tui.steps import Step
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.people import own_tasks, project_assignments, votes

_COLUMNS = columns(
    "annotator|Annotator", "protocol", "open|Open|int", "done|Done|int", "skipped|Skipped|int",
    "median_seconds|Median time|seconds", "stat|(Statistic)|statistic", "agreement|Agreement|float",
    "ci_low ci_high n note",
)  # fmt: skip
_ABOUT = definition(
    "agreement: with the other annotators on the n cases that both finished, over all aspects, interval over users"
)


def annotation_table(db: Database, project_id: int) -> Table:
    """One row per annotator and protocol. Undefined agreement is None with the reason in `note`."""
    assigned = sorted(project_assignments(db, project_id), key=lambda one: (one.protocol, one.rater))
    rows: list[Row] = []
    for one in assigned:
        times = [t.seconds for t in own_tasks(db, one.rater_id, one.protocol) if t.state == "done"]
        rows.append({
            "annotator": one.rater, "protocol": one.protocol, "open": one.open, "done": one.done, "skipped": one.skipped,
            "median_seconds": median(times) if times else None,
            **_running_agreement(db, project_id, one.rater_id, one.protocol),
        })  # fmt: skip
    notes = (_ABOUT,) if rows else (Note("no annotators yet", step=Step("label")),)
    return Table("Annotation", _COLUMNS, tuple(rows), notes)


def _running_agreement(db: Database, project_id: int, rater_id: int, protocol: str) -> Row:
    """One annotator against all others on tasks that both finished; every pair and aspect is a row of its own. `n`
    counts the cases that others have finished too. Quadratic weighted kappa on labels (SAER), Pearson's r on scores
    without labels; intervals over users."""
    import numpy as np

    from recjudge_tui.shapes import orientation
    from recjudge_tui.stats.agreement import agreement_estimates

    cast = votes(db, project_id, protocol)
    pairs: list[tuple[StoredRow, StoredRow]] = []
    for _, given in groupby(cast, key=lambda vote: (vote.case_id, vote.aspect)):
        on_one = list(given)
        mine = [vote for vote in on_one if vote.rater_id == rater_id]
        pairs += [(own, vote) for own in mine for vote in on_one if vote.rater_id != rater_id]
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
    own, others = (
        [two[at].value * turn for two, turn in zip(pairs, seen.turn, strict=True)] for at in range(2)
    )
    users = [own.user_id for own, _ in pairs]
    figure = agreement_estimates(own, others, users, seen.labels(labels), (stat,), mirrored=seen.mirrored)[
        stat
    ]
    note = (
        join_notes(figure.note, seen.words()) if pairs else "no case that another annotator has also finished"
    )
    n = len({own.case_id for own, _ in pairs})
    return {"stat": stat, "agreement": figure.value, **interval_cells(figure), "n": n, "note": note}
