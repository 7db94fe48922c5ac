"""Raters whose verdicts are derived from other raters' verdicts on each case and aspect, by a rule.

A consensus is made from people, an ensemble from anybody else (SAER: Liu et al., SIGIR 2026; Zhang et al., 2024).
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts, question_of
from recjudge_tui.domain.roles import PERSONS, RaterKind
from recjudge_tui.domain.scales import Scale
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.stats.combining import MOST_LABELS, RULES, Rule, joint
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters import (
    DerivedVerdict,
    InputVerdict,
    ensure_rater,
    find_rater,
    input_verdicts,
    rater_row,
    replace_verdicts,
    tie_label,
)
from recjudge_tui.store.ratings import stored_scales

MISSING = "not judged by all raters"
FAILED = "a rater's verdict failed"
SPLIT = "a split vote"
OTHER_PROTOCOL = "another protocol"
NO_ORDER = "the answers are categories without an order: use majority"
_NEED_ORDER: tuple[Rule, ...] = ("strict", "mean", "median")


@dataclass(frozen=True)
class _Recipe:
    """How verdicts are derived: by `rule` from the `raters` with a value, of whom `quorum` are needed; `protocol`: only
    from verdicts under it, empty for all."""

    rule: Rule
    raters: tuple[str, ...]
    quorum: int
    protocol: str

    def stored(self) -> dict[str, object]:
        return {"rule": self.rule, "raters": sorted(self.raters), "quorum": self.quorum}


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


def combine(
    db: Database,
    project_id: int,
    name: str,
    rule: Rule,
    raters: Sequence[str],
    quorum: int | None = None,
    *,
    protocol: str = "",
) -> RaterSummary:
    """Create the rater `name`, or update the verdicts of one with the same recipe, in one transaction.

    `strict`: the harsher label (single lists and texts). `conservative`: any disagreement is a tie (pairs). `majority`: the
    value of more than half of those who voted; a split vote gives no verdict. `mean`: the mean of the values. `median`: the
    middle of the votes; of an even number the mean of the two in the middle, where they lie next to each other and the
    scale has names instead of numbers the harsher of the two. `dawid-skene`: the most likely label, each rater weighted by
    estimated accuracy; its probability is the verdict's confidence, and two equally likely labels give no verdict.

    A question with fewer values than `quorum` (default: all raters, of dawid-skene 1) gets no verdict; a failed verdict
    is no value. Raters are combined on one scale and aspect. What has no verdict is counted in the summary. The rater is a
    consensus if all the others are people or made from people, else an ensemble. Raises UsageError for an unknown rule,
    fewer than two raters, a quorum that cannot be met or a name that is taken, NotFoundError for an unknown rater,
    RunError when the raters share no question that the rule can answer.
    """
    recipe = _recipe(name, rule, raters, quorum, protocol)
    names = recipe.raters
    rows = [rater_row(db, project_id, rater) for rater in names]
    kind: RaterKind = (
        "consensus" if all(row["kind"] in (*PERSONS, "consensus") for row in rows) else "ensemble"
    )
    with db.transaction():
        known = find_rater(db, project_id, name)
        if known is not None:
            _check_same(db, project_id, name, kind, recipe)
        left_out: Counter[str] = Counter()
        notes: list[str] = []
        scales, tie = stored_scales(db, project_id), tie_label(db, project_id)
        ids = [row["id"] for row in rows]
        made = list(_made(input_verdicts(db, ids), ids, recipe, scales, tie, left_out, notes))
        if not made:
            reasons = "; ".join(f"{count} × {reason}" for reason, count in left_out.items())
            raise RunError(
                f"{', '.join(names)} have no verdicts in common that “{rule}” can combine",
                f"{reasons or 'They have no verdicts'}.",
                "“recjudge rater list” shows what each has judged.",
            )
        rater_id = ensure_rater(db, project_id, name, kind, recipe.stored())
        replace_verdicts(
            db, rater_id, [verdict for verdict, _ in made], f"{rule} of {', '.join(sorted(names))}"
        )
    return RaterSummary(
        name=name,
        kind=kind,
        rule=rule,
        raters=names,
        made=len(made),
        disagreed=sum(len({v.value for v in given}) > 1 for _, given in made),
        incomplete=sum(len(given) < len(names) for _, given in made),
        left_out=dict(left_out),
        updated=known is not None,
        notes=tuple(notes),
    )


def _recipe(name: str, rule: Rule, raters: Sequence[str], quorum: int | None, protocol: str) -> _Recipe:
    if rule not in RULES:
        raise UsageError(f"no rule “{rule}”", f"Available: {', '.join(RULES)}.")
    names = tuple(dict.fromkeys(raters))
    if len(names) < 2:
        raise UsageError("a combined rater needs at least two different raters")
    if not name.strip():
        raise UsageError("a combined rater needs a name")
    if name in names:
        raise UsageError(f"“{name}” cannot be one of its own raters", next_step="Choose another name.")
    needed = quorum if quorum is not None else 1 if rule == "dawid-skene" else len(names)
    if not 1 <= needed <= len(names):
        raise UsageError(
            f"a quorum of {needed} is impossible with {len(names)} raters",
            next_step=f"Give --quorum 1 to {len(names)}, or leave it out.",
        )
    return _Recipe(rule, names, needed, protocol)


def _check_same(db: Database, project_id: int, name: str, kind: RaterKind, recipe: _Recipe) -> None:
    row = rater_row(db, project_id, name)
    if row["kind"] != kind:
        raise UsageError(
            f"the name “{name}” is taken by a rater of kind {row['kind']}", next_step="Choose another name."
        )
    known = json.loads(row["recipe"])
    if known != recipe.stored():
        of = ", ".join(known.get("raters", ()))
        raise UsageError(
            f"a different {kind} is already called “{name}”",
            f"It is {known.get('rule')} of {of}, quorum {known.get('quorum')}.",
            "Choose another name, or delete it first with “recjudge rater delete”.",
        )


def _made(
    inputs: list[InputVerdict],
    ids: list[int],
    recipe: _Recipe,
    scales: Mapping[tuple[str, str], Scale],
    tie: str,
    left_out: Counter[str],
    notes: list[str],
) -> Iterator[tuple[DerivedVerdict, list[InputVerdict]]]:
    """Each verdict with the verdicts it is derived from. `ids` are the ids of the recipe's raters, in the same order."""
    place = {rater_id: at for at, rater_id in enumerate(ids)}
    for (scale, aspect), questions in _usable(inputs, recipe, left_out).items():
        known, where = scales.get((scale, aspect)), f"{scale}, {aspect}"
        if recipe.rule in _NEED_ORDER and known is not None and not known.ordered:
            left_out[f"{where}: {NO_ORDER}"] += len(questions)
            continue
        table = np.full((len(ids), len(questions)), np.nan)
        for at, given in enumerate(questions):
            for verdict in given:
                table[place[verdict.rater_id], at] = verdict.value
        values = table[~np.isnan(table)]
        if recipe.rule == "dawid-skene" and np.unique(values).size > MOST_LABELS:
            left_out[f"{where}: more than {MOST_LABELS} different values are scores, not labels"] += len(
                questions
            )
            continue
        labels = _label_names(scales, tie, scale, aspect)
        # a name that is its number, such as 3, leaves room for 3.5
        between = not (values == np.rint(values)).all() or all(text == f"{v:g}" for v, text in labels.items())
        of_pairs = questions[0][0].case_kind == "pair"
        combined = joint(recipe.rule, table, recipe.quorum, of_pairs=of_pairs, between=between)
        if combined.accuracy is not None:
            rated = zip(recipe.raters, combined.accuracy.tolist(), strict=True)
            notes.append(
                f"{where}: estimated accuracy: {', '.join(f'{name} {share:.0%}' for name, share in rated)}"
            )
        sure = itertools.repeat(None) if combined.confidence is None else combined.confidence.tolist()
        for given, value, confidence in zip(questions, combined.values.tolist(), sure, strict=False):
            if math.isnan(value):
                left_out[SPLIT] += 1
            else:
                yield _verdict(given, value, confidence, recipe, labels), given


