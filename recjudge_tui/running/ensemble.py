"""Raters that are the mean or the majority of other raters (Zhang et al., 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from recjudge_tui.errors import UsageError
from recjudge_tui.running.made_raters import MadeSummary, Recipe, checked_names, make_rater
from recjudge_tui.stats.consensus import majority, mean
from recjudge_tui.store.database import Database

EnsembleRule = Literal["mean", "majority"]
RULES: tuple[EnsembleRule, ...] = get_args(EnsembleRule)
_RULES = {"mean": mean, "majority": majority}


def make_ensemble(
    db: Database,
    project_id: int,
    name: str,
    rule: EnsembleRule,
    raters: Sequence[str],
    quorum: int | None = None,
) -> MadeSummary:
    """A rater of kind ensemble whose verdicts are made from those of `raters` on each case and aspect.

    `mean`: the mean of the values of those that have one. `majority`: the value of more than half of them; a split
    vote goes to nobody. Where fewer than `quorum` (default: all) have a value, missing or failed, there is no
    verdict; both are counted, and so are verdicts made without all. Raters meet where they answered on one scale
    and aspect. An ensemble of the same recipe is brought up to date. Raises UsageError for fewer than two raters,
    a quorum that cannot be met or a name that is taken, NotFoundError for an unknown rater, RunError when the
    raters share no question.
    """
    if rule not in RULES:
        raise UsageError(f"no rule “{rule}”", f"There are: {', '.join(RULES)}.")
    names = checked_names("ensemble", name, raters)
    needed = len(names) if quorum is None else quorum
    if not 1 <= needed <= len(names):
        raise UsageError(
            f"a quorum of {needed} cannot be: there are {len(names)} raters",
            next_step=f"Give --quorum 1 to {len(names)}, or leave it out.",
        )
    recipe = Recipe("ensemble", rule, names, needed, _RULES[rule], lambda _: "")
    return make_rater(db, project_id, name, recipe)
