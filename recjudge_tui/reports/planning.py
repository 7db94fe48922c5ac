"""How many cases an evaluation needs, from assumptions or from a project's verdicts so far, and what these could have shown.

One formula for all (`stats.planning`): the normal one of the test that is used, of the mean of the users' means against 0,
whose variance holds the design effect of users with several cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, offered, protocol_facts
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import real, seen_first
from recjudge_tui.reports.common.table import Row, Table, columns, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.words import about_base, label_names
from recjudge_tui.shapes import Base, base, battles, protocols_meeting, scores
from recjudge_tui.stats import planning as designs
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.store.data import check_systems
from recjudge_tui.store.ratings import Question

_FEW_USERS = 30
_WHO = columns("rater system opponent")
_ASSUMED = {
    True: columns("ties|(True ties)|share", "consistency|(Consistent)|share"),
    False: columns("label? share?", "correlation|(Correlation)|float"),
}
_NEEDED = columns(
    "cases_per_user|(Per user)|float|2", "icc|(ICC)|float", "design_effect|(Design effect)|float",
    "difference|Difference|share", "needed|Needed|int", "users_needed|Users needed|int", "calls_needed|(Calls)|int",
)  # fmt: skip
_AT_HAND = columns(
    "n|(Available)|int", "users?", "seen|(Observed)|share", "detectable|Detectable|share",
    "power_at_hand|Power|share",
)  # fmt: skip
_BRIEF = "rater system opponent difference needed users_needed n users detectable power_at_hand note"
_METHOD, _OF_PAIRS, _OF_SHARES, _HINDSIGHT = definitions("""\
needed: the normal formula for the mean of the users' means against 0, ((z_(1-α/2) + z_power) / difference)² times its\
 variance; design effect: how many times more cases that takes than with one case a user; ICC by analysis of variance\
 (Donner 1986), below 0 counted as 0
a case is a pair of lists in both orders (two calls); difference: of the win rate (ties half) from one half, among pairs\
 judged alike in both orders; the others are ties, which pull it towards one half
