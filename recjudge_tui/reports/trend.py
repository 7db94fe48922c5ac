"""Each system's figures period by period: judged ones, flags, offline metrics, and live experiments.

A line joins like with like: win rates of the same two systems, or ratings of periods in which all systems met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.occasions import Over, period_of, period_order, period_range
from recjudge_tui.domain.protocols import OVERALL, compares_lists, protocol_facts
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import label_names, scale_notes, value_bounds
from recjudge_tui.reports.common.table import Column, Note, Row, Table, definition, with_columns
from recjudge_tui.reports.declare import REPORTS, Options, checked
from recjudge_tui.reports.served import change_words
from recjudge_tui.reports.words import about_base, rater_notes
from recjudge_tui.shapes import Base, base
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.intervals import SHARE as SHARE_BOUNDS
from recjudge_tui.stats.intervals import Bounds, group_means
from recjudge_tui.stats.planning import Arm, lift
from recjudge_tui.stats.ranking import bradley_terry, rating_intervals, user_counts
from recjudge_tui.stats.retrieval import LIST_METRICS, NO_CUTOFF, list_values
from recjudge_tui.store.cases.metric_inputs import current_list_ids, ranked_slates
from recjudge_tui.store.data.catalogue import check_systems, heldout_types, slate_systems
from recjudge_tui.store.data.heldout import load_evaluation_data
from recjudge_tui.store.occasions import case_periods, slate_periods
from recjudge_tui.store.projects.experiments import list_outcomes, outcome_days
from recjudge_tui.store.runs.judges import run_identities
from recjudge_tui.store.verdicts.ratings import Question, flags_and_runs

WIN_RATE, RATING, MEAN, SHARE, FLAGS = "win_rate", "rating", "mean", "share", "flags"
_NOT_ALL = "no rating: not all systems met in this period, and a line compares the same systems"
_FIGURES = (
    "win_rate: (wins + ties / 2) / n of one system against another; rating: Bradley and Terry's over all systems; share of a"
    " label: of the best label, or of each category; flags: flagged items per verdict, for pairs on both lists together;"
    " intervals over users"
)
_COLUMNS = (
    Column("period", "Period"), Column("system", "System"), Column("opponent", "Against"), Column("rater", "Rater"),
    Column("protocol", "Protocol", minor=True), Column("aspect", "Aspect", minor=True), Column("figure", "Figure"),
    Column("value", "Value", "float"), *interval_columns(), Column("n", "n", "int"),
    Column("users", "Users", "int", minor=True), Column("failed", "Failed", "int", minor=True), Column("note", "Note"),
)  # fmt: skip
_SEEN_FIRST = ("period", "system", "opponent", "rater", "figure", "value", "ci_low", "ci_high", "n")


class Series(NamedTuple):
    """A line: one figure of one system, or of two; `question` is None for measured figures, which nobody judged."""

    figure: str
    system: str
    opponent: str | None = None
    question: Question | None = None

    def row(self, period: str, estimate: Estimate, failed: int = 0, note: str = "") -> Row:
        asked = self.question
        return {
            "period": period, "system": self.system, "opponent": self.opponent, "rater": asked.rater if asked else None,
            "protocol": asked.protocol if asked else None, "aspect": asked.aspect if asked else None,
            "figure": self.figure, "value": estimate.value, **interval_cells(estimate), "n": estimate.n,
            "users": estimate.groups, "failed": failed, "note": join_notes(note, estimate.note),
        }  # fmt: skip


@dataclass(frozen=True)
class Dated:
    """One question's verdicts that have a period, one row each: the systems (places in `systems`; of a list -1 for the second),
    the period (a place in `periods`), the user, the value (NaN: failed), the number of flagged items and the run."""

    question: Question
    systems: tuple[str, ...]
    periods: tuple[str, ...]
    first: IntArray
    second: IntArray
    period: IntArray
    user: IntArray
    value: FloatArray
    flags: IntArray
    run: IntArray


def trend_of(project: Project, cases: CaseSelection, **given: object) -> Table:
    """The trend of these cases with these options, the others at their defaults."""
    return trend(project, Options(checked(REPORTS["trend"], given), cases))


def trend(project: Project, choose: Options) -> Table:
    """One row per line and period, line after line. `changes` in the settings: the periods from which on another model or
    prompt answers. Raises UsageError for an unknown protocol, metric or period, NotFoundError for an unknown rater, system or
    context."""
    over: Over = choose.over
    periods = period_range(over, choose.since or "", choose.until or "")
    check_systems(project.db, project.id, choose.of)
    metrics = _metrics(project, choose)
    several = choose.of if len(choose.of) > 1 else ()
    chosen = base(
        project, choose.selection(cases=replace(choose.cases, systems=several)), newest=over != "import"
    )
    period_by_case = case_periods(project.db, project.id, over)
    rows: list[Row] = []
    changes: list[dict[str, str]] = []
    notes: list[str] = []
    questions = _questions(chosen, choose)
    for question in questions:
        dated, left_out = _dated(chosen, question, period_by_case)
        if left_out:
            why = (
                "their lists were not imported"
                if over == "import"
                else "their lists have no time; by import they have one"
            )
            where = f"{question.rater}, {question.protocol} {question.aspect}"
            notes.append(f"{where}: {left_out:,} of {left_out + dated.value.size:,} verdicts left out: {why}")
        own = dict(_changes(project, dated))
        changes += [
            {"period": p, **question._asdict(), "change": said, "now": now} for p, (said, now) in own.items()
        ]
        for row in _judged(chosen, dated):
            said, _ = own.get(str(row["period"]), ("", ""))
            rows.append(row | {"note": join_notes(said, str(row["note"]))})
    rows.sort(key=lambda row: row["figure"] == FLAGS)
    rows += _measured(project, choose, metrics)
    if over != "import":
        rows += _live(project, over)
    kept = [
        _turned(row, choose.of)
        for row in rows
        if periods.has(str(row["period"])) and _is_chosen(row, choose.of)
    ]
    return _table(chosen, questions, kept, changes, notes, choose)


def _metrics(project: Project, choose: Options) -> tuple[str, ...]:
    names = tuple(choose.metrics) or (("ndcg",) if heldout_types(project.db, project.id) else ())
    names = () if names == ("none",) else names
    if unknown := [name for name in names if name not in LIST_METRICS]:
        raise UsageError(f"no metric “{unknown[0]}”", f"Available: {', '.join(LIST_METRICS)}.")
    return names


def _questions(chosen: Base, choose: Options) -> list[Question]:
    """Of every rater but metrics, unless one is named; overall, or all aspects of a rater that was not asked for it."""
    fitting = [q for q in chosen.questions if choose.rater or not chosen.rater(q).of_metrics]
    overall = {(q.rater, q.protocol) for q in fitting if q.aspect == OVERALL}
    kept = [
        q for q in fitting if choose.aspect or q.aspect == OVERALL or (q.rater, q.protocol) not in overall
    ]
    return sorted(kept)


def _dated(chosen: Base, question: Question, period_by_case: dict[int, str]) -> tuple[Dated, int]:
    """The verdicts on a question that have a period, and how many have none."""
    project, cases, verdicts = chosen.project, chosen.ratings.cases, chosen.ratings.verdicts[question]
    row, value = verdicts.row, verdicts.value
    if cases.selected is not None:
        row, value = row[cases.selected[row]], value[cases.selected[row]]
    names = [period_by_case.get(case, "") for case in cases.ids[row].tolist()]
    known = tuple(sorted({*names} - {""}, key=period_order))
    places = {"": -1} | {name: at for at, name in enumerate(known)}
    period = np.fromiter((places[name] for name in names), dtype=np.int64, count=len(names))
    rater = chosen.rater(question)
    every = chosen.project.db.kept(
        (flags_and_runs, project.id, question), lambda: flags_and_runs(project.db, rater.id, question, cases)
    )
    flags, run = np.zeros(cases.ids.size, dtype=np.int64), np.zeros(cases.ids.size, dtype=np.int64)
    flags[every.row], run[every.row] = every.flags, every.run
    here = period >= 0
    row = row[here]
    first, second = cases.system_a[row], np.where(cases.is_pair[row], cases.system_b[row], -1)
    met = np.unique(np.concatenate([first, second[second >= 0]]))
    code = np.full(len(cases.systems) + 1, -1)
    code[met] = np.arange(met.size)
    systems = tuple(cases.systems[at] for at in met.tolist())
    dated = Dated(
        question, systems, known, code[first], code[second], period[here], cases.user[row], value[here], flags[row], run[row]
    )  # fmt: skip
    return dated, int((~here).sum())


def _changes(project: Project, dated: Dated) -> Iterator[tuple[str, tuple[str, str]]]:
    """The periods whose verdicts come from another model or prompt than those of the period before."""
    identities = run_identities(project.db, project.id, dated.question.rater, dated.question.protocol)
    if len({*identities.values()}) < 2:
        return
    by_period: dict[int, list[int]] = {}
    for period, run in np.unique(np.stack([dated.period, dated.run]), axis=1).T.tolist():
        if run in identities:
            by_period.setdefault(period, []).append(run)
    for before, period in pairwise(sorted(by_period)):
        old, new = ([identities[run] for run in by_period[at]] for at in (before, period))
        if (words := change_words(new, old))[0]:
            yield dated.periods[period], words


# ---- judged ----------------------------------------------------------------------------------------------------------


def _judged(chosen: Base, dated: Dated) -> Iterator[Row]:
    """The lines of one question: of pairs each two systems, and with more than two systems their ratings; of lists each system;
    and the flagged items per verdict if any item was flagged."""
    flags = np.where(np.isnan(dated.value), np.nan, dated.flags)
    if not compares_lists(dated.question.protocol):
        names = [(system, None) for system in dated.systems]
        scale = value_bounds(chosen.project.db, chosen.project.id, dated.question, dated.value)
        for figure, value in _levels(chosen, dated):
            yield from _lines(
                dated, figure, names, dated.first, value, scale if figure == MEAN else SHARE_BOUNDS
            )
        if dated.flags.any():
            yield from _lines(dated, FLAGS, names, dated.first, flags, None)
        return
    size = len(dated.systems)
    pairs = list(combinations(range(size), 2))
    place = {a * size + b: at for at, (a, b) in enumerate(pairs)}
    low, high = np.minimum(dated.first, dated.second), np.maximum(dated.first, dated.second)
    line = np.fromiter((place[key] for key in (low * size + high).tolist()), dtype=np.int64, count=low.size)
    met = [(dated.systems[a], dated.systems[b]) for a, b in pairs]
    win = np.sign(dated.value) / 2 + 0.5
    win = np.where(dated.first <= dated.second, win, 1 - win)
    if size == 2:
        both = [(system, None) for system in dated.systems]
        yield from _lines(dated, WIN_RATE, both[:1], line, win, SHARE_BOUNDS)
        yield from _lines(dated, WIN_RATE, both[1:], line, 1 - win, SHARE_BOUNDS)
    else:
        yield from _ratings(dated)
        yield from _lines(dated, WIN_RATE, met, line, win, SHARE_BOUNDS)
    if dated.flags.any():
        yield from _lines(dated, FLAGS, met, line, flags, None)


def _levels(chosen: Base, dated: Dated) -> list[tuple[str, FloatArray]]:
    """What is averaged: for labels the share of the best one, for categories the share of each, for scores the mean."""
    question, project = dated.question, chosen.project
    different = np.unique(dated.value[~np.isnan(dated.value)])
    unordered = chosen.is_nominal(question)
    names = None
    if unordered or not protocol_facts(question.protocol).scores:
        names = label_names(project.db, project.id, question.protocol, question.aspect, different)
    if not names or not {*different.tolist()} <= names.keys():
        return [(MEAN, dated.value)]
    shown = sorted(names.items()) if unordered else [next(iter(names.items()))]
    return [
        (f"{SHARE} of {name}", np.where(np.isnan(dated.value), np.nan, dated.value == label))
        for label, name in shown
    ]


def _lines(
    dated: Dated,
    figure: str,
    names: Sequence[tuple[str, str | None]],
    line: IntArray,
    value: FloatArray,
    bounds: Bounds | None,
) -> Iterator[Row]:
    """The mean of `value` in each period for each line (a place in `names`)."""
    many = len(dated.periods)
    group, count = line * many + dated.period, len(names) * many
    failed = np.bincount(group[np.isnan(value)], minlength=count)
    kept = ~np.isnan(value)
    means = group_means(value[kept], dated.user[kept], group[kept], count, bounds)
    for at, (estimate, failures) in enumerate(zip(means, failed.tolist(), strict=True)):
        if estimate.n or failures:
            yield Series(figure, *names[at // many], dated.question).row(
                dated.periods[at % many], estimate, failures
            )


def _ratings(dated: Dated) -> Iterator[Row]:
    """Each system's rating in the periods in which all systems met, directly or through others."""
    rows: dict[str, list[Row]] = {system: [] for system in dated.systems}
    for at, period in enumerate(dated.periods):
        here = dated.period == at
        a, b, outcome, user = (
            dated.first[here],
            dated.second[here],
            np.sign(dated.value[here]),
            dated.user[here],
        )
        counts = user_counts(a, b, outcome, user, len(dated.systems))
        fit = bradley_terry(counts.total)
        ends = rating_intervals(counts, fit)
        together = not np.isnan(fit.ratings).any()
        for place, system in enumerate(dated.systems):
            own = (a == place) | (b == place)
            known = own & ~np.isnan(outcome)
            users, n = np.unique(user[known]).size, int(known.sum())
            estimate = undefined(_NOT_ALL, n)
            if together:
                end = ends[place]
                estimate = Estimate(float(fit.ratings[place]), end.low, end.high, n, note=end.note)
            if own.any():
                row = Series(RATING, system, None, dated.question).row(
                    period, estimate, int((own & ~known).sum())
                )
                rows[system].append(row | {"users": users})
    for of_system in rows.values():
        yield from of_system


