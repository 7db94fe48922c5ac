"""The chosen occasions as an SQL condition on cases, lists and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter, Over, import_period, period_of
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database, explained
from recjudge_tui.store.facts import held_out_type

if TYPE_CHECKING:  # the app starts without NumPy
    from recjudge_tui.stats.arrays import IntArray

Countable = Literal["cases", "lists", "held-out events"]
_TABLES: dict[Countable, str] = {
    "cases": "cases",
    "lists": "v_current_slates",
    "held-out events": f"(SELECT * FROM events WHERE item_id <> '' AND {held_out_type()})",
}
_NAMED = 8
_CONTEXTS = """
SELECT context, count(*) AS uses FROM (
  SELECT context FROM cases WHERE project_id = :project
  UNION ALL SELECT context FROM slates WHERE project_id = :project
  UNION ALL SELECT context FROM explanations WHERE project_id = :project
) GROUP BY context"""


def occasion_condition(
    chosen: OccasionFilter, table: str, *, name: str = "occasion"
) -> tuple[str, dict[str, Any]]:
    """A condition on the columns `context` and `served_at` of `table`, and its parameters, whose names begin with `name`."""
    clauses = ["1"]
    parameters: dict[str, Any] = {}
    if chosen.contexts:
        named = {f"{name}_context{at}": context for at, context in enumerate(chosen.contexts)}
        clauses.append(f"{table}.context IN ({', '.join(f':{key}' for key in named)})")
        parameters |= named
    if chosen.is_timed:
        clauses.append(f"{table}.served_at <> ''")
    if chosen.start:
        clauses.append(f"{table}.served_at >= :{name}_start")
        parameters[f"{name}_start"] = chosen.start
    if chosen.end:
        clauses.append(f"{table}.served_at <= :{name}_end")
        parameters[f"{name}_end"] = chosen.end
    return " AND ".join(clauses), parameters


def of_several_occasions(table: str) -> str:
    """A condition on a row of `table` (cases, under this name): the same systems have lists or texts for its
    user on another occasion, too.
    """
    return f"""EXISTS (SELECT 1 FROM cases other WHERE other.project_id = {table}.project_id AND other.kind = {table}.kind
      AND other.user_id = {table}.user_id AND other.system_a = {table}.system_a AND other.system_b = {table}.system_b
      AND other.item_id = {table}.item_id
      AND (other.context, other.served_at) <> ({table}.context, {table}.served_at))"""


def known_occasions(db: Database, project_id: int) -> tuple[bool, bool]:
    """Whether lists or texts of the project name contexts, and whether they say when they were served."""
    exists = " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE project_id = :project AND {{column}} <> '')"
        for table in ("slates", "explanations")
    )
    contexts, times = (
        bool(db.value(f"SELECT {exists.format(column=column)}", {"project": project_id}))
        for column in ("context", "served_at")
    )
    return contexts, times


def check_contexts(
    db: Database,
    project_id: int,
    chosen: OccasionFilter,
    next_step: str = "Leave out --context to use all of them.",
) -> None:
    """Raises NotFoundError for a context that no case, list or text of the project has; it names those with the most."""
    if not chosen.contexts:
        return
    rows = db.rows(f"{_CONTEXTS} ORDER BY uses DESC, context", {"project": project_id})
    known = {row["context"]: None for row in rows}
    unknown = [context for context in chosen.contexts if context not in known]
    if not unknown:
        return
    named = ", ".join(_quoted(context) for context in list(known)[:_NAMED])
    more = f" and {len(known) - _NAMED:,} more" if len(known) > _NAMED else ""
    raise NotFoundError(
        f"no context {_quoted(unknown[0])} in this project",
        f"There {'is' if len(known) == 1 else 'are'} {named}{more}."
        if set(known) - {""}
        else "Nothing in it has a context.",
        next_step,
    )


def _quoted(context: str) -> str:
    return f"“{one_line(context, 60)}”" if context else "“” (none)"


def system_condition(systems: Sequence[str], *columns: str) -> tuple[str, dict[str, str]]:
    """A condition that each of these columns is empty or names one of the systems, and its parameters.

    Always true without systems.
    """
    if not systems:
        return "1", {}
    named = {f"system{at}": system for at, system in enumerate(systems)}
    among = ", ".join(f":{name}" for name in named)
    return " AND ".join(f"{column} IN ('', {among})" for column in columns), named


class SelectedCases(NamedTuple):
    """The ids of the selected cases, in order, and of the cases that were left out because a time was chosen
    and theirs is unknown."""

    ids: IntArray
    untimed: IntArray


def selected_cases(db: Database, project_id: int, chosen: CaseSelection) -> SelectedCases:
    occasions, segment = chosen.occasions, chosen.segment
    within, parameters = occasion_condition(occasions._replace(start="", end=""), "c")
    timed, times = occasion_condition(occasions._replace(contexts=()), "c", name="time")
    of_systems, named = system_condition(chosen.systems, "c.system_a", "c.system_b")
    cursor = db.execute(
        f"""SELECT c.id, c.user_id, c.context, {timed} FROM cases c NOT INDEXED
            WHERE c.project_id = :project AND {within} AND {of_systems} AND ({timed} OR c.served_at = '')
            ORDER BY c.id""",
        parameters | times | named | {"project": project_id},
    )
    cursor.row_factory = None
    import numpy as np

    ids: list[int] = []
    untimed: list[int] = []
    brought = case_periods(db, project_id, "import") if chosen.imported else {}
    wanted = import_period(chosen.imported)
    with explained(db.path):
        for case_id, user_id, context, is_here in cursor:
            here = segment is None or segment.holds(user_id, context)
            if here and (not chosen.imported or brought.get(case_id) == wanted):
                (ids if is_here else untimed).append(case_id)
    return SelectedCases(np.array(ids, dtype=np.int64), np.array(untimed, dtype=np.int64))


def untimed_count(db: Database, project_id: int, what: Countable, chosen: CaseSelection) -> int:
    """How many of them are left out because a time was chosen and it is unknown when they were served. 0 if
    no time was chosen.
    """
    if not chosen.occasions.is_timed:
        return 0
    sql, parameters = occasion_condition(chosen.occasions._replace(start="", end=""), "t")
    rows = db.rows(
        f"""SELECT t.user_id, t.context FROM {_TABLES[what]} t
            WHERE t.project_id = :project AND t.served_at = '' AND {sql}""",
        parameters | {"project": project_id},
    )
    return sum(chosen.segment is None or chosen.segment.holds(*row) for row in rows)


def untimed_note(count: int, what: Countable) -> str:
    """The sentence about what `untimed_count` counts; empty for none."""
    noun = what.removesuffix("s")
    return f"{quantity(count, noun)} without served_at left out, because a time was chosen" if count else ""


# ---- periods -----------------------------------------------------------------------------------------------------------


def case_periods(db: Database, project_id: int, over: Over) -> dict[int, str]:
    """Case id -> the period in which its lists were served, or the import that first had the later of them; without cases
    that have no period."""
    if over == "import":
        lists, texts = (_first_imports(db, project_id, what) for what in ("slate", "explanation"))
        rows = db.rows(
            """SELECT id, ifnull(slate_a, 0), ifnull(slate_b, 0), ifnull(explanation_id, 0) FROM cases
               WHERE project_id = ? AND (slate_a IS NOT NULL OR explanation_id IS NOT NULL)""",
            (project_id,),
        )
        brought = {
            row[0]: max(lists.get(row[1], 0), lists.get(row[2], 0), texts.get(row[3], 0)) for row in rows
        }
        return {case: import_period(source) for case, source in brought.items() if source}
    rows = db.rows(
        "SELECT id, substr(served_at, 1, 10) FROM cases WHERE project_id = ? AND served_at <> ''",
        (project_id,),
    )
    return {row[0]: period_of(row[1], over) for row in rows}


def slate_periods(
    db: Database, project_id: int, over: Over, occasions: OccasionFilter = EVERY_OCCASION
) -> dict[int, str]:
    """Slate id -> the period in which the list was served or first imported, for lists of these occasions with a period."""
    chosen, parameters = occasion_condition(occasions, "s")
    rows = db.rows(
        f"SELECT id, substr(served_at, 1, 10) FROM slates s WHERE project_id = :project AND {chosen}",
        parameters | {"project": project_id},
    )
    if over == "import":
        first = _first_imports(db, project_id, "slate")
        return {row[0]: import_period(first[row[0]]) for row in rows if row[0] in first}
    return {row[0]: period_of(row[1], over) for row in rows if row[1]}


def has_dated_cases(db: Database, project_id: int) -> bool:
    """Whether any case says when its lists were served."""
    dated: int = db.value(
        "SELECT EXISTS (SELECT 1 FROM cases WHERE project_id = ? AND served_at <> '')", (project_id,)
    )
    return bool(dated)


def _first_imports(db: Database, project_id: int, what: str) -> dict[int, int]:
    """Id of a list (`slate`) or text (`explanation`) -> the first import that brought it and was not undone."""
    rows = db.rows(
        f"""SELECT l.{what}_id, min(l.import_id) FROM {what}_imports l JOIN imports i ON i.id = l.import_id
            WHERE i.project_id = ? GROUP BY 1""",
        (project_id,),
    )
    return {row[0]: row[1] for row in rows}
