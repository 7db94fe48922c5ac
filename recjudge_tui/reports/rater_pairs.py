"""What the reports on raters share: the statistics that fit two of them, their figures, and the ceiling that people set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.domain.roles import FIRST_HAND, MACHINES, REFERENCES
from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.domain.selection import Selection
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.words import label_names
from recjudge_tui.shapes import Meeting, Met, Orientation, Pairs, grouped, meet, meetings, verdicts_of
from recjudge_tui.stats.agreement import RatedPair, agreement_estimates, pairs_interval
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.combining import Rule, joint
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, join_notes
from recjudge_tui.stats.registry import CORRELATIONS, NO_ORDER, STATISTICS, usual_statistic
from recjudge_tui.store.answers import Cell
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import Question, Rater, Ratings

ALL = "all"
Sides = tuple[FloatArray, FloatArray]
OF_METRICS = "a metric has its own scale: only correlations apply"


# ---- statistics ------------------------------------------------------------------------------------------------------


def judge_and_truth(project: Project, selection: Selection, truth: str) -> Met:
    """A rater, the only one of the selection, and its reference on the questions that both answered. Raises UsageError
    if there are none, if both are the same rater, and for a metric as reference; NotFoundError for an unknown rater."""
    met = meet(project, selection, truth)
    (rater,) = selection.raters
    if rater == truth:
        raise UsageError(f"{rater} cannot be compared with itself", "", "Name another rater as the truth.")
    if met.ratings.raters[truth].of_metrics:
        raise UsageError(f"{truth} is a metric and gives no labels", next_step="Name people as the truth.")
    if not met.meetings:
        under = f" under {selection.protocol}" if selection.protocol else ""
        raise UsageError(f"{rater} and {truth} answered no question in common{under}")
    return met


def label_sets(met: Met) -> dict[Meeting, list[float] | None]:
    """The label set of each meeting's question, rising; None for scores without labels and for metrics."""
    out: dict[Meeting, list[float] | None] = {}
    raters = met.ratings.raters
    for (protocol, aspect), several in grouped((meeting[2:], meeting) for meeting in met.meetings).items():
        sides = {q for meeting in several for q in meeting[:2] if not raters[q.rater].of_metrics}
        values = np.concatenate([np.zeros(0), *(np.unique(met.ratings.verdicts[q].value) for q in sides)])
        project, fine = met.project, met.selection.fine
        names = label_names(project, protocol, aspect, values, fine=fine)
        labels = None if names is None else sorted(names)
        out |= {meeting: labels if by_labels(meeting, met) else None for meeting in several}
    return out


def by_labels(meeting: Meeting, met: Met) -> bool:
    """Whether both answered with labels of one set; on pairs of lists a metric counts, too (A, Tie, B)."""
    return compares_lists(meeting.protocol) or not of_metric(meeting, met)


def of_metric(meeting: Meeting, met: Met) -> bool:
    return any(met.ratings.raters[question.rater].of_metrics for question in meeting[:2])


def between_labels(meeting: Meeting, met: Met, labels: Sequence[float] | None) -> dict[str, float]:
    """Each rater who gives values between the labels (a mean of samples, a probability), with one of them."""
    out = {}
    for question in meeting[:2] if labels is not None else ():
        values = met.ratings.verdicts[question].value
        strange = np.setdiff1d(values[~np.isnan(values)], np.array(labels))
        fractions = strange[strange != np.rint(strange)]
        if fractions.size:
            out[question.rater] = float(fractions[0])
    return out


def unfit(stat: str, meeting: Meeting, met: Met) -> str:
    """Why a statistic cannot be computed for two raters; empty if it can."""
    if (meeting.protocol, meeting.aspect) in met.nominal and not STATISTICS[stat].nominal:
        return NO_ORDER
    return "" if stat in CORRELATIONS or by_labels(meeting, met) else OF_METRICS


