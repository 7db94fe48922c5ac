"""Estimates people's verdicts on every system, from their few labels and a judge's many verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import categories, combined_notes, is_metric, label_names
from recjudge_tui.reports.common.table import Column, Kind, Row, Table
from recjudge_tui.reports.rater_pairs import judge_and_truth, label_sets
from recjudge_tui.shapes import Meeting, Side, pairs, protocols_meeting
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.stats.intervals import Bounds
from recjudge_tui.stats.planning import SHARE, PredictionPoweredMean, prediction_powered_mean
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import CaseColumns, Ratings

MEASURES = ("win_rate", "share", "mean")
_OUTCOMES = {1.0: "win", 0.0: "tie", -1.0: "loss"}


def _columns(measure: str) -> tuple[Column, ...]:
    kind: Kind = "float" if measure == "mean" else "share"
    ends: Kind = "ci" if measure == "mean" else "share"
    return (
        # columns that may differ between rows come first; on a narrow screen the system is the heading of its rows
        Column("label", "Share of"),
        Column("source", "From"),
        Column("system", "System"),
        Column("opponent", "Against"),
        Column("aspect", "Aspect"),
        Column("measure", "Measure"),
        Column("value", "Estimate", kind),
        *interval_columns(ends),
        Column("n_labelled", "Labelled", "int"),
        Column("n_judged", "Judged", "int"),
        Column("n_effective", "Worth", "float", minor=True, decimals=1),
        Column("saved", "Saved", "int"),
        Column("power", "λ", "float", minor=True, decimals=2),
        Column("note", "Note"),
    )


@dataclass(frozen=True)
class EstimateOptions:
    """The judge whose verdicts supplement the labels, and the labels. `measure` empty: win_rate for pairs of lists,
    share for match labels and categories, mean for scores.

    `labelled_users`: use the labels of this number of users, drawn at random, and hide the rest.
    """

    rater: str
    truth: str
    protocol: str
    aspect: str | None = None
    system: str | None = None
    measure: str = ""
    labelled_users: int | None = None
    seed: int = 0


class Balance(NamedTuple):
    """p of the judge's mean being the same on labelled cases and on others, None if it is not tested, and its rows."""

    where: str
    p: float | None


@dataclass(frozen=True)
class _Part:
    """The cases of one system (against one other, or all): rows of both raters as seen from it."""

    system: str
    opponent: str | None
    human: FloatArray
    hidden: FloatArray
    judge: FloatArray
    user: IntArray


def human_estimates_table(db: Database, project_id: int, options: EstimateOptions) -> Table:
    """Rows `people` (labels alone), `judge` (its verdicts alone) and `both` (PPI++) for every system and measure.

    Pairs of lists: one set of rows per pair of systems, seen from the first (from `system`, if one is named), and with
    more than two systems one for each against all. With `labelled_users` a fourth row, `all labels`, has the estimate
    from all labels. `n_effective` is the number of labels that the estimate from both is worth, `saved` its excess
    over the labels used. Raises UsageError for an unknown protocol, aspect, measure or system, or raters without a
    common question; NotFoundError for an unknown rater.
    """
    protocols_meeting(options.protocol)
    asked = Selection(options.protocol, options.aspect, (options.rater,))
    met = judge_and_truth(Project.numbered(db, project_id), asked, options.truth)
    meetings, ratings, scales = met.meetings, met.ratings, label_sets(met)
    unordered = categories(db, project_id)
    without = [pair.aspect for pair in meetings if (pair.protocol, pair.aspect) in unordered]
    measure = _measure(options, scales[meetings[0]], without if len(without) == len(meetings) else [])
    rows: list[Row] = []
    notes = combined_notes([ratings.raters[options.truth]])
    if measure == "mean" and without:
        notes.append(f"{', '.join(without)}: categories without an order have no mean: use --measure share")
        pairs = [pair for pair in meetings if pair.aspect not in without]
    looked_at: list[Balance] = []
    for pair in meetings:
        question_rows, question_notes, balances = _question_rows(
            db, project_id, ratings, pair, measure, options
        )
        rows += question_rows
        notes += question_notes
        looked_at += balances
    notes += balance_notes(looked_at)
    if not rows:
        raise UsageError(
            f"no system “{options.system}” was judged by {options.rater} or {options.truth} here"
        )
    notes += [
        "both: PPI++ (Angelopoulos, Duchi and Zrnic 2023), assuming independent users; Worth: equivalent labels",
        "λ: the weight of the judge's verdicts in both, 0 where they are not related to the labels",
        "it is valid if the labelled cases are a random sample of the judged ones, however poor the judge is",
    ]
    if options.labelled_users is not None:
        notes.append(
            f"labels of {options.labelled_users} users drawn with seed {options.seed}; the rest are hidden"
        )
    title = f"Human estimates: {options.protocol}, {options.truth} with {options.rater}"
    settings = {
        "protocol": options.protocol,
        "rater": options.rater,
        "truth": options.truth,
        "measure": measure,
        "labelled_users": options.labelled_users,
        "seed": options.seed,
    }
    return Table(title, _columns(measure), tuple(rows), tuple(notes), settings)


