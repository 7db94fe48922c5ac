"""Ensembles: raters that are the mean, the majority or the most likely label of other raters (Zhang et al., 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.raters.combined import (
    CombinedValues,
    RaterSummary,
    Recipe,
    Votes,
    checked_names,
    checked_quorum,
    make_combined_rater,
)
from recjudge_tui.stats.combining.consensus import majority, mean
from recjudge_tui.stats.combining.dawid_skene import FEWEST_RATERS, MOST_LABELS
from recjudge_tui.stats.combining.ensemble_labels import UNANIMOUS, ensemble_labels
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.combined import InputVerdict

EnsembleRule = Literal["mean", "majority", "dawid-skene"]
RULES: tuple[EnsembleRule, ...] = get_args(EnsembleRule)


def make_ensemble(
    db: Database,
    project_id: int,
    name: str,
    rule: EnsembleRule,
    raters: Sequence[str],
    quorum: int | None = None,
) -> RaterSummary:
    """Create an ensemble rater, whose verdicts are derived from those of `raters` on each case and aspect.

    `mean`: the mean of the values. `majority`: the value of more than half of the raters; a split vote gives no
    verdict. `dawid-skene`: the most likely label, with each rater weighted by estimated accuracy (`stats.dawid_skene`),
    for three or more raters; its probability is the verdict's confidence, and two equally likely labels give no
    verdict; an aspect on which it contradicts the raters is refused (`stats.combining.ensemble_labels`).
    Without a value from at least `quorum` raters (default: all) there is no verdict; missing and failed ones
    are counted, and so are verdicts made without all raters. Raters are compared on the same scale and aspect. An
    ensemble with the same recipe is updated. Raises UsageError for fewer raters than the rule needs, a quorum that
    cannot be met or a name that is taken, NotFoundError for an unknown rater, RunError when the raters share no
    question.
    """
    if rule not in RULES:
        raise UsageError(f"no rule “{rule}”", f"Available: {', '.join(RULES)}.")
    names = checked_names("ensemble", name, raters)
    needed = checked_quorum(quorum, names)
    if rule == "dawid-skene" and len(names) < FEWEST_RATERS:
        raise UsageError(
            f"dawid-skene needs at least {FEWEST_RATERS} raters",
            "When two raters differ, there is no way to tell which one is right.",
            "Add a rater, or use --rule majority.",
        )
    recipe = Recipe(
        "ensemble", rule, names, needed, _RULES[rule], _REFUSE.get(rule, lambda _: ""), rule == "mean"
    )
    return make_combined_rater(db, project_id, name, recipe)


def _mean(votes: Votes) -> CombinedValues:
    return CombinedValues(mean(votes.table, votes.quorum))


def _majority(votes: Votes) -> CombinedValues:
    return CombinedValues(majority(votes.table, votes.quorum))


def _dawid_skene(votes: Votes) -> CombinedValues:
    table = votes.table
    if np.unique(table[~np.isnan(table)]).size > MOST_LABELS:
        raise RunError(
            "dawid-skene needs labels, but these are scores",
            f"There are more than {MOST_LABELS} different values.",
            "Use --rule mean.",
        )
    labels = ensemble_labels(table, votes.raters, of_pairs=votes.of_pairs)
    left_out = dict.fromkeys(np.flatnonzero(labels.overturned).tolist(), UNANIMOUS)
    return CombinedValues(labels.values, labels.confidence, labels.accuracy, labels.refused, left_out)


def _not_labelled(verdict: InputVerdict) -> str:
    facts = protocol_facts(verdict.protocol)
    return "" if facts.labels else f"scores of {facts.low:g} to {facts.high:g} are not labels"


_RULES = {"mean": _mean, "majority": _majority, "dawid-skene": _dawid_skene}
_REFUSE = {"dawid-skene": _not_labelled}
