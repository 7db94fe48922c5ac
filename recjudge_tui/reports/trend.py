"""Each system's figures period by period: judged ones, flags, offline metrics, and live experiments.

A line joins like with like: win rates of the same two systems, or ratings of periods in which all systems met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from recjudge_tui.domain.occasions import Over, period_of, period_order, period_range
from recjudge_tui.domain.protocols import OVERALL, compares_lists, protocol_facts
from recjudge_tui.errors import check_known
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import real, with_columns
from recjudge_tui.reports.common.table import Row, Table, columns, definition
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.leaderboard import scores
from recjudge_tui.reports.runs import change_words
from recjudge_tui.reports.words import about_base, label_names, scale_notes, value_bounds
from recjudge_tui.shapes import Base, base, battles, grouped
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, join_notes
from recjudge_tui.stats.intervals import SHARE as SHARE_BOUNDS
from recjudge_tui.stats.intervals import Bounds, group_means
from recjudge_tui.stats.planning import Arm, lift
from recjudge_tui.stats.retrieval import LIST_METRICS, NO_CUTOFF, list_values
from recjudge_tui.store.cases import case_periods, slate_periods
from recjudge_tui.store.data import check_systems, heldout_types, of_slates
from recjudge_tui.store.histories import current_list_ids, load_evaluation_data, ranked_slates
from recjudge_tui.store.projects import list_outcomes, outcome_days
from recjudge_tui.store.ratings import CaseColumns, Question, Verdicts, verdict_cells
from recjudge_tui.store.runs import served_models

WIN_RATE, RATING, MEAN, SHARE, FLAGS = "win_rate", "rating", "mean", "share", "flags"
_NOT_ALL = "no rating: not all systems met in this period, and a line compares the same systems"
_FIGURES = (
    "win_rate: (wins + ties / 2) / n of one system against another; rating: Bradley and Terry's over all systems; share of a"
    " label: of the best label, or of each category; flags: flagged items per verdict, for pairs on both lists together;"
    " intervals over users"
)
_COLUMNS = columns(
    "period|Period", "system opponent rater protocol? aspect? figure value ci_low ci_high n users? failed? note",
)  # fmt: skip
Names = tuple[str, str | None]


class Dated(NamedTuple):
    """One question's verdicts that have a period, one row each: the place of the case, of the period in `periods`, the value
    (NaN: failed), the number of flagged items and the run."""

    question: Question
    cases: CaseColumns
    periods: tuple[str, ...]
    row: IntArray
    period: IntArray
    value: FloatArray
    flags: IntArray
    run: IntArray

    @property
    def user(self) -> IntArray:
        return self.cases.user[self.row]

    def names(self) -> tuple[list[Names], IntArray]:
        """The systems, or pairs of systems, that were judged, and which of them each row is about."""
        first, second = self.cases.system_a[self.row], self.cases.system_b[self.row]
        size, known = len(self.cases.systems), self.cases.systems
        of_pairs = compares_lists(self.question.protocol)
        met, line = np.unique(first * size + (second if of_pairs else 0), return_inverse=True)
        names = [(known[at // size], known[at % size] if of_pairs else None) for at in met.tolist()]
        return names, line.reshape(-1)


def trend(project: Project, choose: Options) -> Table:
    """One row per line and period, line after line. `changes` in the settings: the periods from which on another model or
    prompt answers. Raises UsageError for an unknown protocol, metric or period, NotFoundError for an unknown rater, system
    or context."""
    over: Over = choose.over
    within = period_range(over, choose.from_ or "", choose.to or "")
    check_systems(project.db, project.id, choose.systems)
    metrics = tuple(choose.metrics) or (("ndcg",) if heldout_types(project.db, project.id) else ())
    metrics = () if metrics == ("none",) else metrics
    check_known("metric", metrics, LIST_METRICS)
    # one system is shown against all others
    among = replace(choose.cases, systems=choose.systems if len(choose.systems) > 1 else ())
    chosen = base(project, choose.selection(cases=among), newest=over != "import")
    # of every rater but metrics, unless one is named; overall, or all aspects of a rater that was not asked for it
    fitting = [q for q in chosen.questions if choose.rater or not chosen.rater(q).of_metrics]
    overall = {q[:2] for q in fitting if q.aspect == OVERALL}
    own = [q for q in fitting if choose.aspect or q.aspect == OVERALL or q[:2] not in overall]
    chosen = replace(chosen, questions=tuple(sorted(own)))
    period_by_case = case_periods(project.db, project.id, over)
    rows: list[Row] = []
    changes: list[dict[str, str]] = []
    notes: list[str] = []
    for question in chosen.questions:
        dated, left_out = _dated(chosen, question, period_by_case)
        if left_out:
            why = "were not imported" if over == "import" else "have no time; by import they have one"
            of = f"{left_out:,} of {left_out + dated.row.size:,} verdicts left out: their lists {why}"
            notes.append(f"{question.rater}, {question.protocol} {question.aspect}: {of}")
        changed = dict(_changes(project, dated))
        for at, (said, now) in changed.items():
            changes.append({"period": at, **question._asdict(), "change": said, "now": now})
        for row in _judged(chosen, dated):
            said = changed.get(str(row["period"]), ("", ""))[0]
            rows.append(row | {"note": join_notes(said, str(row["note"]))})
    rows.sort(key=lambda row: row["figure"] == FLAGS)
    rows += [*_measured(project, choose, metrics), *(_live(project, over) if over != "import" else ())]
    here = (_seen_from(row, choose.systems) for row in rows if within.has(str(row["period"])))
    rows = [row for row in here if row is not None]
    notes = [*(() if rows else ("nothing in these periods yet",)), *notes]
    apart = any(choose.cases.occasions) or choose.cases.users is not None
    if apart and any(row["figure"] == "lift" for row in rows):
        notes.append("live experiments are about every occasion and everybody")
    shown = sum(row["ci_low"] is not None for row in rows)
    if shown > 1:
        by_chance = f"about one in {round(1 / (1 - LEVEL))}, or fewer, misses the true value by chance"
        notes.append(definition(f"{shown:,} intervals at {LEVEL:.0%} are shown; {by_chance}"))
    notes += [*about_base(chosen), definition(_FIGURES)]
    notes += scale_notes(project, (question[1:] for question in chosen.questions))
    settings = {"over": over, "k": choose.k, "changes": changes}
    return Table(
        f"Trend by {over}", _COLUMNS, tuple(rows), tuple(notes), settings, answer=_answer(rows, changes),
        brief=_brief(f"Trend by {over}", rows),
    )  # fmt: skip


def _dated(chosen: Base, question: Question, period_by_case: Mapping[int, str]) -> tuple[Dated, int]:
    """The verdicts on a question that have a period, and how many have none."""
    db, cases, verdicts = chosen.project.db, chosen.ratings.cases, chosen.ratings.verdicts[question]
    if cases.selected is not None:
        verdicts = verdicts.among(cases.selected[verdicts.row])
    names = [period_by_case.get(case, "") for case in cases.ids[verdicts.row].tolist()]
    known = tuple(sorted({*names} - {""}, key=period_order))
    places = {"": -1} | {name: at for at, name in enumerate(known)}
    period = np.fromiter((places[name] for name in names), dtype=np.int64, count=len(names))
    here = period >= 0
    row = verdicts.row[here]
    cells = verdict_cells(db, chosen.rater(question).id, question, cases, "flag_count", "run_id")
    flags, run = np.nan_to_num(cells).astype(np.int64)
    dated = Dated(question, cases, known, row, period[here], verdicts.value[here], flags[row], run[row])
    return dated, int((~here).sum())


def _changes(project: Project, dated: Dated) -> Iterator[tuple[str, tuple[str, str]]]:
    """The periods whose verdicts come from another model or prompt than those of the period before."""
    runs = served_models(project.db, project.id, dated.question.rater, {dated.question.protocol})
    # the models alone, without what else is known of the runs
    nothing: dict[str, Any] = {"run_id": 0, "calls": 0, "cached": 0, "created_at": ""}
    identities = {run.run_id: run._replace(replies=bool(run.replies), **nothing) for run in runs}
    if len({*identities.values()}) < 2:
        return
    met = np.unique(np.stack([dated.period, dated.run]), axis=1).T.tolist()
    by_period = grouped((period, identities[run]) for period, run in met if run in identities)
    for (_, old), (period, new) in pairwise(sorted(by_period.items())):
        if (words := change_words(new, old))[0]:
            yield dated.periods[period], words


# ---- judged ----------------------------------------------------------------------------------------------------------


def _row(
    names: Names, figure: str, period: str, estimate: Estimate, question: Question | None = None, failed: int = 0,
) -> Row:  # fmt: skip
    asked = dict(zip(Question._fields, question or (None,) * 3, strict=True))
    return {
        "period": period, "system": names[0], "opponent": names[1], **asked, "figure": figure, **estimate.cells,
        "users": estimate.groups, "failed": failed,
    }  # fmt: skip


def _judged(chosen: Base, dated: Dated) -> Iterator[Row]:
    """The lines of one question: of pairs each two systems, and with more than two systems their ratings; of lists each
    system; and the flagged items per verdict if any item was flagged."""
    names, line = dated.names()
    if not compares_lists(dated.question.protocol):
        for figure, value, bounds in _levels(chosen, dated):
            yield from _lines(dated, figure, names, line, value, bounds)
    else:
        win = np.sign(dated.value) / 2 + 0.5
        if len(names) == 1:
            first, second = names[0]
            for system, value in ((first, win), (str(second), 1 - win)):
                yield from _lines(dated, WIN_RATE, [(system, None)], line, value, SHARE_BOUNDS)
        else:
            yield from _ratings(chosen, dated)
            yield from _lines(dated, WIN_RATE, names, line, win, SHARE_BOUNDS)
    if dated.flags.any():
        flags = np.where(np.isnan(dated.value), np.nan, dated.flags)
        yield from _lines(dated, FLAGS, names, line, flags, None)


def _levels(chosen: Base, dated: Dated) -> list[tuple[str, FloatArray, Bounds | None]]:
    """What is averaged: for labels the share of the best one, for categories the share of each, for scores the mean."""
    question, value = dated.question, dated.value
    different = np.unique(value[~np.isnan(value)])
    unordered, names = question[1:] in chosen.nominal, None
    if unordered or not protocol_facts(question.protocol).scores:
        names = label_names(chosen.project, question.protocol, question.aspect, different)
    if not names or not {*different.tolist()} <= names.keys():
        return [(MEAN, value, value_bounds(chosen.project, question, value))]
    shown = sorted(names.items()) if unordered else [next(iter(names.items()))]
    share = ((name, np.where(np.isnan(value), np.nan, value == label)) for label, name in shown)
    return [(f"{SHARE} of {name}", hits, SHARE_BOUNDS) for name, hits in share]


def _lines(
    dated: Dated, figure: str, names: Sequence[Names], line: IntArray, value: FloatArray, bounds: Bounds | None
) -> Iterator[Row]:  # fmt: skip
    """The mean of `value` in each period for each line (a place in `names`)."""
    many = len(dated.periods)
    group, count, kept = line * many + dated.period, len(names) * many, ~np.isnan(value)
    failed = np.bincount(group[~kept], minlength=count).tolist()
    means = group_means(value[kept], dated.user[kept], group[kept], count, bounds)
    for at, estimate in enumerate(means):
        if estimate.n or failed[at]:
            where = names[at // many], figure, dated.periods[at % many]
            yield _row(*where, estimate, dated.question, failed[at])


def _ratings(chosen: Base, dated: Dated) -> Iterator[Row]:
    """Each system's rating in the periods in which all systems met, directly or through others."""
    every = Verdicts(dated.row, dated.value, np.zeros(dated.row.size, dtype=np.bool_))
    names = {name for pair, _ in [dated.names()] for both in pair for name in both}
    rows = []
    for at, period in enumerate(dated.periods):
        here = replace(chosen.ratings, verdicts={dated.question: every.among(dated.period == at)})
        contests = battles(here, dated.question)
        rated = scores(contests, "bt")
        together = names == {*contests.systems} and None not in rated.value
        for place, system in enumerate(contests.systems):
            own = (contests.a == place) | (contests.b == place)
            known = own & ~np.isnan(contests.outcome)
            n, users, end = int(known.sum()), np.unique(contests.user[known]).size, rated.intervals[place]
            estimate = Estimate(None, None, None, n, users, note=rated.notes[place] or _NOT_ALL)
            if together:
                estimate = Estimate(rated.value[place], end.low, end.high, n, users, note=end.note)
            failed = int((own & ~known).sum())
            rows.append((system, _row((system, None), RATING, period, estimate, dated.question, failed)))
    yield from (row for _, row in sorted(rows, key=lambda of: of[0]))


