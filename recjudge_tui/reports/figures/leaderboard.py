"""Leaderboard: systems ranked, each with its interval, by every rater or by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recjudge_tui.domain.protocols import compares_lists
from recjudge_tui.reports.boards import methods_of
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.data import FigureContent, FigureData, real, whole
from recjudge_tui.reports.figures.marks import Bold, CaseSelection, Estimate, Forest, Sentence
from recjudge_tui.reports.figures.options import Choice, FigureContext, FigureOptions, choice, verdict_filter
from recjudge_tui.reports.figures.words import (
    CI,
    INTERVAL,
    METHOD_NAMES,
    UNDEFINED,
    interval_text,
    n_text,
    name_text,
    note_text,
)
from recjudge_tui.reports.words import few_cases
from recjudge_tui.store.database import Database

EVERYONE = "everyone"
EVEN = {"q": 1.0, "winrate": 0.5, "bt": 1000.0}
_FORMULAS = {
    "q": "Q = (wins + ties) / (losses + ties)",
    "winrate": "win rate = (wins + ties / 2) / n",
    "bt": "Bradley and Terry's rating, mean 1000",
    "mean": "mean score",
}


def choices(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    methods = [name for name in methods_of(context.topic.protocol) if name != "share"]
    return {
        "rater": choice("rater", options.rater, (EVERYONE, *context.raters), options),
        "method": choice("method", options.method, methods, options),
    }


def content(context: FigureContext, chosen: dict[str, str]) -> FigureContent:
    """One row per rater and ranked system, as in `leaderboard_table`."""
    topic, method = context.topic, chosen["method"]
    rater = None if chosen["rater"] == EVERYONE else chosen["rater"]
    raters = context.named if rater is None else (rater,)
    table = context.report("leaderboard", raters=raters, method=method)
    # rows against one opponent belong to the Q matrix
    rows = tuple(row for row in table.rows if row.get("opponent") is None)
    by = "" if rater is None else f" by {name_text(rater)}"
    unit = "pairs of lists" if compares_lists(topic.protocol) else "cases"
    caption = (
        f"Systems judged{by} ({topic.text()}): {_FORMULAS[method]}, {INTERVAL} over users;"
        f" {n_text(rows, f'{unit} per system')}; failed verdicts are not in n."
    )
    title = f"Leaderboard: {topic.text()}, {METHOD_NAMES[method]}{by}, {CI}"
    return FigureContent(title, caption, replace(table, rows=rows))


def marks(data: FigureData) -> Forest:
    method = data.chosen("method")
    # systems in the order of the first rater, each with its raters
    systems = list(dict.fromkeys(str(row["system"]) for row in data.rows))
    rows = sorted(data.rows, key=lambda row: systems.index(str(row["system"])))
    estimates = tuple(_estimate(row) for row in rows)
    return Forest(
        estimates,
        x=METHOD_NAMES[method],
        even=EVEN.get(method),
        doublings=method == "q" and _all_positive(estimates),
    )


def _estimate(row: Row) -> Estimate:
    value, low, high = (real(row[key]) for key in ("score", "ci_low", "ci_high"))
    note = str(row["note"] or "")
    return Estimate(str(row["system"]), str(row["rater"]), value, low, high, whole(row["n"]), note, row)


def _all_positive(estimates: Sequence[Estimate]) -> bool:
    """Whether a logarithmic scale can show every value: Q is a ratio, and 0 is not on such a scale."""
    ends = [end for e in estimates for end in (e.value, e.low, e.high) if end is not None]
    return bool(ends) and min(ends) > 0


def sentence(_: FigureData, row: Row) -> Sentence:
    return system_sentence(row)


def system_sentence(row: Row) -> Sentence:
    """The score of one system by one rater, from a row of a leaderboard."""
    win_rate = row.get("win_rate")
    rate = ""
    if "win_rate" in row:
        rate = f", win rate {win_rate:.1%}" if isinstance(win_rate, float) else f", win rate {UNDEFINED}"
    return (
        Bold(name_text(row["system"], 40)),
        f", judged by {name_text(row['rater'], 40)}: {_score_name(row)} ",
        Bold(interval_text(row, "score")),
        f"{rate}, n={row['n']:,}, {row['failed']:,} failed outside n",
        note_text(row, "score"),
        _few(row),
    )


def _score_name(row: Row) -> str:
    if "win_rate" not in row:
        return "mean score"
    return "Q" if row["score"] == row.get("q") else "score"


def _few(row: Row) -> str:
    warning = few_cases(row["n"]) if isinstance(row["n"], int) else ""
    return f" ({warning})" if warning else ""


def cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    return CaseSelection(
        verdict_filter(db, project_id, data.topic, str(row["rater"]), system=str(row["system"]))
    )
