"""Estimates people's verdicts on every system, from their few labels and a judge's many verdicts (PPI++)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import seen_first
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.rater_pairs import by_labels, judge_and_truth, label_sets
from recjudge_tui.reports.words import combined_notes, label_names
from recjudge_tui.shapes import Meeting, Met, Pairs
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.stats.intervals import SHARE, Bounds
from recjudge_tui.stats.planning import PredictionPoweredMean, prediction_powered_mean

_OUTCOMES = {1.0: "win", 0.0: "tie", -1.0: "loss"}
_BRIEF = "label source system opponent aspect value ci_low ci_high n_labelled n_judged saved note"
_ABOUT = definitions("""\
both: PPI++ (Angelopoulos, Duchi and Zrnic 2023), assuming independent users; Worth: equivalent labels
λ: the weight of the judge's verdicts in both, 0 where they are not related to the labels
it is valid if the labelled cases are a random sample of the judged ones, however poor the judge is""")
# left out of what people read first where all rows have the same
_DROPPED = ("label", "opponent", "aspect")


# where, and p of the judge's mean being the same on labelled cases and on others; None if it is not tested
_Balance = tuple[str, float | None]


@dataclass(frozen=True)
class _Part:
    """The cases of one system (against one other, or all): both raters' values as seen from it; `hidden` are all labels,
    `human` those that may be used."""

    system: str
    opponent: str | None
    human: FloatArray
    hidden: FloatArray
    judge: FloatArray
    user: IntArray


def estimate(project: Project, choose: Options) -> Table:
    """Rows `people` (labels alone), `judge` (its verdicts alone) and `both` (PPI++) for every system and measure.
    Pairs of lists: one set of rows per pair of systems, seen from the first (from `system`, if one is named), and
    with more than two systems one for each against all. With `labelled_users` a fourth row, `all labels`, has the
    estimate from all labels. `n_effective` is the number of labels that the estimate from both is worth, `saved` its
    excess over the labels used. Raises UsageError for raters without a common question and for a measure or system
    that does not fit, NotFoundError for an unknown rater."""
    met = judge_and_truth(project, choose.selection(), choose.truth)
    meetings = list(met.meetings)
    without = [m.aspect for m in meetings if (m.protocol, m.aspect) in met.nominal]
    labels = label_sets(met)[meetings[0]]
    measure = _measure(choose.protocol, choose.measure, labels, unordered=len(without) == len(meetings))
    notes = combined_notes([met.ratings.raters[choose.truth]])
    if measure == "mean" and without:
        notes.append(f"{', '.join(without)}: categories without an order have no mean, only shares")
        meetings = [m for m in meetings if m.aspect not in without]
    rows: list[Row] = []
    looked_at: list[_Balance] = []
    for meeting in meetings:
        rows += _question_rows(met, meeting, measure, choose, notes, looked_at)
    if not rows:
        raise UsageError(f"no system “{choose.system}” was judged by {choose.rater} or {choose.truth} here")
    notes = [*_balance_notes(looked_at), *dict.fromkeys(notes), *_ABOUT]
    if choose.labelled_users is not None:
        drawn = f"labels of {choose.labelled_users} users drawn with seed {choose.seed}; the rest are hidden"
        notes.insert(0, drawn)
    title = f"Human estimates: {choose.protocol}, {choose.truth} with {choose.rater}"
    of_mean = measure == "mean"
    shown = columns(
        "label|Share of", "source|From", "system opponent aspect", "measure|Measure",
        f"value|Estimate|{'float' if of_mean else 'share'}", "ci_*" if of_mean else "ci_*|CI|share",
        "n_labelled|Labelled|int", "n_judged|Judged|int", "n_effective|(Worth)|float|1", "saved|Saved|int",
        "power|(λ)|float|2", "note",
    )  # fmt: skip
    answer = _answer(rows, measure, choose)
    table = Table(title, shown, tuple(rows), tuple(notes), {"measure": measure}, answer=answer)
    same = {name for name in _DROPPED if len({row[name] for row in rows}) == 1}
    return seen_first(table, [name for name in _BRIEF.split() if name not in same])


def _measure(protocol: str, asked: str | None, labels: list[float] | None, *, unordered: bool) -> str:
    """The measure asked for, or the usual one. `unordered`: all aspects are categories."""
    fitting, usual = ("share", "mean") if labels else ("mean",), "share"
    if compares_lists(protocol):
        fitting, usual = ("win_rate", "share"), "win_rate"
    elif unordered:
        fitting = ("share",)
    elif protocol_facts(protocol).scores or not labels:
        usual = "mean"
    if asked and asked not in fitting:
        use = f"Use {' or '.join(fitting)}."
        raise UsageError(f"measure “{asked}” does not fit {protocol} here", next_step=use)
    return asked or usual


def _question_rows(
    met: Met, meeting: Meeting, measure: str, choose: Options, notes: list[str], looked_at: list[_Balance]
) -> Iterator[Row]:
    """The rows of one question; what is to be said of them is added to `notes` and `looked_at`."""
    sides = met.pairs(meeting)
    judge, human = sides.stored
    alike = by_labels(meeting, met)
    values = np.concatenate([human, judge] if alike else [human])
    names = label_names(met.project, meeting.protocol, meeting.aspect, values)
    notes += [f"{meeting.aspect}: {text}" for text in sides.left_out]
    same = measure != "mean" or (alike and not met.ratings.raters[meeting.a.rater].of_metrics)
    for part in _parts(sides, human, judge, choose):
        where = " vs ".join(filter(None, (part.system, part.opponent)))
        scale = SHARE if measure != "mean" else _scale(part, names, meeting.protocol, judge_too=same)
        for label, measured in _measures(measure, meeting.protocol, names).items():
            said = measured(part.judge)
            powered = prediction_powered_mean(measured(part.human), said, part.user, scale=scale, clip=same)
            known = None
            if not np.array_equal(part.human, part.hidden, equal_nan=True):
                every = measured(part.hidden)
                known = prediction_powered_mean(every, said, part.user, scale=scale, clip=same).human
            for row in _rows(part, powered, known):
                yield {"aspect": meeting.aspect, "label": label, "measure": measure} | row
            looked_at.append((", ".join(filter(None, (where, meeting.aspect, label))), powered.balance_p))
        if lost := int((~np.isnan(part.human) & np.isnan(part.judge)).sum()):
            text = f"{quantity(lost, 'label')} of cases without a verdict of {choose.rater} left out"
            notes.append(f"{where}, {meeting.aspect}: {text}")


def _measures(
    measure: str, protocol: str, names: dict[float, str] | None
) -> dict[str | None, Callable[[FloatArray], FloatArray]]:
    """What is averaged, NaN without a value; of shares for each label."""
    if measure == "mean":
        return {None: lambda values: values}
    if measure == "win_rate":
        # a tie is one half
        return {None: lambda values: (np.sign(values) + 1) / 2}
    outcomes = _OUTCOMES if compares_lists(protocol) else names or {}
    return {
        name: lambda values, label=label: np.where(np.isnan(values), np.nan, values == label)  # type: ignore[misc]
        for label, name in outcomes.items()
    }


def _scale(part: _Part, names: dict[float, str] | None, protocol: str, *, judge_too: bool) -> Bounds | None:
    """The ends of the scale; None if it has none, or a score lies outside."""
    facts = protocol_facts(protocol)
    scale = (min(names), max(names)) if names else None if facts.labels else facts.ends
    known = np.concatenate([part.hidden, part.judge] if judge_too else [part.hidden])
    known = known[~np.isnan(known)]
    return None if scale and known.size and (known.min() < scale[0] or known.max() > scale[1]) else scale


def _parts(sides: Pairs, human: FloatArray, judge: FloatArray, choose: Options) -> Iterator[_Part]:
    """The cases by system, or pair of systems."""
    judged = ~(np.isnan(human) & np.isnan(judge))
    users = np.unique(sides.user[~np.isnan(human) & ~np.isnan(judge)])
    if (asked := choose.labelled_users) is not None:
        if asked > users.size:
            raise UsageError(f"labels of {asked:,} users are asked for, there are {users.size:,}")
        users = np.random.default_rng(choose.seed).choice(users, asked, replace=False)
    # the cases whose labels may be used
    shown = np.isin(sides.user, users) | (asked is None)
    first, second = (column[sides.row] for column in (sides.cases.system_a, sides.cases.system_b))
    names, of_pairs = sides.cases.systems, compares_lists(choose.protocol)
    met = sorted({*first[judged].tolist(), *(second[judged].tolist() if of_pairs else ())})
    for code in met:
        if choose.system not in (None, names[code]):
            continue
        here = judged & ((first == code) | (of_pairs & (second == code)))
        turn = np.where(first == code, 1.0, -1.0) if of_pairs else np.ones(judge.size)
        opponents: list[int | None] = [None] if not of_pairs or len(met) > 2 else []
        if of_pairs:
            opponents += [other for other in met if other != code and (choose.system or code < other)]
        for other in opponents:
            kept = here if other is None else here & ((first == other) | (second == other))
            if not kept.any():
                continue
            labels, said = (human * turn)[kept], (judge * turn)[kept]
            against = None if other is None else names[other]
            used = np.where(shown[kept], labels, np.nan)
            yield _Part(names[code], against, used, labels, said, sides.user[kept])


def _rows(part: _Part, powered: PredictionPoweredMean, known: Estimate | None) -> Iterator[Row]:
    sources = {"people": powered.human, "judge": powered.judge, "both": powered.powered}
    if known is not None:
        sources["all labels"] = known
    labelled = {"all labels": known.n if known else None}
    labelled |= dict.fromkeys(("people", "both"), powered.n_labelled)
    for source, found in sources.items():
        names = ("n_effective", "saved", "power")
        worth = {name: getattr(powered, name) if source == "both" else None for name in names}
        yield {
            "system": part.system, "opponent": part.opponent, "source": source, "value": found.value, **found.ends(),
            "n_labelled": labelled.get(source), "n_judged": powered.n_judged if source in ("judge", "both") else None,
            **worth, "note": found.note,
        }  # fmt: skip


def _balance_notes(balances: Sequence[_Balance]) -> Iterator[str]:
    """The parts whose labelled cases the judge rates differently from the others, after Holm's correction."""
    adjusted = holm([p for _, p in balances])
    tested = sum(p is not None for p in adjusted)
    for (where, _), p in zip(balances, adjusted, strict=True):
        if p is not None and p < ALPHA:
            after = f" after Holm's correction for {tested:,} tests" if tested > 1 else ""
            yield Note(
                f"{where}: the judge rates the labelled cases differently from the others (p = {p:.2g}{after}):"
                " unless they were drawn at random, the estimate from both is not valid", "warning",
            )  # fmt: skip


