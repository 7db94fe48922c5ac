"""Where one system does better against another than elsewhere: slices of users, contexts and lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import THEMES, compares_lists
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.project import Project
from recjudge_tui.reports.biases import COVARIATES, covariates
from recjudge_tui.reports.common.rows import real
from recjudge_tui.reports.common.segments import ACTIVITY, CONTEXT
from recjudge_tui.reports.common.table import Row, Table, columns, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.sanity import sanity
from recjudge_tui.reports.words import about_base, adjusted, briefly, sanity_warnings, two_systems
from recjudge_tui.shapes import Base, base
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA, TOP_K
from recjudge_tui.stats.hypotheses import benjamini_hochberg, difference_of_groups, user_means
from recjudge_tui.store.answers import answers_read, runs_that_read
from recjudge_tui.store.cases import case_owners
from recjudge_tui.store.data import user_attributes, visible_event_counts
from recjudge_tui.store.ratings import Question

# users on either side of a difference
FEWEST_USERS = 10
_MOST_VALUES, _THIRDS = 10, ("lowest third", "middle third", "highest third")
_SHOWN, _NAMED = 8, 2
_COLUMNS = columns(
    "rater aspect?", "slice|Slice", "of|Value", "here|Here|float|3", "elsewhere|Elsewhere|float|3",
    "difference|Difference|float|3", "ci_*", "users?", "users_elsewhere|(Elsewhere)|int", "p",
    "p_fdr|p (FDR)|float|4", "note",
)  # fmt: skip
_BRIEF = columns(
    "rater|rater", "slice|slice", "of|value", "here|here|float|2", "elsewhere|elsewhere|float|2",
    "difference|difference|float|2", "interval|95 % CI", "users|(users)|int", "p_fdr|p (FDR)|float|4",
)  # fmt: skip
_ABOUT = definitions(f"""\
here, elsewhere: of pairs the win rate of the first system against the second (ties count half), of lists and texts judged\
 alone its mean value less the second's; users count once each
difference: t test and interval over users for unequal variances, with the smaller group's degrees of freedom (Moore and\
 McCabe 1989), from {FEWEST_USERS} users on either side on; FDR: Benjamini and Hochberg over all slices tried, below\
 {ALPHA:g} is a finding