# ---- measured --------------------------------------------------------------------------------------------------------


def _measured(project: Project, choose: Options, metrics: Sequence[str]) -> Iterator[Row]:
    """The mean of each metric over the lists of a system in a period for which it is defined: by import, over all lists that
    the import contained first, else over the current lists."""
    if not metrics:
        return
    period_by_slate = slate_periods(project.db, project.id, choose.over, choose.cases.occasions)
    system_by_slate = slate_systems(project.db, project.id)
    wanted = {*period_by_slate}
    if choose.over != "import":
        wanted &= {slate for ids in current_list_ids(project.db, project.id).values() for slate in ids}
    ranked = list(ranked_slates(project.db, project.id, wanted))
    lists = [slate_list for _, slate_list in ranked]
    arrays = load_evaluation_data(project.db, project.id)
    values = list_values(lists, arrays, choose.k, metrics) if lists else {}
    users = np.array([slate_list.user_id for slate_list in lists])
    lines = [(system_by_slate[slate], period_by_slate[slate]) for slate, _ in ranked]
    keys = sorted(set(lines), key=lambda key: (key[0], period_order(key[1])))
    group = np.array([keys.index(line) for line in lines], dtype=np.int64)
    for name, of_lists in values.items():
        kept = ~np.isnan(of_lists)
        means = group_means(of_lists[kept], users[kept], group[kept], len(keys), LIST_METRICS[name].bounds)
        for (system, period), estimate in zip(keys, means, strict=True):
            if estimate.n:
                yield Series(name if name in NO_CUTOFF else f"{name}@{choose.k}", system).row(
                    period, estimate
                )


