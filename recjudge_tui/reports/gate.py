"""A gate: bounds on figures of reports (agreement, a pair of the leaderboard, the share of failures), and whether a figure
got worse since an earlier run. Also its text for machines that run tests.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from recjudge_tui import shapes
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import NotFoundError, UsageError, check_known
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import seen_first
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definition
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.rater_pairs import label_sets, pair_estimates, unfit, usual_of
from recjudge_tui.reports.runs import model_changed, served_notes
from recjudge_tui.reports.words import earlier_notes, rater_notes
from recjudge_tui.stats.agreement import Change, RatedPair, agreement_change, mean_change
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.hypotheses import holm_claims, sign_test
from recjudge_tui.stats.intervals import ALL_EQUAL, AT_END, SHARE, mean_estimate, share_estimate
from recjudge_tui.stats.registry import STATISTICS
from recjudge_tui.store import ratings as rated
from recjudge_tui.store.data import check_systems
from recjudge_tui.store.runs import ServedModel, served_models

MET, NOT_MET, UNKNOWN = "met", "not met", "unknown"
_WINS, _FAILURES = "win_rate", "failure_rate"
FIGURES = (*STATISTICS, _WINS, _FAILURES)
_COLUMNS = columns(
    "check|Check", "figure protocol? aspect?", "reference|Reference", "demand|Bound", "value",
    "earlier|(Earlier)|float", "change|Change|float", "ci_low ci_high n?", "state|State", "paired|(Paired)",
    "paired_users|(Users in both)|int", "left_out|(Cases left out)|int", "note",
)  # fmt: skip
_SEEN_FIRST = "figure aspect reference demand value change ci_low ci_high state note"
_ALL_BOUNDS = "all bounds are required: met together they need no correction, else Holm's is applied to each"
_CHANGE = (
    "change: later minus earlier, each user left out of both runs at once (jackknife); not met only if its interval excludes"
    " zero in the bad direction, after Holm's correction for all changes"
)


class Bound(NamedTuple):
    """A figure of FIGURES must be at least (`least`) or at most `x`."""

    name: str
    x: float
    least: bool

    def holds(self, value: float | None) -> bool:
        # a figure equal to its bound must not miss it because of a rounding error
        return value is not None and (value >= self.x - 1e-9 if self.least else value <= self.x + 1e-9)


class Gate:
    """What the checks need: the rater's questions (`mine`), its meetings with the truth (`met`), and its verdicts beside an
    earlier run's by question (`compared`)."""

    def __init__(self, project: Project, choose: Options, bounds: tuple[Bound, ...]) -> None:
        self.project, self.choose, self.bounds = project, choose, bounds
        self.later = later = shapes.source(project, choose.rater)
        self.earlier = earlier = None if choose.against is None else shapes.source(project, choose.against)
        if choose.truth is not None and choose.truth in (later.rater, earlier and earlier.rater):
            raise UsageError(f"{choose.truth} cannot be its own truth")
        if earlier is not None:
            shapes.check_sides(later, earlier)
        selection = choose.selection(raters=(later.rater,))
        met = shapes.meet(project, selection, choose.truth)
        check_systems(project.db, project.id, choose.systems)
        questions = rated.project_questions(project.db, project.id)
        # without a truth every rater meets every other
        found = [meeting for meeting in met.meetings if choose.truth and later.answers(meeting.a)]
        raters = rated.project_raters(project.db, project.id)
        within = shapes.under_protocol(questions, raters, choose.protocol)
        mine = [q for q in within if later.answers(q) and choose.aspect in (None, q.aspect)]
        asked = list(dict.fromkeys([*mine, *(meeting.a for meeting in found)]))
        before = [question._replace(rater=earlier.rater) for question in asked] if earlier else []
        wanted = [*asked, *(meeting.b for meeting in found), *(q for q in before if q in questions)]
        ratings = shapes.verdicts_of(project, wanted, selection)
        own = {question: later.verdicts(project, ratings, question) for question in asked}
        self.mine = [question for question in mine if own[question].row.size]
        if not self.mine:
            raise NotFoundError(f"{later.name} has judged none of this", "Name another protocol or rater.")
        ratings = replace(ratings, verdicts=ratings.verdicts | own)
        self.met = replace(met, ratings=ratings, meetings=tuple(m for m in found if own[m.a].row.size))
        self.compared: dict[rated.Question, shapes.Matched] = {}
        for question in asked if earlier else ():
            assert earlier is not None
            if (match := shapes.matched_sides(project, ratings, later, earlier, question)) is not None:
                self.compared[question] = match
        if later == earlier and not self.compared:
            raise UsageError(
                f"{later.name} cannot be compared with itself: it judged no earlier lists and has no earlier run",
                "Earlier lists are those that an import replaced, of the same user, system, context and time.",
                "Judge new lists with the same rater, or name another rater or run.",
            )

    @cached_property
    def newest(self) -> dict[rated.Question, rated.Verdicts]:
        """The verdicts on the newest lists that each rater judged."""
        return rated.newest_lists(self.met.ratings).verdicts

    @cached_property
    def labels(self) -> dict[shapes.Meeting, list[float] | None]:
        return label_sets(self.met)

    @property
    def stats(self) -> Sequence[str]:
        """The figures whose change is tested."""
        if self.choose.stat or self.earlier is None:
            return tuple(self.choose.stat)
        usual = [usual_of(meeting, self.met, self.labels[meeting]) for meeting in self.met.meetings]
        # without a common question the row of qwk says so
        first = (usual or ["qwk"])[:1] if self.choose.truth else []
        return [*first, *([_WINS] if self.choose.systems else []), _FAILURES]

    def values(self, name: str, verdicts: rated.Verdicts) -> FloatArray:
        """What is averaged: 1 for a failure; the win of the first system (a tie is .5), NaN for other pairs."""
        if name == _FAILURES:
            return np.isnan(verdicts.value).astype(np.float64)
        cases = self.met.ratings.cases
        system, opponent = (cases.systems.index(name) for name in self.choose.systems)
        first, second = cases.system_a[verdicts.row], cases.system_b[verdicts.row]
        win = (np.sign(verdicts.value) + 1) / 2
        swapped = np.where((first == opponent) & (second == system), 1 - win, np.nan)
        return np.where((first == system) & (second == opponent), win, swapped)