def _usable(
    inputs: list[InputVerdict], recipe: _Recipe, left_out: Counter[str]
) -> dict[tuple[str, str], list[list[InputVerdict]]]:
    """(scale, aspect) -> the verdicts with a value, for each question that the rule can answer."""
    usable: dict[tuple[str, str], list[list[InputVerdict]]] = {}
    for (_, aspect), verdicts in groupby(inputs, key=lambda v: (v.case_id, v.aspect)):
        for scale, given in _by_scale(list(verdicts)).items():
            reason = _refusal(given[0], recipe) or _short(given, recipe)
            if reason:
                left_out[reason] += 1
            else:
                usable.setdefault((scale, aspect), []).append([v for v in given if v.value is not None])
    return usable


def _refusal(verdict: InputVerdict, recipe: _Recipe) -> str:
    """The reason why the rule cannot answer a question; empty if it can."""
    if recipe.protocol and verdict.protocol != recipe.protocol:
        return OTHER_PROTOCOL
    is_pair, facts = verdict.case_kind == "pair", protocol_facts(verdict.protocol)
    if is_pair and recipe.rule == "strict":
        return "strict needs an order of labels, which pairs of lists do not have"
    if not is_pair and recipe.rule == "conservative":
        return "conservative needs ties, which only pairs of lists have"
    if recipe.rule == "dawid-skene" and not facts.labels:
        return f"scores of {facts.low:g} to {facts.high:g} are not labels"
    return ""


def _by_scale(given: list[InputVerdict]) -> dict[str, list[InputVerdict]]:
    """Verdicts on one question by scale, because a score of 0..1 and a label cannot vote together."""
    scales: dict[str, list[InputVerdict]] = {}
    for verdict in given:
        scales.setdefault(question_of(verdict.protocol), []).append(verdict)
    return scales


def _short(given: list[InputVerdict], recipe: _Recipe) -> str:
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
    recipe: _Recipe,
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
