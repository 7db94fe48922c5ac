"""What a judged case costs by each judge and form of prompt; and, beside a truth, every set of judges as one rater: its cost
and its agreement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any

import numpy as np

from recjudge_tui.domain.roles import COMBINED, RUN_RATERS
from recjudge_tui.domain.text import money, quantity
from recjudge_tui.errors import UsageError, check_known
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import seen_first
from recjudge_tui.reports.common.table import Row, Table, columns, definition, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.rater_pairs import estimates, label_sets
from recjudge_tui.reports.words import combined_notes, orientation_notes
from recjudge_tui.shapes import Meeting, Orientation, Pairs, grouped, meet, pairs
from recjudge_tui.stats.arrays import BoolArray
from recjudge_tui.stats.combining import MOST_LABELS, Rule, joint
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.stats.intervals import ratio_of_sums
from recjudge_tui.stats.registry import CORRELATIONS, NO_ORDER, STATISTICS, usual_statistic
from recjudge_tui.store.calls import case_costs
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import project_raters

_CASES = columns(
    "rater", "judge|(Judge)", "protocol prompt", "aspects|Aspects", "shots|Shots", "cases|Cases|int",
    "calls|(Calls)|int", "calls_per_case|Calls a case|float|2", "tokens_per_case|(Tokens a case)|float|0",
    "cost_per_case|Cost a case|usd", "ci_*|CI|usd", "human_ratio|Vs. person|float", "cost_usd|(Total)|usd",
    "note",
)  # fmt: skip
_SETS = columns(
    "protocol aspect", "jury|Judges", "size|Size|int", "rule|(Rule)", "stat", "value|Agreement|float",
    "ci_*", "n", "answered|Answered|share", "cost_per_case|Cost a case|usd", "efficient|Worth it",
    "note",
)  # fmt: skip
_UNKNOWN = dict.fromkeys(("cost_usd", "cost_per_case", "ci_low", "ci_high", "human_ratio"))


def cost(project: Project, choose: Options) -> Table:
    """The cost of a judged case, or with a truth that of every set of judges. Raises UsageError for options without one."""
    if choose.truth:
        return _sets(project, choose)
    if given := [name for name in ("rule", "aspect", "stat") if choose[name]]:
        reason = f"{given[0]} is about sets of judges, which are compared with a truth"
        raise UsageError(reason, "Name the truth.")
    return _of_cases(project, choose)


# ---- a judged case ---------------------------------------------------------------------------------------------------


def _of_cases(project: Project, choose: Options) -> Table:
    """One row per rater, protocol, prompt and form (aspects in one call or several, shots): dollars per judged case.
    cost_per_case = total cost / cases judged, including failed calls, with an interval over users. Cases answered by
    earlier replies (cached), in whole or in part, are left out and counted, because they cost less than new ones. An
    unknown price stays unknown (None). `human_ratio` = cost_per_case / human_price (Zhang et al., 2024: 0.111 $ a
    text)."""
    for name in choose.raters:
        rater_row(project.db, project.id, name)
    costs, users = case_costs(project.db, project.id), choose.cases.users
    costs = [c for c in costs if not choose.raters or c.rater in choose.raters]
    costs = [
        c for c in costs if choose.protocol in (None, c.protocol) and (users is None or c.user_id in users)
    ]
    rows = tuple(_row(list(group), choose.human_price) for _, group in groupby(costs, key=lambda c: c[:6]))
    about = "cost a case: dollars of all calls, failed ones too, by judged cases; interval over users (ratio)"
    notes: list[str] = [definition(about)] if any(row["ci_low"] is not None for row in rows) else []
    notes += [] if rows else ["no run has judged a case yet"]
    table = Table("Cost", _CASES, rows, tuple(notes), answer=_cheapest(rows, choose.human_price))
    ratio = "human_ratio" if choose.human_price else ""
    return seen_first(table, f"rater protocol prompt cases calls_per_case cost_per_case note {ratio}")


def _cheapest(rows: Sequence[dict[str, Any]], human_price: float | None) -> str:
    known = [row for row in rows if isinstance(row["cost_per_case"], float)]
    unknown = len(rows) - len(known)
    lost = f"; of {quantity(unknown, 'row')} the cost is unknown" if unknown else ""
    if not known:
        return "No cost is known." if rows else ""
    spent = [row for row in known if row["cost_per_case"]]
    if not spent:
        return f"No call of these judges cost money{lost}."
    low, high = (find(spent, key=lambda row: row["cost_per_case"]) for find in (min, max))
    ratio = f", {100 * low['human_ratio']:.2g} % of a person's price" if human_price else ""
    price, most = money(low["cost_per_case"]), ""
    if high is not low:
        most = f"; {high['rater']} ({high['protocol']}) {money(high['cost_per_case'])}"
    return f"A case costs {price} with {low['rater']} ({low['protocol']}){ratio}{most}{lost}."


def _spent(costs: Iterable[StoredRow]) -> tuple[list[StoredRow], int, str]:
    """The cases that no earlier reply answered, how many of them were judged, and why their cost is unknown, if it is."""
    fresh = [each for each in costs if each.cached == 0]
    judged, impossible = sum(each.done > 0 for each in fresh), sum(each.impossible for each in fresh)
    done, priced = (sum(getattr(each, name) for each in fresh) for name in ("done", "priced"))
    why = "no case was judged by a new call" if not judged else ""
    if judged and impossible:
        why = f"{quantity(impossible, 'call')} with an impossible stored cost or number of tokens"
    elif judged and priced < done:
        why = f"price unknown for {done - priced:,} of {done:,} calls"
    return fresh, judged, why


def spent_a_case(db: Database, project_id: int) -> dict[tuple[str, str], float | None]:
    """(rater, protocol) -> dollars per judged case over all its prompts and forms; None if a price is unknown. A rater whose
    cases were all cached or failed is missing."""
    spent: dict[tuple[str, str], float | None] = {}
    for key, costs in grouped(((c.rater, c.protocol), c) for c in case_costs(db, project_id)).items():
        fresh, judged, why = _spent(costs)
        if judged:
            spent[key] = None if why else sum(each.cost_usd for each in fresh) / judged
    return spent


def _row(costs: list[StoredRow], human_price: float | None) -> Row:
    fresh, judged, why = _spent(costs)
    calls = sum(each.calls for each in fresh)
    tokens = sum(each.tokens_in + each.tokens_out for each in fresh)
    # a judge without a server has no tokens
    asks = ":" in costs[0].judge
    uncounted, done = (sum(getattr(each, name) for each in fresh if asks) for name in ("uncounted", "done"))
    known = judged and not uncounted and not any(each.impossible for each in fresh)
    row: Row = {
        **dict(zip(costs[0].keys()[:6], costs[0], strict=False)), "cases": judged, "calls": calls,
        "calls_per_case": calls / judged if judged else None, "tokens_per_case": tokens / judged if known else None,
    }  # fmt: skip
    cached, failed = len(costs) - len(fresh), len(fresh) - judged
    notes = [f"{cached:,} cases with cached replies left out"] if cached else []
    notes += [f"{failed:,} cases failed"] if failed else []
    if uncounted:
        notes += [f"tokens unknown for {uncounted:,} of {done:,} calls: the server did not count them"]
    if why:
        return row | _UNKNOWN | {"note": join_notes(why, *notes)}
    usd, counted = [each.cost_usd for each in fresh], [float(each.done > 0) for each in fresh]
    total = sum(usd)
    ends = ratio_of_sums(usd, counted, [each.user_id for each in fresh])
    return row | {
        "cost_usd": total, "cost_per_case": total / judged, **ends.ends(),
        "human_ratio": None if human_price is None else total / judged / human_price,
        # where nothing was spent, an interval is not missed
        "note": join_notes(ends.note if total else "", *notes),
    }  # fmt: skip


# ---- sets of judges --------------------------------------------------------------------------------------------------

MOST_JUDGES = 8
_ABOUT = definitions("""\
only cases with a value from all these judges and the truth count; agreement is over those with a joint verdict (n)
cost a case: the sum of the members' costs per judged case of this protocol
worth it: no other set is as cheap or cheaper, agrees as well or better, and answers as often or more""")


def _sets(project: Project, choose: Options) -> Table:
    """One row per question and set of judges, the cheapest first: agreement of their joint verdict with the truth,
    and dollars per case. Rules: `majority` (more than half; a split vote is no answer), `mean`, `dawid-skene` (learnt
    without the truth from all cases that all judges answered; for three or more judges). `human_price` is the cost of
    a person in the set."""
    rule: Rule = choose.rule or "majority"
    truth: str = choose.truth
    known = project_raters(project.db, project.id)
    check_known("statistic", [choose.stat] if choose.stat else [], STATISTICS)
    if rule == "mean" and choose.stat and choose.stat not in (*CORRELATIONS, "bias"):
        cause = f"Use {', '.join(CORRELATIONS)} or bias."
        raise UsageError(f"“{choose.stat}” compares labels, and a mean is not a label", cause)
    if truth in choose.raters:
        raise UsageError(f"“{truth}” cannot be both the truth and a member")
    for name in (truth, *choose.raters):
        rater_row(project.db, project.id, name)
        if name != truth and (known[name].kind in COMBINED or known[name].of_metrics):
            raise UsageError(f"“{name}” is itself made from other raters; an ensemble needs judges or people")
    judges = choose.raters or tuple(name for name, rater in known.items() if rater.kind in RUN_RATERS)
    members = tuple(name for name in judges if name != truth)
    met = meet(project, choose.selection(raters=members or (truth,), readers=True), truth)
    labels, prices = label_sets(met), spent_a_case(project.db, project.id)
    rows: list[Row] = []
    notes: list[str] = []
    seen: dict[str, Orientation] = {}
    for alike in grouped(((m.protocol, m.b, m.aspect), m) for m in met.meetings).values():
        if len(alike) > MOST_JUDGES:
            reason = f"{len(alike)} judges make {2 ** len(alike) - 1:,} ensembles: too many to compare"
            raise UsageError(reason, next_step=f"Name at most {MOST_JUDGES} raters.")
        where, ordered = alike[0].where, alike[0][2:] not in met.nominal
        refused = "" if ordered or not choose.stat or STATISTICS[choose.stat].nominal else NO_ORDER
        if not ordered and rule == "mean":
            refused = "categories without an order have no mean: use majority or dawid-skene"
        if refused:
            notes.append(f"{where}: {refused}")
            continue
        by_run = {m.a: known[m.a.rater].kind in RUN_RATERS for m in alike}
        costs = [prices.get(q[:2]) if judging else choose.human_price for q, judging in by_run.items()]
        together = pairs(met.ratings.cases, [met.side(q) for q in (*(m.a for m in alike), alike[0].b)])
        own = labels[alike[0]]
        stat = choose.stat or usual_statistic(own is not None and rule != "mean", ordered=ordered)
        measured = list(_measured(together, alike, own, costs, rule, stat))
        rows += _ranked([row for row, _ in measured])
        views = {how.words() for _, how in measured}
        seen |= {f"{where}, {row['jury']}" if len(views) > 1 else where: how for row, how in measured}
        notes += [f"{where}: {note}" for note in together.left_out]
    if rows:
        notes = [*combined_notes([known[truth]]), *notes, *orientation_notes(seen), *_ABOUT]
    elif not notes:
        notes = ["no judge answered a question that the truth answered"]
    title = f"Ensembles by {rule}: cost against accuracy"
    table = Table(title, _SETS, tuple(rows), tuple(notes), {"rule": rule}, answer=_best(rows, truth))
    names = "protocol aspect jury value ci_low ci_high answered cost_per_case efficient"
    return seen_first(table, names, [row for row in rows if row.get("efficient") or row["size"] == 1])


def _measured(
    together: Pairs, alike: list[Meeting], labels: list[float] | None, costs: list[float | None], rule: Rule, stat: str
) -> Iterator[tuple[Row, Orientation]]:  # fmt: skip
    """Each set of judges, and the side from which its pairs are seen."""
    whole = together.among(np.logical_not(np.isnan(together.stored[:-1]).any(axis=0)))
    truth, known = whole.stored[-1], ~np.isnan(whole.stored[-1])
    of_pairs = bool(whole.cases.is_pair[whole.row].any())
    for size in range(1, len(alike) + 1):
        for members in combinations(range(len(alike)), size):
            names, spent = [alike[at].a.rater for at in members], [costs[at] for at in members]
            row: Row = {
                "protocol": alike[0].protocol, "aspect": alike[0].aspect, "jury": " + ".join(names), "size": size,
                "rule": rule, "stat": stat, "cost_per_case": None if None in spent else sum(x or 0.0 for x in spent),
            }  # fmt: skip
            votes = whole.stored[list(members)]
            if rule == "dawid-skene" and np.unique(votes).size > MOST_LABELS:
                nothing = {"n": 0, "note": "scores between the labels: use the rule mean"}
                yield row | nothing, whole.among(truth != truth).seen
                continue
            verdicts = joint(rule, votes, votes.shape[0], of_pairs=of_pairs).values
            both: BoolArray = known & ~np.isnan(verdicts)
            seen = whole.among(both).seen
            said, meant = verdicts[both] * seen.turn, truth[both] * seen.turn
            found = estimates(said, meant, whole.user[both], labels, (stat,), seen)[stat]
            answered = float(both.sum() / known.sum()) if known.any() else None
            yield row | found.cells | {"n": int(both.sum()), "answered": answered}, seen


def _ranked(ensembles: list[Row]) -> list[Row]:
    """The cheapest first, unknown costs last, with whether each is worth it: more is better of negative cost, agreement
    (equal up to rounding is equal) and share answered, where all are known."""
    figures: dict[int, tuple[float, float, float]] = {}
    for at, row in enumerate(ensembles):
        spent, value, answered = (row.get(name) for name in ("cost_per_case", "value", "answered"))
        if isinstance(spent, float | int) and isinstance(value, float) and isinstance(answered, float):
            figures[at] = -spent, round(value, 12), answered
        if spent is None:
            row["note"] = join_notes(str(row["note"]), "cost unknown")
    for at, mine in figures.items():
        others = (other for other in figures.values() if other != mine)
        better = (all(theirs >= own for theirs, own in zip(other, mine, strict=True)) for other in others)
        ensembles[at]["efficient"] = not any(better)

    def place(row: dict[str, Any]) -> tuple[bool, float, float]:
        spent, value = row["cost_per_case"], row.get("value")
        return spent is None, spent or 0.0, np.inf if value is None else -value

    return sorted(ensembles, key=place)


def _best(rows: Sequence[dict[str, Any]], truth: str) -> str:
    """The set that agrees most with the truth, of the first question."""
    question = itemgetter("protocol", "aspect")
    measured = [row for row in rows if row.get("value") is not None]
    if not measured:
        return ""
    first = [row for row in measured if question(row) == question(rows[0])]
    best = max(first or measured, key=lambda row: row["value"])
    spent = best["cost_per_case"]
    price = "at an unknown cost" if spent is None else f"for {money(spent)} a case"
    figure = f"({best['stat']} {best['value']:.2f}, n {best['n']}) {price}"
    return f"{best['jury']} agrees most with {truth} on {best['protocol']}, {best['aspect']} {figure}."
