"""Raters whose verdicts are derived from other raters' verdicts on each case and aspect, by a rule."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts, question_of
from recjudge_tui.domain.scales import Scale
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.combined import (
    DerivedVerdict,
    InputVerdict,
    input_verdicts,
    replace_verdicts,
    tie_label,
)
from recjudge_tui.store.raters.raters import ensure_rater, find_rater, rater_row
from recjudge_tui.store.verdicts.scales import stored_scales

MISSING = "not judged by all raters"
FAILED = "a rater's verdict failed"
SPLIT = "a split vote"
NO_ORDER = "the answers are categories without an order: use majority"


class CombinedValues(NamedTuple):
    """Values (n,), NaN where the rule gives none; the rule's confidence in each (n,), if it has one; its estimate of
    each rater's accuracy (raters,). `refused`: why the rule cannot answer any question, or empty; `left_out`: index
    of a question -> why it has no value.
    """

    values: FloatArray
    confidence: FloatArray | None = None
    accuracy: FloatArray | None = None
    refused: str = ""
    left_out: Mapping[int, str] = {}


class Votes(NamedTuple):
    """The values (raters, n) on one aspect and scale, NaN where a rater has none.

    `of_pairs`: signed preferences between two systems; the systems of a case are sorted by name, so the sign has no
    meaning across cases. `labels`: the values are whole numbers that represent labels.
    """

    table: FloatArray
    raters: tuple[str, ...]
    quorum: int
    of_pairs: bool
    labels: bool = False


@dataclass(frozen=True)
class Recipe:
    """How a rater's verdicts are derived.

    `combine` receives the values (raters, n) on one aspect and scale, raters in the order of `raters`, NaN where a rater
    has none, as `Votes`. `refuse` returns why the rule cannot answer a question, or an empty text. At least
    `quorum` of the raters must have a value on a question. `needs_order`: the rule ranks or averages values, so it cannot
    answer questions about categories.
    """

    kind: Literal["consensus", "ensemble"]
    rule: str
    raters: tuple[str, ...]
    quorum: int
    combine: Callable[[Votes], CombinedValues]
    refuse: Callable[[InputVerdict], str]
    needs_order: bool = False

    def stored(self) -> dict[str, object]:
        """The recipe as stored in the database; a consensus that needs all its raters is stored without a quorum."""
        stored: dict[str, object] = {"rule": self.rule, "raters": sorted(self.raters)}
        needs_all = self.kind == "consensus" and self.quorum == len(self.raters)
        return stored if needs_all else stored | {"quorum": self.quorum}


@dataclass(frozen=True)
class RaterSummary:
    """The result: the number of verdicts, of those where raters differed or some were missing, and why questions were
    left out."""

    name: str
    kind: str
    rule: str
    raters: tuple[str, ...]
    made: int
    disagreed: int
    incomplete: int
    left_out: dict[str, int]
    updated: bool
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The summary as lines of text."""
        done = "updated" if self.updated else "created"
        first = (
            f"{self.kind} “{self.name}” {done}: {self.made:,} verdicts by rule {self.rule} from"
            f" {', '.join(self.raters)}; they differed in {self.disagreed:,}"
        )
        some = [f"made without all raters: {self.incomplete:,}"] if self.incomplete else []
        return [
            first,
            *some,
            *self.notes,
            *(f"left out: {count:,} × {reason}" for reason, count in self.left_out.items()),
        ]


def checked_names(kind: str, name: str, raters: Sequence[str]) -> tuple[str, ...]:
    """The raters without duplicates. Raises UsageError for fewer than two, and for an invalid name."""
    names = tuple(dict.fromkeys(raters))
    if len(names) < 2:
        raise UsageError(f"{_article(kind)} needs at least two different raters")
    if not name.strip():
        raise UsageError(f"{_article(kind)} needs a name")
    if name in names:
        raise UsageError(f"“{name}” cannot be one of its own raters", next_step="Choose another name.")
    return names