slices: attributes of users with their {_MOST_VALUES} commonest values, numbers in thirds; contexts; activity: events\
 that a judge may be shown; length, popularity and homogeneity of the lists, in thirds over the cases;\
 themes that a judge found in the reasons about a case""")


class Slice(NamedTuple):
    """Cases by index (cases,) that share a `value` of what has this `name`."""

    name: str
    value: str
    here: BoolArray


def slices(project: Project, choose: Options) -> Table:
    """One row per question and slice, the surest first. Raises UsageError where the two systems are not clear."""
    chosen = base(project, choose.selection())
    rows: list[Row] = []
    worthless: dict[tuple[str, str], str] = {}
    pair = ("", "")
    tried = list(_slices(project, chosen)) if chosen.questions else []
    for question in chosen.questions:
        pair = two_systems(chosen, question, choose.systems)
        worthless[question.rater, question.aspect] = sanity(chosen, question).reason
        if not worthless[question.rater, question.aspect]:
            rows += _rows(chosen, question, pair, tried)
    rows = adjusted(rows, benjamini_hochberg, "p_fdr")
    rows.sort(key=lambda row: (row["p"] is None, row["p"] or 0.0, str(row["slice"]), str(row["of"])))
    notes = [*sanity_warnings(worthless), *about_base(chosen), *_ABOUT]
    title = f"Slices: {pair[0]} against {pair[1]}" if pair[0] else "Slices"
    tested = [row for row in rows if row["p_fdr"] is not None]
    found = [row for row in tested if real(row, "p_fdr") < ALPHA]
    facts = {"tried": len(tested), "findings": len(found)}
    said, settings = _answer(pair, tested, found), {"systems": list(pair)}
    table = Table(title, _COLUMNS, tuple(rows), tuple(notes), settings, facts, said)
    return briefly(table, _BRIEF, (found or tested or rows)[:_SHOWN], "float")


def _slices(project: Project, chosen: Base) -> Iterator[Slice]:
    """Every slice of the cases that anybody judged, two or more of each name."""
    cases = chosen.ratings.cases
    size = cases.ids.size
    judged = np.unique(np.concatenate([verdicts.row for verdicts in chosen.ratings.verdicts.values()]))
    owners = case_owners(project.db, project.id, cases.ids[judged].tolist())
    users, contexts = ([owner[at] for owner in owners] for at in (0, 1))
    attributes = user_attributes(project.db, project.id)
    for name in sorted({name for user in set(users) for name in attributes.get(user, {})}):
        values = [attributes.get(user, {}).get(name, "").strip() for user in users]
        yield from _of_texts(name, values, judged, size)
    yield from _of_texts(CONTEXT, contexts, judged, size)
    events = visible_event_counts(project.db, project.id)
    activity = np.array([float(events.get(user, 0)) for user in users])
    yield from _thirds(ACTIVITY, activity, judged, size)
    yield from _themes(project, cases.ids)
    measured = covariates(project, chosen.ratings, TOP_K)
    for name in COVARIATES:
        first, second = measured[name]
        mean = np.where(cases.is_pair, (first + second) / 2, first)[judged]
        yield from _thirds(name, mean, judged, size)


def _themes(project: Project, ids: IntArray) -> Iterator[Slice]:
    """The cases whose reasons use a theme, as the newest run of each kind of reasons found it."""
    read: set[tuple[str, ...]] = set()
    for run in runs_that_read(project.db, project.id, THEMES):
        if run.reading.about not in read and not run.reading.second:
            read.add(run.reading.about)
            given = answers_read(project.db, run.id)
            for theme in dict.fromkeys(answer.aspect for answer in given):
                using = [answer.case_id for answer in given if answer.aspect == theme and answer.value]
                if using:
                    yield Slice("theme", theme, np.isin(ids, using))


def _of_texts(name: str, values: Sequence[str], judged: IntArray, size: int) -> Iterator[Slice]:
    """By value, the commonest first; numbers of many values in thirds."""
    counts = Counter(value for value in values if value)
    if len(counts) > _MOST_VALUES and all(value.replace(".", "", 1).isdecimal() for value in counts):
        numbers = np.array([float(value) if value else np.nan for value in values])
        yield from _thirds(name, numbers, judged, size)
        return
    if len(counts) < 2:
        return
    array = np.array(values)
    for value in sorted(counts, key=lambda value: (-counts[value], value))[:_MOST_VALUES]:
        yield Slice(name, one_line(value, 40), np.isin(np.arange(size), judged[array == value]))


def _thirds(name: str, values: FloatArray, judged: IntArray, size: int) -> Iterator[Slice]:
    known = values[~np.isnan(values)]
    if not known.size or known.min() == known.max():
        return
    low, high = np.quantile(known, (1 / 3, 2 / 3))
    parts = (values <= low, (values > low) & (values <= high), values > high)
    for third, part in zip(_THIRDS, parts, strict=True):
        if part.any():
            span = f"{values[part].min():.3g} to {values[part].max():.3g}"
            yield Slice(name, f"{third} ({span})", np.isin(np.arange(size), judged[part]))


def _rows(chosen: Base, question: Question, pair: tuple[str, str], tried: Sequence[Slice]) -> Iterator[Row]:
    cases, verdicts = chosen.ratings.cases, chosen.ratings.verdicts[question]
    at = {name: place for place, name in enumerate(cases.systems)}
    first, second = (at.get(name, -1) for name in pair)
    a, b = cases.system_a[verdicts.row], cases.system_b[verdicts.row]
    known = ~np.isnan(verdicts.value)
    if compares_lists(question.protocol):
        kept = known & (((a == first) & (b == second)) | ((a == second) & (b == first)))
        turn = np.where(a[kept] == first, 1.0, -1.0)
        row, value = verdicts.row[kept], (1.0 + turn * np.sign(verdicts.value[kept])) / 2
        sign = np.ones(row.size)
    else:
        kept = known & ((a == first) | (a == second))
        row, value = verdicts.row[kept], verdicts.value[kept]
        sign = np.where(a[kept] == first, 1.0, -1.0)
    for part in tried:
        here = part.here[row]
        sides = [_users_values(value[on], sign[on], cases.user[row[on]]) for on in (here, ~here)]
        if not sides[0].size or not sides[1].size:
            continue
        test, p = difference_of_groups(sides[0], sides[1], FEWEST_USERS)
        yield {
            "rater": question.rater, "aspect": question.aspect, "slice": part.name, "of": part.value,
            "here": float(sides[0].mean()), "elsewhere": float(sides[1].mean()), "difference": test.value,
            **test.ends(), "users": sides[0].size, "users_elsewhere": sides[1].size, "p": p, "note": test.note,
        }  # fmt: skip


def _users_values(value: FloatArray, sign: FloatArray, user: IntArray) -> FloatArray:
    """Of each user the mean, or where both systems were judged alone the difference of the two means."""
    if value.size and (sign > 0).all():
        return user_means(value, user)
    both = np.intersect1d(user[sign > 0], user[sign < 0])
    kept = np.isin(user, both)
    of = [user_means(value[on], user[on]) for on in (kept & (sign > 0), kept & (sign < 0))]
    return of[0] - of[1]


def _answer(pair: tuple[str, str], tested: Sequence[Row], found: Sequence[Row]) -> str:
    if not tested:
        return "" if not pair[0] else f"No slice has {FEWEST_USERS} users here and elsewhere."
    if not found:
        slices = quantity(len(tested), "slice")
        return f"None of {slices} of {pair[0]} against {pair[1]} differs from the rest beyond chance."
    parts = [
        f"where {row['slice']} is {row['of']} ({real(row, 'here'):.2f} against {real(row, 'elsewhere'):.2f})"
        for row in found[:_NAMED]
    ]
    more = f"; {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    how = "better" if real(found[0], "difference") > 0 else "worse"
    return f"{pair[0]} does {how} against {pair[1]} {' and '.join(parts)}{more}, of {quantity(len(tested), 'slice')} tried."
