"""Offline metrics of each system's lists against held-out events, and each two systems compared by them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import check_known
from recjudge_tui.project import Project
from recjudge_tui.reports import means as tables
from recjudge_tui.reports.common.rows import seen_first, whole
from recjudge_tui.reports.common.table import Column, Note, Row, Table, columns, definition, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.words import figure_text, listed, p_text
from recjudge_tui.shapes import Base, grouped
from recjudge_tui.stats import retrieval
from recjudge_tui.stats.arrays import FloatArray, IntArray, none_if_nan
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.hypotheses import mean_tests
from recjudge_tui.stats.intervals import mean_estimates
from recjudge_tui.stats.ranking import beside
from recjudge_tui.steps import Step
from recjudge_tui.store import histories
from recjudge_tui.store.cases import untimed_count, untimed_note
from recjudge_tui.store.data import check_judgeable, systems
from recjudge_tui.store.ratings import CaseColumns, judged_content

COVERAGE = "coverage"
METRICS = (*(name for name in retrieval.LIST_METRICS if name not in retrieval.REDUNDANCY), COVERAGE)
# what people read first, the last ones only where there is room
MAIN = ("ndcg", "recall", "hit_rate", "auc", "ild", COVERAGE, "popularity")
_MOST_COLUMNS = 3
_COLUMNS = columns("system metric", "k|k|int", "value", "ci_*", "n|Lists|int", "users? note")
_PAIRS = columns("system opponent metric", "k|k|int", *tables.PAIR_COLUMNS)
_USUALLY_RELEVANT = (
    "judged above 0 (heldout_relevance, qrels), or with another value above 0 of at least the user's mean over all their"
    " valued events"
)
_ABOUT = definitions(f"""\
gains: ndcg 1 for a relevant item, unless chosen; ndcg_explicit the held-out value; ndcg_exp 2^value - 1; err\
 (2^value - 1) / 2^highest; an event without a value counts as value 1, one below 0 as 0