def checked_quorum(quorum: int | None, names: Sequence[str]) -> int:
    """How many of the raters must vote; all of them by default. Raises UsageError for a number that is not possible."""
    needed = len(names) if quorum is None else quorum
    if not 1 <= needed <= len(names):
        raise UsageError(
            f"a quorum of {needed} is impossible with {len(names)} raters",
            next_step=f"Give --quorum 1 to {len(names)}, or leave it out.",
        )
    return needed


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def make_combined_rater(db: Database, project_id: int, name: str, recipe: Recipe) -> RaterSummary:
    """Create the rater, or update the verdicts of one with the same recipe, in one transaction.

    Raises UsageError for a name that is taken, NotFoundError for an unknown rater, RunError when the raters share
    no question that the rule can answer.
    """
    names = recipe.raters
    ids = [rater_row(db, project_id, rater)["id"] for rater in names]
    with db.transaction():
        known = find_rater(db, project_id, name)
        if known is not None:
            _same_recipe(db, project_id, name, recipe)
        left_out: Counter[str] = Counter()
        notes: list[str] = []
        scales, tie = stored_scales(db, project_id), tie_label(db, project_id)
        made = list(_made(input_verdicts(db, ids), ids, recipe, scales, tie, left_out, notes))
        if not made:
            reasons = "; ".join(f"{count} × {reason}" for reason, count in left_out.items())
            raise RunError(
                f"{', '.join(names)} have no verdicts in common that “{recipe.rule}” can combine",
                f"{reasons or 'They have no verdicts'}.",
                "“recjudge rater list” shows what each has judged.",
            )
        rater_id = ensure_rater(db, project_id, name, recipe.kind, recipe.stored())
        verdicts = [verdict for verdict, _ in made]
        replace_verdicts(db, rater_id, verdicts, f"{recipe.rule} of {', '.join(sorted(names))}")
    return RaterSummary(
        name=name,
        kind=recipe.kind,
        rule=recipe.rule,
        raters=names,
        made=len(made),
        disagreed=sum(len({v.value for v in given}) > 1 for _, given in made),
        incomplete=sum(len(given) < len(names) for _, given in made),
        left_out=dict(left_out),
        updated=known is not None,
        notes=tuple(notes),
    )


def _same_recipe(db: Database, project_id: int, name: str, recipe: Recipe) -> None:
    row = rater_row(db, project_id, name)
    if row["kind"] != recipe.kind:
        raise UsageError(
            f"the name “{name}” is taken by a rater of kind {row['kind']}", next_step="Choose another name."
        )
    known = json.loads(row["recipe"])
    if known != recipe.stored():
        of = ", ".join(known.get("raters", ()))
        quorum = f", quorum {known['quorum']}" if "quorum" in known else ""
        raise UsageError(
            f"a different {recipe.kind} is already called “{name}”",
            f"It is {known.get('rule')} of {of}{quorum}.",
            "Choose another name, or delete it first with “recjudge rater delete”.",
        )


def _made(
    inputs: list[InputVerdict],
    ids: list[int],
    recipe: Recipe,
    scales: Mapping[tuple[str, str], Scale],
    tie: str,
    left_out: Counter[str],
    notes: list[str],
) -> Iterator[tuple[DerivedVerdict, list[InputVerdict]]]:
    """Each verdict with the verdicts it is derived from.

    `ids` are the ids of the recipe's raters, in the same order.
    """
    place = {rater_id: at for at, rater_id in enumerate(ids)}
    for (scale, aspect), questions in _usable(inputs, recipe, left_out).items():
        known = scales.get((scale, aspect))
        if recipe.needs_order and known is not None and not known.ordered:
            left_out[f"{scale}, {aspect}: {NO_ORDER}"] += len(questions)
            continue
        table = np.full((len(ids), len(questions)), np.nan)
        for at, given in enumerate(questions):
            for verdict in given:
                table[place[verdict.rater_id], at] = verdict.value
        of_pairs = questions[0][0].case_kind == "pair"
        labels = _label_names(scales, tie, scale, aspect)
        whole = bool(labels) and bool((table == np.rint(table))[~np.isnan(table)].all())
        combined = recipe.combine(Votes(table, recipe.raters, recipe.quorum, of_pairs, whole))
        if combined.refused:
            left_out[f"{scale}, {aspect}: {combined.refused}"] += len(questions)
            continue
        if combined.accuracy is not None:
            notes.append(_skills(f"{scale}, {aspect}", recipe.raters, combined.accuracy))
        sure = itertools.repeat(None) if combined.confidence is None else combined.confidence.tolist()
        for at, (given, value, confidence) in enumerate(
            zip(questions, combined.values.tolist(), sure, strict=False)
        ):
            if math.isnan(value):
                left_out[combined.left_out.get(at, SPLIT)] += 1
            else:
                yield _verdict(given, value, confidence, recipe, labels), given