def gate(project: Project, choose: Options) -> Table:
    """One row per check and question: `state` is met, not met, or unknown. A bound is met by the figure, with `certain`
    by its whole interval; an undefined figure does not meet it. A change that has no interval is unknown. Raises
    UsageError for options that do not fit, NotFoundError for an unknown rater or run, or for one without such
    verdicts."""
    bounds = [_bound(text, least=True) for text in choose.at_least]
    bounds += [_bound(text, least=False) for text in choose.at_most]
    _check(choose, bounds)
    made = Gate(project, choose, tuple(bounds))
    rows = list(_bound_rows(made, choose.level))
    if choose.certain and any(row["state"] != MET for row in rows):
        rows = _corrected(made, rows, _bound_rows, MET, NOT_MET)
    notes: list[str] = [definition(_ALL_BOUNDS)] if choose.certain and len(rows) > 1 else []
    settings: dict[str, object] = {"systems": list(choose.systems)}
    if made.earlier is not None:
        rows += _corrected(made, list(_change_rows(made, choose.level)), _change_rows, NOT_MET, MET)
        served = [_served(made, side, at) for at, side in enumerate((made.later, made.earlier))]
        notes += [*served_notes(project.db, *served), *_paired_notes(made), definition(_CHANGE)]
        for name, (_, runs) in zip(("served", "served_before"), served, strict=True):
            settings[name] = [run._asdict() | {"models": list(run.models)} for run in runs]
        settings["served_changed"] = model_changed(served[0][1], served[1][1])
    notes += earlier_notes(rated.newest_lists(made.met.ratings), made.mine)
    raters = [made.later.rater, *([choose.truth] if choose.truth else [])]
    notes += rater_notes(made.met.ratings.raters[name] for name in raters)
    columns = tuple(replace(column, level=choose.level) for column in _COLUMNS)
    title = f"Gate: {made.later.name}"
    table = Table(title, columns, tuple(rows), tuple(notes), settings, answer=_answer(rows))
    return seen_first(table, _SEEN_FIRST)


