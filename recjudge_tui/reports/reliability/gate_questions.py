"""The input of the checks of a gate: verdicts, truth, and what the earlier run judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from recjudge_tui.domain.selection import Selection
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.rater_pairs import label_sets
from recjudge_tui.reports.reliability.gate_options import GateOptions
from recjudge_tui.reports.reliability.gate_sides import GateSides, RunMatch, compare_sides, gate_sides
from recjudge_tui.shapes import Meeting, Met, meet, under_protocol
from recjudge_tui.store.data.catalogue import check_systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.generations import case_occasions
from recjudge_tui.store.verdicts.ratings import (
    Question,
    Ratings,
    load_questions,
    newest_lists,
    project_questions,
    project_raters,
)


@dataclass(frozen=True)
class GateQuestions:
    """The input of the checks: the rater's questions, those it shares with the truth, and those of the earlier run."""

    ratings: Ratings
    mine: list[Question]
    met: Met
    pairs: list[Meeting]
    labels: dict[Meeting, list[float] | None]
    compared: dict[Question, RunMatch]
    sides: GateSides
    options: GateOptions

    @cached_property
    def newest(self) -> Ratings:
        """The verdicts on the newest lists that each rater judged."""
        return newest_lists(self.ratings)


def gate_questions(db: Database, project_id: int, options: GateOptions) -> GateQuestions:
    """Load what the checks need; raises as `gate_table`."""
    sides = gate_sides(db, project_id, options)
    later, earlier = sides
    if options.truth is not None and options.truth in (later.rater, earlier and earlier.rater):
        raise UsageError(f"{options.truth} cannot be its own truth")
    asked_for = Selection(options.protocol, options.aspect, (later.rater,))
    met = meet(Project.numbered(db, project_id), asked_for, options.truth)
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    within = under_protocol(questions, raters, options.protocol)
    mine = [q for q in within if later.answers(q) and options.aspect in (None, q.aspect)]
    if not mine:
        raise NotFoundError(f"{later.name} has judged none of this", next_step="See “recjudge rater list”.")
    pairs = [] if options.truth is None else list(met.meetings)
    pairs = [pair for pair in pairs if later.answers(pair.a)]
    asked = list(dict.fromkeys([*mine, *(pair.a for pair in pairs)]))
    before = [question._replace(rater=earlier.rater) for question in asked if earlier]
    wanted = [*asked, *(pair.b for pair in pairs), *(q for q in before if q in questions)]
    ratings = load_questions(db, project_id, wanted)
    check_systems(db, project_id, options.systems)
    own = {question: later.verdicts(db, ratings, question) for question in asked}
    mine = [question for question in mine if own[question].row.size]
    if not mine:
        raise NotFoundError(f"{later.name} has no verdicts yet", next_step="See “recjudge runs list”.")
    pairs = [pair for pair in pairs if own[pair.a].row.size]
    ratings = replace(ratings, verdicts=ratings.verdicts | own)
    compared = {}
    if earlier is not None:
        occasions = case_occasions(db, project_id, ratings.cases.ids)
        compared = compare_sides(db, sides, ratings, occasions, asked)
    met = replace(met, ratings=ratings, meetings=tuple(pairs))
    return GateQuestions(ratings, mine, met, pairs, label_sets(met), compared, sides, options)