ndcg, ndcg_exp and ndcg_explicit discount by log2(rank + 1) and are divided by the best list of k; map is average\
 precision in the first k divided by all relevant items (trec_eval's map_cut), map_min by at most k of them; rprec is\
 the precision in as many items as are relevant; auc is over all scored candidates of the file
urd: entropy in bits of a list's categories; ild: mean Jaccard distance between the categories of two of its items
title_ild: ild of the words of titles; near_duplicates: share of items that have {retrieval.NEAR:.0%} of their words\
 and a category in common with an item above; category_coverage: share of the catalogue's categories that a list shows
a mean over lists; interval over users, each with all their lists (jackknife, Korn and Graubard at the ends)""")
ListsOfSystems = Mapping[str, Sequence[retrieval.RankedList]]


# ---- measuring -------------------------------------------------------------------------------------------------------


class SystemLists(NamedTuple):
    """One system's lists without their items: the user, the context and the first k items of each, and the value of each
    metric for each (NaN where undefined). Lists share the names of their items."""

    system: str
    users: Sequence[str]
    contexts: Sequence[str]
    shown: Sequence[tuple[str, ...]]
    values: Mapping[str, FloatArray]

    def mean(self, metric: str) -> float | None:
        known = self.values[metric][~np.isnan(self.values[metric])]
        return none_if_nan(float(known.mean())) if known.size else None

    def at(self, rows: Sequence[int], system: str) -> SystemLists:
        """These lists only, of a system."""
        users, contexts = ([column[row] for row in rows] for column in (self.users, self.contexts))
        shown = [self.shown[row] for row in rows]
        values = {name: of[list(rows)] for name, of in self.values.items()}
        return SystemLists(system, users, contexts, shown, values)


class Measured:
    """The lists of several systems, with the codes of their users and of their occasions (user and context)."""

    def __init__(self, lists: Sequence[SystemLists], data: retrieval.EvaluationData) -> None:
        self.systems, self.data = lists, data
        met: dict[tuple[str, str], int] = {}
        self.occasion: list[IntArray] = []
        for of in lists:
            places = (met.setdefault(at, len(met)) for at in zip(of.users, of.contexts, strict=True))
            self.occasion.append(np.array(list(places), dtype=np.int64))
        self.users = {user: at for at, user in enumerate(dict.fromkeys(user for user, _ in met))}
        self.owners = np.array([self.users[user] for user, _ in met], dtype=np.int64)
        self.user = [self.owners[occasion] for occasion in self.occasion]

    def pairs(self, metrics: Sequence[str], groups: int) -> list[tables.MeasuredPairs]:
        """For each metric of lists the test of every pair of systems, Holm-adjusted within the metric; two systems are
        compared on the occasions for which both have a list."""
        found, names = [], [of.system for of in self.systems]
        for metric in dict.fromkeys(name for name in metrics if name != COVERAGE):
            rows = [(at, of.values[metric]) for at, of in zip(self.occasion, self.systems, strict=True)]
            values, bounds = tables.occasions(rows, self.owners), retrieval.LIST_METRICS[metric].bounds
            tests = mean_tests(values, self.owners, bounds, groups)
            means = [of.mean(metric) for of in self.systems]
            found.append(tables.measured_pairs(metric, names, means, tests))
        return found


def measure(
    project: Project, metrics: Sequence[str], k: int = TOP_K, *, cases: CaseSelection = EVERY_CASE,
    lists: ListsOfSystems | None = None, relevant_from: float | None = None, gain: retrieval.Gain = "relevant",
) -> Measured:  # fmt: skip
    """The metrics of every list against the events held out for its occasion (docs/occasions.md); `lists` None: of the
    current lists of these cases. Raises UsageError for an unknown metric and NotFoundError for an unknown system."""
    check_known("metric", metrics, (*METRICS, *retrieval.REDUNDANCY))
    db, names = project.db, tuple(name for name in metrics if name != COVERAGE)
    rule = relevant_from, gain
    data = histories.load_evaluation_data(db, project.id, *rule)

    def values(system: str, ranked: Sequence[retrieval.RankedList]) -> SystemLists:
        items: dict[str, str] = {}
        shown = [tuple(items.setdefault(item, item) for item in one.items[:k]) for one in ranked]
        users, contexts = [one.user_id for one in ranked], [one.context for one in ranked]
        return SystemLists(system, users, contexts, shown, retrieval.list_values(ranked, data, k, names))

    def read(system: str) -> SystemLists:
        # the groups of one report use the same lists, which are read and measured once
        of_all = CaseSelection(cases.occasions, cases.segment if cases.imported else None)
        key = (measure, project.id, system, of_all, k, names, rule)
        return db.kept(key, lambda: values(system, histories.lists_of(db, project.id, system, of_all)))

    known = systems(db, project.id) if lists is None else list(lists)
    check_judgeable(db, project.id, cases.systems, known)
    chosen = [name for name in known if not cases.systems or name in cases.systems]
    found = [read(name) if lists is None else values(name, lists[name]) for name in chosen]
    if cases.segment is not None or cases.users is not None:
        held = (np.flatnonzero([*map(cases.holds, of.users, of.contexts)]).tolist() for of in found)
        found = [of.at(here, of.system) for of, here in zip(found, held, strict=True)]
    return Measured(found, data)


# ---- tables ----------------------------------------------------------------------------------------------------------


def metrics(project: Project, choose: Options) -> Table:
    """One row per system and metric: the mean over the lists for which it is defined, coverage over all lists; or, as
    `pairs`, one per metric and pair of systems, the one with the higher mean first, with the test of their difference."""
    names, k = choose.metrics or METRICS, choose.k
    rule = {"relevant_from": choose.relevant_from, "gain": choose.gain or "relevant"}
    measured = measure(project, names, k, cases=choose.cases, **rule)
    tested = measured.pairs(names, choose.cases.groups)
    answer = _answer(measured, tested, names, k)
    if choose.table == "pairs":
        cutoff = {pairs.name: None if pairs.name in retrieval.NO_CUTOFF else k for pairs in tested}
        rows = [{"metric": p.name, "k": cutoff[p.name]} | row for p in tested for row in tables.pair_rows(p)]
        notes = tables.pair_notes(tested) if rows else ["fewer than two systems have lists"]
        title = f"Pairs of systems by offline metrics at {k}"
        return seen_first(Table(title, _PAIRS, tuple(rows), tuple(notes), answer=answer), tables.BRIEF_PAIRS)
    rows = list(_rows(measured, k, names))
    title, notes = f"Offline metrics at {k}", [*_notes(project, measured, tested, choose)]
    brief = _brief(title, rows, choose.metrics or MAIN)
    return Table(title, _COLUMNS, tuple(rows), tuple(notes), answer=answer, brief=brief)


def _rows(measured: Measured, k: int, metrics: Sequence[str]) -> Iterator[Row]:
    cells = [(at, name) for at in range(len(measured.systems)) for name in metrics if name != COVERAGE]
    columns = [measured.systems[at].values[name] for at, name in cells]
    known = [~np.isnan(column) for column in columns]
    values = [column[kept] for column, kept in zip(columns, known, strict=True)]
    owners = [measured.user[at][kept] for (at, _), kept in zip(cells, known, strict=True)]
    bounds = [retrieval.LIST_METRICS[name].bounds for _, name in cells]
    means = dict(zip(cells, mean_estimates(values, owners, bounds), strict=True))
    for at, system in enumerate(measured.systems):
        lists = len(system.users)
        for name in metrics:
            found = means.get((at, name)) or _coverage(system, measured, k)
            if name != COVERAGE and found.n < lists:
                reason = retrieval.LIST_METRICS[name].reason
                left_out = join_notes(found.note, f"{lists - found.n} of {lists} lists left out: {reason}")
                none = undefined(f"for {quantity(lists, 'list')} of {lists:,}: {reason}")
                found = replace(found, note=left_out) if found.n else none
            found = found if lists else undefined("no list")
            cutoff = None if name in retrieval.NO_CUTOFF else k
            row = {"system": system.system, "metric": name, "k": cutoff, **found.cells}
            yield row | {"users": found.groups or 0}


def _coverage(system: SystemLists, measured: Measured, k: int) -> Estimate:
    covered = retrieval.coverage(system.shown, measured.data.categories, k)
    if covered is None:
        return undefined("no items were imported, so the catalogue is unknown")
    note = "no interval: coverage always falls when users are left out"
    return Estimate(covered, None, None, len(system.users), len(set(system.users)), note=note)


def _notes(
    project: Project, measured: Measured, tested: Sequence[tables.MeasuredPairs], choose: Options
) -> Iterator[str]:
    if not measured.systems:
        yield Note("no lists yet", step=Step("import lists"))
        return
    if not measured.data.truths:
        nothing = "nothing is held out: no event has a type that begins with heldout_"
        yield Note(nothing, step=Step("import events"))
    yield from histories.held_out_copies(project.db, project.id).sentences
    if replace(choose.cases, systems=()) == EVERY_CASE:
        yield from filter(None, (_without_list(measured, at) for at in range(len(measured.systems))))
    elif untimed := untimed_count(project.db, project.id, "lists", choose.cases):
        yield untimed_note(untimed, "lists")
    yield from tables.pair_notes(sorted(tested, key=lambda pairs: pairs.name not in MAIN))
    least = choose.relevant_from
    value = _USUALLY_RELEVANT if least is None else f"with a value of at least {least:g}"
    held_out = "an item held out for the user without a value (a purchase, a click)"
    yield definition(f"relevant: {held_out}, {value}")
    yield from _ABOUT


def _without_list(measured: Measured, at: int) -> str:
    """How many users have held-out events but no list of a system, and how many contexts of the other users."""
    users, truths, system = measured.users, measured.data.truths, measured.systems[at]
    mine, met = set(measured.user[at].tolist()), set(zip(system.users, system.contexts, strict=True))
    missing = sum(users.get(user) not in mine for user in {user for user, _, _ in truths})
    at_contexts = [(user, context) for user, context, time in truths if context and time == ""]
    others = [key for key in at_contexts if users.get(key[0]) in mine]
    contexts = sum(not {key, (key[0], "")} & met for key in others)
    counted = ((missing, "user", ""), (contexts, "context of other users", "contexts of other users"))
    lacking = " and ".join(quantity(*entry) for entry in counted if entry[0])
    verbs = "has no list and is" if missing + contexts == 1 else "have no list and are"
    return f"{system.system}: {lacking} with held-out events {verbs} not counted" if lacking else ""


def _answer(
    measured: Measured, tested: Sequence[tables.MeasuredPairs], metrics: Sequence[str], k: int
) -> str:
    """Which system is first and which last by the first metric that is defined, and whether the first two differ."""
    first = [name for name in MAIN if name in metrics] or list(metrics)
    ranked = {pairs.name: pairs for pairs in tested if pairs.order}
    pairs = next((ranked[name] for name in first if name in ranked), None)
    if pairs is None:
        return ""
    values = [figure_text({"value": of.mean(pairs.name)}, "value", 3) for of in measured.systems]
    texts = {at: f"{pairs.systems[at]} ({values[at]})" for at in pairs.order}
    name = pairs.name if pairs.name in retrieval.NO_CUTOFF else f"{pairs.name}@{k}"
    if len(pairs.order) == 1:
        return f"{name} of {texts[pairs.order[0]]}."

    def against(upper: int, lower: int) -> str:
        test = pairs.tests[min(upper, lower), max(upper, lower)]
        if test.p_holm is None:
            return f"not comparable with {texts[lower]}"
        said = "above" if test.ahead(upper) > 0 else "below, by common users,"
        return f"{said if test.separable else 'not separable from'} {texts[lower]}, {p_text(test.p_holm)}"

    best, *others = pairs.by_place
    last = listed([texts[at] for at in others[-1]]) if len(others) > 1 else ""
    end = f"; {last} {'is' if len(others[-1]) == 1 else 'are'} last." if last else "."
    if len(best) == 1:
        all_next = ", ".join(against(best[0], lower) for lower in others[0])
        return f"{texts[best[0]]} has the highest {name}, {all_next}{end}"
    said = [f"{listed([texts[at] for at in best])} share the highest {name}"]
    said += [f"{pairs.systems[at]} is {against(at, lower)}" for at, lower in beside(pairs.by_place[:2])]
    return f"{'; '.join(said)}{end}"


def _brief(title: str, rows: Sequence[Row], metrics: Collection[str]) -> Table:
    """One row a system, with a column for each of these metrics that is defined."""
    lines: dict[object, Row] = {}
    for row in rows:
        line = lines.setdefault(row["system"], {"system": row["system"], "n": 0})
        line["n"] = max(whole(line, "n"), whole(row, "n"))
        value = row["value"]
        if row["metric"] in metrics and isinstance(value, float):
            line[str(row["metric"])] = figure_text(row, "value", 3 if abs(value) < 10 else 1)
    names = [name for name in metrics if any(name in line for line in lines.values())]
    cells = [Column(name, name, minor=at >= _MOST_COLUMNS) for at, name in enumerate(names)]
    return Table(title, columns("system", *cells, Column("n", "lists", "int")), tuple(lines.values()))


# ---- the lists of verdicts -------------------------------------------------------------------------------------------


class JudgedLists:
    """The lists of a project's cases, and the offline metrics of the lists of some cases."""

    def __init__(self, project: Project, cases: CaseColumns) -> None:
        self._project, self._cases = project, cases
        self._content = judged_content(project.db, project.id, cases.ids)

    @classmethod
    def where_held_out(cls, chosen: Base) -> JudgedLists | None:
        """The lists of a base's cases; None where no event is held out, so that no metric is defined."""
        held_out = histories.has_held_out(chosen.project.db, chosen.project.id)
        return cls(chosen.project, chosen.ratings.cases) if held_out else None

    @cached_property
    def _current(self) -> dict[str, tuple[int, ...]]:
        return histories.current_list_ids(self._project.db, self._project.id)

    def of_cases(self, rows: IntArray) -> dict[str, tuple[int, ...]]:
        """System -> the ids of its lists in these cases."""
        cases, content, names = self._cases, self._content, self._cases.systems
        system = np.concatenate([cases.system_a[rows], cases.system_b[rows]])
        slate = np.concatenate([content.slate_a[rows], content.slate_b[rows]])
        met = np.unique(np.stack([system, slate])[:, slate > 0], axis=1).T.tolist()
        by_system = grouped((names[code], at) for code, at in met)
        return {name: tuple(by_system[name]) for name in sorted(by_system)}

    def lists(self, rows: IntArray, metrics: Sequence[str], k: int = TOP_K) -> list[SystemLists]:
        """The values of these metrics for each list of these cases, system by system."""

        def read() -> tuple[dict[int, int], SystemLists]:
            ids = np.unique(np.concatenate([self._content.slate_a, self._content.slate_b]))
            ranked = dict(histories.ranked_slates(self._project.db, self._project.id, ids[ids > 0].tolist()))
            (every,) = measure(self._project, metrics, k, lists={"": list(ranked.values())}).systems
            return {slate: at for at, slate in enumerate(ranked)}, every

        # the lists of all cases are read and measured once for the boards of a report
        key = (JudgedLists, self._project.id, tuple(metrics), k)
        places, every = self._project.db.kept(key, read)
        wanted = self.of_cases(rows).items()
        return [every.at([places[at] for at in ids if at in places], system) for system, ids in wanted]

    def values(self, rows: IntArray, metric: str, k: int = TOP_K) -> dict[str, float | None]:
        """System -> the mean of a metric over the lists of these cases."""
        if metric == COVERAGE:
            catalogue = histories.load_evaluation_data(self._project.db, self._project.id).categories
            shown = {of.system: of.shown for of in self.lists(rows, (), k)}
            return {name: retrieval.coverage(lists, catalogue, k) for name, lists in shown.items()}
        return {of.system: of.mean(metric) for of in self.lists(rows, (metric,), k)}

    def not_judged(self, rows: IntArray) -> int:
        """How many current lists of the systems in these cases are in none of the cases."""
        judged = self.of_cases(rows)
        return sum(len({*self._current.get(system, ())} - {*ids}) for system, ids in judged.items())
