"""Raters made of other raters by an adjudication rule (SAER; Liu et al., SIGIR 2026)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

import numpy as np

from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.stats.consensus import conservative, majority, strict
from recjudge_tui.store.consensus import (
    InputVerdict,
    MadeVerdict,
    input_verdicts,
    replace_verdicts,
    tie_label,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters import ensure_rater, find_rater, rater_row

Rule = Literal["strict", "conservative", "majority"]
RULES: tuple[Rule, ...] = get_args(Rule)
_RULES = {"strict": strict, "conservative": conservative, "majority": majority}

_MISSING = "a rater did not judge it"
_FAILED = "a rater's verdict failed"
_SPLIT = "a split vote"
_NO_STRICT = "strict has no harsher label between two lists"
_NO_TIE = "conservative makes a tie, which only pairs of lists know"


@dataclass(frozen=True)
class ConsensusSummary:
    """What came of it: verdicts made, in how many the raters differed, and why questions were left out."""

    name: str
    rule: str
    raters: tuple[str, ...]
    made: int
    disagreed: int
    left_out: dict[str, int]
    updated: bool

    def lines(self) -> list[str]:
        """One fact a line."""
        done = "brought up to date" if self.updated else "made"
        first = (
            f"consensus “{self.name}” {done}: {self.made:,} verdicts by rule {self.rule} from"
            f" {', '.join(self.raters)}; they differed in {self.disagreed:,}"
        )
        return [first, *(f"left out: {count:,} × {reason}" for reason, count in self.left_out.items())]


def make_consensus(
    db: Database, project_id: int, name: str, rule: Rule, raters: Sequence[str]
) -> ConsensusSummary:
    """A rater of kind consensus whose verdicts are made from those of `raters` on each case and aspect.

    `strict`: the harsher label (single lists and texts). `conservative`: any disagreement is a tie (pairs).
    `majority`: more than half; a split vote goes to nobody. A question that one of the raters did not
    judge, or where one failed, gets no verdict; both are counted. A consensus of the same recipe is
    brought up to date. Raises UsageError for fewer than two raters or a name that is taken, NotFoundError
    for an unknown rater, RunError when the raters share no question of this kind.
    """
    names = _checked(name, rule, raters)
    ids = [rater_row(db, project_id, rater)["id"] for rater in names]
    recipe: dict[str, object] = {"rule": rule, "raters": sorted(names)}
    with db.transaction():
        known = find_rater(db, project_id, name)
        if known is not None:
            _same_recipe(db, project_id, name, recipe)
        left_out: Counter[str] = Counter()
        made = list(_made(input_verdicts(db, ids), ids, rule, tie_label(db, project_id), left_out))
        if not made:
            reasons = "; ".join(f"{count} × {reason}" for reason, count in left_out.items())
            raise RunError(
                f"{', '.join(names)} share no verdict that “{rule}” can adjudicate",
                f"{reasons or 'They have no verdicts'}.",
                "“recjudge rater list” shows what each has judged.",
            )
        rater_id = ensure_rater(db, project_id, name, "consensus", recipe)
        replace_verdicts(db, rater_id, made, f"{rule} of {', '.join(sorted(names))}")
    disagreed = sum(verdict.note != "" for verdict in made)
    return ConsensusSummary(name, rule, names, len(made), disagreed, dict(left_out), known is not None)


def _checked(name: str, rule: str, raters: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(raters))
    if rule not in RULES:
        raise UsageError(f"no rule “{rule}”", f"There are: {', '.join(RULES)}.")
    if len(names) < 2:
        raise UsageError("a consensus needs at least two different raters")
    if not name.strip():
        raise UsageError("a consensus needs a name")
    if name in names:
        raise UsageError(f"“{name}” cannot be made of itself", next_step="Choose another name.")
    return names


def _same_recipe(db: Database, project_id: int, name: str, recipe: dict[str, object]) -> None:
    row = rater_row(db, project_id, name)
    if row["kind"] != "consensus":
        raise UsageError(f"there is a rater “{name}” of kind {row['kind']}", next_step="Choose another name.")
    known = json.loads(row["recipe"])
    if known != recipe:
        raise UsageError(
            f"there is another consensus “{name}”",
            f"It is {known.get('rule')} of {', '.join(known.get('raters', ()))}.",
            "Choose another name, or “recjudge rater delete” it first.",
        )


def _made(
    inputs: list[InputVerdict], raters: list[int], rule: Rule, tie: str, left_out: Counter[str]
) -> Iterator[MadeVerdict]:
    complete: list[list[InputVerdict]] = []
    for _, found in groupby(inputs, key=lambda v: (v.case_id, v.aspect)):
        for given in _by_scale(list(found)):
            reason = _unfit(given, len(raters), rule)
            if reason:
                left_out[reason] += 1
            else:
                complete.append(given)
    table = np.array([[v.value for v in given] for given in complete], dtype=np.float64)
    values = _RULES[rule](table.T, quorum=len(raters)) if complete else ()
    for given, value in zip(complete, values, strict=True):
        if np.isnan(value):
            left_out[_SPLIT] += 1
        else:
            yield _verdict(given, float(value), tie)


def _by_scale(given: list[InputVerdict]) -> list[list[InputVerdict]]:
    """Verdicts on one question apart by scale: a score of 0..1 and a label are no vote on the same."""
    scales: dict[str, list[InputVerdict]] = {}
    for verdict in given:
        scales.setdefault(verdict.protocol.replace("arena", "pairwise"), []).append(verdict)
    return list(scales.values())


def _unfit(given: list[InputVerdict], raters: int, rule: Rule) -> str:
    """Why a question cannot be adjudicated; empty where it can."""
    is_pair = given[0].case_kind == "pair"
    if is_pair and rule == "strict":
        return _NO_STRICT
    if not is_pair and rule == "conservative":
        return _NO_TIE
    if len(given) < raters:
        return _MISSING
    return _FAILED if any(v.value is None for v in given) else ""


def _verdict(given: list[InputVerdict], value: float, tie: str) -> MadeVerdict:
    protocols = {v.protocol for v in given}
    return MadeVerdict(
        case_id=given[0].case_id,
        aspect=given[0].aspect,
        protocol=given[0].protocol if len(protocols) == 1 else "pairwise",
        value=value,
        label=next((v.label for v in given if v.value == value), tie),
        note="" if len({v.value for v in given}) == 1 else "the raters differed",
    )
