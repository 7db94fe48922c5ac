"""Two raters or runs compared case by case: how the second one's verdicts differ, whether by more than chance, and whether
towards people. Also what differs before any verdict: the prompts and the settings of their runs.
"""

from __future__ import annotations

import difflib
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, groupby, product
from typing import Any, NamedTuple

import numpy as np

from recjudge_tui import shapes
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.protocols import compares_lists, offered, protocol_facts, question_of
from recjudge_tui.domain.roles import REFERENCES, RUN_RATERS
from recjudge_tui.domain.selection import CaseSelection, Selection
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports import words
from recjudge_tui.reports.common.rows import real, seen_first, whole
from recjudge_tui.reports.common.segments import about_occasions
from recjudge_tui.reports.common.table import Column, Note, Row, Table, columns, definition, note_kind
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.rater_pairs import OF_METRICS, Grid, levels_of
from recjudge_tui.stats import hypotheses
from recjudge_tui.stats.agreement import RatedPair, agreement_change
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.intervals import mean_estimate
from recjudge_tui.stats.registry import STATISTICS, usual_statistic
from recjudge_tui.steps import Step
from recjudge_tui.store import answers
from recjudge_tui.store.cases import check_contexts
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import prompt_text
from recjudge_tui.store.ratings import Ratings, load_questions, project_questions, project_raters
from recjudge_tui.store.runs import list_runs, newest_judges

MCNEMAR, STUART_MAXWELL, SIGN_FLIPS = "McNemar, exact", "Stuart-Maxwell", "sign flips over users"
NO_SIDE = (
    "pairs of several systems have no common side, so changes have no direction to test; by system they have"
)
UNORDERED = "some users have several cases, and changes between categories have no direction by which a user counts once"
NO_USER_CHANGED = "no user has more changes in one direction than in the other"
NONE_IN_COMMON = "no case has a verdict from both"
_TESTS = (
    "p: McNemar's exact test where all changes are between two labels; Stuart and Maxwell's between more, with Bowker's test"
    " of symmetry; else, and where users have several cases, the signs of the users' mean changes are flipped"
)
# with fewer changes, chi-squared is only approximate
_FEW = 25
_LONGEST = 60
Sides = tuple[shapes.Source, shapes.Source]


class PromptChange(NamedTuple):
    """A unified diff from the first side's prompt to the second's. Without lines, `note` has the reason."""

    first: str | None
    second: str | None
    lines: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Part:
    """The changes on one question, on one system or on all of them (empty). `pairs`: the cases that either was asked
    about; `grid`: those on which both have a value; `ordered`: values are no categories. `bounds`: the lowest and the
    highest value. If values cannot be compared, the grid has no levels and `note` says why."""

    meeting: shapes.Meeting
    system: str
    pairs: shapes.Pairs
    grid: Grid
    ordered: bool
    bounds: tuple[float, float] | None
    note: str = ""

    @property
    def both(self) -> shapes.Pairs:
        return self.grid.both

    @property
    def differences(self) -> FloatArray:
        return self.both.y - self.both.x

    @property
    def changed(self) -> int:
        return int(np.count_nonzero(self.differences))

    @cached_property
    def change(self) -> Estimate:
        """The mean of the second minus the mean of the first, with its interval over users."""
        if not self.both.n:
            return undefined("no case that both were asked about")
        width = None if self.bounds is None else self.bounds[1] - self.bounds[0]
        return mean_estimate(self.differences, self.both.user, None if width is None else (-width, width))

    def test(self) -> Row:
        """The cells of the test that fits; without one, `note` says why."""
        if self.note or not self.both.n:
            return {"note": self.note or NONE_IN_COMMON}
        # a test of categories has no difference of means, so there is no missing interval to explain
        about_means = self.change.note if self.ordered else ""
        if not self.changed:
            return {"note": join_notes(hypotheses.NOTHING_CHANGED, about_means)}
        if self.both.seen.mirrored:
            return {"note": NO_SIDE}
        counts = self.grid.counts
        off = counts - np.diag(np.diag(counts))
        between_two = int(((off + off.T).sum(axis=0) > 0).sum()) == 2
        several = self.both.users < self.both.n
        if several and not (self.ordered or between_two):
            return {"note": UNORDERED}
        if several or not self.grid.labelled:
            p = hypotheses.sign_flip_test(hypotheses.user_means(self.differences, self.both.user))
            if p is None:
                return {"note": join_notes(NO_USER_CHANGED, about_means)}
            return {"test": SIGN_FLIPS, "p": p, "note": about_means}
        if between_two:
            up, down = (int((sign * self.differences > 0).sum()) for sign in (1, -1))
            return {"test": MCNEMAR, "p": hypotheses.sign_test(up, down), "note": about_means}
        margins, few = hypotheses.stuart_maxwell(counts), ""
        if self.changed < _FEW:
            few = f"only {self.changed} cases changed, so chi-squared is only approximate"
        return {
            "test": STUART_MAXWELL, "statistic": margins.statistic, "df": margins.df, "p": margins.p,
            "p_symmetry": hypotheses.bowker(counts).p, "note": join_notes(few, about_means),
        }  # fmt: skip