# ---- measured --------------------------------------------------------------------------------------------------------


def _measured(project: Project, choose: Options, metrics: Sequence[str]) -> Iterator[Row]:
    """The mean of each metric over the lists of a system in a period for which it is defined: by import, over all lists that
    the import contained first, else over the current lists."""
    if not metrics:
        return
    periods = slate_periods(project.db, project.id, choose.over, choose.cases.occasions)
    systems, wanted = of_slates(project.db, project.id, "system"), {*periods}
    if choose.over != "import":
        wanted &= {slate for ids in current_list_ids(project.db, project.id).values() for slate in ids}
    chosen, ranked = choose.cases.users, list(ranked_slates(project.db, project.id, wanted))
    ranked = [(slate, found) for slate, found in ranked if chosen is None or found.user_id in chosen]
    lists = [slate_list for _, slate_list in ranked]
    arrays = load_evaluation_data(project.db, project.id)
    users = np.array([slate_list.user_id for slate_list in lists])
    lines = [(systems[slate], periods[slate]) for slate, _ in ranked]
    keys = sorted(set(lines), key=lambda key: (key[0], period_order(key[1])))
    place = {key: at for at, key in enumerate(keys)}
    group = np.array([place[line] for line in lines], dtype=np.int64)
    for name, value in (list_values(lists, arrays, choose.k, metrics) if lists else {}).items():
        kept = ~np.isnan(value)
        means = group_means(value[kept], users[kept], group[kept], len(keys), LIST_METRICS[name].bounds)
        figure = name if name in NO_CUTOFF else f"{name}@{choose.k}"
        for (system, period), estimate in zip(keys, means, strict=True):
            if estimate.n:
                yield _row((system, None), figure, period, estimate)


