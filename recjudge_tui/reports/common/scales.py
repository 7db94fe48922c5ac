"""The questions of a report, their labels, and the roles of raters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.roles import COMBINED, FIRST_HAND, REFERENCES, RUN_RATERS, rules_note
from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.shapes import grouped
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.registry import usual_statistic
from recjudge_tui.store.calls import one_order_counts
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import run_prompts
from recjudge_tui.store.ratings import Question, Rater, stored_scales
from recjudge_tui.store.verdicts import counted_battles

_MOST_PAIRS = 4


def is_judging(rater: Rater) -> bool:
    return rater.kind in RUN_RATERS


def speaks_for_people(rater: Rater) -> bool:
    """Whether the rater is a person or a consensus, which is derived from people."""
    return rater.kind in REFERENCES


def is_people(rater: Rater) -> bool:
    """Whether the rater is an annotator or a user. A consensus is derived from people and is not one of them."""
    return rater.kind in FIRST_HAND


def rater_notes(raters: Iterable[Rater]) -> list[str]:
    """The notes that must accompany all figures of raters made from others and of the built-in rules."""
    named = list(raters)
    rules = sorted({rater.name for rater in named if rater.kind == "rules"})
    return [*combined_notes(named), *([rules_note(*rules)] if rules else [])]


def combined_notes(raters: Iterable[Rater]) -> list[str]:
    """A note on consensus and ensemble raters as references. A mean of metrics is none."""
    names = sorted({rater.name for rater in raters if rater.kind in COMBINED and not rater.of_metrics})
    verb = "are" if len(names) > 1 else "is"
    return [f"{', '.join(names)} {verb} made from other raters"] if names else []


def origin_notes(db: Database, project_id: int, questions: Iterable[Question]) -> list[str]:
    """One line for each rater that judged pairs in one order only: how often which list came first; and for each question
    of which there are only counts."""
    wanted = {*questions}
    by_rater = grouped(
        ((rater, protocol), ((first, second), calls))
        for rater, protocol, first, second, calls in one_order_counts(db, project_id)
        if (rater, protocol) in {question[:2] for question in wanted}
    )
    notes = []
    for (rater, protocol), counts in by_rater.items():
        orders = dict(counts)
        pairs = [
            f"{first} came first in {n:,} of {n + orders.get((second, first), 0):,} calls with {second}"
            for (first, second), n in orders.items()
            if (n, second) >= (orders.get((second, first), 0), first)
        ]
        more = f"; and {len(pairs) - _MOST_PAIRS} more pairs" if len(pairs) > _MOST_PAIRS else ""
        notes.append(
            f"{rater} ({protocol}) saw each pair in one order, so position is not controlled for:"
            f" {'; '.join(pairs[:_MOST_PAIRS])}{more}"
        )
    return notes + [
        f"{rater}, {aspect}: {n:,} battles are known only as counts, without their users: each counts as one user, so"
        " intervals are too narrow and p values too small if the same users judged several"
        for rater, protocol, aspect, n in counted_battles(db, project_id)
        if (rater, protocol, aspect) in wanted
    ]


def label_names(
    db: Database, project_id: int, protocol: str, aspect: str, values: FloatArray, *, fine: bool = False
) -> dict[float, str] | None:
    """The label set of a question, value -> name, highest value first; None for a scale without labels. It comes from
    the scale that a file of labels gave to the aspect, else from the prompts of the project's runs, else from the
    protocol. It is extended by other whole numbers that people gave. Labels that roll up to another are in it if `fine`.
    """
    given = stored_scales(db, project_id).get((protocol, aspect))
    if given is not None:
        return _extended(given.names, given.names, values) if given.names else None
    names: dict[float, str] = {}
    for prompt in run_prompts(db, project_id, protocol):
        if any(spec.name == aspect for spec in prompt.aspects):
            labels = prompt.labels_of(aspect)
            names |= {label.value: label.name for label in labels if fine or label.rolls_up is None}
    own = dict(protocol_facts(protocol).labels)
    if not own and not names:
        return None
    return _extended(names or dict(own), own, values)


def _extended(names: dict[float, str], own: Mapping[float, str], values: FloatArray) -> dict[float, str]:
    """The labels with whole numbers that lie beyond them, highest first."""
    beyond = np.setdiff1d(values[~np.isnan(values)], list(names))
    if beyond.size and own and not np.setdiff1d(beyond, list(own)).size:
        names = names | dict(own)
    elif beyond.size and (beyond == np.rint(beyond)).all():
        low, high = int(min(*names, beyond.min())), int(max(*names, beyond.max()))
        if high - low < MOST_LABELS:
            names = {float(value): names.get(float(value), str(value)) for value in range(low, high + 1)}
    return dict(sorted(names.items(), reverse=True))


def value_bounds(
    db: Database, project_id: int, question: Question, values: FloatArray
) -> tuple[float, float] | None:
    """The lowest and the highest value of a question's scale; None if it has none, or if a value lies outside it."""
    known = values[~np.isnan(values)]
    names = label_names(db, project_id, question.protocol, question.aspect, known)
    given = stored_scales(db, project_id).get(question[1:])
    ends = given or protocol_facts(question.protocol)
    low, high = (min(names), max(names)) if names else (ends.low, ends.high)
    inside = known.size == 0 or (known.min() >= low and known.max() <= high)
    return (low, high) if inside and low < high else None


def categories(db: Database, project_id: int) -> set[tuple[str, str]]:
    """(protocol, aspect) of all questions that are answered by categories without an order."""
    return {key for key, scale in stored_scales(db, project_id).items() if not scale.ordered}


def statistic_of(db: Database, project_id: int, protocol: str, aspect: str) -> str:
    """The one statistic by which raters of a question are compared everywhere, unless another is asked for."""
    names = label_names(db, project_id, protocol, aspect, np.zeros(0))
    return usual_statistic(names is not None, ordered=(protocol, aspect) not in categories(db, project_id))


def scale_notes(db: Database, project_id: int, asked: Iterable[tuple[str, str]]) -> list[str]:
    """One line on the aspects that have a scale of their own; none if no aspect has one."""
    scales = stored_scales(db, project_id)
    own = [f"{of[1]} {scales[of].described()}" for of in dict.fromkeys(asked) if of in scales]
    return [f"scales: {'; '.join(own)}"] if own else []