@dataclass(frozen=True)
class Changes:
    """All differences between two sides. `differences` are those between the settings of their runs."""

    project: Project
    first: shapes.Source
    second: shapes.Source
    ratings: Ratings
    parts: tuple[Part, ...]
    prompt: PromptChange
    differences: tuple[str, ...]
    notes: tuple[str, ...]
    selection: Selection
    by_system: bool = False

    def on(self, db: Database) -> Changes:
        """The same, read through another connection."""
        return replace(self, project=replace(self.project, db=db))

    def listed(self, meeting: shapes.Meeting, ids: Sequence[int]) -> list[answers.ChangedCase]:
        """These cases with both verdicts on a question."""
        sides = zip((self.first, self.second), meeting[:2], strict=True)
        a, b = (answers.Answered(side.rater_id, *question[1:], side.run_id) for side, question in sides)
        return answers.changed_cases(self.project.db, a, b, ids)


def compare(project: Project, choose: Options) -> Table:
    """One of the tables of two sides. Raises UsageError for sides that are not two and a table that does not fit the other
    options, NotFoundError for an unknown rater or run."""
    by_system = choose.by == "system"
    if choose.by and choose.table == "cases":
        raise UsageError("the table “cases” is not made by groups", "The summary and the transitions are.")
    sides = sides_named(project, choose.first, choose.second)
    changes = compare_sides(project, sides, choose.selection(), by_system=by_system)
    if choose.table == "summary":
        return summary(changes, choose.truth)
    return transitions(changes) if choose.table == "transitions" else cases_table(changes)


# ---- the two sides ---------------------------------------------------------------------------------------------------


def sides_named(project: Project, first: str, second: str) -> Sides:
    """Both sides by name; raises as `source`, and UsageError if they are the same."""
    a, b = shapes.source(project, first), shapes.source(project, second)
    if (a.rater, a.run_id) == (b.rater, b.run_id):
        raise UsageError(f"{a.name} cannot be compared with itself", next_step="Name two raters or runs.")
    return a, b


def shared_questions(project: Project, sides: Sides, selection: Selection) -> list[shapes.Meeting]:
    """The questions of the selection that both sides answered on one scale, `overall` first; reads no verdict."""
    first, second = sides
    questions, raters = project_questions(project.db, project.id), project_raters(project.db, project.id)
    if first.rater == second.rater:
        within = shapes.under_protocol(questions, raters, selection.protocol)
        both = [question for question in within if first.answers(question) and second.answers(question)]
        return [shapes.Meeting(q, q, *q[1:]) for q in both if selection.aspect in (None, q.aspect)]
    both = [question for question in questions if first.answers(question) or second.answers(question)]
    return shapes.meetings(both, raters, replace(selection, raters=(first.rater,)), second.rater)


