"""A judge's ranking beside other measures of the same systems: Q against offline metrics, and absolute scores, Q and AUC."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.selection import Selection
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.table import Column, Note, Row, Table, columns, definition
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.metrics import JudgedLists
from recjudge_tui.reports.words import about_base, no_pairs, no_verdicts, origin_notes, rater_notes
from recjudge_tui.shapes import Base, base, battles, generation_notes
from recjudge_tui.stats.agreement import FEWEST, association, min_max, orders_agree
from recjudge_tui.stats.arrays import none_if_nan
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.stats.ranking import q_of
from recjudge_tui.store.ratings import (
    CaseColumns,
    Question,
    Verdicts,
    in_generation,
    newest_judged,
    of_selection,
)
from recjudge_tui.store.runs import newest_judges

METRICS = ("auc", "ndcg", "ndcg_explicit", "urd")
# the metric that measures the quality an aspect asks about (RecSys Arena)
NATURAL = {"inspiration": "urd", "satisfaction": "ndcg_explicit"}
Values = Mapping[str, float | None]

_CORRELATIONS = columns(
    "rater aspect metric", Column("k", "k", "int"), Column("pearson", "Pearson", "float", decimals=4), *interval_columns(),
    "p", Column("p_holm", "p (Holm)", "float", decimals=4, minor=True), Column("n", "Systems", "int"),
    Column("same_order", "Same order"), Column("natural", "Natural"), "note",
)  # fmt: skip
_ABOUT_CORRELATIONS = (
    (
        "the metrics are those of the lists that the rater judged; same order: Q and the metric rank the systems alike;"
        " natural: the metric measures what the aspect asks (inspiration: urd, satisfaction: ndcg_explicit)"
    ),
    (
        "Pearson's r of Q and the metric over the systems that have both; p: two-sided permutation test over systems, which"
        " cannot be below .05 with three, Holm's correction over the metrics of one rater and aspect; interval by Fisher's z"
        " from four systems on"
    ),
)


def q_metrics(project: Project, choose: Options) -> Table:
    """One row per rater, aspect and metric of METRICS. Raters that are metrics appear only if named."""
    chosen = base(project, choose.selection())
    questions = [q for q in chosen.questions if chosen.selection.raters or not chosen.rater(q).of_metrics]
    judged, k = JudgedLists(project, chosen.ratings.cases), choose.k or TOP_K
    rows: list[Row] = []
    notes: list[Note] = []
    for question in questions:
        at = chosen.ratings.verdicts[question].row
        measured = {metric: judged.values(at, metric, k) for metric in METRICS}
        q = {system: of.value for system, of in _counted_q(chosen, question).items()}
        rows += correlation_rows(question, q, measured, k, chosen.selection.groups)
        if not any(measured.values()):
            nothing = "no list behind its verdicts is stored, so there is nothing to measure"
            notes.append(Note(f"{question.rater}, {question.aspect}: {nothing}"))
        if left_out := judged.not_judged(at):
            lists = f"{left_out:,} current lists that it has not judged are not measured"
            notes.append(Note(f"{question.rater}: {lists}"))
    notes = [*dict.fromkeys(notes)] if rows else [Note(no_pairs(chosen))]
    notes += _below(chosen, _ABOUT_CORRELATIONS)
    return Table(f"Q against metrics: {choose.protocol}", _CORRELATIONS, tuple(rows), tuple(notes), {"k": k})


def correlation_rows(
    question: Question, q: Values, measured: Mapping[str, Values], k: int, groups: int = 1
) -> list[Row]:
    """The correlation of Q (by system) with each metric of METRICS (metric -> system -> value)."""
    systems = sorted(q)
    figures = [q[system] for system in systems]
    rows: list[Row] = []
    found: list[float | None] = []
    for metric in METRICS:
        values = [measured.get(metric, {}).get(system) for system in systems]
        correlation = association(figures, values)
        no_q = [system for system in systems if q[system] is None]
        no_metric = [system for system, value in zip(systems, values, strict=True) if value is None]
        lacks = f"no metric: {', '.join(no_metric)}" if no_metric else ""
        left_out = (
            f"no finite Q: {', '.join(no_q)}" if no_q else "",
            "no metric" if no_metric == systems else lacks,
        )
        found.append(correlation.p)
        rows.append({
            "rater": question.rater, "aspect": question.aspect, "metric": metric, "k": None if metric == "auc" else k,
            "pearson": correlation.value, **interval_cells(correlation), "p": correlation.p, "n": correlation.n,
            "same_order": orders_agree(figures, values), "natural": NATURAL.get(question.aspect) == metric,
            "note": join_notes(correlation.note, *left_out),
        })  # fmt: skip
    return [row | {"p_holm": p} for row, p in zip(rows, holm(found, groups), strict=True)]


def _below(chosen: Base, about: Sequence[str]) -> list[Note]:
    return [*about_base(chosen), *rater_notes(chosen), *origin_notes(chosen), *map(definition, about)]


# ---- absolute scores, Q and AUC --------------------------------------------------------------------------------------

_SIDES = ("absolute", "q", "auc")
_SIDE_BY_SIDE = columns(
    "system rater aspect", Column("absolute", "Absolute", "float"), Column("absolute_rater", "Absolute by", minor=True),
    Column("q", "Q", "float"), Column("auc", "AUC", "float", decimals=4),
    Column("absolute_scaled", "Absolute 0-1", "float"), Column("q_scaled", "Q 0-1", "float"),
    Column("auc_scaled", "AUC 0-1", "float"), Column("n_absolute", "n absolute", "int", minor=True),
    Column("n_q", "n pairs", "int", minor=True), Column("n_auc", "n users", "int", minor=True), "note",
)  # fmt: skip
_ABOUT_SIDES = (
    (
        "absolute: mean score of the system's lists, each judged alone by the same rater or judge, overall; Q over all"
        " opponents; AUC over all scored candidates of these lists"
    ),
    (
        "0-1: (figure - lowest) / (highest - lowest) over the systems of one rater and aspect, from three systems on; this"
        " normalisation is our choice"
    ),
)


class _Figure(NamedTuple):
    value: float | None
    n: int


_Figures = Mapping[str, _Figure]


def side_by_side(project: Project, choose: Options) -> Table:
    """One row per rater, aspect and system that the rater judged alone or in pairs."""
    chosen = base(project, choose.selection())
    alone = base(project, Selection("absolute", OVERALL, readers=True, cases=choose.cases), newest=False)
    cases = alone.ratings.cases
    absolute = {q.rater: of_selection(cases, v) for q, v in alone.ratings.verdicts.items()}
    pairs: dict[tuple[str, str], Question] = {}
    for question in chosen.questions:
        # people may have answered under both protocols of pairs: the requested one takes precedence
        if (question.rater, question.aspect) not in pairs or question.protocol == choose.protocol:
            pairs[question.rater, question.aspect] = question
    scored_by = _same_judge(
        newest_judges(project.db, project.id), {rater for rater, _ in pairs}, list(absolute)
    )
    named = chosen.selection.raters
    alone_too = [
        rater for rater in absolute if rater not in scored_by.values() and (not named or rater in named)
    ]
    judged = JudgedLists(project, cases)
    rows: list[Row] = []
    notes: list[Note] = []
    for rater, aspect in [*pairs, *((rater, OVERALL) for rater in alone_too)]:
        if not named and chosen.ratings.raters[rater].of_metrics:
            continue
        scorer, asked = scored_by.get(rater, rater), pairs.get((rater, aspect))
        in_pairs = None if asked is None else chosen.ratings.verdicts[asked]
        scored, left_out = _of_one_generation(cases, absolute.get(scorer), in_pairs)
        notes += [Note(f"{scorer}, alone: {note}") for note in generation_notes(*left_out)]
        met = np.concatenate([side.row for side in (scored, in_pairs) if side is not None])
        auc = {
            of.system: _Figure(of.mean("auc"), int((~np.isnan(of.values["auc"])).sum()))
            for of in judged.lists(met, ("auc",))
        }
        q: _Figures = {} if asked is None else _counted_q(chosen, asked)
        found = _rows(rater, aspect, {} if scored is None else _means(cases, scored), q, auc)
        rows += [row | {"absolute_rater": scorer if row["n_absolute"] else None} for row in found]
    notes = [*dict.fromkeys(notes)] if rows else [Note(f"{no_verdicts(chosen)}, in pairs or alone")]
    notes += _below(chosen, _ABOUT_SIDES)
    return Table(f"Side by side: absolute, {choose.protocol}, AUC", _SIDE_BY_SIDE, tuple(rows), tuple(notes))


def _of_one_generation(
    cases: CaseColumns, alone: Verdicts | None, pairs: Verdicts | None
) -> tuple[Verdicts | None, tuple[int, int]]:
    """The verdicts on lists alone that are about the generation of the pairs, and how many are about earlier and about later
    lists."""
    if alone is None or cases.lifetimes is None:
        return alone, (0, 0)
    generation = newest_judged(cases.lifetimes, (alone if pairs is None else pairs).row)
    here = in_generation(cases.lifetimes, alone.row, generation)
    later = int((cases.lifetimes.since[alone.row] > generation).sum())
    return alone.among(here), (int((~here).sum()) - later, later)


def _means(cases: CaseColumns, verdicts: Verdicts) -> _Figures:
    """System -> mean over the verdicts that did not fail."""
    kept = ~np.isnan(verdicts.value)
    place, value = cases.system_a[verdicts.row[kept]], verdicts.value[kept]
    by_system = {system: value[place == system] for system in np.unique(place).tolist()}
    return {cases.systems[at]: _Figure(float(mine.mean()), mine.size) for at, mine in by_system.items()}


def _same_judge(
    judges: Mapping[str, str], pairing: Collection[str], scoring: Sequence[str]
) -> dict[str, str]:
    """Rater of pairs -> rater of single lists: the one of the same name, else the newest whose runs used the same judge."""
    by_judge = {judges[name]: name for name in judges if name in scoring}
    scorers = {name: name if name in scoring else by_judge.get(judges.get(name, ""), "") for name in pairing}
    return {name: other for name, other in scorers.items() if other}


def _counted_q(chosen: Base, question: Question) -> _Figures:
    """System -> Q over all opponents, with its n."""
    contests = battles(chosen.ratings, question)
    tallies = contests.counts.total.tallies()
    return {
        name: _Figure(none_if_nan(float(q)), int(counts.sum()))
        for name, q, counts in zip(contests.systems, q_of(tallies), tallies, strict=True)
    }


def _rows(rater: str, aspect: str, absolute: _Figures, q: _Figures, auc: _Figures) -> list[Row]:
    systems = sorted({*absolute, *q})
    sides = dict(zip(_SIDES, (absolute, q, auc), strict=True))
    by_side = {
        name: [side.get(system, _Figure(None, 0)) for system in systems] for name, side in sides.items()
    }
    scaled = {name: min_max([figure.value for figure in figures]) for name, figures in by_side.items()}
    rows: list[Row] = []
    for at, system in enumerate(systems):
        row: Row = {"system": system, "rater": rater, "aspect": aspect}
        for name in _SIDES:
            figure = by_side[name][at]
            row |= {name: figure.value, f"n_{name}": figure.n, f"{name}_scaled": scaled[name][at]}
        rows.append(row | {"note": _why(row)})
    return rows


def _why(row: Row) -> str:
    """The reasons why figures of the row are missing."""
    scaled = any(row[name] is not None and row[f"{name}_scaled"] is None for name in _SIDES)
    return join_notes(
        "no absolute scores by this rater" if row["absolute"] is None else "",
        "" if row["q"] is not None else "Q is not finite" if row["n_q"] else "no pairs judged by this rater",
        "no AUC" if row["auc"] is None else "",
        f"on one scale only if at least {FEWEST} systems have the figure, not all equal" if scaled else "",
    )
