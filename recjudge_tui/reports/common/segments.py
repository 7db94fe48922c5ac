"""Makes any report group by group: users by an attribute or by their activity, occasions by their context or period."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from recjudge_tui.domain.occasions import (
    EVERY_OCCASION,
    OccasionFilter,
    Over,
    occasion_filter,
    period_days,
    period_order,
)
from recjudge_tui.domain.selection import CaseSelection, Segment, activity_levels
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.table import Column, Note, Table, definition
from recjudge_tui.shapes import grouped
from recjudge_tui.stats.defaults import level_text
from recjudge_tui.store.cases import case_periods, check_contexts, slate_periods
from recjudge_tui.store.data import (
    check_systems,
    context_counts,
    user_attribute_names,
    user_values,
    visible_event_counts,
)
from recjudge_tui.store.database import Database

ACTIVITY, CONTEXT = "activity", "context"
# prefix for an attribute with the same name as one of these
OF_USER = "user:"
MOST_GROUPS = 10
_LEVELS = 3
_MOST_ANSWERS = 4
_OTHER = "other"
_CHANCE = (
    f"groups: each interval is the {level_text()} interval of its own group; adjusted p values, and statements about"
    " separable systems, allow for the number of groups (Bonferroni); check a difference between groups on new data"
)
Report = Callable[[CaseSelection], Table]


class Segments(NamedTuple):
    """The groups in order, the title of the grouping, and notes for the reader. `within`: the occasions of each group."""

    title: str
    groups: tuple[Segment, ...]
    notes: tuple[str, ...] = ()
    within: tuple[OccasionFilter, ...] = ()


def segmented(
    db: Database,
    project_id: int,
    report: Report,
    *,
    by: str | None = None,
    over: Over | None = None,
    occasions: OccasionFilter = EVERY_OCCASION,
    systems: tuple[str, ...] = (),
    of_lists: bool = False,
    empty: str = "nothing to report for",
) -> Table:
    """The report on the cases of these occasions and systems (none: all). With `by` (ACTIVITY, CONTEXT or an
    attribute of users), it is made once for each group, with the group in the first column; with `over`, once for
    each period. `of_lists`: it is about lists, not cases. `empty`: what it means that groups have no rows; their
    names follow. Raises NotFoundError for an unknown context or system, UsageError for an unknown attribute, and
    whatever the report raises."""
    chosen = CaseSelection(occasions, systems=systems)
    check_contexts(db, project_id, occasions)
    check_systems(db, project_id, systems)
    # so that groups and parts of the report are about the same verdicts, which are read once
    with db.one_state():
        if by is not None and over is not None:
            reason = "a report is made by groups or by periods, not both"
            raise UsageError(reason, next_step="Leave out one of them.")
        found = Segments("", ())
        if over is not None:
            found = periods(db, project_id, over, occasions, of_lists=of_lists)
        elif by is not None:
            found = segments(db, project_id, by, occasions, of_lists=of_lists)
        table = _segmented(report, str(by or over), found, chosen, empty) if found.groups else report(chosen)
        if over is not None and not found.groups:
            what = "list" if of_lists else "case"
            reason = f"not split by {over}: no {what} has a time when it was served, so all are together"
            table = replace(table, notes=(Note(reason, "warning"), *table.notes))
    return about_occasions(about_systems(table, systems), occasions)


def _segmented(report: Report, by: str, found: Segments, chosen: CaseSelection, empty: str) -> Table:
    many = len(found.groups)
    tables = [
        (group, report(replace(chosen, segment=replace(group, groups=many), occasions=when)))
        for group, when in zip(found.groups, found.within or (chosen.occasions,) * many, strict=True)
    ]
    first, heading = tables[0][1], one_line(found.title, 40)
    column, title = Column("segment", heading), f"{first.title}, by {heading}"

    def stacked(parts: Sequence[tuple[Segment, Table]], shown: tuple[Column, ...]) -> Table:
        rows = tuple({"segment": group.name} | row for group, part in parts for row in part.rows)
        return Table(title, (column, *shown), rows)

    without = [one_line(group.name, 60) for group, table in tables if not table.rows]
    notes = [f"{many} groups were compared: some differ by chance" if many > 1 else "there is only one group"]
    notes += [*found.notes, *([definition(_CHANCE)] if many > 1 else [])]
    notes += [f"{empty}: {', '.join(without)}"] if without else []
    briefs = [(group, table.brief) for group, table in tables if table.brief is not None]
    brief = stacked(briefs, max((part.columns for _, part in briefs), key=len)) if briefs else None
    settings = {**first.settings, "by": by, "segments": [group.name for group in found.groups]}
    whole = stacked(tables, first.columns)
    answer = _answer(tables)
    return replace(whole, notes=(*notes, *_notes(tables)), settings=settings, answer=answer, brief=brief)


def _answer(tables: Collection[tuple[Segment, Table]]) -> str:
    """The answers of the first groups, each behind the names of those that it holds for."""
    answers = ((table.answer, one_line(group.name, 40)) for group, table in tables if table.answer)
    said = list(grouped(answers).items())
    texts = [f"{', '.join(names)}: {answer}" for answer, names in said[:_MOST_ANSWERS]]
    more = sum(len(names) for _, names in said[_MOST_ANSWERS:])
    return " ".join([*texts, *([f"{quantity(more, 'more group')}."] if more else [])])


def _notes(tables: Collection[tuple[Segment, Table]]) -> list[str]:
    """First the notes that all groups with figures share, then the others with the names of their groups."""
    filled = [(group, table) for group, table in tables if table.rows] or list(tables)
    counts = Counter(note for _, table in filled for note in dict.fromkeys(table.notes))
    shared = [note for note in dict.fromkeys(filled[0][1].notes) if counts[note] == len(filled)]
    return shared + [
        f"{one_line(group.name, 60)}: {note}"
        for group, table in filled
        for note in dict.fromkeys(table.notes)
        if counts[note] < len(filled)
    ]


def about_systems(table: Table, systems: tuple[str, ...]) -> Table:
    """The table, with the chosen systems in its notes and settings unless all are chosen."""
    return _about(table, systems_note(systems), systems=list(systems)) if systems else table


def _about(table: Table, note: str, **settings: object) -> Table:
    return replace(table, notes=(note, *table.notes), settings={**table.settings, **settings})


def systems_note(systems: tuple[str, ...]) -> str:
    return f"only the systems {', '.join(one_line(name, 60) for name in systems)}"


def about_occasions(table: Table, occasions: OccasionFilter) -> Table:
    """The table, with the chosen occasions in its notes and settings."""
    if occasions == EVERY_OCCASION:
        return table
    ends = {"served_from": occasions.start, "served_to": occasions.end}
    return _about(table, occasions_note(occasions), contexts=list(occasions.contexts), **ends)


def occasions_note(occasions: OccasionFilter) -> str:
    """A sentence on the occasions of a report; at least one bound or context is chosen."""
    parts = []
    if occasions.contexts:
        names = ", ".join(f"“{one_line(name, 60)}”" for name in occasions.contexts)
        parts.append(f"in {'the context' if len(occasions.contexts) == 1 else 'the contexts'} {names}")
    for word, time in (("from", occasions.start), ("up to", occasions.end)):
        parts += [f"served {word} {time[:19].replace('T', ' ')} UTC"] if time else []
    return f"only {'' if occasions.contexts else 'what was '}{' and '.join(parts)}"


def segments(
    db: Database, project_id: int, by: str, occasions: OccasionFilter, *, of_lists: bool
) -> Segments:
    """The groups of users or contexts, at most MOST_GROUPS of them and one for the rest. Raises UsageError for an
    attribute that no user has."""
    if by == CONTEXT:
        return _by_context(context_counts(db, project_id, occasions, of_lists=of_lists), of_lists)
    if by == ACTIVITY:
        return _by_activity(visible_event_counts(db, project_id))
    return _by_attribute(db, project_id, by.removeprefix(OF_USER))


def periods(
    db: Database, project_id: int, over: Over, occasions: OccasionFilter, *, of_lists: bool
) -> Segments:
    """The periods with any case (list) of these occasions, in order."""
    known = (slate_periods if of_lists else case_periods)(db, project_id, over)
    names = sorted(set(known.values()), key=period_order)
    if over == "import":
        groups = tuple(Segment(name, "period", imported=period_order(name)[0]) for name in names)
        note = definition("each list or text counts in the import that was the first to have it")
        return Segments(over, groups, (note,))
    kept = {name: when for name in names if (when := _within(occasions, name)) is not None}
    groups = tuple(Segment(name, "period") for name in kept)
    note = definition("what was served at an unknown time is in no period")
    return Segments(over, groups, (note,), tuple(kept.values()))


def _within(occasions: OccasionFilter, period: str) -> OccasionFilter | None:
    """The occasions in a period; None if there are none."""
    first, last = period_days(period)
    whole = occasion_filter(occasions.contexts, first.isoformat(), last.isoformat())
    start = max(whole.start, occasions.start)
    end = min(filter(None, (whole.end, occasions.end)))
    return None if start > end else OccasionFilter(occasions.contexts, start, end)


def _by_context(counts: dict[str, int], of_lists: bool) -> Segments:
    named = list(counts)[:MOST_GROUPS]
    names = {context: context or _free("no context", counts) for context in named}
    groups = [Segment(names[context], "context", frozenset([context])) for context in named]
    rest = len(counts) - len(named)
    if not rest:
        return Segments("context", tuple(groups))
    groups.append(Segment(_free(_OTHER, counts), "context", frozenset(named), others=True))
    what = "lists" if of_lists else "cases"
    note = f"{groups[-1].name}: {rest:,} more contexts; the {MOST_GROUPS} with the most {what} have a group of their own"
    return Segments("context", tuple(groups), (note,))


def _by_activity(counts: dict[str, int]) -> Segments:
    levels = activity_levels(counts, _LEVELS)
    names = [quantity(x.high, "event") if x.low == x.high else f"{x.span} events" for x in levels]
    groups = tuple(Segment(name, "user", x.users) for name, x in zip(names, levels, strict=True))
    note = definition(
        "activity: users in thirds by the number of their events that a judge may be shown, held-out ones apart; users with"
        " equal numbers share a group, and users without events are one"
    )
    return Segments("activity", groups, (note,))


def _by_attribute(db: Database, project_id: int, attribute: str) -> Segments:
    values = user_values(db, project_id, attribute)
    if not values:
        known = ", ".join(one_line(name, 40) for name in user_attribute_names(db, project_id))
        raise UsageError(
            f"no user has an attribute “{one_line(attribute, 60)}”",
            f"Available: {known}." if known else "No user has attributes.",
            f"Groups may also be by {ACTIVITY} and {CONTEXT}.",
        )
    users = grouped((value, user) for user, value in values.items())
    by_size = sorted(users, key=lambda value: (-len(users[value]), value))
    groups = [Segment(value, "user", frozenset(users[value])) for value in sorted(by_size[:MOST_GROUPS])]
    notes = []
    if rest := by_size[MOST_GROUPS:]:
        members = frozenset().union(*(users[value] for value in rest))
        groups.append(Segment(_free(_OTHER, users), "user", members))
        notes.append(
            f"{groups[-1].name}: {len(rest):,} more values; the {MOST_GROUPS} with the most users have a group of their own"
        )
    if visible_event_counts(db, project_id).keys() - values.keys():
        groups.append(Segment(_free(f"no {attribute}", users), "user", frozenset(values), others=True))
    return Segments(attribute, tuple(groups), tuple(notes))


def _free(name: str, taken: Collection[str]) -> str:
    """The name, in parentheses if the data has the same value."""
    while name in taken:
        name = f"({name})"
    return name
