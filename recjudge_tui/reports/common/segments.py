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
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection, Segment, activity_levels
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Column, Note, Table, definition
from recjudge_tui.shapes import grouped
from recjudge_tui.stats.defaults import level_text
from recjudge_tui.store import data
from recjudge_tui.store.cases import case_periods, check_contexts, slate_periods

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
_ACTIVITY = (
    "activity: users in thirds by the number of their events that a judge may be shown, held-out ones apart; users with"
    " equal numbers share a group, and users without events are one"
)


class Segments(NamedTuple):
    """The groups in order, the title of the grouping, and notes for the reader. `within`: the occasions of each group."""

    title: str
    groups: tuple[Segment, ...]
    notes: tuple[str, ...] = ()
    within: tuple[OccasionFilter, ...] = ()


def segmented(
    project: Project, report: Callable[[CaseSelection], Table], chosen: CaseSelection = EVERY_CASE, *, where: str = "",
    by: str | None = None, over: Over | None = None, of_lists: bool = False,
) -> Table:  # fmt: skip
    """The report on the chosen cases (of users `where`: see `domain.where`). With `by` (ACTIVITY, CONTEXT or an attribute of
    users), it is made once for each group, with the group in the first column; with `over`, once for each period.
    `of_lists`: it is about lists, not cases. Raises NotFoundError for an unknown context or system, UsageError for an
    unknown attribute and users that do not exist, and whatever the report raises."""
    if by is not None and over is not None:
        reason = "a report is made by groups or by periods, not both"
        raise UsageError(reason, next_step="Leave out one of them.")
    occasions = chosen.occasions
    check_contexts(project.db, project.id, occasions)
    data.check_systems(project.db, project.id, chosen.systems)
    # so that groups and parts of the report are about the same verdicts, which are read once
    with project.one_state():
        found = Segments("", ())
        if over is not None:
            found = _by_period(project, over, occasions, of_lists)
        elif by is not None:
            found = _by(project, by, occasions, of_lists)
        if found.groups:
            many = len(found.groups)
            parts = [
                (group, report(replace(chosen, segment=replace(group, groups=many), occasions=when)))
                for group, when in zip(found.groups, found.within or (occasions,) * many, strict=True)
            ]
            table = _together(parts, str(by or over), found)
        else:
            table = report(chosen)
        if over is not None and not found.groups:
            what = "list" if of_lists else "case"
            reason = f"not split by {over}: no {what} has a time when it was served, so all are together"
            table = replace(table, notes=(Note(reason, "warning"), *table.notes))
    if chosen.users is not None:
        users = quantity(len(chosen.users), "user")
        table = _about(table, f"only {users} where {one_line(where, 60)}", where=where)
    return about_cases(table, chosen)


def _together(parts: Sequence[tuple[Segment, Table]], by: str, found: Segments) -> Table:
    first, heading = parts[0][1], one_line(found.title, 40)
    title = f"{first.title}, by {heading}"

    def stacked(tables: Sequence[tuple[Segment, Table]]) -> Table:
        # a brief form has only the columns that a row of its group fills
        most_first = sorted((table.columns for _, table in tables), key=len, reverse=True)
        shown = {column.name: column for columns in reversed(most_first) for column in columns}
        names = dict.fromkeys(column.name for columns in most_first for column in columns)
        rows = tuple({"segment": group.name} | row for group, table in tables for row in table.rows)
        return Table(title, (Column("segment", heading), *(shown[name] for name in names)), rows)

    several = len(parts) > 1
    one = "there is only one group"
    notes = [f"{len(parts)} groups were compared: some differ by chance" if several else one]
    notes += [*found.notes, *([definition(_CHANCE)] if several else [])]
    without = [one_line(group.name, 60) for group, table in parts if not table.rows]
    notes += [f"nothing to report for: {', '.join(without)}"] if without else []
    # first the notes that all groups with figures share, then the others with the names of their groups
    filled = [(group, table) for group, table in parts if table.rows] or parts
    counts = Counter(note for _, table in filled for note in dict.fromkeys(table.notes))
    notes += [note for note in dict.fromkeys(filled[0][1].notes) if counts[note] == len(filled)]
    for group, table in filled:
        own = [note for note in dict.fromkeys(table.notes) if counts[note] < len(filled)]
        notes += [f"{one_line(group.name, 60)}: {note}" for note in own]
    # the answers of the first groups, each behind the names of those that it holds for
    said = [*grouped((t.answer, one_line(group.name, 40)) for group, t in parts if t.answer).items()]
    texts = [f"{', '.join(names)}: {answer}" for answer, names in said[:_MOST_ANSWERS]]
    more = sum(len(names) for _, names in said[_MOST_ANSWERS:])
    texts += [f"{quantity(more, 'more group')}."] if more else []
    briefs = [(group, table.brief) for group, table in parts if table.brief is not None]
    return replace(
        stacked(parts), notes=tuple(notes), answer=" ".join(texts), brief=stacked(briefs) if briefs else None,
        settings={**first.settings, "by": by, "segments": [group.name for group in found.groups]},
    )  # fmt: skip


