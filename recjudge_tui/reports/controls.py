"""The Bradley-Terry board with what else differs between two lists or texts held equal: what remains is not due to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.biases import covariates
from recjudge_tui.reports.common.rows import real
from recjudge_tui.reports.common.table import Row, Table, columns, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.sanity import sanity
from recjudge_tui.reports.words import about_base, briefly, interval_text, no_pairs, sanity_warnings
from recjudge_tui.shapes import Base, answers, base
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, none_if_nan
from recjudge_tui.stats.defaults import ALPHA, TOP_K
from recjudge_tui.stats.estimate import Interval
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.stats.ranking import controlled_ratings
from recjudge_tui.store.ratings import CaseColumns, Question, Verdicts

POSITION = "position"
# control -> its covariates: what is measured of each list, and of each text
CONTROLS: Mapping[str, tuple[str, ...]] = {
    "length": ("items", "titles"), "popularity": ("popularity",), POSITION: (POSITION,), "similarity": ("homogeneity",),
}  # fmt: skip
TEXT_CONTROLS: Mapping[str, tuple[str, ...]] = {"length": ("words",)}
_NAMES = {
    "items": "number of items", "titles": "length of titles", "words": "number of words",
    "popularity": "mean popularity", POSITION: "shown first", "homogeneity": "similarity",
}  # fmt: skip
SYSTEM, CONTROL = "system", "control"
_NO_TEXTS = "no rater scored texts of two systems for one user and item"
_COLUMNS = columns(
    "rater aspect", "kind|(Kind)", "what|What", "value|Points|float|1", "ci_*", "without|Without|float|1",
    "n users?", "p", "p_holm", "note",
)  # fmt: skip
_BRIEF = columns(
    "rater|rater", "aspect|aspect", "what|system or control", "value|points|float|0", "interval|95 % CI",
    "without|without|float|0", "p_holm|p (Holm)|float|4", "note",
)  # fmt: skip
_ABOUT = definitions(f"""\
points of a system: its Bradley-Terry rating (400 points are odds of 10:1, the mean is 1000) where both lists are alike in\
 the controls; without: its rating on the same battles without controls; ties are half a win of each
points of a control: how many rating points a list or text gains by one standard deviation more than the other (number of\
 items, mean length of their titles, mean popularity, similarity of its items; number of words), or by being shown first
a battle of texts: two of different systems for the same user and item that a rater scored; the higher score wins
p: of a control its test, of a system that of its lead over the next one; Holm's correction over the controls, and over the\
 leads, of one rater and aspect, below {ALPHA:g} it is a finding""")


def controlled(project: Project, choose: Options) -> Table:
    """One row per question and system, best first, then one per control. Raises UsageError for an unknown control, or one
    that does not fit the protocol or the method."""
    of_texts = protocol_facts(choose.protocol).unit == "explanation"
    if not (of_texts or compares_lists(choose.protocol)):
        needed = "verdicts on two lists or on texts"
        raise UsageError(f"controls need {needed}, which {choose.protocol} does not give")
    offered = TEXT_CONTROLS if of_texts else CONTROLS
    if unknown := [name for name in choose.control if name not in offered]:
        there = f"Available for {choose.protocol}: {', '.join(offered)}."
        raise UsageError(f"no control “{unknown[0]}”", there)
    if choose.method not in ("", "bt"):
        raise UsageError(f"method “{choose.method}” has no controls", "Use bt, or leave the method out.")
    chosen = base(project, choose.selection())
    named = [name for control in dict.fromkeys(choose.control) for name in offered[control]]
    measured = covariates(project, chosen.ratings, TOP_K) if chosen.questions else {}
    rows: list[Row] = []
    notes: list[str] = []
    worthless: dict[tuple[str, str], str] = {}
    for question in chosen.questions:
        worthless[question.rater, question.aspect] = sanity(chosen, question).reason
        if not worthless[question.rater, question.aspect]:
            more, note = _rows(chosen, question, named, measured)
            rows += more
            notes += [f"{question.rater}, {question.aspect}: {note}"] if note else []
    nothing = [] if rows else [_NO_TEXTS if of_texts else no_pairs(chosen)]
    every = (*sanity_warnings(worthless), *nothing, *notes, *about_base(chosen), *_ABOUT)
    title = f"Leaderboard: {choose.protocol}, controlled for {', '.join(choose.control)}"
    table = Table(title, _COLUMNS, tuple(rows), every, {"method": "bt"}, answer=_answer(rows))
    alone = len({(row["rater"], row["aspect"]) for row in rows}) == 1
    heads = [column for column in _BRIEF if not alone or column.name not in ("rater", "aspect")]
    return briefly(table, heads, rows, "points")


class _Battles(NamedTuple):
    """`row` is the case of the first list or text, `other` that of the second, the same for a pair of lists; `place`: 1/2
    where system a was shown first, else -1/2; 0 unknown."""

    row: IntArray
    other: IntArray
    outcome: FloatArray
    place: FloatArray


def _battles(chosen: Base, question: Question, by_call: bool) -> _Battles:
    verdicts = chosen.ratings.verdicts[question]
    if protocol_facts(question.protocol).unit == "explanation":
        return _text_battles(chosen.ratings.cases, verdicts)
    if by_call:
        for of in answers(chosen.project, question.protocol):
            if of.question == question:
                here: BoolArray = np.isin(of.row, verdicts.row)
                place = np.where(of.swapped[here], -0.5, 0.5)
                return _Battles(of.row[here], of.row[here], of.value[here], place)
        none = verdicts.row[:0]
        return _Battles(none, none, verdicts.value[:0], verdicts.value[:0])
    return _Battles(verdicts.row, verdicts.row, verdicts.value, np.zeros(verdicts.row.size))