def _live(project: Project, over: Over) -> Iterator[Row]:
    """The click rates and the lift of each live experiment, in the period in which its result was recorded."""
    days = outcome_days(project.db, project.id)
    for outcome in list_outcomes(project.db, project.id):
        period, note = period_of(days[outcome.name], over), f"live experiment {outcome.name}"
        a, b = Arm(outcome.clicks_a, outcome.impressions_a), Arm(outcome.clicks_b, outcome.impressions_b)
        for system, arm in ((outcome.system_a, a), (outcome.system_b, b)):
            yield Series("click_rate", system).row(period, arm.estimate(), note=note)
        yield Series("lift", outcome.system_a, outcome.system_b).row(period, lift(a, b), note=note)


# ---- the table -------------------------------------------------------------------------------------------------------


def _is_chosen(row: Row, systems: Sequence[str]) -> bool:
    """Whether a row is about the chosen systems: of one system, about it and any other."""
    named = [name for name in (row["system"], row["opponent"]) if name is not None]
    if len(systems) == 1:
        return systems[0] in named
    return not systems or all(name in systems for name in named)


def _turned(row: Row, systems: Sequence[str]) -> Row:
    """A win rate of one chosen system, seen from its side."""
    if len(systems) != 1 or row["opponent"] != systems[0] or row["figure"] != WIN_RATE:
        return row
    value, low, high = (
        1 - cell if isinstance(cell := row[name], float) else None for name in ("value", "ci_low", "ci_high")
    )
    return row | {
        "system": systems[0],
        "opponent": row["system"],
        "value": value,
        "ci_low": high,
        "ci_high": low,
    }


