"""Absolute scores, Q by pairs and AUC of every system side by side, on one scale if there are at least three systems."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.reports.common.comparison import generation_notes
from recjudge_tui.reports.common.missing_notes import earlier_notes, no_verdicts
from recjudge_tui.reports.common.scales import is_metric, origin_notes, rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.battles import battles
from recjudge_tui.reports.leaderboard.judged_lists import JudgedLists
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, board_ratings, ranked_questions
from recjudge_tui.reports.leaderboard.scores import q_of
from recjudge_tui.stats.agreement import FEWEST, min_max
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.judges import newest_judges
from recjudge_tui.store.verdicts.generations import in_generation, newest_judged
from recjudge_tui.store.verdicts.ratings import (
    CaseColumns,
    Question,
    Ratings,
    Verdicts,
    load_ratings,
    of_selection,
)

_SIDES = ("absolute", "q", "auc")
_COLUMNS = (
    Column("system", "System"),
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    Column("absolute", "Absolute", "float"),
    Column("absolute_rater", "Absolute by", minor=True),
    Column("q", "Q", "float"),
    Column("auc", "AUC", "float", decimals=4),
    Column("absolute_scaled", "Absolute 0-1", "float"),
    Column("q_scaled", "Q 0-1", "float"),
    Column("auc_scaled", "AUC 0-1", "float"),
    Column("n_absolute", "n absolute", "int", minor=True),
    Column("n_q", "n pairs", "int", minor=True),
    Column("n_auc", "n users", "int", minor=True),
    Column("note", "Note"),
)
_NOTES = (
    (
        "absolute: mean score of the system's lists, each judged alone by the same rater or judge, overall;"
        " Q over all opponents;"
        " AUC over all scored candidates of these lists"
    ),
    (
        "0-1: (figure - lowest) / (highest - lowest) over the systems of one rater and aspect, from three systems on; this"
        " normalisation is our choice"
    ),
)
_TOO_FEW = f"on one scale only if at least {FEWEST} systems have the figure, not all equal"


class _Figure(NamedTuple):
    value: float | None
    n: int


_NOTHING = _Figure(None, 0)
_Figures = Mapping[str, _Figure]


def side_by_side_table(db: Database, project_id: int, options: LeaderboardOptions, _: int = 0) -> Table:
    """One row per rater, aspect and system that the rater judged alone or in pairs. Raises whatever `board_ratings`
    raises."""
    ratings = board_ratings(db, project_id, options)
    alone = load_ratings(
        db, project_id, protocols=["absolute"], aspect=OVERALL, newest=False, chosen=options.selection
    )
    absolute = {
        question.rater: of_selection(alone.cases, verdicts) for question, verdicts in alone.verdicts.items()
    }
    pairs = _by_pairs(ratings, options)
    scored_by = _same_judge(newest_judges(db, project_id), {rater for rater, _ in pairs}, list(absolute))
    alone_only = [
        (rater, OVERALL)
        for rater in absolute
        if rater not in scored_by.values() and (not options.raters or rater in options.raters)
    ]
    judged = JudgedLists(db, project_id, alone.cases)
    rows: list[Row] = []
    lone_notes: list[str] = []
    for rater, aspect in [*pairs, *alone_only]:
        if not options.raters and is_metric(ratings.raters[rater]):
            continue
        scorer, question = scored_by.get(rater, rater), pairs.get((rater, aspect))
        in_pairs = None if question is None else ratings.verdicts[question]
        scored, left_out = _of_one_generation(alone.cases, absolute.get(scorer), in_pairs)
        lone_notes += [f"{scorer}, alone: {note}" for note in generation_notes(*left_out)]
        met = [paired.row for paired in (scored, in_pairs) if paired is not None]
        auc = {
            str(row["system"]): _Figure(_number(row["value"]), int(str(row["n"])))
            for row in judged.metrics(np.concatenate(met), 10, ("auc",)).rows
        }
        q = {} if question is None else _q(ratings, question)
        paired = _rows(rater, aspect, {} if scored is None else _means(alone.cases, scored), q, auc)
        rows += [row | {"absolute_rater": scorer if row["n_absolute"] else None} for row in paired]
    notes = list(_NOTES) if rows else [f"{no_verdicts(ratings)}, in pairs or alone"]
    notes += earlier_notes(ratings, ratings.verdicts)
    notes += dict.fromkeys(lone_notes)
    notes += rater_notes(ratings.raters[rater] for rater in dict.fromkeys(str(row["rater"]) for row in rows))
    notes += origin_notes(db, project_id, ratings.verdicts)
    settings = {"protocol": options.protocol}
    return Table(
        f"Side by side: absolute, {options.protocol}, AUC", _COLUMNS, tuple(rows), tuple(notes), settings
    )


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
    return {
        cases.systems[system]: _Figure(float(value[place == system].mean()), int((place == system).sum()))
        for system in np.unique(place).tolist()
    }


def _same_judge(
    judges: Mapping[str, str], pairing: Collection[str], scoring: Collection[str]
) -> dict[str, str]:
    """Rater of pairs -> rater of single lists: the one with the same name, else the newest whose runs used the same
    judge."""
    by_judge = {judges[name]: name for name in judges if name in scoring}
    scorers = {name: name if name in scoring else by_judge.get(judges.get(name, ""), "") for name in pairing}
    return {name: other for name, other in scorers.items() if other}


def _by_pairs(ratings: Ratings, options: LeaderboardOptions) -> dict[tuple[str, str], Question]:
    """(rater, aspect) -> the question about pairs."""
    out: dict[tuple[str, str], Question] = {}
    for question in ranked_questions(ratings, options.protocol):
        # people may have answered under both protocols of pairs: the requested one takes precedence
        if (question.rater, question.aspect) in out and question.protocol != options.protocol:
            continue
        out[question.rater, question.aspect] = question
    return out


def _q(ratings: Ratings, question: Question) -> _Figures:
    """System -> Q over all opponents."""
    contests = battles(ratings, question, 0)
    tallies = contests.counts.total.tallies()
    return {
        name: _Figure(None if np.isnan(q) else float(q), int(counts.sum()))
        for name, q, counts in zip(contests.systems, q_of(tallies), tallies, strict=True)
    }


def _rows(rater: str, aspect: str, absolute: _Figures, q: _Figures, auc: _Figures) -> list[Row]:
    systems = sorted({*absolute, *q})
    sides = dict(zip(_SIDES, (absolute, q, auc), strict=True))
    by_side = {name: [side.get(system, _NOTHING) for system in systems] for name, side in sides.items()}
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
    reasons = []
    if row["absolute"] is None:
        reasons.append("no absolute scores by this rater")
    if row["q"] is None:
        reasons.append("Q is not finite" if row["n_q"] else "no pairs judged by this rater")
    if row["auc"] is None:
        reasons.append("no AUC")
    if any(row[name] is not None and row[f"{name}_scaled"] is None for name in _SIDES):
        reasons.append(_TOO_FEW)
    return join_notes(*reasons)


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None