def fitting(
    meeting: Meeting, met: Met, labels: Sequence[float] | None, asked: Sequence[str] = ()
) -> tuple[str, ...]:
    """The statistics asked for, each once; by default those that fit the scale and the reference, the usual one first."""
    directed = compares_lists(meeting.protocol)
    if ALL in asked:
        able = (stat for stat in STATISTICS if directed or not STATISTICS[stat].directed)
        return tuple(stat for stat in able if not unfit(stat, meeting, met))
    if asked:
        return tuple(dict.fromkeys(asked))
    first = usual_of(meeting, met, labels)
    if first in CORRELATIONS:
        return CORRELATIONS if between_labels(meeting, met, labels) else (first, "spearman")
    a, b = (met.ratings.raters[question.rater].kind for question in meeting[:2])
    of_people = directed and b in REFERENCES and a not in REFERENCES and STATISTICS[first].nominal is False
    return (first, "percent", "concurrence") if of_people else (first, "percent")


def usual_of(meeting: Meeting, met: Met, labels: Sequence[float] | None) -> str:
    """The one statistic by which two raters are compared everywhere, unless another is asked for."""
    whole = labels is not None and not of_metric(meeting, met) and not between_labels(meeting, met, labels)
    return usual_statistic(whole, ordered=(meeting.protocol, meeting.aspect) not in met.nominal)


def estimates(
    a: FloatArray, b: FloatArray, user: IntArray, labels: Sequence[float] | None, stats: Sequence[str], seen: Orientation,
    groups: IntArray | None = None, *, confidence: float = LEVEL,
) -> dict[str, Estimate]:  # fmt: skip
    """The statistics of two raters' values (cases,), intervals over users; of a share, n counts the cases in it."""
    found = agreement_estimates(
        a, b, user, seen.labels(labels), tuple(stats), mirrored=seen.mirrored, groups=groups, level=confidence
    )
    for stat in found:
        if STATISTICS[stat].directed:
            found[stat] = replace(found[stat], n=int((b != 0).sum()))
    return found


def pair_estimates(
    pairs: Pairs, labels: Sequence[float] | None, stats: Sequence[str], level: str = "dataset", *, confidence: float = LEVEL
) -> dict[str, Estimate]:  # fmt: skip
    """The statistics of two raters' complete pairs at a level: dataset, user or pair."""
    groups = pairs.groups(level)
    both = pairs.x, pairs.y, pairs.user
    return estimates(*both, labels, stats, pairs.seen, groups, confidence=confidence)


# ---- label by label --------------------------------------------------------------------------------------------------

_BANDS = 5