def _measure(options: EstimateOptions, labels: list[float] | None, unordered: list[str]) -> str:
    """The measure asked for, or the usual one. `unordered`: the aspects, if all of them are categories."""
    fitting, usual = ("share", "mean") if labels else ("mean",), "share"
    if compares_lists(options.protocol):
        fitting, usual = ("win_rate", "share"), "win_rate"
    elif unordered:
        fitting = ("share",)
    elif protocol_facts(options.protocol).scores or not labels:
        usual = "mean"
    if options.measure and options.measure not in MEASURES:
        raise UsageError(f"no measure “{options.measure}”", f"Available: {', '.join(MEASURES)}.")
    if options.measure and options.measure not in fitting:
        raise UsageError(
            f"measure “{options.measure}” does not fit {options.protocol} here",
            next_step=f"Use {' or '.join(fitting)}.",
        )
    return options.measure or usual


def _question_rows(
    db: Database, project_id: int, ratings: Ratings, pair: Meeting, measure: str, options: EstimateOptions
) -> tuple[list[Row], list[str], list[Balance]]:
    met = pairs(ratings.cases, [Side(ratings.verdicts[q]) for q in pair[:2]])
    judge, human = met.wide
    alike = compares_lists(pair.protocol) or not ratings.raters[pair.a.rater].of_metrics
    values = np.concatenate([human, judge] if alike else [human])
    names = label_names(db, project_id, pair.protocol, pair.aspect, values)
    rows: list[Row] = []
    notes = [f"{pair.aspect}: {note}" for note in met.left_out]
    balances: list[Balance] = []
    for part in _parts(ratings.cases, human, judge, options):
        where = " vs ".join(filter(None, (part.system, part.opponent)))
        for label, powered, known in _estimates(part, names, measure, pair, ratings, alike):
            rows += [row | {"measure": measure} for row in _rows(part, pair.aspect, label, powered, known)]
            balances.append(Balance(", ".join(filter(None, (where, pair.aspect, label))), powered.balance_p))
        notes += [f"{where}, {pair.aspect}: {note}" for note in _left_out(part, options)]
    return rows, list(dict.fromkeys(notes)), balances


def _parts(
    cases: CaseColumns, human: FloatArray, judge: FloatArray, options: EstimateOptions
) -> Iterator[_Part]:
    judged = ~(np.isnan(human) & np.isnan(judge))
    shown = _shown(cases.user, ~np.isnan(human) & ~np.isnan(judge), options)
    of_pairs = compares_lists(options.protocol)
    met = sorted({*cases.system_a[judged].tolist(), *(cases.system_b[judged].tolist() if of_pairs else ())})
    wanted = [code for code in met if options.system in (None, cases.systems[code])]
    for code in wanted:
        here = judged & ((cases.system_a == code) | (of_pairs & (cases.system_b == code)))
        turned = np.where(cases.system_a == code, 1.0, -1.0) if of_pairs else np.ones(judge.size)
        sides = human * turned, judge * turned
        if not of_pairs:
            yield _part(cases, code, None, here, shown, sides)
            continue
        if len(met) > 2:
            yield _part(cases, code, None, here, shown, sides)
        for other in met:
            between = here & ((cases.system_a == other) | (cases.system_b == other))
            if other != code and between.any() and (options.system or code < other):
                yield _part(cases, code, other, between, shown, sides)


def _part(
    cases: CaseColumns,
    code: int,
    other: int | None,
    here: BoolArray,
    shown: BoolArray,
    sides: tuple[FloatArray, FloatArray],
) -> _Part:
    human, judge = (side[here] for side in sides)
    return _Part(
        cases.systems[code],
        None if other is None else cases.systems[other],
        np.where(shown[here], human, np.nan),
        human,
        judge,
        cases.user[here],
    )