def compare_sides(
    project: Project, sides: Sides, selection: Selection, among: Sequence[shapes.Meeting] | None = None, *,
    by_system: bool = False,
) -> Changes:  # fmt: skip
    """Two sides on the questions that both answered, or on some of these; the prompts are those of the first question."""
    first, second = sides
    if among is None:
        # also says what is wrong with the protocol and the aspect
        shapes.meet(project, replace(selection, raters=(first.rater, second.rater)))
        among = shared_questions(project, sides, selection)
    ratings = shapes.verdicts_of(project, (q for meeting in among for q in meeting[:2]), selection)
    parts = [part for meeting in among for part in _parts(project, ratings, meeting, sides, by_system)]
    # the protocol under which each side answered the first question; a side without runs has its own
    protocols = [q.protocol for q in among[0][:2]] if among else [side.protocol for side in sides]
    a, b = (
        answers.judged_runs(project.db, side.rater_id, protocol, side.run_id) if protocol else []
        for side, protocol in zip(sides, protocols, strict=True)
    )
    prompt = prompt_change(project, (first.name, second.name), a, b)
    several = sorted({meeting.protocol for meeting in among})
    if len(several) > 1 and prompt.first and prompt.second:
        where = f"of {among[0].protocol}; they met under {', '.join(several)}"
        prompt = prompt._replace(note=join_notes(where, prompt.note))
    nothing = f"no question that both {first.name} and {second.name} answered"
    notes: list[str] = [] if among else [Note(nothing, "data", Step("judge", {}))]
    notes += dict.fromkeys(f"{part.meeting.where}: {note}" for part in parts for note in part.pairs.left_out)
    notes += map(str, words.orientation_notes({p.meeting.where: p.both.seen for p in parts if not p.system}))
    notes += words.rater_notes(ratings.raters[side.rater] for side in sides)
    notes += words.scale_notes(project, (meeting[2:] for meeting in among))
    return Changes(
        project, first, second, ratings, tuple(parts), prompt, tuple(_differences(a, b)), tuple(notes), selection, by_system
    )  # fmt: skip


def _parts(
    project: Project, ratings: Ratings, meeting: shapes.Meeting, sides: Sides, by_system: bool
) -> Iterator[Part]:
    a, b = (side.verdicts(project, ratings, q) for side, q in zip(sides, meeting[:2], strict=True))
    values = np.concatenate([side.value[~np.isnan(side.value)] for side in (a, b)])
    of_metric = any(ratings.raters[question.rater].of_metrics for question in meeting[:2])
    comparable = compares_lists(meeting.protocol) or not of_metric
    levels, labelled = levels_of(project, meeting, values) if comparable else ((), False)
    unordered = meeting[2:] in words.categories(project)
    bounds = words.value_bounds(project, meeting.a, values) if comparable else None
    for system, within in shapes.system_parts(ratings.cases, a, b) if by_system else [("", None)]:
        met = shapes.pairs(ratings.cases, (shapes.Side(a), shapes.Side(b)), within)
        note = "" if comparable else OF_METRICS
        yield Part(meeting, system, met, Grid(met.complete, levels, labelled), not unordered, bounds, note)


def usual_sides(project: Project) -> tuple[str, str] | None:
    """Of the raters of runs the two that both answered most cases of one question, the newest if several, the later one
    second; else of all raters; None if no two share a question."""
    raters = project_raters(project.db, project.id)
    questions = project_questions(project.db, project.id)
    asked = shapes.grouped((q.rater, (question_of(q.protocol), q.aspect)) for q in questions)
    answered = {rater: {*own} for rater, own in asked.items()}
    by_run = [name for name in reversed(newest_judges(project.db, project.id)) if name in answered]
    others = sorted(answered.keys() - set(by_run), key=lambda name: shapes.rank_of(raters[name]))
    cases: dict[str, dict[tuple[str, str], set[int]]] = {}

    def in_common(pair: tuple[str, str]) -> int:
        for rater in {*pair} - cases.keys():
            own = cases.setdefault(rater, {})
            given = load_questions(project.db, project.id, (q for q in questions if q.rater == rater))
            for q, verdicts in given.verdicts.items():
                kept = verdicts.row[~np.isnan(verdicts.value)].tolist()
                own.setdefault((question_of(q.protocol), q.aspect), set()).update(kept)
        first, second = cases[pair[0]], cases[pair[1]]
        return max(len(first[asked] & second[asked]) for asked in first.keys() & second.keys())

    of_runs, every = (
        [(a, b) for a, b in combinations(names, 2) if answered[a] & answered[b]]
        for names in (by_run, [*by_run, *others])
    )
    if of_runs and in_common(pair := max(of_runs, key=in_common)):
        return pair[1], pair[0]
    return max(every, key=in_common, default=None)


def offered_sides(project: Project) -> tuple[tuple[str, str], ...]:
    """(name to type, text shown) of every possible side: raters, judges first, then runs, newest first."""
    raters = project_raters(project.db, project.id)
    names = {question.rater for question in project_questions(project.db, project.id)}
    every = list_runs(project.db, project.id)
    runs = [run for run in every if run["rater"] in names and run["protocol"] in offered()]
    told = {run["id"]: f"run {run['id']}: {run['rater']} {run['prompt']}" for run in runs}
    by_run = ((f"{shapes.RUN}{run}", text) for run, text in told.items())
    return (*((name, name) for name in sorted(names, key=lambda name: shapes.rank_of(raters[name]))), *by_run)