def _answer(rows: Sequence[dict[str, Any]], measure: str, choose: Options) -> str:
    """The first estimate from both, else from the labels alone, and what the judge saved."""
    known = [row for row in rows if row["value"] is not None and row["source"] in ("both", "people")]
    found = next((row for row in known if row["source"] == "both"), next(iter(known), None))
    if found is None:
        return ""
    scale, unit, decimals = (1.0, "", 2) if measure == "mean" else (100.0, " %", 1)
    cells = (found[name] for name in ("value", "ci_low", "ci_high"))
    value, *ends = ("" if cell is None else f"{scale * cell:.{decimals}f}" for cell in cells)
    figure = f"{value}{unit}{f' [{ends[0]}, {ends[1]}]' if all(ends) else ''}"
    what = {"win_rate": "win rate", "mean": "mean"}.get(measure, f"share of {found['label']}")
    against = f" against {found['opponent']}" if found["opponent"] else ""
    said = f"By {choose.truth}, {found['system']}'s {what}{against} ({found['aspect']}) is {figure}"
    labels = quantity(found["n_labelled"], "label")
    if found["source"] == "people":
        return f"{said} from {labels} alone."
    return f"{said} from {labels} and {choose.rater}, which saves {quantity(found['saved'] or 0, 'label')}."