class Level(NamedTuple):
    """A line of a grid: a label (both ends are its value), or a band of values including its ends."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class Grid:
    """How often two raters gave each two levels, on the cases that `both` judged. `levels`: highest first; `labelled`: all
    values are labels. Pairs without a common side count from both, so twice."""

    both: Pairs
    levels: tuple[Level, ...]
    labelled: bool

    @cached_property
    def counts(self) -> IntArray:
        """The cases in each cell (first rater, second)."""
        counts = np.zeros((len(self.levels), len(self.levels)), dtype=np.int64)
        if self.levels:
            lows = np.array([level.low for level in self.levels])[::-1]
            seen = self.both.seen.both_sides(self.both.matrix)
            places = len(self.levels) - np.searchsorted(lows, seen, side="right")
            np.add.at(counts, (places[0], places[1]), 1)
        return counts

    def cases(self, cell: Cell | None = None) -> IntArray:
        """The ids of the cases with different values; with a cell, of all cases in it."""
        x, y = self.both.matrix
        if cell is None:
            here = x != y
        else:
            low_a, high_a, low_b, high_b = cell
            here = (low_a <= x) & (x <= high_a) & (low_b <= y) & (y <= high_b)
            if self.both.seen.mirrored:
                here |= (low_a <= -x) & (-x <= high_a) & (low_b <= -y) & (-y <= high_b)
        return np.sort(self.both.cases.ids[self.both.row[here]])


def levels_of(
    project: Project, meeting: Meeting, values: FloatArray, *, fine: bool = False
) -> tuple[tuple[Level, ...], bool]:
    """The lines of a grid of these values, and whether all are labels: the label set and any other values given, or bands
    of equal width where there are too many values."""
    if compares_lists(meeting.protocol):
        values = np.concatenate([values, -values])
    names = label_names(project, *meeting[2:], values, fine=fine)
    given = np.unique(values)
    labelled = names is not None and not np.setdiff1d(given, list(names)).size
    every = np.unique(np.concatenate([given, np.array(list(names or ()), dtype=np.float64)]))
    if every.size <= MOST_LABELS:
        levels = [Level((names or {}).get(float(v), f"{v:.3g}"), float(v), float(v)) for v in every]
        return tuple(reversed(levels)), labelled
    facts = protocol_facts(meeting.protocol)
    inside = not facts.labels and every[0] >= facts.low and every[-1] <= facts.high
    low, high = facts.ends if inside else (float(every[0]), float(every[-1]))
    edges = np.linspace(low, high, _BANDS + 1)
    tops = [*np.nextafter(edges[1:-1], -np.inf).tolist(), high]
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), tops, strict=True)
    bands = [Level(f"{start:.3g}-{stop:.3g}", start, float(top)) for start, stop, top in ends]
    return tuple(reversed(bands)), False


# ---- the ceiling -----------------------------------------------------------------------------------------------------

_RULES: tuple[Rule, ...] = ("strict", "conservative", "majority", "median")


class Ceiling(NamedTuple):
    """The people behind one reference, by statistic: their agreement with each other, and of each with the consensus of the
    others. `undecided`: the judge's cases on which they differ and have no consensus."""

    people: Mapping[str, Estimate] = {}
    others: Mapping[str, Estimate] = {}
    undecided: int = 0