def towards(changes: Changes, part: Part, truth: str | None = None) -> Row | None:
    """Whether the changes went towards a rater: the one named, else, of two judges, the people or consensus with the most
    labels on these cases; None where there are fewer than FEWEST_CASES. How many of the `n` cases that it answered moved
    towards it and away, and the agreement of both sides with it."""
    project, met, raters = changes.project, part.both, changes.ratings.raters
    if truth is not None:
        shapes.source(project, truth)
    sides, same = (changes.first.rater, changes.second.rater), question_of(part.meeting.protocol)
    every = [q for q in project_questions(project.db, project.id) if q.rater not in sides]
    alike = [q for q in every if (question_of(q.protocol), q.aspect) == (same, part.meeting.aspect)]
    beside = [q for q in alike if (q.rater == truth if truth else raters[q.rater].kind in REFERENCES)]
    of_judges = all(raters[side].kind in RUN_RATERS for side in sides)
    if not part.grid.labelled or not beside or not (truth or of_judges):
        return None
    given = {}
    for question, verdicts in shapes.verdicts_of(project, beside, changes.selection).verdicts.items():
        values = np.full(met.cases.ids.size, np.nan)
        values[verdicts.row] = verdicts.value
        given[question] = values[met.row] * met.seen.turn
    known = {question: ~np.isnan(values) for question, values in given.items()}
    chosen = max(beside, key=lambda question: (known[question].sum(), shapes.rank_of(raters[question.rater])))
    kept = known[chosen]
    if kept.sum() < shapes.FEWEST_CASES:
        return None
    x, y, t, user = met.x[kept], met.y[kept], given[chosen][kept], met.user[kept]
    before, after = (np.abs(x - t), np.abs(y - t)) if part.ordered else (x != t, y != t)
    stat = usual_statistic(True, ordered=part.ordered)
    labels = met.seen.labels(sorted(level.low for level in part.grid.levels))
    later, earlier = RatedPair(y, t, user), RatedPair(x, t, user)
    found = agreement_change(later, earlier, labels, stat, mirrored=met.seen.mirrored)
    return {
        "truth": chosen.rater, "n": int(kept.sum()), "towards": int((after < before).sum()),
        "away": int((after > before).sum()), "stat": stat, "before": found.earlier, "after": found.later,
        "change": found.change.value, **found.change.ends(),
    }  # fmt: skip


# ---- tables ----------------------------------------------------------------------------------------------------------

_WHO = columns("rater_a|From", "rater_b|To", "protocol aspect system")
_SUMMARY = columns(
    "n", "changed|Changed|int", "share", "up|Up|int", "down|Down|int", "users_up|(Users up)|int",
    "users_down|(Users down)|int", "up_is|Up is", "down_is|Down is", "test|Test", "statistic|(Statistic)|float",
    "df|(df)|int", "p|P|float|4", "p_holm|(P (Holm))|float|4", "p_symmetry|(P (symmetry))|float|4",
    "p_symmetry_holm|(P (symmetry, Holm))|float|4", "mean_a|(Mean from)|float", "mean_b|(Mean to)|float",
    "difference|Difference|float", "ci_low ci_high", "only_a|Only from|int", "only_b|Only to|int", "failed note",
)  # fmt: skip
_VALUES = ("value_from|(Value said)|float", "value_to|(Value now)|float")
_FROM_TO = ("from|Said", "to|Now says", "direction|Direction")
_TRANSITIONS = columns(*_FROM_TO, "count share n", *_VALUES)
_CASES = columns(
    "case_id|Case", "user|User", "context|Context", "served_at|Served|time", "item|(Item)", "systems|Systems",
    *_FROM_TO, *_VALUES, "verdict_a|(Verdict)", "verdict_b|(Verdict now)",
)  # fmt: skip
_SUMMARY_FIRST = "protocol aspect system n changed up down p_holm difference ci_low ci_high".split()
_TRANSITIONS_FIRST = "protocol aspect system from to direction count share".split()
_CASES_FIRST = "case_id user systems from to direction".split()
_UNTESTED: Row = dict.fromkeys(("test", "statistic", "df", "p", "p_symmetry"))
# what is undefined where changes have no direction
_DIRECTED = "up down users_up users_down up_is down_is mean_a mean_b difference".split()


