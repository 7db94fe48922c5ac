"""The names in a filter of verdicts, checked as those in the options of reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from recjudge_tui.domain.filters import ALL_PEOPLE, VerdictFilter
from recjudge_tui.domain.occasions import OccasionFilter
from recjudge_tui.domain.protocols import PROTOCOLS
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.data.catalogue import check_systems, known_systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import check_contexts
from recjudge_tui.store.raters.raters import rater_names
from recjudge_tui.store.verdicts.filter_values import filter_values
from recjudge_tui.store.verdicts.filters import WITH_LABEL

_OUTCOMES = ("won", "tied", "lost")
_STORED = {
    "aspect": "SELECT 1 FROM verdicts WHERE project_id = :project AND aspect = :value COLLATE NOCASE",
    "case": "SELECT 1 FROM cases WHERE project_id = :project AND id = :value",
    "label": f"SELECT 1 FROM verdicts v WHERE project_id = :project AND {WITH_LABEL}",
    "run": "SELECT 1 FROM runs WHERE project_id = :project AND id = :value",
    "user": "SELECT 1 FROM cases WHERE project_id = :project AND user_id = :value",
}
# labels of the protocols, which no verdict needs to have
_USUAL_LABELS = {label.casefold() for facts in PROTOCOLS.values() for label in facts.labels.values()}


def check_filter_names(db: Database, project_id: int, chosen: VerdictFilter) -> None:
    """Raises NotFoundError for what the project does not have: a context, system, rater, aspect, label, user, case or run,
    or a protocol that there is not. After `system:`, `judge:` and `disagree:` any part of a name will do. The error names
    those that there are, as far as they can be listed.
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
    _check("protocol", named("protocol"), PROTOCOLS, step, _is_equal)
    for key, sql in _STORED.items():
        for value in named(key):
            stored = db.row(f"{sql} LIMIT 1", {"project": project_id, "value": value})
            if stored is None and not (key == "label" and _is_usual_label(value)):
                raise _missing(key, value, filter_values(db, project_id).get(key, ()), step)


def _is_usual_label(value: str) -> bool:
    """Whether it is a label of a protocol, or the first words of one."""
    return any(f"{label} ".startswith(f"{value.casefold()} ") for label in _USUAL_LABELS)


def _is_equal(part: str, name: str) -> bool:
    return part.casefold() == name.casefold()


def _is_part(part: str, name: str) -> bool:
    return part.casefold() in name.casefold()


def _check(
    kind: str, wanted: Iterable[str], names: Iterable[str], step: str, matches: Callable[[str, str], bool]
) -> None:
    known = sorted(names)
    for part in wanted:
        if not any(matches(part, name) for name in known):
            raise _missing(kind, part, known or ("none",), step)


def _missing(kind: str, value: str, known: Iterable[str], step: str) -> NotFoundError:
    names = ", ".join(one_line(name, 60) for name in known)
    return NotFoundError(
        f"no {kind} “{one_line(value, 60)}” in this project", f"Available: {names}." if names else "", step
    )