@dataclass(frozen=True)
class People:
    """The people of a project, as they stand behind the references of a report."""

    met: Met
    by_system: bool = False

    @cached_property
    def questions(self) -> dict[tuple[str, str], list[Question]]:
        """(protocol, aspect) -> the questions of people that a machine answered, too; empty with fewer than two people."""
        raters = self.met.ratings.raters
        beside = {meeting[2:] for meeting in self.met.meetings if has_ceiling(meeting, raters)}
        if not beside or len(self.names) < 2:
            return {}
        found = meetings(self.met.questions, raters, replace(self.met.selection, raters=tuple(self.names)))
        alike = grouped((meeting[2:], q) for meeting in found if meeting[2:] in beside for q in meeting[:2])
        return {where: sorted({*asked}) for where, asked in alike.items()}

    @cached_property
    def names(self) -> list[str]:
        return [name for name, rater in self.met.ratings.raters.items() if rater.kind in FIRST_HAND]

    @cached_property
    def ratings(self) -> Ratings:
        asked = (question for alike in self.questions.values() for question in alike)
        return verdicts_of(self.met.project, asked, self.met.selection)

    def behind(self, reference: Rater) -> tuple[list[str], str, int | None]:
        """The raters behind a reference (for a person: the other people, of the named ones if there are two), the rule of a
        consensus, and its quorum."""
        if reference.kind in FIRST_HAND:
            chosen = [name for name in self.names if name in self.met.selection.raters]
            beside = chosen if len(chosen) > 1 else self.names
            return [name for name in beside if name != reference.name], "", None
        if reference.kind != "consensus":
            return [], "", None
        recipe = json.loads(rater_row(self.met.project.db, self.met.project.id, reference.name)["recipe"])
        members = [name for name in recipe.get("raters", self.names) if name in self.names]
        return members, str(recipe.get("rule", "")), recipe.get("quorum")

    def ceiling(
        self, meeting: Meeting, pairs: Pairs, labels: Sequence[float] | None, stats: Sequence[str], level: str
    ) -> Ceiling:
        """The ceiling of one comparison on its `pairs`; empty between people, where there are fewer than two, and for
        statistics in which one side is the reference."""
        raters = self.met.ratings.raters
        wanted = tuple(stat for stat in stats if STATISTICS[stat].symmetric)
        if not wanted or level == "system" or not has_ceiling(meeting, raters):
            return Ceiling()
        names, rule_name, quorum = self.behind(raters[meeting.b.rater])
        members = [q for q in self.questions.get((meeting.protocol, meeting.aspect), []) if q.rater in names]
        table = np.full((len(members), pairs.cases.ids.size), np.nan)
        for at, question in enumerate(members):
            table[at, self.ratings.verdicts[question].row] = self.ratings.verdicts[question].value
        seen = table[:, pairs.row] * pairs.seen.turn + 0.0
        if raters[meeting.b.rater].kind in FIRST_HAND:
            return Ceiling(_weighted(pairs, [(row, pairs.y) for row in seen], labels, wanted, level))
        rest = []
        rule = next((rule for rule in _RULES if rule == rule_name), None)
        if rule is not None and len(members) > 2:
            least = min(len(members) - 1, quorum or len(members) - 1)
            for at, row in enumerate(seen):
                rest.append((row, joint(rule, np.delete(seen, at, axis=0), least).values))
        among = _weighted(pairs, list(combinations(seen, 2)), labels, wanted, level)
        undecided = 0
        if members and not self.by_system:
            differ = np.fmin.reduce(table) < np.fmax.reduce(table)
            both = (self.met.ratings.verdicts[question] for question in meeting[:2])
            judged, given = (verdicts.row[~np.isnan(verdicts.value)] for verdicts in both)
            undecided = int(np.setdiff1d(judged[differ[judged]], given).size)
        return Ceiling(among, _weighted(pairs, rest, labels, wanted, level), undecided)


def has_ceiling(meeting: Meeting, raters: Mapping[str, Rater]) -> bool:
    """Whether a machine is compared with a reference of people."""
    a, b = raters[meeting.a.rater], raters[meeting.b.rater]
    return a.kind in MACHINES and b.kind not in MACHINES and not b.of_metrics


def _weighted(
    pairs: Pairs, sides: Sequence[Sides], labels: Sequence[float] | None, stats: tuple[str, ...], level: str
) -> dict[str, Estimate]:
    """The mean of each statistic over two sides at a time, weighted by n; intervals over users. Of means over users or pairs
    the ends are weighted in the same way, which is wider than needed."""
    figures: dict[str, list[tuple[Estimate, RatedPair]]] = {}
    groups = pairs.groups(level)
    for a, b in sides:
        kept = ~(np.isnan(a) | np.isnan(b))
        rated = RatedPair(a[kept], b[kept], pairs.user[kept])
        own = None if groups is None else groups[kept]
        for stat, estimate in estimates(*rated, labels, stats, pairs.seen, own).items():
            if estimate.value is not None:
                figures.setdefault(stat, []).append((estimate, rated))
    out = {}
    for stat, found in figures.items():
        known = [estimate for estimate, _ in found]
        n = [estimate.n for estimate in known]
        ends = [[estimate.value, estimate.ci_low, estimate.ci_high] for estimate in known]
        value, low, high = (
            None if None in column else float(np.average(np.array(column, dtype=np.float64), weights=n))
            for column in zip(*ends, strict=True)
        )
        note = join_notes(*(estimate.note for estimate in known if estimate.ci_low is None))
        if groups is None:
            seen, every = pairs.seen, [rated for _, rated in found]
            end = pairs_interval(every, seen.labels(labels), stat, mirrored=seen.mirrored)
            low, high, note = end.low, end.high, end.note
        out[stat] = Estimate(value, low, high, sum(n), note=note)
    return out
