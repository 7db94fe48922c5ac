"""What a judged case costs by each judge and form of prompt; and, beside a truth, every set of judges as one rater: its cost
and its agreement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np

from recjudge_tui.domain.roles import COMBINED, RUN_RATERS
from recjudge_tui.domain.text import money, quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import combined_notes
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definition, seen_first
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.rater_pairs import estimates, label_sets
from recjudge_tui.shapes import Meeting, Orientation, Pairs, meet, pairs
from recjudge_tui.stats.arrays import BoolArray, FloatArray
from recjudge_tui.stats.combining import MOST_LABELS, Rule, joint
from recjudge_tui.stats.intervals import ratio_of_sums
from recjudge_tui.stats.registry import CORRELATIONS, NO_ORDER, STATISTICS, usual_statistic
from recjudge_tui.store.calls import CaseCost, case_costs
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import Question, Ratings, project_raters

_CASES = columns(
    "rater", "judge|(Judge)", "protocol prompt", "aspects|Aspects", "shots|Shots", "cases|Cases|int",
    "calls|(Calls)|int", "calls_per_case|Calls a case|float|2", "tokens_per_case|(Tokens a case)|float|0",
    "cost_per_case|Cost a case|usd", *interval_columns("usd"), "human_ratio|Vs. person|float", "cost_usd|(Total)|usd",
    "note",
)  # fmt: skip
_SETS = columns(
    "protocol aspect", "jury|Judges", "size|Size|int", "rule|(Rule)", "stat", "value|Agreement|float",
    *interval_columns(), "n", "answered|Answered|share", "cost_per_case|Cost a case|usd", "efficient|Worth it",
    "note",
)  # fmt: skip
_UNKNOWN = dict.fromkeys(("cost_usd", "cost_per_case", "ci_low", "ci_high", "human_ratio"))


def cost(project: Project, choose: Options) -> Table:
    """The cost of a judged case, or with a truth that of every set of judges. Raises UsageError for options without one."""
    if choose.truth:
        return _sets(project, choose)
    if given := [name for name in ("rule", "aspect", "stat") if choose[name]]:
        raise UsageError(
            f"{given[0]} is about sets of judges, which are compared with a truth", "Name the truth."
        )
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
    costs = [
        c
        for c in case_costs(project.db, project.id)
        if c.rater in (choose.raters or (c.rater,)) and choose.protocol in (None, c.protocol)
    ]
    rows = tuple(_row(list(group), choose.human_price) for _, group in groupby(costs, key=lambda c: c[:6]))
    notes: list[Note] = []
    if any(row["ci_low"] is not None for row in rows):
        notes.append(
            definition(
                "cost a case: dollars of all calls, failed ones too, by judged cases; interval over users (ratio)"
            )
        )
    if not rows:
        notes.append(Note("no run has judged a case yet"))
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


def spent_a_case(db: Database, project_id: int) -> dict[tuple[str, str], float | None]:
    """(rater, protocol) -> dollars per judged case over all its prompts and forms; None if a price is unknown. A rater whose
    cases were all cached or failed is missing."""
    by_rater: dict[tuple[str, str], list[CaseCost]] = {}
    for each in case_costs(db, project_id):
        if each.cached == 0:
            by_rater.setdefault((each.rater, each.protocol), []).append(each)
    spent: dict[tuple[str, str], float | None] = {}
    for key, costs in by_rater.items():
        judged = sum(each.done > 0 for each in costs)
        if judged:
            known = all(each.priced == each.done and not each.impossible for each in costs)
            spent[key] = sum(each.cost_usd for each in costs) / judged if known else None
    return spent


def _row(costs: list[CaseCost], human_price: float | None) -> Row:
    fresh = [each for each in costs if each.cached == 0]
    judged = sum(each.done > 0 for each in fresh)
    calls, done, priced, impossible = (
        sum(getattr(each, name) for each in fresh) for name in ("calls", "done", "priced", "impossible")
    )
    tokens = sum(each.tokens_in + each.tokens_out for each in fresh)
    row: Row = {name: getattr(costs[0], name) for name in CaseCost._fields[:6]}
    row |= {
        "cases": judged,
        "calls": calls,
        "calls_per_case": calls / judged if judged else None,
        "tokens_per_case": tokens / judged if judged and not impossible else None,
    }
    notes = (
        [f"{len(costs) - len(fresh):,} cases with cached replies left out"] if len(fresh) < len(costs) else []
    )
    notes += [f"{len(fresh) - judged:,} cases failed"] if len(fresh) > judged else []
    why = (
        "no case was judged by a new call"
        if judged == 0
        else f"{quantity(impossible, 'call')} with an impossible stored cost or number of tokens"
        if impossible
        else f"price unknown for {done - priced:,} of {done:,} calls"
        if priced < done
        else ""
    )
    if why:
        return row | _UNKNOWN | {"note": "; ".join([why, *notes])}
    usd, counted = [each.cost_usd for each in fresh], [float(each.done > 0) for each in fresh]
    total = sum(usd)
    ends = ratio_of_sums(usd, counted, [each.user_id for each in fresh])
    return row | {
        "cost_usd": total,
        "cost_per_case": total / judged,
        "ci_low": ends.ci_low,
        "ci_high": ends.ci_high,
        "human_ratio": None if human_price is None else total / judged / human_price,
        # where nothing was spent, an interval is not missed
        "note": "; ".join(note for note in (ends.note if total else "", *notes) if note),
    }


# ---- sets of judges --------------------------------------------------------------------------------------------------

MOST_JUDGES = 8
_ABOUT = (
    definition(
        "only cases with a value from all these judges and the truth count; agreement is over those with a joint verdict (n)"
    ),
    definition("cost a case: the sum of the members' costs per judged case of this protocol"),
    definition(
        "worth it: no other set is as cheap or cheaper, agrees as well or better, and answers as often or more"
    ),
)


def _sets(project: Project, choose: Options) -> Table:
    """One row per question and set of judges, the cheapest first: agreement of their joint verdict with the truth,
    and dollars per case. Rules: `majority` (more than half; a split vote is no answer), `mean`, `dawid-skene` (learnt
    without the truth from all cases that all judges answered; for three or more judges). `human_price` is the cost of
    a person in the set."""
    rule: Rule = choose.rule or "majority"
    truth: str = choose.truth
    _check_set(choose, rule)
    known = project_raters(project.db, project.id)
    for name in (truth, *choose.raters):
        rater_row(project.db, project.id, name)
    for name in choose.raters:
        if known[name].kind in COMBINED or known[name].of_metrics:
            raise UsageError(f"“{name}” is itself made from other raters; an ensemble needs judges or people")
    judges = choose.raters or tuple(name for name, rater in known.items() if rater.kind in RUN_RATERS)
    members = tuple(name for name in judges if name != truth)
    met = meet(project, choose.selection(raters=members or (truth,), readers=True), truth)
    labels, prices = label_sets(met), spent_a_case(project.db, project.id)
    rows: list[Row] = []
    left_out: list[Note] = []
    seen: dict[str, Orientation] = {}
    for alike in _by_question(met.meetings):
        where = f"{alike[0].protocol}, {alike[0].aspect}"
        ordered = (alike[0].protocol, alike[0].aspect) not in met.nominal
        if refused := _needs_order(rule, choose.stat, ordered=ordered):
            left_out.append(Note(f"{where}: {refused}"))
            continue
        costs = [_price(meeting.a, met.ratings, prices, choose.human_price) for meeting in alike]
        together = pairs(met.ratings.cases, [met.side(q) for q in (*(m.a for m in alike), alike[0].b)])
        measured = list(_measured(together, alike, labels[alike[0]], costs, rule, choose.stat, ordered))
        rows += _ranked([row for row, _ in measured])
        views = {how.words() for _, how in measured}
        seen |= {f"{where}, {row['jury']}" if len(views) > 1 else where: how for row, how in measured}
        left_out += [Note(f"{where}: {note}") for note in together.left_out]
    if not rows and not left_out:
        left_out = [Note("no judge answered a question that the truth answered")]
    notes: list[Note] = left_out
    if rows:
        notes = [*map(Note, combined_notes([known[truth]])), *left_out, *_sides(seen), *_ABOUT]
    title = f"Ensembles by {rule}: cost against accuracy"
    table = Table(title, _SETS, tuple(rows), tuple(notes), {"rule": rule}, answer=_best(rows, truth))
    names = "protocol aspect jury value ci_low ci_high answered cost_per_case efficient"
    worth = tuple(row for row in rows if row.get("efficient") or row["size"] == 1)
    return seen_first(table, names, worth)


def _check_set(choose: Options, rule: str) -> None:
    if choose.stat and choose.stat not in STATISTICS:
        raise UsageError(f"no statistic “{choose.stat}”", f"Available: {', '.join(STATISTICS)}.")
    if rule == "mean" and choose.stat and choose.stat not in (*CORRELATIONS, "bias"):
        raise UsageError(
            f"“{choose.stat}” compares labels, and a mean is not a label",
            f"Use {', '.join(CORRELATIONS)} or bias.",
        )
    if choose.truth in choose.raters:
        raise UsageError(f"“{choose.truth}” cannot be both the truth and a member")


def _needs_order(rule: str, stat: str | None, *, ordered: bool) -> str:
    """Why the rule or the statistic cannot be used on categories; empty if it can."""
    if ordered:
        return ""
    if rule == "mean":
        return "categories without an order have no mean: use majority or dawid-skene"
    return NO_ORDER if stat and not STATISTICS[stat].nominal else ""


def _by_question(met: Sequence[Meeting]) -> Iterator[list[Meeting]]:
    by_question: dict[tuple[str, Question, str], list[Meeting]] = {}
    for meeting in met:
        by_question.setdefault((meeting.protocol, meeting.b, meeting.aspect), []).append(meeting)
    for alike in by_question.values():
        if len(alike) > MOST_JUDGES:
            raise UsageError(
                f"{len(alike)} judges make {2 ** len(alike) - 1:,} ensembles: too many to compare",
                next_step=f"Name at most {MOST_JUDGES} raters.",
            )
        yield alike


def _price(
    question: Question,
    ratings: Ratings,
    prices: Mapping[tuple[str, str], float | None],
    human_price: float | None,
) -> float | None:
    if ratings.raters[question.rater].kind not in RUN_RATERS:
        return human_price
    return prices.get((question.rater, question.protocol))


def _measured(
    together: Pairs,
    alike: list[Meeting],
    labels: list[float] | None,
    costs: list[float | None],
    rule: Rule,
    asked: str | None,
    ordered: bool,
) -> Iterator[tuple[Row, Orientation]]:
    """Each set of judges, and the side from which its pairs are seen."""
    whole = together.among(np.logical_not(np.isnan(together.stored[:-1]).any(axis=0)))
    stat = asked or usual_statistic(labels is not None and rule != "mean", ordered=ordered)
    for size in range(1, len(alike) + 1):
        for members in combinations(range(len(alike)), size):
            names, spent = [alike[at].a.rater for at in members], [costs[at] for at in members]
            row: Row = {
                "protocol": alike[0].protocol,
                "aspect": alike[0].aspect,
                "jury": " + ".join(names),
                "size": size,
                "rule": rule,
                "stat": stat,
                "cost_per_case": None if None in spent else sum(price or 0.0 for price in spent),
            }
            figures, seen = _agreement(whole, whole.stored[list(members)], labels, stat, rule)
            yield row | figures, seen


def _agreement(
    whole: Pairs, votes: FloatArray, labels: list[float] | None, stat: str, rule: Rule
) -> tuple[Row, Orientation]:
    truth, cases = whole.stored[-1], whole.cases
    if rule == "dawid-skene" and np.unique(votes).size > MOST_LABELS:
        return {"n": 0, "note": "scores between the labels: use the rule mean"}, whole.among(
            truth != truth
        ).seen
    of_pairs = bool(cases.is_pair[whole.row].any())
    verdicts = joint(rule, votes, votes.shape[0], of_pairs=of_pairs).values
    known = ~np.isnan(truth)
    both: BoolArray = known & ~np.isnan(verdicts)
    seen = whole.among(both).seen
    found = estimates(
        verdicts[both] * seen.turn, truth[both] * seen.turn, whole.user[both], labels, (stat,), seen
    )[stat]
    return {
        "value": found.value,
        **interval_cells(found),
        "n": int(both.sum()),
        "answered": float(both.sum() / known.sum()) if known.any() else None,
        "note": found.note,
    }, seen


def _sides(by_where: Mapping[str, Orientation]) -> list[Note]:
    """What A and B mean, one note for each side from which sets are seen."""
    wheres: dict[str, list[str]] = {}
    for where, how in by_where.items():
        if how.words():
            wheres.setdefault(how.words(), []).append(where)
    single = len(wheres) == 1
    return [Note(words if single else f"{', '.join(places)}: {words}") for words, places in wheres.items()]


def _ranked(ensembles: list[Row]) -> list[Row]:
    """The cheapest first, unknown costs last, with whether each is worth it."""
    figures = {id(row): found for row in ensembles if (found := _figures(row)) is not None}
    for row in ensembles:
        if id(row) in figures:
            mine = figures[id(row)]
            row["efficient"] = not any(
                other != mine and all(theirs >= own for theirs, own in zip(other, mine, strict=True))
                for other in figures.values()
            )
        if row["cost_per_case"] is None:
            row["note"] = "; ".join(part for part in (str(row["note"]), "cost unknown") if part)
    return sorted(ensembles, key=_place)


def _figures(row: dict[str, Any]) -> tuple[float, float, float] | None:
    """Negative cost, agreement and share answered, so that more is always better; None if one of them is unknown."""
    spent, value, answered = (row.get(name) for name in ("cost_per_case", "value", "answered"))
    if spent is None or value is None or answered is None:
        return None
    # equal up to rounding is equal
    return -spent, round(value, 12), answered


def _place(row: dict[str, Any]) -> tuple[bool, float, float]:
    spent, value = row["cost_per_case"], row.get("value")
    return spent is None, spent or 0.0, np.inf if value is None else -value


def _best(rows: Sequence[dict[str, Any]], truth: str) -> str:
    """The set that agrees most with the truth, of those whose cost is known the cheapest that does as well."""
    measured = [row for row in rows if row.get("value") is not None]
    if not measured:
        return ""
    asked = [(row["protocol"], row["aspect"]) for row in measured]
    best = max(measured[: asked.count(asked[0])], key=lambda row: row["value"])
    spent = best["cost_per_case"]
    price = "at an unknown cost" if spent is None else f"for {money(spent)} a case"
    return (
        f"{best['jury']} agrees most with {truth} on {best['protocol']}, {best['aspect']}"
        f" ({best['stat']} {best['value']:.2f}, n {best['n']}) {price}."
    )