def direction_words(protocol: str) -> tuple[str, str]:
    """The meaning of a rise and a fall of the value: `milder` and `harsher`, `towards A` and `towards B`."""
    return ("towards A", "towards B") if compares_lists(protocol) else protocol_facts(protocol).directions


def summary(changes: Changes, truth: str | None = None) -> Table:
    """One row per question (and system): how many changed and in which direction, a test, and the means; p values are
    Holm-adjusted over the rows. `facts["towards"]`: whether the first question's changes went towards people."""
    rows = [_summary_row(changes, part) for part in changes.parts]
    rows = words.adjusted(rows, hypotheses.holm, "p_holm")
    rows = words.adjusted(rows, hypotheses.holm, "p_symmetry_holm", "p_symmetry")
    notes = [f"the runs differ in {'; '.join(changes.differences)}"] if changes.differences else []
    notes += [*changes.notes, definition(_TESTS)]
    notes.append(definition("difference: mean of the second minus the first; interval over users"))
    table = _table("Changes", _SUMMARY, rows, changes, notes)
    of_all = next((part for part in changes.parts if not part.system), None)
    moved = towards(changes, of_all, truth) if of_all is not None and of_all.changed else None
    facts = {} if moved is None else {"towards": moved}
    return seen_first(replace(table, facts=facts, answer=_answer(changes, rows, moved)), _SUMMARY_FIRST)


def _answer(changes: Changes, rows: Sequence[Row], moved: Row | None) -> str:
    row = next((row for row in rows if row["n"] and row["changed"] is not None), None)
    if row is None:
        return ""
    first, second, cases = changes.first.name, changes.second.name, quantity(whole(row, "n"), "case")
    about = f" ({row['protocol']} {row['aspect']})" if len(rows) > 1 else ""
    if not row["changed"]:
        return f"{second} says the same as {first} on all {cases}{about}."
    if moved is not None:
        figures = ""
        if None not in (moved["before"], moved["after"]):
            label = STATISTICS[str(moved["stat"])].in_text
            figures = f" ({label} {moved['before']:.2f} to {moved['after']:.2f}"
            if None not in (moved["change"], moved["ci_low"]):
                figures += f", change {moved['change']:+.2f} [{moved['ci_low']:.2f}, {moved['ci_high']:.2f}]"
            figures += ")"
        some = f"{moved['towards']} of {quantity(whole(moved, 'n'), 'case')}"
        return f"{second} moved {some} towards {moved['truth']}{figures} and {moved['away']} away{about}."
    ways = ""
    if row["up"] is not None:
        chance = f" ({words.p_text(real(row, 'p_holm'))})" if row["p_holm"] is not None else ""
        ways = f": {row['up']} {row['up_is']}, {row['down']} {row['down_is']}{chance}"
    where = f" of {row['system']}" if row.get("system") else ""
    return f"{second} differs from {first} on {row['changed']} of {cases}{where}{ways}{about}."


def _summary_row(changes: Changes, part: Part) -> Row:
    both, comparable, (a, b) = part.both, not part.note, part.pairs.state
    # all outside n: only one was asked, or either failed
    failed = (a != shapes.ABSENT) & (b != shapes.ABSENT) & ((a == shapes.FAILED) | (b == shapes.FAILED))
    row = _who(changes, part.meeting, part.system) | {
        "n": both.n, "changed": part.changed if comparable else None,
        "share": part.changed / both.n if comparable and both.n else None, **_UNTESTED, **part.test(),
        "only_a": int((b == shapes.ABSENT).sum()), "only_b": int((a == shapes.ABSENT).sum()), "failed": int(failed.sum()),
    }  # fmt: skip
    # whether a rise and a fall of the value mean something
    if not part.ordered or both.seen.mirrored or part.note:
        return row | dict.fromkeys((*_DIRECTED, "ci_low", "ci_high"))
    counts = (int((sign * part.differences > 0).sum()) for sign in (1, -1))
    users = hypotheses.users_for_each(both.y, both.x, both.user)
    means = (float(side.mean()) if both.n else None for side in (both.x, both.y))
    cells = (*counts, *users, *direction_words(part.meeting.protocol), *means, part.change.value)
    return row | dict(zip(_DIRECTED, cells, strict=True)) | part.change.ends()


