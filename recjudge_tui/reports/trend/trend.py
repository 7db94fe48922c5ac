"""The trend report: verdicts and metrics of systems over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter, Over
from recjudge_tui.domain.protocols import OVERALL, compares_lists
from recjudge_tui.reports.common.scales import (
    is_metric,
    protocol_questions,
    protocols_meeting,
    rater_notes,
    scale_notes,
)
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.trend.chosen_periods import PeriodRange, period_range
from recjudge_tui.reports.trend.judged import FLAGS, judged_rows
from recjudge_tui.reports.trend.measured import check_metrics, metric_rows, outcome_rows
from recjudge_tui.reports.trend.series import COLUMNS
from recjudge_tui.reports.trend.served import JudgeChange, change_cells, changes_by_period
from recjudge_tui.stats.defaults import LEVEL, TOP_K
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.store.data.catalogue import check_systems, heldout_types
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import check_contexts
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.runs.judges import run_identities
from recjudge_tui.store.verdicts.dated import DatedVerdicts, dated_verdicts
from recjudge_tui.store.verdicts.ratings import Question, Rater, project_questions, project_raters

_INTERVALS = "intervals over users; click_rate and lift as in “recjudge outcome”"
_NOT_OF_OCCASIONS = "live experiments are about every occasion"
_FIGURES = (
    "win_rate: (wins + ties / 2) / n; share of a label: of the best label, or of each category; flags: "
    "flagged items per verdict, for pairs on both lists together"
)


@dataclass(frozen=True)
class TrendOptions:
    """None or empty: every protocol and system; every rater but metrics; the aspect `overall`, or all aspects of a
    rater that was not asked for it; the metric ndcg if events are held out. `occasions` restrict verdicts and lists,
    but not live experiments. With `systems`, lists of these count, and pairs of two of them; with
    one, all its pairs. `since` and `until` are read by `period_range`.
    """

    over: Over = "day"
    protocol: str | None = None
    rater: str | None = None
    aspect: str | None = None
    systems: tuple[str, ...] = ()
    metrics: tuple[str, ...] | None = None
    k: int = TOP_K
    since: str = ""
    until: str = ""
    occasions: OccasionFilter = EVERY_OCCASION


def trend_table(db: Database, project_id: int, options: TrendOptions) -> Table:
    """One row per series and period, series after series, with the columns of `series.COLUMNS`.

    Judged figures first, then flags, offline metrics and live experiments. Verdicts and lists without a time are left
    out and counted. `changes` in the settings has the periods in which another model or prompt answers. Raises
    UsageError for an unknown protocol, metric or period, NotFoundError for an unknown rater, system or context.
    """
    _check(db, project_id, options)
    periods = period_range(options.over, options.since, options.until)
    judged = _judgements(db, project_id, options)
    metrics = _metrics(db, project_id, options)
    rows = [
        *judged.rows,
        *metric_rows(db, project_id, metrics, options.k, options.over, options.occasions),
    ]
    notes = list(judged.notes)
    if options.over != "import":
        live = list(outcome_rows(db, project_id, options.over))
        rows += live
        if options.occasions != EVERY_OCCASION and live:
            notes.append(_NOT_OF_OCCASIONS)
    kept = tuple(row for row in rows if _is_chosen(row, options, periods))
    settings: dict[str, object] = {
        "over": options.over, "k": options.k,
        "changes": [change_cells(change) for change in judged.changes],
    }  # fmt: skip
    return Table(
        f"Trend by {options.over}", COLUMNS, kept, (*_about(kept), *notes, *judged.about_raters), settings
    )


class _Judgements(NamedTuple):
    """The verdicts of judges and people over time. `changes`: the periods in which another model or prompt answers."""

    rows: list[Row]
    changes: list[JudgeChange]
    notes: list[str]
    about_raters: list[str]


def _judgements(db: Database, project_id: int, options: TrendOptions) -> _Judgements:
    raters = project_raters(db, project_id)
    questions = _questions(project_questions(db, project_id), raters, options)
    rows: list[Row] = []
    changes: list[JudgeChange] = []
    notes: list[str] = []
    if len(options.systems) == 1 and any(compares_lists(question.protocol) for question in questions):
        notes.append(f"win rates of {options.systems[0]} are against all systems")
    for question in questions:
        identities = run_identities(db, project_id, question.rater, question.protocol)
        verdicts = dated_verdicts(
            db, project_id, raters[question.rater].id, question, options.over, options.occasions,
            _met(options.systems, question.protocol), with_runs=len({*identities.values()}) > 1,
        )  # fmt: skip
        own = list(changes_by_period(question, verdicts, identities)) if verdicts.run.size else []
        by_period = {change.period: change.change.change for change in own}
        for row in judged_rows(db, project_id, question, verdicts):
            change = by_period.get(str(row["period"]), "")
            rows.append({**row, "note": join_notes(change, str(row["note"] or ""))})
        changes += own
        notes += _left_out(question, verdicts, options.over)
    rows.sort(key=lambda row: row["figure"] == FLAGS)
    scales = scale_notes(db, project_id, [(question.protocol, question.aspect) for question in questions])
    return _Judgements(
        rows, changes, notes, [*scales, *rater_notes([raters[question.rater] for question in questions])]
    )


def _about(rows: Sequence[Row]) -> list[str]:
    about = [_FIGURES, _INTERVALS] if rows else ["nothing in these periods yet"]
    intervals = sum(row["ci_low"] is not None for row in rows)
    if intervals > 1:
        about.append(
            f"{intervals:,} intervals at {LEVEL:.0%} are shown; about one in {round(1 / (1 - LEVEL))}, or fewer, misses the"
            " true value by chance"
        )
    return about


def _check(db: Database, project_id: int, options: TrendOptions) -> None:
    protocols_meeting(options.protocol)
    check_metrics(options.metrics or ())
    if options.rater is not None:
        rater_row(db, project_id, options.rater)
    check_systems(db, project_id, options.systems)
    check_contexts(db, project_id, options.occasions)


def _questions(
    questions: Sequence[Question], raters: dict[str, Rater], options: TrendOptions
) -> list[Question]:
    fitting = [
        question
        for question in protocol_questions(questions, raters, options.protocol)
        if (question.rater == options.rater if options.rater else not is_metric(raters[question.rater]))
    ]
    if options.aspect is not None:
        return [question for question in fitting if question.aspect == options.aspect]
    overall = {(q.rater, q.protocol) for q in fitting if q.aspect == OVERALL}
    return [q for q in fitting if q.aspect == OVERALL or (q.rater, q.protocol) not in overall]


def _met(systems: tuple[str, ...], protocol: str) -> tuple[str, ...]:
    """The systems whose verdicts count, all if empty: a single system is compared with all others."""
    return () if len(systems) == 1 and compares_lists(protocol) else systems


def _metrics(db: Database, project_id: int, options: TrendOptions) -> tuple[str, ...]:
    if options.metrics is not None:
        return options.metrics
    return ("ndcg",) if heldout_types(db, project_id) else ()


def _left_out(question: Question, verdicts: DatedVerdicts, over: Over) -> Iterator[str]:
    name = f"{question.rater}, {question.protocol} {question.aspect}"
    undated = int((verdicts.period < 0).sum()) - verdicts.replaced
    if undated:
        reason = (
            "their lists were not imported"
            if over == "import"
            else "their lists have no served_at; --over import shows them by import"
        )
        yield f"{name}: {undated:,} of {verdicts.period.size:,} verdicts left out: {reason}"
    if verdicts.replaced:
        yield f"{name}: verdicts left out, because a later import replaced their lists: {verdicts.replaced:,}"


def _is_chosen(row: Row, options: TrendOptions, periods: PeriodRange) -> bool:
    if options.systems and row["system"] is not None and row["system"] not in options.systems:
        return False
    if options.systems and row["opponent"] is not None and row["opponent"] not in options.systems:
        return False
    return periods.has(str(row["period"]))