def _bound(text: str, *, least: bool) -> Bound:
    name, _, number = text.partition("=")
    try:
        return Bound(name.strip(), float(number), least)
    except ValueError as error:
        reason = f"“{one_line(text, 40)}” is no bound"
        raise UsageError(reason, "Write a name and a number, as in qwk=0.6.") from error


def _check(choose: Options, bounds: Sequence[Bound]) -> None:
    if not bounds and choose.against is None:
        raise UsageError("there is nothing to check", "Give a bound, or an earlier run.")
    if choose.stat and choose.against is None:
        raise UsageError("a change needs an earlier run", "Name its rater.")
    for name in (*(bound.name for bound in bounds), *choose.stat):
        check_known("figure", [name], FIGURES)
        if name in STATISTICS and not choose.truth:
            raise UsageError(f"{name} needs a reference to agree with", "Name the truth.")
        if name == _WINS and not choose.systems:
            raise UsageError("a win rate needs two systems", "Name them, the better one first.")
    for name in choose.stat:
        if name in STATISTICS and not STATISTICS[name].rising:
            raise UsageError(f"a change of {name} has no bad direction", "Give a bound on it.")
    if choose.systems and len(set(choose.systems)) != 2:
        raise UsageError("two different systems are needed", "Write new,old.")
    if any(not math.isfinite(bound.x) for bound in bounds):
        raise UsageError("a bound is a finite number")


# ---- the checks ------------------------------------------------------------------------------------------------------


def _corrected(
    made: Gate, rows: list[Row], make: Callable[[Gate, float], Iterator[Row]], claim: str, instead: str
) -> list[Row]:
    """The rows; a claim that does not hold after Holm's correction gets the other state and the reason."""

    def shown(level: float) -> list[bool | None]:
        rows = make(made, level)
        return [None if r["ci_low"] is None and r["state"] != claim else r["state"] == claim for r in rows]

    why = f"its interval alone says “{claim}”, but not after correction for {quantity(len(rows), 'figure')}"
    holds = holm_claims(shown, made.choose.level)
    for row, kept in zip(rows, holds, strict=True):
        if row["state"] == claim and not kept:
            row |= {"state": instead, "note": join_notes(why, str(row["note"]))}
    return rows


def _rows(
    made: Gate, check: str, name: str, demand: str,
    cells: Callable[[rated.Question, shapes.Meeting | None], Row | None], state: str,
) -> Iterator[Row]:  # fmt: skip
    """A row for each question that a figure is about, or one with this state that says why there is none."""
    choose, of_truth = made.choose, name in STATISTICS
    reference = choose.truth if of_truth else " over ".join(choose.systems) if name == _WINS else None
    about: Row = {"check": check, "figure": name, "reference": reference, "demand": demand, "ci_low": None}
    asked: list[tuple[rated.Question, shapes.Meeting | None]] = [(question, None) for question in made.mine]
    if of_truth:
        asked = [(meeting.a, meeting) for meeting in made.met.meetings]
    found = [(question, meeting, cells(question, meeting)) for question, meeting in asked]
    known = [each for each in found if each[2] is not None]
    for question, meeting, own in known:
        yield about | {"protocol": question.protocol, "aspect": (meeting or question).aspect} | (own or {})
    if not known:
        none = f"{choose.rater} has not compared {' and '.join(choose.systems)}"
        none = f"no question that both {choose.rater} and {choose.truth} answered" if of_truth else none
        yield about | {"protocol": None, "aspect": choose.aspect, "n": 0, "state": state, "note": none}


def _bound_rows(made: Gate, level: float) -> Iterator[Row]:
    for bound in made.bounds:

        def cells(
            question: rated.Question, meeting: shapes.Meeting | None, bound: Bound = bound
        ) -> Row | None:
            figure = _figure(made, bound.name, question, meeting, level)
            if figure is None:
                return None
            ends = (figure.ci_low if bound.least else figure.ci_high) if made.choose.certain else figure.value
            met, short = bound.holds(ends), ""
            if not met and bound.holds(figure.value):
                without = "without an interval that is not certain"
                short = f"the figure meets the bound, but {'its interval does not' if ends is not None else without}"
            state = MET if met else NOT_MET
            return figure.cells | {"state": state, "note": join_notes(short, figure.note)}

        demand = f"{'at least' if bound.least else 'at most'} {bound.x:g}"
        yield from _rows(made, "bound", bound.name, demand, cells, NOT_MET)


