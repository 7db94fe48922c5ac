"""Consensus raters, derived by an adjudication rule (SAER; Liu et al., SIGIR 2026)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, get_args

import numpy as np

from recjudge_tui.errors import UsageError
from recjudge_tui.raters.combined import (
    CombinedValues,
    RaterSummary,
    Recipe,
    Votes,
    checked_names,
    checked_quorum,
    make_combined_rater,
)
from recjudge_tui.stats.combining.consensus import conservative, majority, median, strict
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.combined import InputVerdict

Rule = Literal["strict", "conservative", "majority", "median"]
RULES: tuple[Rule, ...] = get_args(Rule)
_RULES = {"strict": strict, "conservative": conservative, "majority": majority}
BETWEEN = "the median lies between two labels"


def make_consensus(
    db: Database, project_id: int, name: str, rule: Rule, raters: Sequence[str], quorum: int | None = None
) -> RaterSummary:
    """Create a consensus rater, whose verdicts are derived from those of `raters` on each case and aspect.

    `strict`: the harsher label (single lists and texts). `conservative`: any disagreement is a tie (pairs).
    `majority`: more than half of those who voted; a split vote gives no verdict. `median`: the middle of the votes on
    an ordered scale; no verdict if it lies between two labels. A question with fewer votes than `quorum` (default:
    all raters) gets no verdict; a failed verdict is not a vote. Questions without a verdict are counted. A consensus
    with the same recipe is updated. Raises UsageError for fewer than two raters, a quorum that cannot be met or a
    name that is taken, NotFoundError for an unknown rater, RunError when the raters share no question that the rule
    can answer.
    """
    if rule not in RULES:
        raise UsageError(f"no rule “{rule}”", f"Available: {', '.join(RULES)}.")
    names = checked_names("consensus", name, raters)
    combine = partial(combined, rule=rule)
    needs_order = rule in ("strict", "median")
    recipe = Recipe(
        "consensus",
        rule,
        names,
        checked_quorum(quorum, names),
        combine,
        partial(refuse, rule=rule),
        needs_order,
    )
    return make_combined_rater(db, project_id, name, recipe)


def combined(votes: Votes, rule: Rule) -> CombinedValues:
    """The values (n,) of the rule for votes (raters, n)."""
    if rule == "median":
        values = median(votes.table, votes.quorum, whole=votes.labels)
        return CombinedValues(
            values, left_out=dict.fromkeys(np.flatnonzero(np.isnan(values)).tolist(), BETWEEN)
        )
    return CombinedValues(_RULES[rule](votes.table, votes.quorum))


def refuse(verdict: InputVerdict, rule: Rule) -> str:
    """The reason why the rule cannot answer a question; empty if it can."""
    is_pair = verdict.case_kind == "pair"
    if is_pair and rule == "strict":
        return "strict needs an order of labels, which pairs of lists do not have"
    if not is_pair and rule == "conservative":
        return "conservative needs ties, which only pairs of lists have"
    return ""
