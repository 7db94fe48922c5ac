"""The cost of a judged case by each judge and form of prompt, and the price of a person's work for comparison."""

from __future__ import annotations

import math
from itertools import groupby

from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.stats.intervals import ratio_of_sums
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.costs import CaseCost, case_costs

_COLUMNS = (
    Column("rater", "Rater"),
    Column("judge", "Judge", minor=True),
    Column("protocol", "Protocol"),
    Column("prompt", "Prompt"),
    Column("aspects", "Aspects"),
    Column("shots", "Shots"),
    Column("cases", "Cases", "int"),
    Column("calls", "Calls", "int", minor=True),
    Column("calls_per_case", "Calls a case", "float", decimals=2),
    Column("tokens_per_case", "Tokens a case", "float", minor=True, decimals=0),
    Column("cost_per_case", "Cost a case", "usd"),
    *interval_columns("usd"),
    Column("human_ratio", "Vs. person", "float"),
    Column("cost_usd", "Total", "usd", minor=True),
    Column("note", "Note"),
)


def cost_table(db: Database, project_id: int, human_price: float | None = None) -> Table:
    """One row per rater, protocol, prompt and form (aspects in one call or several, shots): dollars per judged case.

    cost_per_case = total cost / cases judged, including failed calls, with an interval over users. Cases
    answered by earlier replies (cached), in whole or in part, are left out and counted, because they cost less than
    new ones. An unknown price stays unknown (None). `human_ratio` = cost_per_case / `human_price`, the dollars that a
    person is paid for one case (Zhang et al., 2024: 0.111 $ a text). Raises UsageError for a human price that is not
    above 0.
    """
    check_price(human_price)
    groups = groupby(case_costs(db, project_id), key=lambda c: c[:6])
    rows = tuple(_row(list(group), human_price) for _, group in groups)
    notes = [] if rows else ["no run has judged a case yet"]
    if rows and human_price is None:
        notes.append("--human-price USD compares with the price of a person's work on one case")
    settings = {"human_price": human_price}
    return Table("Cost", _COLUMNS, rows, tuple(notes), settings)


def check_price(human_price: float | None) -> None:
    """Raises UsageError for a human price that is not above 0."""
    if human_price is not None and not 0 < human_price < math.inf:
        raise UsageError(f"a price of {human_price:g} $ for a person's case is impossible")


def spent_a_case(db: Database, project_id: int) -> dict[tuple[str, str], float | None]:
    """(rater, protocol) -> dollars per judged case over all its prompts and forms; None if a price is unknown.

    Counted as in `cost_table`; a rater whose cases were all cached or failed is missing.
    """
    by_rater: dict[tuple[str, str], list[CaseCost]] = {}
    for cost in case_costs(db, project_id):
        if cost.cached == 0:
            by_rater.setdefault((cost.rater, cost.protocol), []).append(cost)
    spent: dict[tuple[str, str], float | None] = {}
    for key, costs in by_rater.items():
        judged = sum(cost.done > 0 for cost in costs)
        if judged:
            known = all(cost.priced == cost.done and not cost.impossible for cost in costs)
            spent[key] = sum(cost.cost_usd for cost in costs) / judged if known else None
    return spent


def _row(costs: list[CaseCost], human_price: float | None) -> Row:
    uncached = [cost for cost in costs if cost.cached == 0]
    judged = sum(cost.done > 0 for cost in uncached)
    calls, done = sum(cost.calls for cost in uncached), sum(cost.done for cost in uncached)
    impossible = sum(cost.impossible for cost in uncached)
    unpriced = done - sum(cost.priced for cost in uncached)
    row: Row = {
        **{name: getattr(costs[0], name) for name in CaseCost._fields[:6]},
        "cases": judged,
        "calls": calls,
        "calls_per_case": calls / judged if judged else None,
        "tokens_per_case": sum(c.tokens_in + c.tokens_out for c in uncached) / judged
        if judged and not impossible
        else None,
    }
    notes = (
        [f"{len(costs) - len(uncached):,} cases with cached replies left out"]
        if len(uncached) < len(costs)
        else []
    )
    if len(uncached) > judged:
        notes.append(f"{len(uncached) - judged:,} cases failed")
    if judged == 0:
        return row | _unknown(["no case was judged by a new call", *notes])
    if impossible:
        why = f"{quantity(impossible, 'call')} with an impossible stored cost or number of tokens"
        return row | _unknown([why, *notes])
    if unpriced:
        return row | _unknown([f"price unknown for {unpriced:,} of {done:,} calls", *notes])
    per_case = sum(cost.cost_usd for cost in uncached) / judged
    usd, judged_cases = [cost.cost_usd for cost in uncached], [float(cost.done > 0) for cost in uncached]
    ends = ratio_of_sums(usd, judged_cases, [cost.user_id for cost in uncached])
    return row | {
        "cost_usd": per_case * judged,
        "cost_per_case": per_case,
        "ci_low": ends.ci_low,
        "ci_high": ends.ci_high,
        "human_ratio": None if human_price is None else per_case / human_price,
        "note": "; ".join(note for note in (ends.note, *notes) if note),
    }


def _unknown(notes: list[str]) -> Row:
    figures = ("cost_usd", "cost_per_case", "ci_low", "ci_high", "human_ratio")
    return {**dict.fromkeys(figures), "note": "; ".join(notes)}
