"""Cost against accuracy: every set of judges as one rater, its agreement with a truth and its cost per case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from recjudge_tui.domain.roles import COMBINED
from recjudge_tui.domain.selection import Selection
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import combined_notes, is_judging, is_metric
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.projects.cost import check_price, spent_a_case
from recjudge_tui.reports.rater_pairs import label_sets
from recjudge_tui.reports.words import orientation_notes
from recjudge_tui.shapes import Meeting, Orientation, Pairs, meet, pairs
from recjudge_tui.stats.agreement import agreement_estimates
from recjudge_tui.stats.combining.consensus import Rule, joint
from recjudge_tui.stats.combining.dawid_skene import MOST_LABELS
from recjudge_tui.stats.defaults import RESAMPLES
from recjudge_tui.stats.registry import CORRELATIONS, NO_ORDER, STATISTICS, usual_statistic
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import (
    Question,
    Ratings,
)

MOST_JUDGES = 8
ENSEMBLE_RULES: tuple[Rule, ...] = ("majority", "mean", "dawid-skene")
_LABELLED = "scores between the labels: use --rule mean"
_NOTES = (
    "only cases with a value from all these judges and the truth count; agreement is over those with a joint verdict (n)",
    "cost per case: the sum of the members' costs per judged case of this protocol",
    "worth it: no other set is as cheap or cheaper, agrees as well or better, and answers as often or more",
)
_COLUMNS = (
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("jury", "Judges"),
    Column("size", "Size", "int"),
    Column("rule", "Rule", minor=True),
    Column("stat", "Statistic", "statistic"),
    Column("value", "Agreement", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("answered", "Answered", "share"),
    Column("cost_per_case", "Cost per case", "usd"),
    Column("efficient", "Worth it"),
    Column("note", "Note"),
)


@dataclass(frozen=True)
class EnsembleCostOptions:
    """`raters` empty: every judge. `stat` empty: qwk for labels, kappa for categories, pearson for means and for scores
    without labels."""

    truth: str
    rule: Rule = "majority"
    raters: tuple[str, ...] = ()
    protocol: str | None = None
    aspect: str | None = None
    stat: str = ""
    human_price: float | None = None
    resamples: int = RESAMPLES
    seed: int = 0


def ensemble_costs_table(db: Database, project_id: int, options: EnsembleCostOptions) -> Table:
    """One row per question and set of 1 to K judges, the cheapest first: agreement of their joint verdict with
    `truth`, and dollars per case.

    Rules: `majority` (more than half; a split vote is no answer), `mean`, `dawid-skene` (learnt without the truth from
    all cases that all judges answered). `human_price` is the cost of a person in the set.
    Raises UsageError for an unknown rule or statistic, an impossible price, the truth or a combined rater among the
    judges, or more than 8 judges; NotFoundError for an unknown rater.
    """
    _check(options)
    project, about = (
        Project.numbered(db, project_id),
        Selection(options.protocol, options.aspect, options.raters),
    )
    raters = meet(project, about, options.truth).ratings.raters
    for name in options.raters:
        if raters[name].kind in COMBINED or is_metric(raters[name]):
            raise UsageError(f"“{name}” is itself made from other raters; an ensemble needs judges or people")
    chosen = options.raters or tuple(name for name, rater in raters.items() if is_judging(rater))
    members = tuple(name for name in chosen if name != options.truth)
    met = meet(project, replace(about, raters=members or (options.truth,)), options.truth)
    ratings, labels = met.ratings, label_sets(met)
    prices = spent_a_case(db, project_id)
    rows: list[Row] = []
    left_out: list[str] = []
    sides_seen: dict[str, Orientation] = {}
    for alike in _by_question(met.meetings):
        costs = [_price(pair.a, ratings, prices, options.human_price) for pair in alike]
        outer = pairs(ratings.cases, [*(met.side(pair.a) for pair in alike), met.side(alike[0].b)])
        where = f"{alike[0].protocol}, {alike[0].aspect}"
        ordered = (alike[0].protocol, alike[0].aspect) not in met.nominal
        if refused := _needs_order(options, ordered=ordered):
            left_out.append(f"{where}: {refused}")
            continue
        measured = list(_measured(outer, alike, labels[alike[0]], costs, options, ordered))
        rows += _ranked([row for row, _ in measured])
        views = {seen.words(): seen for _, seen in measured}
        sides_seen |= {f"{where}, {row['jury']}" if len(views) > 1 else where: seen for row, seen in measured}
        left_out += [f"{where}: {note}" for note in outer.left_out]
    notes = (
        (*combined_notes([raters[options.truth]]), *_NOTES, *orientation_notes(sides_seen), *left_out)
        if rows
        else tuple(left_out) or ("no judge answered a question that the truth answered",)
    )
    settings = {"protocol": options.protocol, "truth": options.truth} | {
        "rule": options.rule,
        "human_price": options.human_price,
    }
    return Table(
        f"Ensembles by {options.rule}: cost against accuracy", _COLUMNS, tuple(rows), notes, settings
    )


def _check(options: EnsembleCostOptions) -> None:
    if options.rule not in ENSEMBLE_RULES:
        raise UsageError(f"no rule “{options.rule}”", f"Available: {', '.join(ENSEMBLE_RULES)}.")
    if options.stat and options.stat not in STATISTICS:
        raise UsageError(f"no statistic “{options.stat}”", f"Available: {', '.join(STATISTICS)}.")
    if options.rule == "mean" and options.stat and options.stat not in (*CORRELATIONS, "bias"):
        raise UsageError(
            f"“{options.stat}” compares labels, and a mean is not a label",
            f"Use {', '.join(CORRELATIONS)} or bias.",
        )
    if options.truth in options.raters:
        raise UsageError(f"“{options.truth}” cannot be both the truth and a member")
    check_price(options.human_price)


def _needs_order(options: EnsembleCostOptions, *, ordered: bool) -> str:
    """Why the rule or the statistic cannot be used on categories; empty if it can."""
    if ordered:
        return ""
    if options.rule == "mean":
        return "categories without an order have no mean: use majority or dawid-skene"
    return NO_ORDER if options.stat and not STATISTICS[options.stat].nominal else ""


def _by_question(pairs: Sequence[Meeting]) -> Iterator[list[Meeting]]:
    by_question: dict[tuple[str, Question, str], list[Meeting]] = {}
    for pair in pairs:
        by_question.setdefault((pair.protocol, pair.b, pair.aspect), []).append(pair)
    for alike in by_question.values():
        if len(alike) > MOST_JUDGES:
            raise UsageError(
                f"{len(alike)} judges make {2 ** len(alike) - 1:,} ensembles: too many to compare",
                next_step=f"Name at most {MOST_JUDGES} with --raters.",
            )
        yield alike


def _price(
    question: Question,
    ratings: Ratings,
    prices: Mapping[tuple[str, str], float | None],
    human_price: float | None,
) -> float | None:
    if not is_judging(ratings.raters[question.rater]):
        return human_price
    return prices.get((question.rater, question.protocol))


def _measured(
    outer: Pairs,
    alike: list[Meeting],
    labels: list[float] | None,
    costs: list[float | None],
    options: EnsembleCostOptions,
    ordered: bool,
) -> Iterator[tuple[Row, Orientation]]:
    """Each set of judges, and the side from which its pairs are seen."""
    answered = outer.among(np.asarray(~np.isnan(outer.stored[:-1]).any(axis=0)))
    by_labels = labels is not None and options.rule != "mean"
    stat = options.stat or usual_statistic(by_labels, ordered=ordered)
    for size in range(1, len(alike) + 1):
        for members in combinations(range(len(alike)), size):
            prices = [costs[at] for at in members]
            row: Row = {
                "protocol": alike[0].protocol,
                "aspect": alike[0].aspect,
                "jury": " + ".join(alike[at].a.rater for at in members),
                "size": size,
                "rule": options.rule,
                "stat": stat,
                "cost_per_case": None if None in prices else sum(price or 0.0 for price in prices),
            }
            figures, seen = _agreement(answered, list(members), labels, stat, options)
            yield row | figures, seen


def _agreement(
    outer: Pairs,
    members: list[int],
    labels: list[float] | None,
    stat: str,
    options: EnsembleCostOptions,
) -> tuple[Row, Orientation]:
    votes, truth, unseen = (
        outer.stored[members],
        outer.stored[-1],
        outer.among(np.zeros(outer.n, dtype=np.bool_)).seen,
    )
    if options.rule == "dawid-skene" and np.unique(votes).size > MOST_LABELS:
        return {"n": 0, "note": _LABELLED}, unseen
    of_pairs = bool(outer.cases.is_pair[outer.row].any())
    verdicts = joint(options.rule, votes, votes.shape[0], of_pairs=of_pairs).values
    known = ~np.isnan(truth)
    answered = known & ~np.isnan(verdicts)
    both = outer.among(answered)
    seen = both.seen
    estimate = agreement_estimates(
        verdicts[answered] * seen.turn,
        truth[answered] * seen.turn,
        both.user,
        seen.labels(labels),
        (stat,),
        mirrored=seen.mirrored,
    )[stat]
    return {
        "value": estimate.value,
        **interval_cells(estimate),
        "n": estimate.n,
        "answered": float(answered.sum() / known.sum()) if known.any() else None,
        "note": estimate.note,
    }, seen


def _ranked(ensembles: list[Row]) -> list[Row]:
    """The cheapest first, unknown costs last, with whether each is worth it."""
    judged = [(row, figures) for row in ensembles if (figures := _figures(row)) is not None]
    for row, mine in judged:
        others = [figures for _, figures in judged]
        row["efficient"] = not any(_beats(other, mine) for other in others)
    notes = [(row, "cost unknown") for row in ensembles if row["cost_per_case"] is None]
    for row, note in notes:
        row["note"] = "; ".join(part for part in (str(row["note"]), note) if part)
    return sorted(ensembles, key=_place)


def _figures(row: Row) -> tuple[float, float, float] | None:
    """Negative cost, agreement and share answered, so that more is always better; None if one of them is unknown."""
    cost, value, answered = row["cost_per_case"], row.get("value"), row.get("answered")
    if isinstance(cost, float) and isinstance(value, float) and isinstance(answered, float):
        return -cost, value, answered
    return None


def _beats(other: tuple[float, float, float], mine: tuple[float, float, float]) -> bool:
    return other != mine and all(theirs >= own for theirs, own in zip(other, mine, strict=True))


def _place(row: Row) -> tuple[bool, float, float]:
    cost, value = row["cost_per_case"], row.get("value")
    return (
        not isinstance(cost, float),
        cost if isinstance(cost, float) else 0.0,
        -value if isinstance(value, float) else np.inf,
    )
