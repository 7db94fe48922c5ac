"""The same adversarial pairs under several prompts: which prompt is right more often, by paired comparison, and its
cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.adversarial import ADVERSARIAL, Variant
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.reliability.adversarial import (
    NOTHING,
    VARIANTS,
    AdversarialVerdicts,
    earlier_pairs,
    judged_pairs,
    newest_pairs,
    of_generation,
)
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.stats.hypotheses import holm, paired_counts, share_difference, sign_test, users_for_each
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.runs.costs import RunCost, run_cost
from recjudge_tui.store.runs.runs import runs_of_rater
from recjudge_tui.store.verdicts.ratings import project_raters

PAPER = "in the paper: generic 74, over-specified 88, SAER 91 % correct of 100 pairs (Liu et al., SIGIR 2026)"
_ABOUT = (
    "a row with “against”: share correct of the first prompt minus that of the second on the pairs both answered, with"
    " its interval over users; p: exact sign test over users, each counted once (McNemar's exact test where each has one"
    " pair), adjusted by Holm over the comparisons of one kind of lists; tokens: the mean of a call; cost of 1,000:"
    " cached calls at their original cost"
)
_RULES = "rules reads the lists, not the prompt: its answers are the same for every prompt"
_AGREE = "they are right on the same pairs, so there is nothing to test"
_NOTHING_TO_TEST = "neither is right more often for any user, so there is nothing to test"
_COLUMNS = (
    Column("rater", "Rater"),
    Column("lists", "Lists"),
    Column("against", "Against"),
    Column("prompt", "Prompt", minor=True),
    Column("correct", "Correct", "int", minor=True),
    Column("wrong", "Wrong", "int", minor=True),
    Column("ties", "Ties", "int", minor=True),
    Column("failed", "Failed", "int", minor=True),
    Column("n", "n", "int"),
    Column("share", "Share", "share"),
    *interval_columns("share"),
    Column("only_first", "Only this", "int"),
    Column("only_second", "Only the other", "int"),
    Column("p", "p", "float", decimals=4),
    Column("p_holm", "p (Holm)", "float", decimals=4),
    Column("asked", "Calls", "int", minor=True),
    Column("cached", "From cache", "int", minor=True),
    Column("tokens_in", "Tokens in", "float", minor=True, decimals=0),
    Column("tokens_out", "Tokens out", "float", minor=True, decimals=0),
    Column("cost_usd", "Cost", "usd", minor=True),
    Column("cost_per_1000", "Cost of 1,000", "usd"),
    Column("seconds", "Seconds", "seconds", minor=True),
    Column("note", "Note"),
)


class Arm(NamedTuple):
    """One prompt's answers and the cost of its run (None for people, whose labels cost nothing here)."""

    judged: AdversarialVerdicts
    cost: RunCost | None


def ablation_table(db: Database, project_id: int, raters: Sequence[str]) -> Table:
    """For each kind of lists: one row per rater, then one per pair of raters (`against`), on the pairs both answered.

    Only the rows of the first kind have a cost, which is that of the run for both kinds together. Raises NotFoundError
    for an unknown rater, UsageError for fewer than two.
    """
    if len(set(raters)) < 2:
        raise UsageError("a comparison needs two raters or more", "Each prompt needs its own rater.")
    for name in raters:
        rater_row(db, project_id, name)
    every = [verdicts for verdicts in judged_pairs(db, project_id) if verdicts.rater in raters]
    newest = newest_pairs(every)
    judged = {(verdicts.variant, verdicts.rater): verdicts for verdicts in newest if verdicts.case}
    costs = {name: _cost(db, project_id, name) for name in raters}
    rows: list[Row] = []
    for variant in VARIANTS:
        arms = [Arm(judged[variant, n], costs[n]) for n in raters if (variant, n) in judged]
        rows += [_own(arm, first_kind=variant == "published") for arm in arms]
        by_rater = {verdicts.rater: verdicts for verdicts in every if verdicts.variant == variant}
        rows += _compared(variant, [by_rater[name] for name in raters if name in by_rater])
    known = project_raters(db, project_id)
    notes: tuple[str, ...] = (NOTHING,)
    if rows:
        notes = (_ABOUT, *earlier_pairs(newest), PAPER, *rater_notes(known[name] for name in raters))
    if rows and any(known[name].kind == "rules" for name in raters):
        notes += (_RULES,)
    missing = [name for name in raters if not any(rater == name for _, rater in judged)]
    if rows and missing:
        notes += (f"nothing judged by {', '.join(missing)}",)
    return Table("Ablation of prompts", _COLUMNS, tuple(rows), notes, {"raters": list(raters)})