def _live(project: Project, over: Over) -> Iterator[Row]:
    """The click rates and the lift of each live experiment, in the period in which its result was recorded."""
    days = outcome_days(project.db, project.id)
    for outcome in list_outcomes(project.db, project.id):
        period, first, second = period_of(days[outcome.name], over), outcome.system_a, outcome.system_b
        a, b = Arm(outcome.clicks_a, outcome.impressions_a), Arm(outcome.clicks_b, outcome.impressions_b)
        for row in (
            _row((first, None), "click_rate", period, a.estimate()),
            _row((second, None), "click_rate", period, b.estimate()),
            _row((first, second), "lift", period, lift(a, b)),
        ):
            yield row | {"note": join_notes(f"live experiment {outcome.name}", str(row["note"]))}


# ---- the table -------------------------------------------------------------------------------------------------------


def _seen_from(row: Row, systems: Sequence[str]) -> Row | None:
    """A row about the chosen systems, of one system about it and any other: a win rate from its side. None for others."""
    named = [name for name in (row["system"], row["opponent"]) if name is not None]
    if systems and not (systems[0] in named if len(systems) == 1 else all(name in systems for name in named)):
        return None
    if len(systems) != 1 or row["opponent"] != systems[0] or row["figure"] != WIN_RATE:
        return row
    turned = {to: None if row[of] is None else 1 - real(row, of) for to, of in _TURNED}
    return row | {"system": systems[0], "opponent": row["system"], **turned}


