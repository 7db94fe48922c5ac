"""How many cases an evaluation needs, from assumptions or from a project's verdicts so far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.scales import is_metric, label_names, rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.reliability.plan_options import PlanOptions, check_options
from recjudge_tui.reports.words import earlier_notes
from recjudge_tui.shapes import protocols_meeting, rank_of, under_protocol
from recjudge_tui.stats.agreement import pearson
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.stats.planning import (
    Discordance,
    UserSizes,
    detectable,
    intraclass,
    possible_correlation,
    power_of,
    share_discordance,
    units_needed,
    user_factor,
    user_sizes,
    win_rate_discordance,
)
from recjudge_tui.store.data.catalogue import check_systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.ratings import Question, Ratings, load_ratings

_FEW_USERS = 30
_WHO = (
    Column("rater", "Rater"),
    Column("system", "System"),
    Column("opponent", "Against"),
)
_OF_PAIRS = (
    Column("ties", "True ties", "share", minor=True),
    Column("consistency", "Consistent", "share", minor=True),
)
_OF_SHARES = (
    Column("label", "Label", minor=True),
    Column("share", "Share", "share", minor=True),
    Column("correlation", "Correlation", "float", minor=True),
)
_CLUSTERS = (
    Column("cases_per_user", "Per user", "float", minor=True, decimals=2),
    Column("icc", "ICC", "float", minor=True),
    Column("design_effect", "Design effect", "float", minor=True),
)
_NEEDED = (
    Column("difference", "Difference", "share"),
    Column("needed", "Needed", "int"),
    Column("users_needed", "Users needed", "int", minor=True),
    Column("calls_needed", "Calls", "int", minor=True),
)
_AT_HAND = (
    Column("n", "Available", "int", minor=True),
    Column("users", "Users", "int", minor=True),
    Column("seen", "Observed", "share", minor=True),
    Column("detectable", "Detectable", "share"),
    Column("power_at_hand", "Power", "share"),
)
_NOTE = Column("note", "Note")
METHOD = (
    "needed: for the two-sided test of the users' means, each user counted once, by the normal formula; design effect: how"
    " many times more cases that takes than with one case a user; ICC by analysis of variance (Donner 1986)"
)
_UNITS = {
    True: "a case is a pair of lists in both orders (two calls); difference: of the win rate (ties half) from one half,"
    " among pairs judged alike in both orders; the others are ties, which pull it towards one half",
    False: "a case is a user (or a user's item) with a list (text) of each system (two calls); difference: of two"
    " shares of one label, paired by user",
}
_HINDSIGHT = (
    "Detectable: the smallest difference that the available cases would have shown with this power; not a test"
    " of the observed difference"
)


@dataclass(frozen=True)
class Situation:
    """What the number of cases depends on, assumed or measured; `sizes` are the numbers of cases of users."""

    ties: float
    consistency: float
    share: float
    correlation: float
    cases_per_user: float
    icc: float | None
    sizes: UserSizes


@dataclass(frozen=True)
class _PilotData:
    """The available units of one rater and two systems; `values` has the units' outcomes, which users share."""

    situation: Situation
    n: int
    users: int
    seen: float | None
    label: str = ""
    note: str = ""


def assumed_table(options: PlanOptions) -> Table:
    """Cases needed under assumptions alone, one row per difference. Raises UsageError for contradictory assumptions."""
    check_options(options)
    per_user, icc = options.cases_per_user or 1.0, options.icc or 0.0
    situation = Situation(
        ties=options.ties or 0.0,
        consistency=1.0 if options.consistency is None else options.consistency,
        share=0.5 if options.share is None else options.share,
        correlation=options.correlation or 0.0,
        cases_per_user=per_user,
        icc=icc,
        sizes=user_sizes(per_user),
    )
    rows: list[Row] = []
    for difference in options.differences:
        try:
            rows.append(_needed(situation, difference, options))
        except ValueError as error:
            raise UsageError(
                f"a difference of {difference:.1%} is impossible", f"{error}.".capitalize()
            ) from error
    columns = (*_kind(options), *_CLUSTERS, *_NEEDED, _NOTE)
    notes = (METHOD, _UNITS[options.of_pairs])
    return Table(f"Plan: {options.protocol}", columns, tuple(rows), notes, _settings(options))


