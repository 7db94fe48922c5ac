"""Loads the comparison of two raters from the reports, in the background."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.common.table import Row, Table, note_kind, save_text
from recjudge_tui.store.cases import check_contexts
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.exporting import export_table

if TYPE_CHECKING:
    from recjudge_tui.reports.changes import Changes, Part
    from recjudge_tui.shapes import Meeting
    from recjudge_tui.store.answers import Cell

DIFF_ENDINGS = (".diff", ".patch")


class ComparisonRequest(NamedTuple):
    """The two sides to compare, the question (a protocol and an aspect), and the occasions. An empty side means the
    default."""

    first: str = ""
    second: str = ""
    question: tuple[str, str] = ("", "")
    occasions: OccasionFilter = EVERY_OCCASION


class Comparison(NamedTuple):
    """The two sides on one question. `changes`, `part`, `summary` and `transitions` are None if they share no
    question. `offered` are all possible sides, `questions` those that the two share; `p_holm` and `p_symmetry_holm` of
    the summary adjust for all of these."""

    offered: tuple[tuple[str, str], ...]
    request: ComparisonRequest
    questions: tuple[Meeting, ...]
    changes: Changes | None = None
    part: Part | None = None
    summary: Row | None = None
    notes: tuple[str, ...] = ()
    transitions: Table | None = None
    ids: array[int] = array("q")


def compared(db: Database, project_id: int, request: ComparisonRequest) -> Comparison:
    """The requested comparison; if the two sides do not share the question, the first question that they do share.

    Loads NumPy and SciPy and resamples, so call it in a worker. Raises as `sides_named`, and NotFoundError for an unknown
    context.
    """
    from recjudge_tui.domain.selection import Selection
    from recjudge_tui.project import Project
    from recjudge_tui.reports.changes import (
        compare_sides,
        offered_sides,
        shared_questions,
        sides_named,
        summary,
        transitions,
        usual_sides,
    )
    from recjudge_tui.reports.common.segments import about_occasions

    check_contexts(db, project_id, request.occasions)
    project = Project.numbered(db, project_id)
    offered = offered_sides(project)
    if not request.first:
        usual = usual_sides(project)
        if usual is None:
            return Comparison(offered, request, ())
        request = request._replace(first=usual[0], second=usual[1])
    sides = sides_named(project, request.first, request.second)
    selection = Selection(cases=CaseSelection(request.occasions))
    shared = tuple(shared_questions(project, sides, selection))
    if not shared:
        return Comparison(offered, request, ())
    asked = next((one for one in shared if (one.protocol, one.aspect) == request.question), shared[0])
    changes = compare_sides(project, sides, selection, (asked,))
    told = about_occasions(summary(changes), request.occasions)
    adjusted = changes if len(shared) == 1 else compare_sides(project, sides, selection, shared)
    tested = summary(adjusted).rows[shared.index(asked) if len(shared) > 1 else 0]
    return Comparison(
        offered,
        request._replace(question=(asked.protocol, asked.aspect)),
        shared,
        changes,
        changes.parts[0],
        told.rows[0] | {name: tested[name] for name in ("p_holm", "p_symmetry_holm")},
        tuple(note for note in told.notes if note_kind(note) != "definition"),
        about_occasions(transitions(changes), request.occasions),
        array("q", changes.parts[0].cases().tolist()),
    )


def listed(_: Database, comparison: Comparison, cell: Cell | None) -> array[int]:
    """The cases that changed, or those of one cell of the grid."""
    assert comparison.part is not None
    return array("q", comparison.part.cases(cell).tolist())


def save_cases(db: Database, comparison: Comparison, cell: Cell | None, path: Path) -> tuple[str, ...]:
    """Write the list; raises as `export_table`."""
    from recjudge_tui.reports.changes import cases_table
    from recjudge_tui.reports.common.segments import about_occasions

    assert comparison.changes is not None
    table = cases_table(comparison.changes.on(db), cell)
    return export_table(about_occasions(table, comparison.request.occasions), path)


def save_diff(lines: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """Write a unified diff to a new file; raises RecjudgeError when it exists, StoreError when it cannot be written."""
    if path.suffix.lower() not in DIFF_ENDINGS:
        raise RecjudgeError(
            f"no format for “{path.name}”",
            "The format follows the ending of the file name.",
            f"Use {' '.join(DIFF_ENDINGS)}.",
        )
    if path.exists():
        raise RecjudgeError(f"{path} exists already", next_step="Press e again and give another name.")
    save_text("".join(f"{safe_text(line)}\n" for line in lines), path)
    return ()