a case is a user (or a user's item) with a list (text) of each system (two calls); difference: of two shares of one label,\
 paired by user
detectable: the smallest difference that the available cases would have shown with this power; not a test of the observed\
 difference""")


@dataclass(frozen=True)
class _Situation:
    """What the number of cases depends on, assumed or measured; `inverse` is the mean of 1 / a user's cases. At hand are
    `n` cases of `users`, of which `seen` was the difference; 0 of assumptions. `fitted`: the correlation is measured."""

    of_pairs: bool
    ties: float = 0.0
    consistency: float = 1.0
    share: float = 0.5
    correlation: float = 0.0
    cases_per_user: float = 1.0
    icc: float | None = 0.0
    inverse: float = 1.0
    fitted: bool = False
    label: str = ""
    n: int = 0
    users: int = 0
    seen: float | None = None
    note: str = ""

    @property
    def factor(self) -> float:
        return designs.user_factor(self.inverse, self.icc or 0.0)

    def discordance(self, difference: float) -> designs.Discordance:
        """Raises ValueError for an impossible difference."""
        if self.of_pairs:
            return designs.win_rate_discordance(0.5 + difference, self.ties, self.consistency)
        target, correlation = self.share + difference, self.correlation
        if self.fitted and 0 <= target <= 1:
            # a measured correlation may be impossible for the planned shares
            correlation = designs.possible_correlation(target, self.share, correlation)
        return designs.share_discordance(target, self.share, correlation)

    def cells(self) -> Row:
        names = ("ties", "consistency") if self.of_pairs else ("share", "correlation")
        # as `user_factor` uses it
        icc = None if self.icc is None else max(0.0, self.icc)
        return {name: getattr(self, name) for name in (*names, "cases_per_user")} | {"icc": icc}


def plan(project: Project | None, choose: Options) -> Table:
    """Cases needed, under assumptions alone or, in a project, for each rater and two systems as measured from its
    verdicts, with what the available cases could have shown; stated options replace measured values. Raises
    UsageError for assumptions that cannot hold, NotFoundError for an unknown rater or system."""
    choose = choose.but(difference=_check(choose))
    of_pairs = compares_lists(choose.protocol)
    about: list[str] = [_METHOD, _OF_PAIRS if of_pairs else _OF_SHARES]
    rows: list[Row] = []
    if project is None:
        if choose.systems or choose.rater or choose.where:
            raise UsageError("systems, raters and users need a project", "Name the project.")
        situation = _stated(_Situation(of_pairs), choose)
        for difference in choose.difference:
            try:
                rows.append(_needed(situation, difference, choose))
            except ValueError as error:
                impossible = f"a difference of {difference:.1%} is impossible"
                raise UsageError(impossible, f"{error}.".capitalize()) from error
        notes, heads = [*_on_board(rows), *about], (*_ASSUMED[of_pairs], *_NEEDED)
    else:
        check_systems(project.db, project.id, choose.systems)
        chosen = base(project, choose.selection())
        rows = [
            {"rater": question.rater, "system": system, "opponent": opponent} | row
            for question in chosen.questions
            for system, opponent, measured in _situations(chosen, question, choose)
            for row in _rows(_stated(measured, choose), choose)
        ]
        notes = [] if rows else ["there are no verdicts to measure from yet"]
        notes += [*_on_board(rows), *about_base(chosen), *([*about, _HINDSIGHT] if rows else [])]
        heads = (*_WHO, *_ASSUMED[of_pairs], *_NEEDED, *_AT_HAND)
    heads, title = columns(*heads, "note"), f"Plan: {choose.protocol}"
    return seen_first(Table(title, heads, tuple(rows), tuple(notes), answer=_answer(rows, choose)), _BRIEF)


def _on_board(rows: Sequence[Row]) -> Iterator[str]:
    """What the difference planned for is on a leaderboard, where pairs judged by their place are ties."""
    for row in rows[:1]:
        share, points = row.get("consistency"), 100 * real(row, "difference")
        if isinstance(share, float) and share < 1:
            alike = f"the {100 * share:.0f} % of pairs that are judged alike in both orders"
            yield f"{50 + points:g} % among {alike} is {50 + share * points:.3g} % on the leaderboard"


def _check(choose: Options) -> tuple[float, ...]:
    """The differences to plan for. Raises UsageError for assumptions that contradict each other or the protocol."""
    protocols_meeting(choose.protocol)
    if not protocol_facts(choose.protocol).labels:
        labelled = ", ".join(name for name in offered() if protocol_facts(name).labels)
        raise UsageError(f"{choose.protocol} scores have no labels to count", "", f"Plan for {labelled}.")
    for name in ("share", "correlation") if compares_lists(choose.protocol) else ("ties", "consistency"):
        if choose[name] is not None:
            raise UsageError(f"{name} has no meaning for {choose.protocol}")
    if choose.systems and len(set(choose.systems)) != 2:
        raise UsageError("two different systems are needed", next_step="Name them as new,old.")
    try:
        differences = tuple(float(difference) for difference in choose.difference)
    except ValueError:
        differences = ()
    if not differences or not all(0 < difference <= 1 for difference in differences):
        given = ", ".join(map(str, choose.difference))
        raise UsageError(f"differences {given}: numbers above 0 and at most 1 are needed, as 0.05,0.1")
    return differences


def _stated(situation: _Situation, choose: Options) -> _Situation:
    """The situation with the assumptions that are stated."""
    names = ("ties", "consistency", "share", "correlation", "cases_per_user", "icc")
    given = {name: choose[name] for name in names if choose[name] is not None}
    made = replace(situation, fitted=bool(situation.n) and "correlation" not in given, **given)
    inverse = designs.mean_inverse(made.cases_per_user) if "cases_per_user" in given else made.inverse
    return replace(made, inverse=inverse)


def _needed(situation: _Situation, difference: float, choose: Options) -> Row:
    expected, factor = situation.discordance(difference), situation.factor
    users = designs.units_needed(expected, alpha=choose.alpha, power=choose.power, factor=factor)
    needed = None if users is None else math.ceil(users * situation.cases_per_user - 1e-9)
    why = "more than ten million" if expected.delta else "cannot be detected"
    return situation.cells() | {
        "difference": difference, "design_effect": factor * situation.cases_per_user, "needed": needed,
        "users_needed": users, "calls_needed": None if needed is None else 2 * needed,
        "note": why if needed is None else "",
    }  # fmt: skip


def _rows(situation: _Situation, choose: Options) -> Iterator[Row]:
    """A row for each difference, with what the cases at hand could have shown."""
    most = 0.5 - situation.ties / 2 if situation.of_pairs else 1.0 - situation.share
    test = {"alpha": choose.alpha, "factor": situation.factor}
    reach = designs.detectable(situation.discordance, 0.0, most, situation.users, power=choose.power, **test)
    at_hand: Row = {"n": situation.n, "users": situation.users, "seen": situation.seen, "detectable": reach}
    at_hand |= {} if situation.of_pairs else {"label": situation.label}
    few = "too few cases for any difference" if reach is None else ""
    for difference in choose.difference:
        try:
            power = designs.power_of(situation.discordance(difference), situation.users, **test)
            row = _needed(situation, difference, choose) | {"power_at_hand": power}
        except ValueError as error:
            row = situation.cells() | {"difference": difference, "note": str(error)}
            row |= {"needed": None, "power_at_hand": None}
        yield row | at_hand | {"note": join_notes(str(row["note"]), situation.note, few)}


# ---- what the verdicts so far show -----------------------------------------------------------------------------------


def _situations(chosen: Base, question: Question, choose: Options) -> Iterator[tuple[str, str, _Situation]]:
    """The measured values of a rater, for each two systems it judged."""
    if compares_lists(choose.protocol):
        yield from _pairs(chosen, question, choose.systems)
        return
    values = chosen.ratings.verdicts[question].value
    names = label_names(chosen.project, choose.protocol, question.aspect, values)
    if names is not None and not chosen.rater(question).of_metrics:
        yield from _shares(chosen, question, max(names), names[max(names)], choose.systems)


def _pairs(chosen: Base, question: Question, wanted: Sequence[str]) -> Iterator[tuple[str, str, _Situation]]:
    contests = battles(chosen.ratings, question)
    for a, b in combinations(range(len(contests.systems)), 2):
        names = contests.systems[a], contests.systems[b]
        here = (contests.a == a) & (contests.b == b) & ~np.isnan(contests.outcome)
        if not here.any() or (wanted and {*names} != set(wanted)):
            continue
        wins, ties, losses = contests.grid[a, b]
        position = float(contests.position_ties[a, b])
        alike = wins + ties + losses - position
        yield *names, _at_hand(
            _Situation(True), contests.outcome[here], contests.user[here],
            ties=float((ties - position) / alike) if alike else 0.0,
            consistency=float(alike / (wins + ties + losses)),
            seen=float((wins - losses) / alike / 2) if alike else None,
        )  # fmt: skip


def _shares(
    chosen: Base, question: Question, best: float, label: str, wanted: Sequence[str]
) -> Iterator[tuple[str, str, _Situation]]:
    every = scores(chosen.ratings, question)
    known = ~np.isnan(every.value)
    pair, hit = chosen.ratings.cases.pair[every.case], (every.value == best).astype(np.float64)
    order = [wanted.index(name) if name in wanted else len(wanted) for name in every.systems]
    for first, second in combinations(sorted(range(len(order)), key=lambda at: (order[at], at)), 2):
        names = every.systems[first], every.systems[second]
        left, right = (np.flatnonzero((every.system == code) & known) for code in (first, second))
        _, one, two = np.intersect1d(pair[left], pair[right], return_indices=True)
        hits, others = hit[left[one]], hit[right[two]]
        if not hits.size or (wanted and {*names} != set(wanted)):
            continue
        # of two yes-or-no answers; 0 where one does not vary
        phi = float(np.corrcoef(hits, others)[0, 1]) if hits.std() and others.std() else 0.0
        yield *names, _at_hand(
            _Situation(False), hits - others, every.user[left[one]], label=label, share=float(others.mean()),
            correlation=phi, seen=float((hits - others).mean()),
        )  # fmt: skip


def _at_hand(situation: _Situation, values: FloatArray, users: IntArray, **measured: Any) -> _Situation:
    """The available cases, and how alike those of one user are."""
    sizes = np.unique(users, return_counts=True)[1]
    alike = designs.intraclass(values, users)
    unknown = alike.value is None and values.size > sizes.size
    few = f"few users ({sizes.size}), so only approximate" if sizes.size < _FEW_USERS else ""
    note = join_notes(f"correlation within users unknown: {alike.note}" if unknown else "", few)
    return replace(
        situation, n=int(values.size), users=int(sizes.size), cases_per_user=values.size / sizes.size, icc=alike.value,
        inverse=float(np.mean(1 / sizes)), note=note, **measured,
    )  # fmt: skip


def _answer(rows: Sequence[dict[str, Any]], choose: Options) -> str:
    """What the first difference takes, and what is there."""
    row = next((row for row in rows if row["needed"] is not None), None)
    if row is None:
        return "No number of cases shows these differences." if rows else ""
    points = 100 * row["difference"]
    what = f"a win rate of {50 + points:g} %" if compares_lists(choose.protocol) else f"{points:g} points"
    takes = f"takes {quantity(row['needed'], 'case')} of {quantity(row['users_needed'], 'user')}"
    said = f"To show {what} with power {100 * choose.power:g} % {takes} ({row['calls_needed']:,} calls)"
    if "rater" not in row:
        return f"{said}."
    here = f"{row['rater']} has judged {row['n']:,} of {row['system']} against {row['opponent']}"
    power = row["power_at_hand"]
    shows = "" if power is None else f", which would show it in {100 * power:.0f} % of repetitions"
    return f"{said}; {here}{shows}."