def _figure(
    made: Gate, name: str, question: rated.Question, meeting: shapes.Meeting | None, level: float
) -> Estimate | None:
    """The cell that the figure's own report has; None where the rater did not compare the two systems."""
    if meeting is not None:
        both, labels = made.met.pairs(meeting).complete, made.labels[meeting]
        if reason := unfit(name, meeting, made.met):
            return undefined(reason, both.n)
        figure = pair_estimates(both, labels, (name,), confidence=level)[name]
        return replace(figure, note=join_notes(figure.note, both.seen.words()))
    verdicts = made.newest[question]
    values, users = made.values(name, verdicts), made.met.ratings.cases.user[verdicts.row]
    if name == _FAILURES:
        return share_estimate(values, users, level=level)
    here = ~np.isnan(values)
    return mean_estimate(values[here], users[here], SHARE, level=level) if here.any() else None


def _change_rows(made: Gate, level: float) -> Iterator[Row]:
    for name in made.stats:

        def cells(question: rated.Question, meeting: shapes.Meeting | None, name: str = name) -> Row:
            found, match = _change(made, name, question, meeting, level), made.compared.get(question)
            change, low, high = found.change, found.change.ci_low, found.change.ci_high
            worse = None if low is None or high is None else low > 0 if name == _FAILURES else high < 0
            if worse is None and match is not None and any(why in change.note for why in (AT_END, ALL_EQUAL)):
                # whoever is left out, the change is the same: all users point in one direction, or in none
                certain = (sign_test(match.users, 0) or 1) < 1 - level
                worse = certain and (change.value or 0) * (1 if name == _FAILURES else -1) > 0
            paired: Row = {"paired": ""}
            if match is not None:
                paired = {"paired": match.rule_text, "paired_users": match.users, "left_out": match.left_out}
            state = UNKNOWN if worse is None else NOT_MET if worse else MET
            return paired | {
                "value": found.later, "earlier": found.earlier, "change": change.value, **change.ends(),
                "n": change.n, "state": state, "note": change.note,
            }  # fmt: skip

        demand = f"must not {'rise' if name == _FAILURES else 'fall'}"
        yield from _rows(made, "change", name, demand, cells, UNKNOWN)


def _change(
    made: Gate, name: str, question: rated.Question, meeting: shapes.Meeting | None, level: float
) -> Change:
    """The figure of both sides on what is paired, and its change: users are left out of both at once."""
    assert made.earlier is not None
    if question not in made.compared:
        once = f"{made.later.name} answered this in only one run, and its lists replaced no earlier ones"
        reason = once if made.later == made.earlier else f"{made.earlier.name} did not answer this"
        return Change(None, None, undefined(reason))
    match = made.compared[question]
    if meeting is None:
        new, old, users = match.values(lambda verdicts: made.values(name, verdicts))
        if np.isnan(new - old).all():
            both = "no case that both runs were asked about"
            reason = both if match.rule == "case" else "no user and systems that both runs judged"
            return Change(None, None, undefined(reason))
        return mean_change(new, old, users, (0.0, 1.0), level=level)
    labels = made.labels[meeting]
    if reason := unfit(name, meeting, made.met):
        return Change(None, None, undefined(reason))
    sides, seen = match.beside(made.met.ratings.verdicts[meeting.b])
    later, earlier = (RatedPair(*side) for side in sides)
    found = agreement_change(later, earlier, seen.labels(labels), name, mirrored=seen.mirrored, level=level)
    change = replace(found.change, note=join_notes(found.change.note, seen.words()))
    return Change(found.later, found.earlier, change)


# ---- what is said beside ---------------------------------------------------------------------------------------------