def transitions(changes: Changes) -> Table:
    """One row per cell of the grid, including empty ones. The values are those of labels; of a band, its lower end. Pairs of
    several systems without a common one count from either side, so twice; `n` counts them once."""
    rows = []
    for part in changes.parts:
        up, down = direction_words(part.meeting.protocol)
        total, levels = int(part.grid.counts.sum()), part.grid.levels
        for (at_a, a), (at_b, b) in product(enumerate(levels), repeat=2):
            count = int(part.grid.counts[at_a, at_b])
            way = "" if at_a == at_b or not part.ordered else up if at_b < at_a else down
            rows.append(_who(changes, part.meeting, part.system) | {
                "from": a.name, "to": b.name, "direction": way, "count": count, "share": count / total if total else None,
                "n": part.both.n, "value_from": a.low, "value_to": b.low,
            })  # fmt: skip
    notes = [f"{p.meeting.where}: {p.note}" for p in changes.parts if p.note]
    table = _table("Transitions", _TRANSITIONS, rows, changes, [*notes, *changes.notes])
    filled = [row for row in rows if row["count"]]
    moved = sorted((row for row in filled if row["from"] != row["to"]), key=lambda row: -whole(row, "count"))
    answer = ""
    for most in moved[:1]:
        ways = f"from {most['from']} to {most['to']}: {most['count']} of {quantity(whole(most, 'n'), 'case')}"
        answer = f"Most changes of {changes.second.name} are {ways}."
    return seen_first(replace(table, answer=answer), _TRANSITIONS_FIRST, filled)


def cases_table(changes: Changes, cell: answers.Cell | None = None) -> Table:
    """One row per changed case, by question and case; with a cell, the cases in it."""
    rows: list[Row] = []
    for meeting, alike in groupby(changes.parts, key=lambda part: part.meeting):
        parts = [part for part in alike if part.grid.levels]
        ids = sorted({case for part in parts for case in part.grid.cases(cell).tolist()})
        who, ordered = _who(changes, meeting), parts[0].ordered if ids else False
        rows += [who | _case(meeting.protocol, case, ordered) for case in changes.listed(meeting, ids)]
    table = _table("Changed cases", _CASES, rows, replace(changes, by_system=False), changes.notes)
    answer = f"{changes.second.name} differs from {changes.first.name} on {quantity(len(rows), 'case')}."
    return seen_first(replace(table, answer="" if cell else answer), _CASES_FIRST)


def _case(protocol: str, case: answers.ChangedCase, ordered: bool) -> Row:
    before, now = case.labels
    up, down = direction_words(protocol)
    if compares_lists(protocol):
        up, down = f"towards {case.system_a}", f"towards {case.system_b}"
    changed = ordered and case.value_a != case.value_b
    first, second = (None if one is None else str(one) for one in (case.verdict_a, case.verdict_b))
    return {
        "case_id": str(case.case_id), "user": case.user_id, "context": case.occasion.context,
        "served_at": case.occasion.served_at, "item": case.item_id, "systems": case.systems, "from": before, "to": now,
        "direction": "" if not changed else up if case.value_b > case.value_a else down, "value_from": case.value_a,
        "value_to": case.value_b, "verdict_a": first, "verdict_b": second,
    }  # fmt: skip


def _who(changes: Changes, meeting: shapes.Meeting, system: str = "") -> Row:
    who: Row = {"rater_a": changes.first.name, "rater_b": changes.second.name} | meeting.cells
    return who | ({"system": system} if system else {})


def _table(
    title: str, cells: tuple[Column, ...], rows: Sequence[Row], changes: Changes, notes: Sequence[str]
) -> Table:
    settings = {
        "rater_a": changes.first.name, "rater_b": changes.second.name, "prompt_a": changes.prompt.first,
        "prompt_b": changes.prompt.second, "protocol": changes.selection.protocol, "aspect": changes.selection.aspect,
    }  # fmt: skip
    name = f"{title}: {changes.first.name} to {changes.second.name}"
    who = _WHO if changes.by_system else _WHO[:-1]
    return Table(name, (*who, *cells), tuple(rows), tuple(notes), settings)


# ---- prompts and settings --------------------------------------------------------------------------------------------


def prompt_diff(a: str, b: str, name_a: str = "", name_b: str = "") -> tuple[str, ...]:
    """A unified diff of two texts; empty if they have the same lines, else its headers first. Lines are not escaped."""
    return tuple(difflib.unified_diff(a.split("\n"), b.split("\n"), name_a, name_b, lineterm=""))