def _cost(db: Database, project_id: int, name: str) -> RunCost | None:
    runs = runs_of_rater(db, rater_row(db, project_id, name)["id"])
    ids = [row["id"] for row in runs if row["protocol"] == ADVERSARIAL]
    return run_cost(db, ids[-1]) if ids else None


def _own(arm: Arm, *, first_kind: bool) -> Row:
    verdicts = arm.judged
    share = share_estimate(verdicts.correct, verdicts.user)
    row: Row = {
        "lists": verdicts.variant,
        "rater": verdicts.rater,
        "against": None,
        "prompt": arm.cost.prompt if arm.cost else None,
        "correct": int((verdicts.value == 1).sum()),
        "wrong": int((verdicts.value == -1).sum()),
        "ties": int((verdicts.value == 0).sum()),
        "failed": int(np.isnan(verdicts.value).sum()),
        "n": share.n,
        "share": share.value,
        **interval_cells(share),
        "note": share.note,
    }
    return row | (_spent(arm.cost) if arm.cost and first_kind else {})


def _spent(cost: RunCost) -> Row:
    per_call = cost.cost_a_call
    return {
        "asked": cost.sent,
        "cached": cost.cached,
        "tokens_in": cost.tokens_in,
        "tokens_out": cost.tokens_out,
        "cost_usd": cost.cost_usd,
        "cost_per_1000": None if per_call is None else 1000 * per_call,
        "seconds": cost.seconds,
    }


def _compared(variant: Variant, judged: Sequence[AdversarialVerdicts]) -> list[Row]:
    tables = [(a, b, _common(a, b)) for a, b in combinations(judged, 2)]
    counts = [paired_counts(first, second) for _, _, (first, second, _) in tables]
    tests = [sign_test(*users_for_each(*common)) for _, _, common in tables]
    rows = []
    for (a, b, common), table, p, adjusted in zip(tables, counts, tests, holm(tests), strict=True):
        difference = share_difference(*common)
        untested = "" if p is not None or not table.n else _NOTHING_TO_TEST if table.only_first else _AGREE
        rows.append(
            {
                "lists": variant,
                "rater": a.rater,
                "against": b.rater,
                "n": difference.n,
                "share": difference.value,
                **interval_cells(difference),
                "only_first": table.only_first,
                "only_second": table.only_second,
                "p": p,
                "p_holm": adjusted,
                "note": join_notes(difference.note, untested),
            }
        )
    return rows


def _common(a: AdversarialVerdicts, b: AdversarialVerdicts) -> tuple[list[float], list[float], list[str]]:
    """Right or not by each side, and the user, of the pairs that both answered, those of the newest lists among them."""
    common = np.intersect1d(a.case, b.case)
    if common.size:
        newest = int(a.since[np.isin(a.case, common)].max())
        a, b = of_generation(a, newest), of_generation(b, newest)
    first, second = _by_case(a), _by_case(b)
    users = dict(zip(a.case, a.user, strict=True))
    both = sorted(first.keys() & second.keys())
    return [first[case] for case in both], [second[case] for case in both], [users[case] for case in both]


def _by_case(verdicts: AdversarialVerdicts) -> dict[int, float]:
    values: FloatArray = verdicts.correct
    return dict(zip(verdicts.case, values.tolist(), strict=True))