def _usable(
    inputs: list[InputVerdict], recipe: Recipe, left_out: Counter[str]
) -> dict[tuple[str, str], list[list[InputVerdict]]]:
    """(scale, aspect) -> the verdicts with a value, for each question that the rule can answer."""
    usable: dict[tuple[str, str], list[list[InputVerdict]]] = {}
    for (_, aspect), verdicts in groupby(inputs, key=lambda v: (v.case_id, v.aspect)):
        for scale, given in _by_scale(list(verdicts)).items():
            reason = recipe.refuse(given[0]) or _short(given, recipe)
            if reason:
                left_out[reason] += 1
            else:
                usable.setdefault((scale, aspect), []).append([v for v in given if v.value is not None])
    return usable


def _skills(where: str, raters: tuple[str, ...], accuracy: FloatArray) -> str:
    rated = ", ".join(f"{name} {share:.0%}" for name, share in zip(raters, accuracy.tolist(), strict=True))
    return f"{where}: estimated accuracy: {rated}"


def _by_scale(given: list[InputVerdict]) -> dict[str, list[InputVerdict]]:
    """Verdicts on one question by scale, because a score of 0..1 and a label cannot vote together."""
    scales: dict[str, list[InputVerdict]] = {}
    for verdict in given:
        scales.setdefault(question_of(verdict.protocol), []).append(verdict)
    return scales


def _short(given: list[InputVerdict], recipe: Recipe) -> str:
    """The reason if too few raters have a verdict; empty if there are enough. A failed verdict is not a vote."""
    votes = sum(verdict.value is not None for verdict in given)
    if votes >= recipe.quorum:
        return ""
    if len(given) >= recipe.quorum:
        return FAILED
    return (
        f"fewer votes than the quorum of {recipe.quorum}" if recipe.quorum < len(recipe.raters) else MISSING
    )


def _label_names(
    scales: Mapping[tuple[str, str], Scale], tie: str, protocol: str, aspect: str
) -> dict[float, str]:
    """value -> name of each label of a question; empty for a scale without labels."""
    if (protocol, aspect) in scales:
        return scales[protocol, aspect].names
    facts = protocol_facts(protocol)
    return {**facts.labels, 0.0: tie} if facts.of_pairs else dict(facts.labels)


def _verdict(
    given: list[InputVerdict],
    value: float,
    confidence: float | None,
    recipe: Recipe,
    labels: Mapping[float, str],
) -> DerivedVerdict:
    protocols = {verdict.protocol for verdict in given}
    label = next((verdict.label for verdict in given if verdict.value == value), None)
    if label is None:
        label = labels.get(value) or f"{value:.3g}"
    notes = ["the raters differed"] if len({verdict.value for verdict in given}) > 1 else []
    if len(given) < len(recipe.raters):
        notes.append(f"{len(given)} of {len(recipe.raters)} raters")
    return DerivedVerdict(
        case_id=given[0].case_id,
        aspect=given[0].aspect,
        protocol=given[0].protocol if len(protocols) == 1 else question_of(given[0].protocol),
        value=value,
        label=label,
        note="; ".join(notes),
        confidence=confidence,
    )