_TURNED = (("value", "value"), ("ci_low", "ci_high"), ("ci_high", "ci_low"))


def _brief(title: str, rows: Sequence[Row]) -> Table:
    """The figure and its interval in one column: `0.34 [0.25 0.45]`, of a rating `1165 [961 1370]`."""
    seen: list[Row] = []
    for row in rows:
        digits = 0 if row["figure"] == RATING else 2
        cells = (row[name] for name in ("value", "ci_low", "ci_high"))
        value, low, high = ("–" if cell is None else f"{cell:.{digits}f}" for cell in cells)
        seen.append({**row, "value": value if low == "–" else f"{value} [{low} {high}]"})
    empty = {name for name in ("opponent", "rater") if not any(row[name] for row in seen)}
    kept = [n for n in ("period", "system", "opponent", "rater", "figure", "value", "n") if n not in empty]
    shown = tuple(replace(column, kind="text") if column.name == "value" else column for column in _COLUMNS)
    return with_columns([Table(title, shown, tuple(seen))], kept)[0]


def _answer(rows: Sequence[Row], changes: Sequence[dict[str, str]]) -> str:
    """The line that moved most from its first to its last period, of the first figure with such a line."""
    known = [row for row in rows if isinstance(row["value"], float)]
    figure, line = ("figure", "rater", "protocol", "aspect"), ("system", "opponent")
    lines = grouped((tuple(row[name] for name in (*figure, *line)), row) for row in known)
    ends = grouped((key[:4], (rows[0], rows[-1])) for key, rows in lines.items() if len(rows) > 1)
    keys = (tuple(row[name] for name in figure) for row in known)
    of_first = next((ends[key] for key in keys if key in ends), None)
    if of_first is None:
        return ""
    first, last = max(of_first, key=lambda two: abs(real(two[1], "value") - real(two[0], "value")))
    digits = 0 if first["figure"] == RATING else 2
    values = [f"{row['value']:.{digits}f} in {row['period']}" for row in (first, last)]
    apart = ""
    if None not in (row[name] for row in (first, last) for name in ("ci_low", "ci_high")):
        meet = all(real(a, "ci_low") <= real(b, "ci_high") for a, b in ((first, last), (last, first)))
        apart = f"; the intervals {'overlap' if meet else 'are apart'}"
    against = f" against {first['opponent']}" if first["opponent"] else ""
    by = f" by {first['rater']} ({first['protocol']} {first['aspect']})" if first["rater"] else ""
    what = str(first["figure"]).replace("_", " ")
    since = ""
    if changes:
        said = changes[0]["change"]
        since = f". {said[:1].upper()}{said[1:]} ({changes[0]['period']})"
    return f"{first['system']} moved most: its {what}{against}{by} from {values[0]} to {values[1]}{apart}{since}."