def about_cases(table: Table, cases: CaseSelection) -> Table:
    """The table, with the chosen systems and occasions in its notes and settings unless all are chosen."""
    if cases.systems:
        table = _about(table, systems_note(cases.systems), systems=list(cases.systems))
    return about_occasions(table, cases.occasions)


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


# ---- the groups ------------------------------------------------------------------------------------------------------


def _by_period(project: Project, over: Over, occasions: OccasionFilter, of_lists: bool) -> Segments:
    """The periods with any case (list) of these occasions, in order."""
    known = (slate_periods if of_lists else case_periods)(project.db, project.id, over)
    names = sorted(set(known.values()), key=period_order)
    if over == "import":
        imports = tuple(Segment(name, "period", imported=period_order(name)[0]) for name in names)
        about = definition("each list or text counts in the import that was the first to have it")
        return Segments(over, imports, (about,))
    kept = {}
    for name in names:
        first, last = period_days(name)
        whole = occasion_filter(occasions.contexts, first.isoformat(), last.isoformat())
        start, end = max(whole.start, occasions.start), min(filter(None, (whole.end, occasions.end)))
        if start <= end:
            kept[name] = OccasionFilter(occasions.contexts, start, end)
    groups = tuple(Segment(name, "period") for name in kept)
    about = definition("what was served at an unknown time is in no period")
    return Segments(over, groups, (about,), tuple(kept.values()))


def _by(project: Project, by: str, occasions: OccasionFilter, of_lists: bool) -> Segments:
    """The groups of users or contexts, at most MOST_GROUPS of them and one for the rest."""
    db, project_id = project.db, project.id
    if by == CONTEXT:
        counts = data.context_counts(db, project_id, occasions, of_lists=of_lists)
        named, rest = list(counts)[:MOST_GROUPS], len(counts) - MOST_GROUPS
        shown = {context: context or _free("no context", counts) for context in named}
        groups = [Segment(name, "context", frozenset([context])) for context, name in shown.items()]
        if rest <= 0:
            return Segments(by, tuple(groups))
        other = Segment(_free(_OTHER, counts), "context", frozenset(named), others=True)
        what = "lists" if of_lists else "cases"
        note = f"{other.name}: {rest:,} more contexts; the {MOST_GROUPS} with the most {what} have a group of their own"
        return Segments(by, (*groups, other), (note,))
    if by == ACTIVITY:
        levels = activity_levels(data.visible_event_counts(db, project_id), _LEVELS)
        spans = [quantity(x.high, "event") if x.low == x.high else f"{x.span} events" for x in levels]
        users_of = tuple(Segment(name, "user", x.users) for name, x in zip(spans, levels, strict=True))
        return Segments(by, users_of, (definition(_ACTIVITY),))
    attribute = by.removeprefix(OF_USER)
    of_users = data.user_attributes(db, project_id)
    values = {user: value for user, of in of_users.items() if (value := of.get(attribute, "").strip())}
    if not values:
        names = sorted({name for of in of_users.values() for name in of})
        known = ", ".join(one_line(name, 40) for name in names)
        raise UsageError(
            f"no user has an attribute “{one_line(attribute, 60)}”",
            f"Available: {known}." if known else "No user has attributes.",
            f"Groups may also be by {ACTIVITY} and {CONTEXT}.",
        )
    users = grouped((value, user) for user, value in values.items())
    by_size = sorted(users, key=lambda value: (-len(users[value]), value))
    groups = [Segment(value, "user", frozenset(users[value])) for value in sorted(by_size[:MOST_GROUPS])]
    notes = []
    if more := by_size[MOST_GROUPS:]:
        members = frozenset().union(*(users[value] for value in more))
        groups.append(Segment(_free(_OTHER, users), "user", members))
        most = f"the {MOST_GROUPS} with the most users have a group of their own"
        notes.append(f"{groups[-1].name}: {len(more):,} more values; {most}")
    if data.visible_event_counts(db, project_id).keys() - values.keys():
        groups.append(Segment(_free(f"no {attribute}", users), "user", frozenset(values), others=True))
    return Segments(attribute, tuple(groups), tuple(notes))


def _free(name: str, taken: Collection[str]) -> str:
    """The name, in parentheses if the data has the same value."""
    while name in taken:
        name = f"({name})"
    return name