def _text_battles(cases: CaseColumns, verdicts: Verdicts) -> _Battles:
    """Each two texts of different systems for one user and item."""
    order = np.argsort(cases.pair[verdicts.row], kind="stable")
    pair = cases.pair[verdicts.row][order]
    firsts, seconds = [order[:0]], [order[:0]]
    for step in range(1, int(np.unique(pair, return_counts=True)[1].max(initial=1))):
        met = np.flatnonzero(pair[step:] == pair[:-step])
        firsts.append(order[met])
        seconds.append(order[met + step])
    a, b = np.concatenate(firsts), np.concatenate(seconds)
    differs = cases.system_a[verdicts.row[a]] != cases.system_a[verdicts.row[b]]
    a, b = a[differs], b[differs]
    won = np.sign(verdicts.value[a] - verdicts.value[b])
    return _Battles(verdicts.row[a], verdicts.row[b], won, np.zeros(a.size))


def _rows(
    chosen: Base, question: Question, named: Sequence[str], measured: Mapping[str, tuple[FloatArray, FloatArray]],
) -> tuple[list[Row], str]:  # fmt: skip
    cases = chosen.ratings.cases
    row, other, outcome, place = _battles(chosen, question, POSITION in named)
    if not row.size:
        return [], "" if POSITION not in named else "the places of the lists are not known"
    x = []
    for name in named:
        if name == POSITION:
            x.append(place)
            continue
        first, second = measured[name][0][row], measured[name][1][other]
        both = np.concatenate([first, second])
        spread = float(np.std(both[~np.isnan(both)])) if not np.isnan(both).all() else 0.0
        x.append((first - second) / spread if spread > 0 else first - second)
    given = np.stack(x, axis=1)
    unknown = np.isnan(given).any(axis=1)
    rivals = cases.system_b if compares_lists(question.protocol) else cases.system_a
    a, b, user = cases.system_a[row], rivals[other], cases.user[row]
    kept = ~unknown & ~np.isnan(outcome)
    size = len(cases.systems)
    fitted = controlled_ratings(a, b, outcome, user, given, size)
    plain = controlled_ratings(a[kept], b[kept], outcome[kept], user[kept], given[kept, :0], size)
    count, users = int(kept.sum()), int(np.unique(user[kept]).size)
    shared: Row = {"rater": question.rater, "aspect": question.aspect, "n": count, "users": users}
    rating = fitted.ratings
    met = [at for at in range(size) if ((a == at) | (b == at)).any()]
    met.sort(key=lambda at: (np.isnan(rating[at]), -np.nan_to_num(rating[at]), cases.systems[at]))
    leads = [fitted.difference_p(x, y) for x, y in pairwise(met)]
    rows: list[Row] = []
    for at, p, p_holm in zip(met, [*leads, None], [*holm(leads), None], strict=True):
        cells = _cells(SYSTEM, cases.systems[at], fitted.ratings[at], fitted.intervals[at])
        without = none_if_nan(float(plain.ratings[at]))
        rows.append(shared | cells | {"without": without, "p": p, "p_holm": p_holm})
    for at, (name, p) in enumerate(zip(named, holm(fitted.p), strict=True)):
        cells = _cells(CONTROL, _NAMES.get(name, name), fitted.effects[at], fitted.effect_intervals[at])
        rows.append(shared | cells | {"p": fitted.p[at], "p_holm": p})
    note = f"{int(unknown.sum()):,} of {row.size:,} battles have a list or text with an unknown control"
    return rows, note if unknown.any() else ""


def _cells(kind: str, what: str, value: float, ends: Interval) -> Row:
    return {
        "kind": kind, "what": what, "value": none_if_nan(float(value)), "ci_low": ends.low, "ci_high": ends.high,
        "note": ends.note,
    }  # fmt: skip


def _answer(rows: Sequence[Row]) -> str:
    """Who leads with the controls and without, and which of them matter, of the first rater."""
    mine = [row for row in rows if (row["rater"], row["aspect"]) == (rows[0]["rater"], rows[0]["aspect"])]
    systems = [row for row in mine if row["kind"] == SYSTEM and isinstance(row["value"], float)]
    if not systems:
        return ""
    before = max(systems, key=lambda row: (float(str(row["without"] or 0)), row is systems[0]))
    first, second = systems[0], systems[min(1, len(systems) - 1)]
    points, without = f"{first['value']:.0f}", f"{first['without']:.0f}"
    if isinstance(first["p_holm"], float) and first["p_holm"] < ALPHA:
        lead = "still leads" if first is before else f"leads instead of {before['what']}"
        said = f"{first['what']} {lead}"
    else:
        said = f"{first['what']} and {second['what']} are not separable"
        points, without = f"{points} and {second['value']:.0f}", f"{without} and {second['without']:.0f}"
    text = f"{said} ({points} points, without controls {without})"
    tested = [row for row in mine if row["kind"] == CONTROL and isinstance(row["p_holm"], float)]
    known = [row for row in tested if real(row, "p_holm") < ALPHA]
    matter = [f"{row['what']} {row['value']:+.0f} points [{interval_text(row, 'points')}]" for row in known]
    return f"With these held equal, {text}; {', '.join(matter) or 'no control is shown to matter'}."