def project_plan(db: Database, project_id: int, options: PlanOptions) -> Table:
    """Cases needed for each rater and two systems, given the measured ties, consistency and correlation within users;
    and what the available cases could have shown.

    Stated options replace measured values. Raises UsageError for an unknown protocol or system, NotFoundError for an
    unknown rater.
    """
    check_options(options)
    if options.rater is not None:
        rater_row(db, project_id, options.rater)
    ratings = load_ratings(
        db, project_id, raters=None if options.rater is None else [options.rater],
        protocols=protocols_meeting(options.protocol), aspect=options.aspect,
    )  # fmt: skip
    check_systems(db, project_id, options.systems)
    rows: list[Row] = []
    questions = under_protocol(ratings.verdicts, ratings.raters, options.protocol)
    for question in sorted(questions, key=lambda q: (rank_of(ratings.raters[q.rater]), q.protocol)):
        for system, opponent, pilot in _situations(db, project_id, ratings, question, options):
            head: Row = {"rater": question.rater, "system": system, "opponent": opponent}
            rows += [head | row for row in _rows(pilot, options)]
    notes = (
        [METHOD, _UNITS[options.of_pairs], _HINDSIGHT]
        if rows
        else ["there are no verdicts to measure from yet"]
    )
    judging = {row["rater"] for row in rows}
    notes += earlier_notes(ratings, questions)
    notes += rater_notes(rater for name, rater in ratings.raters.items() if name in judging)
    columns = (*_WHO, *_kind(options), *_CLUSTERS, *_NEEDED, *_AT_HAND, _NOTE)
    return Table(f"Plan: {options.protocol}", columns, tuple(rows), tuple(notes), _settings(options))


def _kind(options: PlanOptions) -> tuple[Column, ...]:
    return _OF_PAIRS if options.of_pairs else _OF_SHARES


def _settings(options: PlanOptions) -> dict[str, object]:
    return {
        "protocol": options.protocol,
        "aspect": options.aspect,
        "power": options.power,
        "alpha": options.alpha,
    }


def _discordance(situation: Situation, difference: float, options: PlanOptions) -> Discordance:
    """Raises ValueError for an impossible difference."""
    if options.of_pairs:
        return win_rate_discordance(0.5 + difference, situation.ties, situation.consistency)
    target = situation.share + difference
    correlation = situation.correlation
    if options.correlation is None and 0 <= target <= 1:
        # a measured correlation may be impossible for the planned shares
        correlation = possible_correlation(target, situation.share, correlation)
    return share_discordance(target, situation.share, correlation)


def _needed(situation: Situation, difference: float, options: PlanOptions) -> Row:
    discordance = _discordance(situation, difference, options)
    factor = user_factor(situation.sizes, situation.icc or 0.0)
    users = units_needed(discordance, alpha=options.alpha, power=options.power, factor=factor)
    needed = None if users is None else math.ceil(users * situation.cases_per_user - 1e-9)
    alone = units_needed(discordance, alpha=options.alpha, power=options.power)
    note = (
        "" if needed is not None else "more than ten million" if discordance.delta else "cannot be detected"
    )
    return _measured(situation, options) | {
        "difference": difference,
        "design_effect": None if needed is None or alone is None else needed / alone,
        "needed": needed,
        "users_needed": users,
        "calls_needed": None if needed is None else 2 * needed,
        "note": note,
    }


def _measured(situation: Situation, options: PlanOptions) -> Row:
    names = ("ties", "consistency") if options.of_pairs else ("share", "correlation")
    return {name: getattr(situation, name) for name in (*names, "cases_per_user", "icc")}


def _rows(pilot: _PilotData, options: PlanOptions) -> Iterator[Row]:
    situation, power, alpha = pilot.situation, options.power, options.alpha
    factor = user_factor(situation.sizes, situation.icc or 0.0)
    base, most = (0.5, 1 - situation.ties / 2) if options.of_pairs else (situation.share, 1.0)

    def of(value: float) -> Discordance:
        if options.of_pairs:
            return win_rate_discordance(value, situation.ties, situation.consistency)
        return share_discordance(value, base, possible_correlation(value, base, situation.correlation))

    reach = detectable(of, base, most, pilot.users, alpha=alpha, power=power, factor=factor)
    at_hand: Row = {"n": pilot.n, "users": pilot.users, "seen": pilot.seen}
    at_hand["detectable"] = None if reach is None else reach - base
    if not options.of_pairs:
        at_hand["label"] = pilot.label
    no_reach = "too few cases for any difference" if reach is None else ""
    for difference in options.differences:
        try:
            row = _needed(situation, difference, options)
            found = _discordance(situation, difference, options)
            chance: float | None = power_of(found, pilot.users, alpha=alpha, factor=factor)
        except ValueError as error:
            row = _measured(situation, options) | {
                "difference": difference,
                "needed": None,
                "note": str(error),
            }
            chance = None
        note = join_notes(str(row["note"]), pilot.note, no_reach)
        yield row | at_hand | {"power_at_hand": chance, "note": note}


