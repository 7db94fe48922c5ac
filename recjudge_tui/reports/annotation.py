"""The progress of blind annotation: cases judged by each annotator, their speed, and their agreement so far."""

from __future__ import annotations

from statistics import median

from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definition, whole
from recjudge_tui.reports.declare import table_of
from recjudge_tui.stats.estimate import undefined
from recjudge_tui.steps import Step
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import own_tasks, project_assignments

_COLUMNS = columns(
    "annotator|Annotator", "protocol", "open|Open|int", "done|Done|int", "skipped|Skipped|int",
    "median_seconds|Median time|seconds", "stat|(Statistic)|statistic", "agreement|Agreement|float",
    "ci_low ci_high", "against|With", "n note",
)  # fmt: skip
_ABOUT = definition("agreement: with the annotator with whom most cases are shared, interval over users")


def annotation_table(db: Database, project_id: int) -> Table:
    """One row per annotator and protocol. Undefined agreement is None with the reason in `note`."""
    assigned = sorted(project_assignments(db, project_id), key=lambda one: (one.protocol, one.rater))
    project = Project.numbered(db, project_id)
    rows: list[Row] = []
    for one in assigned:
        times = [t.seconds for t in own_tasks(db, one.rater_id, one.protocol) if t.state == "done"]
        others = tuple(other.rater for other in assigned if other.protocol == one.protocol)
        rows.append({
            "annotator": one.rater, "protocol": one.protocol, "open": one.open, "done": one.done, "skipped": one.skipped,
            "median_seconds": median(times) if times else None, **_agreement(project, one.rater, one.protocol, others),
        })  # fmt: skip
    notes = (_ABOUT,) if rows else (Note("no annotators yet", step=Step("label")),)
    return Table("Annotation", _COLUMNS, tuple(rows), notes)


def _agreement(project: Project, rater: str, protocol: str, annotators: tuple[str, ...]) -> Row:
    """The usual figure of an annotator and the one of the others with whom it shares most cases."""
    met = table_of(project, "agreement", protocol=protocol, raters=annotators).rows if annotators[1:] else ()
    mine = [row for row in met if rater in (row["rater_a"], row["rater_b"]) and row["n"]]
    if not mine:
        nothing = undefined("no case that another annotator has also finished")
        return {"stat": None, "agreement": None, **nothing.ends(), "n": 0, "note": nothing.note}
    most = max(mine, key=lambda row: whole(row, "n"))
    against = most["rater_b"] if most["rater_a"] == rater else most["rater_a"]
    cells = {name: most[name] for name in ("stat", "ci_low", "ci_high", "n", "note")}
    return {"against": against, "agreement": most["value"], **cells}