def _states(rows: Sequence[Row]) -> tuple[int, int, int]:
    """How many checks are not met, how many cannot be determined, and how many there are."""
    states = [row["state"] for row in rows]
    return states.count(NOT_MET), states.count(UNKNOWN), len(states)


def _answer(rows: Sequence[Row]) -> str:
    failed, unknown, count = _states(rows)
    if failed:
        names = "; ".join(_name(row) for row in rows if row["state"] == NOT_MET)
        return f"Gate not met: {failed} of {count} checks failed ({one_line(names, 160)})."
    if unknown:
        return f"Gate undecided: {unknown} of {count} checks could not be determined."
    return f"Gate met: {quantity(count, 'check')}."


def ends(table: Table) -> tuple[int, str]:
    """0 if every check is met, 3 if one is not, 1 if one cannot be determined; and the answer."""
    failed, unknown, _ = _states(table.rows)
    return (3 if failed else 1 if unknown else 0), table.answer[:1].lower() + table.answer[1:].rstrip(".")


def _paired_notes(made: Gate) -> Iterator[Note]:
    """How the verdicts of the two sides were paired, and what was left out; questions alike share a note."""
    matches = ((f"{q.protocol}, {q.aspect}", match) for q, match in made.compared.items())
    alike = shapes.grouped((f"paired {match.rule_text}: {match.words()}", where) for where, match in matches)
    for text, places in alike.items():
        yield Note(text if len(alike) == 1 else f"{'; '.join(places)}: {text}")


def _served(made: Gate, side: shapes.Source, at: int) -> tuple[str, list[ServedModel]]:
    """A side's name and the models behind its compared runs."""
    ids = {match.runs[at] for match in made.compared.values()}
    protocols = {question.protocol for question in made.mine}
    models = served_models(made.project.db, made.project.id, side.rater, protocols)
    if None in ids or not ids:
        return side.name, models
    name = f"{side.rater} (run {', '.join(str(one) for one in sorted(filter(None, ids)))})"
    return name, [model for model in models if model.run_id in ids]


# ---- for machines that run tests -------------------------------------------------------------------------------------

# characters that XML 1.0 cannot contain, even escaped
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def written(table: Table, fmt: str, _whole: bool) -> str | None:
    """For JUnit: one suite, one test case per check: a failure if it is not met, an error if it could not be determined."""
    if fmt != "junit":
        return None
    failures, errors, count = map(str, _states(table.rows))
    counts = {"tests": count, "failures": failures, "errors": errors}
    root = ElementTree.Element("testsuites", {"name": "recjudge gate", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(table.title), **counts})
    for row in table.rows:
        place = ".".join(["gate", *(str(row[key]) for key in ("protocol", "aspect") if row[key])])
        named = {"classname": _plain(place), "name": _plain(_name(row))}
        case = ElementTree.SubElement(suite, "testcase", named)
        if row["state"] != MET:
            said = _plain(_figure_text(row))
            kind = "failure" if row["state"] == NOT_MET else "error"
            ElementTree.SubElement(case, kind, {"message": said}).text = said
    ElementTree.SubElement(suite, "system-out").text = "\n".join(_plain(note) for note in table.notes)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode")


def _plain(text: str) -> str:
    return _NOT_XML.sub("\ufffd", one_line(text))


def _name(row: Row) -> str:
    """The check in words: `qwk against people, at least 0.6`, `win_rate of new over old, at least 0.5`."""
    between = "of" if row["figure"] == _WINS else "against"
    reference = f" {between} {row['reference']}" if row["reference"] else ""
    return one_line(f"{row['figure']}{reference}, {row['demand']}")


def _figure_text(row: Row) -> str:
    """The result of the check: the figures, the number of cases and the note."""
    figures = ((name, row.get(name)) for name in ("value", "earlier", "change"))
    parts = [f"{name} {cell:.4g}" for name, cell in figures if isinstance(cell, float)]
    low, high = row.get("ci_low"), row.get("ci_high")
    if isinstance(low, float) and isinstance(high, float):
        parts.append(f"interval {low:.4g} to {high:.4g}")
    parts += [f"n {row['n']}", *(str(row[key]) for key in ("paired", "note") if row.get(key))]
    return one_line(f"{row['state']}: {', '.join(parts)}")
