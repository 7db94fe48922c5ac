"""Metrics as raters: BLEU and ROUGE of explanations against the user's own text, offline metrics of lists."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.protocols import OVERALL, protocol_facts, with_unit
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.stats.retrieval import LIST_METRICS, NO_CUTOFF, list_values
from recjudge_tui.stats.text import TEXT_METRICS, TOKENS, Score, Tokens, text_metric
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import (
    MeasuredCase,
    ensure_list_cases,
    ensure_text_cases,
    load_evaluation_data,
    ranked_slates,
    referred_texts,
)
from recjudge_tui.store.raters import (
    DerivedVerdict,
    ensure_rater,
    find_rater,
    rater_row,
    replace_verdicts,
    tie_label,
)

NAMES: tuple[str, ...] = (*TEXT_METRICS, *LIST_METRICS)
_KNOWN = f"Texts: {', '.join(TEXT_METRICS)}. Lists: {', '.join(LIST_METRICS)}."
_UNITS: tuple[CaseKind, ...] = ("explanation", "list", "pair")


class Metric(NamedTuple):
    """A metric with its options. `k` is None for metrics without a cutoff, `tokens` for metrics of lists."""

    name: str
    k: int | None = None
    tokens: Tokens | None = None

    @property
    def rater(self) -> str:
        """The name of the metric's rater: the metric and its options, without the default tokens."""
        if self.k is not None:
            return f"{self.name}@{self.k}"
        return self.name if self.tokens in (None, "auto") else f"{self.name}@{self.tokens}"

    @property
    def recipe(self) -> dict[str, object]:
        chosen = {"metric": self.name, "k": self.k, "tokens": self.tokens}
        return {key: value for key, value in chosen.items() if value is not None}


@dataclass(frozen=True)
class MetricSummary:
    """The result of one metric: verdicts by kind of case, why cases were left out, and whether the rater existed."""

    rater: str
    made: Mapping[str, int]
    left_out: Mapping[str, int]
    updated: bool

    def lines(self) -> list[str]:
        """The summary as lines of text."""
        made = ", ".join(f"{count:,} {what}" for what, count in self.made.items())
        if made or self.updated:
            first = (
                f"metric “{self.rater}” {'updated' if self.updated else 'created'}: {made or 'no'} verdicts"
            )
        else:
            first = f"metric “{self.rater}” not created: it has nothing to judge"
        return [first, *(f"left out: {count:,} × {reason}" for reason, count in self.left_out.items())]


def read_metric(text: str, k: int = TOP_K, tokens: Tokens = "auto") -> Metric:
    """A metric from its name, as in `ndcg`, or from its rater's: `ndcg@5`, `rouge-l@characters`.

    Raises UsageError naming the known metrics.
    """
    name, at, chosen = text.strip().lower().partition("@")
    if name not in NAMES:
        raise UsageError(f"no metric “{text}”", _KNOWN)
    if name in TEXT_METRICS:
        tokenisation = tokens if not at else next((way for way in TOKENS if way == chosen), None)
        if tokenisation is None:
            raise UsageError(f"“{text}”: unknown tokens “{chosen}”", f"Available: {', '.join(TOKENS)}.")
        return Metric(name, tokens=tokenisation)
    if name in NO_CUTOFF:
        if at:
            raise UsageError(
                f"“{text}”: {name} uses the whole list and has no cutoff", next_step=f"Write {name}."
            )
        return Metric(name)
    if at:
        if not (chosen.isascii() and chosen.isdigit() and len(chosen) <= 9):
            raise UsageError(f"“{text}”: “{chosen}” is not a number of items", next_step=f"Write {name}@10.")
        k = int(chosen)
    if k < 1:
        raise UsageError(f"“{name}” needs a cutoff of at least 1, not {k}", next_step=f"Write {name}@10.")
    return Metric(name, k)


def make_metric_raters(
    db: Database, project_id: int, names: Sequence[str], *, k: int = TOP_K, tokens: Tokens = "auto"
) -> list[MetricSummary]:
    """Create or update a metric rater for each name (see `read_metric`), all or none.

    Text metrics judge explanations that have a reference: protocol `explanation`, from 0 to 1. Offline metrics judge
    lists (protocol `absolute`, the metric's value in its own range) and the existing pairs of lists (protocol
    `pairwise`: the list with the higher value wins, equal values tie; note that higher popularity is not better). If
    a metric is undefined on a list, or on either list of a pair, there is no verdict; such cases are counted by
    reason.

    The values are computed before the write lock is taken. Raises UsageError without names, for an unknown metric, or
    when another rater has the name; RunError when nothing can be judged or a package is missing.
    """
    if not names:
        raise UsageError("which metric?", _KNOWN)
    metrics = list(dict.fromkeys(read_metric(name, k, tokens) for name in names))
    for metric in metrics:
        _same_rater(db, project_id, metric)
    scores = _scores(db, project_id, metrics)
    with db.transaction():
        cases = [
            *(ensure_text_cases(db, project_id) if any(m.tokens is not None for m in metrics) else ()),
            *(ensure_list_cases(db, project_id) if any(m.tokens is None for m in metrics) else ()),
        ]
        labels = {1.0: "A", 0.0: tie_label(db, project_id), -1.0: "B"}
        made = {metric: _verdicts(metric, cases, scores[metric], labels) for metric in metrics}
        if not any(verdicts for verdicts, _ in made.values()):
            reasons = "; ".join(
                f"{metric.rater}: {count} × {why}"
                for metric, (_, left_out) in made.items()
                for why, count in left_out.items()
            )
            kinds = sorted({"explanations" if metric.tokens is not None else "lists" for metric in metrics})
            nothing = f"The project has no {' and no '.join(kinds)}"
            raise RunError(
                "these metrics have nothing to judge",
                f"{reasons or nothing}.",
                "Text metrics need explanations with a reference; list metrics need held-out events.",
            )
        return [_store(db, project_id, metric, *made[metric]) for metric in metrics]