def _table(
    chosen: Base,
    questions: list[Question],
    rows: list[Row],
    changes: list[dict[str, str]],
    notes: list[str],
    choose: Options,
) -> Table:
    project = chosen.project
    said = [Note(text) for text in notes]
    if not rows:
        said.insert(0, Note("nothing in these periods yet"))
    if any(choose.cases.occasions) and any(str(row["figure"]) == "lift" for row in rows):
        said.append(Note("live experiments are about every occasion"))
    shown = sum(row["ci_low"] is not None for row in rows)
    if shown > 1:
        by_chance = f"about one in {round(1 / (1 - LEVEL))}, or fewer, misses the true value by chance"
        said.append(definition(f"{shown:,} intervals at {LEVEL:.0%} are shown; {by_chance}"))
    asked = replace(chosen, questions=tuple(questions))
    said += [*about_base(asked), *rater_notes(asked), definition(_FIGURES)]
    said += map(Note, scale_notes(project.db, project.id, [(q.protocol, q.aspect) for q in questions]))
    settings = {"over": choose.over, "k": choose.k, "changes": changes}
    table = Table(
        f"Trend by {choose.over}", _COLUMNS, tuple(rows), tuple(said), settings, answer=_answer(rows, changes)
    )
    names = [name for name in _SEEN_FIRST if name != "opponent" or any(row["opponent"] for row in rows)]
    return replace(table, brief=with_columns([table], names)[0])


