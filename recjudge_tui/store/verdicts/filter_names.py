"""The names in a filter of verdicts, checked as those in the options of reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from recjudge_tui.domain.filters import ALL_PEOPLE, VerdictFilter
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.data.catalogue import check_systems, known_systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import check_contexts
from recjudge_tui.store.raters.raters import rater_names

_OUTCOMES = ("won", "tied", "lost")


def check_filter_names(db: Database, project_id: int, chosen: VerdictFilter) -> None:
    """Raises NotFoundError for a context, a system or a rater that the project does not have. After `system:`, `judge:` and
    `disagree:` any part of a name will do. The error names those that there are.
    """

    def named(*keys: str, op: str = ":") -> list[str]:
        return [term.value for term in chosen.terms if term.key in keys and term.op == op]

    step = "Change that part of the filter, or leave it out."
    check_contexts(db, project_id, OccasionFilter(tuple(named("context"))), step)
    check_systems(db, project_id, named(*_OUTCOMES), step)
    if parts := named("system"):
        _check("system", parts, known_systems(db, project_id), step, _is_part)
    check_systems(db, project_id, named("system", op="="), step)
    if whole := named("judge", op="="):
        _check("rater", whole, rater_names(db, project_id), step, str.__eq__)
    if parts := [*named("judge"), *(part for part in named("disagree") if part.casefold() != ALL_PEOPLE)]:
        _check("rater", parts, rater_names(db, project_id), step, _is_part)


def _is_part(part: str, name: str) -> bool:
    return part.casefold() in name.casefold()


def _check(
    kind: str, wanted: Iterable[str], names: Iterable[str], step: str, matches: Callable[[str, str], bool]
) -> None:
    known = sorted(names)
    for part in wanted:
        if not any(matches(part, name) for name in known):
            raise NotFoundError(
                f"no {kind} “{one_line(part, 60)}” in this project",
                f"Available: {', '.join(one_line(name, 60) for name in known) or 'none'}.",
                step,
            )