def _same_rater(db: Database, project_id: int, metric: Metric) -> None:
    if find_rater(db, project_id, metric.rater) is None:
        return
    row = rater_row(db, project_id, metric.rater)
    if row["kind"] != "metric":
        raise UsageError(
            f"the name “{metric.rater}” is taken by a rater of kind {row['kind']}",
            "The metric needs this name for its own rater.",
            "Rename or delete that rater first.",
        )
    if json.loads(row["recipe"]) != metric.recipe:
        raise UsageError(
            f"a different metric is already called “{metric.rater}”",
            f"Its recipe is {row['recipe']}.",
            "Delete it first.",
        )


def _store(
    db: Database, project_id: int, metric: Metric, verdicts: list[DerivedVerdict], left_out: Counter[str]
) -> MetricSummary:
    """Store one metric's verdicts; creates no rater without verdicts. Call inside a transaction."""
    _same_rater(db, project_id, metric)
    updated = find_rater(db, project_id, metric.rater) is not None
    if verdicts or updated:
        rater_id = ensure_rater(db, project_id, metric.rater, "metric", metric.recipe)
        replace_verdicts(db, rater_id, verdicts, f"computed: {metric.rater}")
    counts = Counter(verdict.protocol for verdict in verdicts)
    made = {str(unit): counts[_measured_as(unit)] for unit in _UNITS if counts[_measured_as(unit)]}
    return MetricSummary(metric.rater, made, dict(sorted(left_out.items())), updated)


def _measured_as(unit: CaseKind) -> str:
    """The protocol whose question a metric answers: a number for one list or text, or the better of two lists."""
    return next(name for name in with_unit(unit) if unit == "pair" or protocol_facts(name).scores)


def _scores(db: Database, project_id: int, metrics: Sequence[Metric]) -> dict[Metric, dict[int, Score]]:
    """metric -> id of a text or list -> score."""
    scores: dict[Metric, dict[int, Score]] = {metric: {} for metric in metrics}
    scorers = {m: text_metric(m.name, m.tokens) for m in metrics if m.tokens is not None}
    # text by text: what is cut into words for one metric is cut for all
    for text in referred_texts(db, project_id) if scorers else ():
        for metric, scorer in scorers.items():
            known = bool(text.reference.strip())
            scores[metric][text.explanation_id] = (
                scorer(text.text, text.reference) if known else Score(None, "no reference was imported")
            )
    if len(scorers) < len(metrics):
        lists = list(ranked_slates(db, project_id))
        data = load_evaluation_data(db, project_id)
        for metric in metrics:
            if metric.tokens is None:
                values = list_values([ranked for _, ranked in lists], data, metric.k or 1, (metric.name,))
                reason = LIST_METRICS[metric.name].reason
                for (slate, _), value in zip(lists, values[metric.name].tolist(), strict=True):
                    scores[metric][slate] = Score(None, reason) if math.isnan(value) else Score(value, "")
    return scores


def _verdicts(
    metric: Metric, cases: Sequence[MeasuredCase], scores: Mapping[int, Score], labels: Mapping[float, str]
) -> tuple[list[DerivedVerdict], Counter[str]]:
    """A metric's verdicts on the cases of its kind, and the number of cases left out by reason."""
    verdicts: list[DerivedVerdict] = []
    left_out: Counter[str] = Counter()
    # texts and lists imported after the scores were computed wait for the next update
    unknown = Score(None, "the list or text was never imported")
    for case in cases:
        if (case.kind == "explanation") != (metric.tokens is not None):
            continue
        found = [scores.get(content or 0, unknown) for content in case.contents]
        values = [score.value for score in found if score.value is not None]
        if len(values) < len(found):
            reasons = [score.reason for score in found if score.value is None]
            left_out[f"{case.kind}: {unknown.reason if unknown.reason in reasons else reasons[0]}"] += 1
            continue
        value, label = values[0], ""
        if case.kind == "pair":
            # sums of the same terms in a different order may differ in the last digit
            same = math.isclose(*values, rel_tol=1e-9, abs_tol=1e-12)
            value = 0.0 if same else math.copysign(1.0, values[0] - values[1])
            label = labels[value]
        verdicts.append(DerivedVerdict(case.case_id, OVERALL, _measured_as(case.kind), value, label, ""))
    return verdicts, left_out
