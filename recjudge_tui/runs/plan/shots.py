"""Choose the scored example shown with each explanation of a one-shot run (Zhang et al., 2024, Algorithm 1)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from recjudge_tui.domain.material import ExplanationView
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.store.cases import CaseKey
from recjudge_tui.store.data import (
    current_explanations,
    explanation_view,
    scores_of,
    truth_raters,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters import rater_row

OWN_PAIR = "the example's own pair"
NO_EXAMPLE = "no example"

Pair = tuple[str, str]


@dataclass(frozen=True)
class Shots:
    """The examples of a run. `pairs` maps a user to the (user, item) pair whose explanations are the examples for that
    user's cases: one pair for all (`one`) or a pair of the user's own (`personal`). `scored` maps
    (user, item, system) to the explanation's id and scores; `own_scores`: those of the users themselves."""

    pairs: dict[str, Pair]
    scored: dict[tuple[str, str, str], tuple[int, dict[str, float]]]
    keep_own_pair: bool
    form: Literal["one", "personal"]
    own_scores: bool

    def refusal(self, key: CaseKey) -> str:
        """The reason why a case is not judged; empty if it is."""
        pair = self.pairs.get(key.user_id)
        if pair is None:
            return NO_EXAMPLE
        if pair == (key.user_id, key.item_id) and not self.keep_own_pair:
            return OWN_PAIR
        return "" if (*pair, key.system_a) in self.scored else NO_EXAMPLE

    def view(self, db: Database, project_id: int, key: CaseKey) -> ExplanationView:
        """The example of a case that is not refused: the same system's explanation of the example pair, with its scores."""
        explanation_id, scores = self.scored[(*self.pairs[key.user_id], key.system_a)]
        return explanation_view(db, project_id, explanation_id).model_copy(
            update={"scores": scores, "form": self.form, "own_scores": self.own_scores}
        )


def choose_shots(
    db: Database, project_id: int, settings: RunSettings, prompt: Prompt, systems: Iterable[str]
) -> Shots:
    """Draw the example pairs by the run's seed.

    `one`: a random pair (u0, i0) of all that were scored. `personal`: for each user a random item i0 of those the
    user's explanations were scored for. An explanation can be an example when the rater scored every aspect of the
    prompt, and its text has not changed since. Raises UsageError when it is not clear whose scores are meant,
    RunError when nothing was scored.
    """
    rater = settings.examples_from or _only_truth(db, project_id)
    wanted = [aspect.name for aspect in prompt.aspects]
    scored = _scored(db, project_id, rater, wanted, set(systems))
    if not scored:
        raise RunError(
            f"“{rater}” has scored no explanation that could be an example",
            f"An example needs a score on {', '.join(wanted)}.",
            "Name another rater with --examples-from, or import its labels.",
        )
    return Shots(
        pairs=_pairs(db, project_id, settings, scored),
        scored=scored,
        keep_own_pair=settings.keep_example_pair,
        form="one" if settings.shots == "one" else "personal",
        own_scores=rater_row(db, project_id, rater)["kind"] == "ground_truth",
    )


def _scored(
    db: Database, project_id: int, rater: str, wanted: Sequence[str], systems: set[str]
) -> dict[tuple[str, str, str], tuple[int, dict[str, float]]]:
    """The current texts that were scored on all of `wanted`; scores of an earlier text do not count."""
    given = scores_of(db, rater_row(db, project_id, rater)["id"])
    scored = {}
    for key in current_explanations(db, project_id):
        scores = given.get(key._replace(id=0), {}) | given.get(key, {})
        if key.system in systems and all(aspect in scores for aspect in wanted):
            scored[key[:3]] = (key.id, {aspect: scores[aspect] for aspect in wanted})
    return scored


def _only_truth(db: Database, project_id: int) -> str:
    names = truth_raters(db, project_id)
    if len(names) != 1:
        raise UsageError(
            "it is not clear whose scores the examples should show",
            f"Raters of kind ground_truth with such scores: {', '.join(names) or 'none'}.",
            "Name one with --examples-from RATER.",
        )
    return names[0]


def _pairs(
    db: Database, project_id: int, settings: RunSettings, scored: Iterable[tuple[str, str, str]]
) -> dict[str, Pair]:
    pairs = sorted({(user, item) for user, item, _ in scored})
    users = {key.user_id for key in current_explanations(db, project_id)}
    if settings.shots == "one":
        return dict.fromkeys(users, random.Random(settings.seed).choice(pairs))
    own: dict[str, list[Pair]] = {}
    for pair in pairs:
        own.setdefault(pair[0], []).append(pair)
    # a generator for each user, so that the draw does not depend on the other users in the project
    return {
        user: random.Random(f"{settings.seed}/{user}").choice(candidates) for user, candidates in own.items()
    }
