"""Consensus raters, derived by an adjudication rule (SAER; Liu et al., SIGIR 2026)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, get_args

from recjudge_tui.errors import UsageError
from recjudge_tui.raters.combined import (
    CombinedValues,
    RaterSummary,
    Recipe,
    Votes,
    checked_names,
    make_combined_rater,
)
from recjudge_tui.stats.combining.consensus import conservative, majority, strict
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.combined import InputVerdict

Rule = Literal["strict", "conservative", "majority"]
RULES: tuple[Rule, ...] = get_args(Rule)
_RULES = {"strict": strict, "conservative": conservative, "majority": majority}


def make_consensus(
    db: Database, project_id: int, name: str, rule: Rule, raters: Sequence[str]
) -> RaterSummary:
    """Create a consensus rater, whose verdicts are derived from those of `raters` on each case and aspect.

    `strict`: the harsher label (single lists and texts). `conservative`: any disagreement is a tie (pairs).
    `majority`: more than half; a split vote gives no verdict. A question that a rater did not judge, or
    where one failed, gets no verdict; both are counted. A consensus with the same recipe is updated. Raises
    UsageError for fewer than two raters or a name that is taken, NotFoundError for an unknown rater, RunError when
    the raters share no question that the rule can answer.
    """
    if rule not in RULES:
        raise UsageError(f"no rule “{rule}”", f"There are: {', '.join(RULES)}.")
    names = checked_names("consensus", name, raters)
    combine = partial(combined, rule=rule)
    recipe = Recipe("consensus", rule, names, len(names), combine, partial(refuse, rule=rule))
    return make_combined_rater(db, project_id, name, recipe)


def combined(votes: Votes, rule: Rule) -> CombinedValues:
    """The values (n,) of the rule for votes (raters, n)."""
    return CombinedValues(_RULES[rule](votes.table, votes.quorum))


def refuse(verdict: InputVerdict, rule: Rule) -> str:
    """Why the rule cannot answer a question; empty if it can."""
    is_pair = verdict.case_kind == "pair"
    if is_pair and rule == "strict":
        return "strict needs an order of labels, which pairs of lists do not have"
    if not is_pair and rule == "conservative":
        return "conservative needs ties, which only pairs of lists have"
    return ""