def prompt_change(
    project: Project, names: tuple[str, str], first: list[StoredRow], second: list[StoredRow]
) -> PromptChange:
    """The prompts of the newest run of each side; with several prompts a note says so."""
    prompts = tuple(runs[-1].prompt if runs else None for runs in (first, second))
    a, b = prompts
    if a is None or b is None:
        without = [name for name, prompt in zip(names, prompts, strict=True) if prompt is None]
        return PromptChange(a, b, (), f"{' and '.join(without)} has no run and therefore no prompt")
    several = [
        f"{name} was also asked with {', '.join(sorted({run.prompt for run in runs} - {prompt}))}"
        for name, runs, prompt in zip(names, (first, second), (a, b), strict=True)
        if len({run.prompt for run in runs}) > 1
    ]
    if a == b:
        return PromptChange(a, b, (), join_notes(f"both were asked with {a}", *several))
    lines = prompt_diff(prompt_text(project.db, a), prompt_text(project.db, b), a, b)
    return PromptChange(a, b, lines, join_notes("" if lines else f"{a} and {b} have the same text", *several))


def _differences(first: list[StoredRow], second: list[StoredRow]) -> list[str]:
    """`history: 20 -> 50`, one for each setting that differs between the newest runs of the two sides; the judge first."""
    if not first or not second:
        return []
    before, after = (
        {"prompt": run.prompt, **dict(_flat(json.loads(run.judge), "judge ")), **dict(_flat(json.loads(run.settings)))}
        for run in (first[-1], second[-1])
    )  # fmt: skip
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    changed.sort(key=lambda name: (name != "judge spec", name != "prompt", name))
    return [f"{name}: {_shown(before.get(name))} -> {_shown(after.get(name))}" for name in changed]


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name} ")
        else:
            yield before + name, value


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text, _LONGEST) or "none"


# ---- one question at a time --------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """Two sides on one question (a protocol and an aspect) on some occasions. `changes` is None if they share no question.
    `offered` are all possible sides, `questions` those that the two share; `p_holm` of the `summary` adjusts for all of
    these. `answer` is its sentence, `ids` are the changed cases."""

    offered: tuple[tuple[str, str], ...]
    first: str
    second: str
    question: tuple[str, str]
    occasions: OccasionFilter
    questions: tuple[shapes.Meeting, ...] = ()
    changes: Changes | None = None
    summary: Mapping[str, Any] = {}
    answer: str = ""
    notes: tuple[str, ...] = ()
    ids: array[int] = array("q")

    @property
    def names(self) -> tuple[str, str]:
        assert self.changes is not None
        return self.changes.first.name, self.changes.second.name

    @property
    def part(self) -> Part:
        assert self.changes is not None
        return self.changes.parts[0]


def compared(
    project: Project, first: str = "", second: str = "", question: tuple[str, str] = ("", ""),
    occasions: OccasionFilter = EVERY_OCCASION,
) -> Comparison:  # fmt: skip
    """Two sides, empty for the usual ones, on this question, or else on the first one that they share. Raises as
    `sides_named`, and NotFoundError for an unknown context."""
    check_contexts(project.db, project.id, occasions)
    offered = offered_sides(project)
    if not first:
        first, second = usual_sides(project) or ("", "")
    alone = Comparison(offered, first, second, question, occasions)
    if not first:
        return alone
    sides = sides_named(project, first, second)
    selection = Selection(cases=CaseSelection(occasions))
    shared = tuple(shared_questions(project, sides, selection))
    if not shared:
        return alone
    asked = next((one for one in shared if (one.protocol, one.aspect) == question), shared[0])
    changes = compare_sides(project, sides, selection, (asked,))
    told = about_occasions(summary(changes), occasions)
    tested = told.rows[0]
    if len(shared) > 1:
        tested = summary(compare_sides(project, sides, selection, shared)).rows[shared.index(asked)]
    return alone._replace(
        question=(asked.protocol, asked.aspect), questions=shared, changes=changes, answer=told.answer,
        summary={**told.rows[0], "p_holm": tested["p_holm"]}, ids=array("q", changes.parts[0].grid.cases().tolist()),
        notes=tuple(note for note in told.notes if note_kind(note) != "definition"),
    )  # fmt: skip