def _answer(rows: Iterable[Row], changes: Sequence[dict[str, str]]) -> str:
    """The line of the first figure that moved most from its first to its last period."""
    known = [row for row in rows if isinstance(row["value"], float)]
    lines: dict[tuple[object, ...], list[Row]] = {}
    for row in known:
        if all(row[name] == known[0][name] for name in ("figure", "rater", "protocol", "aspect")):
            lines.setdefault((row["system"], row["opponent"]), []).append(row)
    moved = [(line[0], line[-1]) for line in lines.values() if len(line) > 1]
    if not moved:
        return ""
    first, last = max(
        moved, key=lambda ends: abs(float(str(ends[1]["value"])) - float(str(ends[0]["value"])))
    )
    digits = 0 if first["figure"] == RATING else 2
    values = [f"{row['value']:.{digits}f} in {row['period']}" for row in (first, last)]
    apart = ""
    if None not in (cells := (first["ci_low"], first["ci_high"], last["ci_low"], last["ci_high"])):
        low, high, low_last, high_last = (float(str(cell)) for cell in cells)
        apart = (
            "; the intervals overlap"
            if low <= high_last and low_last <= high
            else "; the intervals are apart"
        )
    against = f" against {first['opponent']}" if first["opponent"] else ""
    by = f" by {first['rater']} ({first['protocol']} {first['aspect']})" if first["rater"] else ""
    figure = str(first["figure"]).replace("_", " ")
    since = (
        f". {changes[0]['change'][:1].upper()}{changes[0]['change'][1:]} ({changes[0]['period']})"
        if changes
        else ""
    )
    return f"{first['system']} moved most: its {figure}{against}{by} from {values[0]} to {values[1]}{apart}{since}."