def _shown(user: IntArray, labelled: BoolArray, options: EstimateOptions) -> BoolArray:
    """The cases whose labels may be used."""
    if options.labelled_users is None:
        return np.ones(user.size, dtype=np.bool_)
    users = np.unique(user[labelled])
    if options.labelled_users > users.size:
        raise UsageError(
            f"labels of {options.labelled_users:,} users are asked for, there are {users.size:,}"
        )
    drawn = np.random.default_rng(options.seed).choice(users, options.labelled_users, replace=False)
    shown: BoolArray = np.isin(user, drawn)
    return shown


def _estimates(
    part: _Part,
    names: dict[float, str] | None,
    measure: str,
    pair: Meeting,
    ratings: Ratings,
    alike: bool,
) -> Iterator[tuple[str | None, PredictionPoweredMean, Estimate | None]]:
    """(label, figures, the figure from all labels if some are hidden)."""
    if measure == "share":
        outcomes = _OUTCOMES if compares_lists(pair.protocol) else names or {}
        for value, name in outcomes.items():
            yield name, *_powered(part, partial(_hit, label=value), SHARE, True)
    elif measure == "win_rate":
        yield None, *_powered(part, _won, SHARE, True)
    else:
        facts = protocol_facts(pair.protocol)
        scale = (min(names), max(names)) if names else None if facts.labels else facts.ends
        same = alike and not is_metric(ratings.raters[pair.a.rater])
        yield None, *_powered(part, _itself, _holding(scale, part, same), same)


def _won(values: FloatArray) -> FloatArray:
    """1 for a win, one half for a tie, 0 for a loss."""
    won: FloatArray = (np.sign(values) + 1) / 2
    return won


def _itself(values: FloatArray) -> FloatArray:
    return values


def _hit(values: FloatArray, label: float) -> FloatArray:
    """1 if a value is the label, 0 if it is another, NaN without a value."""
    hit: FloatArray = np.where(np.isnan(values), np.nan, values == label)
    return hit


def _holding(scale: Bounds | None, part: _Part, same: bool) -> Bounds | None:
    """The scale, extended by any score outside it."""
    values = np.concatenate([part.hidden, part.judge] if same else [part.hidden])
    known = values[~np.isnan(values)]
    if scale is None or (known.size and (known.min() < scale[0] or known.max() > scale[1])):
        return None
    return scale


def _powered(
    part: _Part, measured: Callable[[FloatArray], FloatArray], scale: Bounds | None, clip: bool
) -> tuple[PredictionPoweredMean, Estimate | None]:
    judge = measured(part.judge)
    powered = prediction_powered_mean(measured(part.human), judge, part.user, scale=scale, clip=clip)
    if np.array_equal(part.human, part.hidden, equal_nan=True):
        return powered, None
    return powered, prediction_powered_mean(
        measured(part.hidden), judge, part.user, scale=scale, clip=clip
    ).human


def _rows(
    part: _Part, aspect: str, label: str | None, powered: PredictionPoweredMean, known: Estimate | None
) -> Iterator[Row]:
    sources = {"people": powered.human, "judge": powered.judge, "both": powered.powered}
    if known is not None:
        sources["all labels"] = known
    for source, estimate in sources.items():
        both = source == "both"
        yield {
            "system": part.system,
            "opponent": part.opponent,
            "aspect": aspect,
            "label": label,
            "source": source,
            "value": estimate.value,
            **interval_cells(estimate),
            "n_labelled": None
            if source == "judge"
            else estimate.n
            if known is estimate
            else powered.n_labelled,
            "n_judged": powered.n_judged if source in ("judge", "both") else None,
            "n_effective": powered.n_effective if both else None,
            "saved": powered.saved if both else None,
            "power": powered.power if both else None,
            "note": estimate.note,
        }


def _left_out(part: _Part, options: EstimateOptions) -> Iterator[str]:
    lost = int((~np.isnan(part.human) & np.isnan(part.judge)).sum())
    if lost:
        yield f"{quantity(lost, 'label')} of cases without a verdict of {options.rater} left out"


def balance_notes(balances: Sequence[Balance]) -> Iterator[str]:
    """The parts whose labelled cases the judge rates differently from the others, after Holm's correction."""
    adjusted = holm([balance.p for balance in balances])
    tested = sum(p is not None for p in adjusted)
    for balance, p in zip(balances, adjusted, strict=True):
        if p is not None and p < ALPHA:
            after = f" after Holm's correction for {tested:,} tests" if tested > 1 else ""
            yield (
                f"{balance.where}: the judge rates the labelled cases differently from the others (p = {p:.2g}{after}):"
                " unless they were drawn at random, the estimate from both is not valid"
            )