def _situations(
    db: Database, project_id: int, ratings: Ratings, question: Question, options: PlanOptions
) -> Iterator[tuple[str, str, _PilotData]]:
    """The measured values of a rater, for each two systems it judged."""
    if options.of_pairs:
        yield from _pairs(ratings, question, options)
        return
    values = ratings.verdicts[question].value
    names = label_names(db, project_id, options.protocol, options.aspect, values)
    if names is None or is_metric(ratings.raters[question.rater]):
        return
    best = max(names)
    yield from _shares(ratings, question, best, names[best], options)


def _pairs(
    ratings: Ratings, question: Question, options: PlanOptions
) -> Iterator[tuple[str, str, _PilotData]]:
    cases, verdicts = ratings.cases, ratings.verdicts[question]
    code = cases.system_a[verdicts.row] * len(cases.systems) + cases.system_b[verdicts.row]
    for pair in np.unique(code[cases.is_pair[verdicts.row]]):
        system, opponent = (cases.systems[part] for part in divmod(int(pair), len(cases.systems)))
        here = (code == pair) & ~np.isnan(verdicts.value)
        if not here.any() or not _wanted(system, opponent, options):
            continue
        value, users = np.sign(verdicts.value[here]), cases.user[verdicts.row[here]]
        alike = ~(verdicts.flipped[here] & (value == 0))
        ties = float((value[alike] == 0).mean()) if alike.any() else 0.0
        seen = float(value[alike].mean()) / 2 if alike.any() else None
        pilot = _at_hand(value, users, seen, options)
        stated = replace(
            pilot.situation,
            ties=ties if options.ties is None else options.ties,
            consistency=float(alike.mean()) if options.consistency is None else options.consistency,
        )
        yield system, opponent, replace(pilot, situation=stated)


def _shares(
    ratings: Ratings, question: Question, best: float, label: str, options: PlanOptions
) -> Iterator[tuple[str, str, _PilotData]]:
    cases, verdicts = ratings.cases, ratings.verdicts[question]
    known = ~np.isnan(verdicts.value) & ~cases.is_pair[verdicts.row]
    row, hit = verdicts.row[known], (verdicts.value[known] == best).astype(np.float64)
    met = np.unique(cases.system_a[row]).tolist()
    for place, a in enumerate(met):
        for b in met[place + 1 :]:
            first, second = _in_order(a, b, cases.systems, options)
            system, opponent = cases.systems[first], cases.systems[second]
            if not _wanted(system, opponent, options):
                continue
            left, right = (np.flatnonzero(cases.system_a[row] == code) for code in (first, second))
            _, at, to = np.intersect1d(cases.pair[row[left]], cases.pair[row[right]], return_indices=True)
            hits, other_hits = hit[left[at]], hit[right[to]]
            if hits.size == 0:
                continue
            pilot = _at_hand(
                hits - other_hits, cases.user[row[left[at]]], float((hits - other_hits).mean()), options
            )
            together = (pearson(hits, other_hits) if hits.size > 1 else None) or 0.0
            stated = replace(
                pilot.situation,
                share=float(other_hits.mean()) if options.share is None else options.share,
                correlation=together if options.correlation is None else options.correlation,
            )
            yield system, opponent, replace(pilot, situation=stated, label=label)


def _in_order(a: int, b: int, systems: Iterable[str], options: PlanOptions) -> tuple[int, int]:
    """The systems in the order of the options, so that the second is the baseline."""
    return (b, a) if options.systems and tuple(systems)[b] == options.systems[0] else (a, b)


def _wanted(system: str, opponent: str, options: PlanOptions) -> bool:
    return not options.systems or {system, opponent} == set(options.systems)


def _at_hand(values: FloatArray, users: IntArray, seen: float | None, options: PlanOptions) -> _PilotData:
    """The available units, and the correlation within users."""
    count = int(np.unique(users).size)
    alike = intraclass(values, users)
    per_user = values.size / count if options.cases_per_user is None else options.cases_per_user
    icc = alike.value if options.icc is None else options.icc
    sizes = _measured_sizes(users) if options.cases_per_user is None else user_sizes(per_user)
    note = join_notes(
        "" if icc is not None or values.size == count else f"correlation within users unknown: {alike.note}",
        f"few users ({count}), so only approximate" if count < _FEW_USERS else "",
    )
    situation = Situation(0.0, 1.0, 0.5, 0.0, per_user, icc, sizes)
    return _PilotData(situation, int(values.size), count, seen, note=note)


def _measured_sizes(users: IntArray) -> UserSizes:
    sizes, counts = np.unique(np.unique(users, return_counts=True)[1], return_counts=True)
    return tuple(zip(sizes.tolist(), (counts / counts.sum()).tolist(), strict=True))
