"""Metrics as raters: BLEU and ROUGE of explanations against the user's own text, offline metrics of lists."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.protocols import OVERALL, protocol_facts, with_unit
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.stats.arrays import none_if_nan
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.stats.retrieval import LIST_METRICS, list_values
from recjudge_tui.stats.text import TEXT_METRICS, TOKENS, Score, Tokens, text_metric
from recjudge_tui.store.cases.metric_inputs import (
    ListCase,
    ReferredText,
    TextCase,
    ensure_list_cases,
    ensure_text_cases,
    ranked_slates,
    referred_texts,
)
from recjudge_tui.store.data.heldout import load_evaluation_data
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.combined import DerivedVerdict, replace_verdicts, tie_label
from recjudge_tui.store.raters.raters import ensure_rater, find_rater, rater_row

NAMES: tuple[str, ...] = (*TEXT_METRICS, *LIST_METRICS)
_NOT_KNOWN = "the list or text was never imported"
_NO_REFERENCE = "no reference was imported"
_NO_RELEVANT = "nothing relevant is held out for the user"
_NO_GAINS = "the user's held-out events have no value above 0, or one too large"
_NO_CATEGORY = "no item of the list has a category"
# why a metric is undefined on a list
_UNDEFINED: Mapping[str, str] = {
    "auc": "an item has no score, or the list lacks relevant or other items",
    **dict.fromkeys(
        ("ndcg", "precision", "recall", "rprec", "map", "map_min", "mrr", "hit_rate"), _NO_RELEVANT
    ),
    **dict.fromkeys(("ndcg_exp", "ndcg_explicit", "err"), _NO_GAINS),
    "urd": _NO_CATEGORY,
    "ild": "fewer than two items of the list have categories",
    "novelty": "no item of the list occurs in an event",
    "popularity": "the list is empty, or there are no training events",
    "title_ild": "fewer than two items of the list have titles",
    "near_duplicates": "the list is empty",
    "category_coverage": _NO_CATEGORY,
}


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


class _MetricVerdicts(NamedTuple):
    """One metric's verdicts, and the number of cases left out by reason."""

    metric: Metric
    verdicts: list[DerivedVerdict]
    left_out: Counter[str]


def read_metric(text: str, k: int = TOP_K, tokens: Tokens = "auto") -> Metric:
    """A metric from its name, as in `ndcg`, or from its rater's: `ndcg@5`, `rouge-l@characters`.

    Raises UsageError naming the known metrics.
    """
    name, at, chosen = text.strip().lower().partition("@")
    if name not in NAMES:
        raise UsageError(
            f"no metric “{text}”", f"Texts: {', '.join(TEXT_METRICS)}. Lists: {', '.join(LIST_METRICS)}."
        )
    if name in TEXT_METRICS:
        tokenisation = tokens if not at else next((way for way in TOKENS if way == chosen), None)
        if tokenisation is None:
            raise UsageError(f"“{text}”: unknown tokens “{chosen}”", f"Available: {', '.join(TOKENS)}.")
        return Metric(name, tokens=tokenisation)
    if name in ("auc", "rprec"):
        if at:
            raise UsageError(f"“{text}”: {name} has no cutoff", next_step=f"Write {name}.")
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
        raise UsageError(
            "which metric?", f"Texts: {', '.join(TEXT_METRICS)}. Lists: {', '.join(LIST_METRICS)}."
        )
    metrics = list(dict.fromkeys(read_metric(name, k, tokens) for name in names))
    for metric in metrics:
        _same_rater(db, project_id, metric)
    texts = _text_scores(db, project_id, [metric for metric in metrics if metric.tokens is not None])
    lists = _list_values(db, project_id, [metric for metric in metrics if metric.tokens is None])
    with db.transaction():
        judged = [*_judge_texts(db, project_id, texts), *_judge_lists(db, project_id, lists)]
        if not any(computed.verdicts for computed in judged):
            reasons = "; ".join(
                f"{computed.metric.rater}: {count} × {why}"
                for computed in judged
                for why, count in computed.left_out.items()
            )
            raise RunError(
                "these metrics have nothing to judge",
                f"{reasons or _nothing_like(metrics)}.",
                "Text metrics need explanations with a reference; list metrics need held-out events.",
            )
        made = {computed.metric: _store(db, project_id, computed) for computed in judged}
    return [made[metric] for metric in metrics]


def _nothing_like(metrics: Sequence[Metric]) -> str:
    wanted = {"explanations" if metric.tokens is not None else "lists" for metric in metrics}
    return f"The project has no {' and no '.join(sorted(wanted))}"


def _same_rater(db: Database, project_id: int, metric: Metric) -> None:
    if find_rater(db, project_id, metric.rater) is None:
        return
    row = rater_row(db, project_id, metric.rater)
    if row["kind"] != "metric":
        raise UsageError(
            f"the name “{metric.rater}” is taken by a rater of kind {row['kind']}",
            "The metric needs this name for its own rater.",
            "“recjudge rater delete” removes it with its verdicts.",
        )
    if json.loads(row["recipe"]) != metric.recipe:
        raise UsageError(
            f"a different metric is already called “{metric.rater}”",
            f"Its recipe is {row['recipe']}.",
            "Delete it first with “recjudge rater delete”.",
        )


def _store(db: Database, project_id: int, computed: _MetricVerdicts) -> MetricSummary:
    """Store one metric's verdicts; creates no rater without verdicts. Call inside a transaction."""
    metric = computed.metric
    _same_rater(db, project_id, metric)
    updated = find_rater(db, project_id, metric.rater) is not None
    if computed.verdicts or updated:
        rater_id = ensure_rater(db, project_id, metric.rater, "metric", metric.recipe)
        replace_verdicts(db, rater_id, computed.verdicts, f"computed: {metric.rater}")
    counts = Counter(verdict.protocol for verdict in computed.verdicts)
    made = {str(unit): counts[_measured_as(unit)] for unit in _UNITS if counts[_measured_as(unit)]}
    return MetricSummary(metric.rater, made, dict(sorted(computed.left_out.items())), updated)


_UNITS: tuple[CaseKind, ...] = ("explanation", "list", "pair")


def _measured_as(unit: CaseKind) -> str:
    """The protocol whose question a metric answers: a number for one list or text, or the better of two lists."""
    return next(name for name in with_unit(unit) if unit == "pair" or protocol_facts(name).scores)


def _text_scores(db: Database, project_id: int, metrics: Sequence[Metric]) -> dict[Metric, dict[int, Score]]:
    """metric -> explanation id -> score."""
    if not metrics:
        return {}
    scorers = {metric: text_metric(metric.name, metric.tokens or "auto") for metric in metrics}
    scores: dict[Metric, dict[int, Score]] = {metric: {} for metric in metrics}
    # text by text: what is cut into words for one metric is cut for all
    for text in referred_texts(db, project_id):
        for metric, scorer in scorers.items():
            scores[metric][text.explanation_id] = _scored(scorer, text)
    return scores


def _scored(scorer: Callable[[str, str], Score], text: ReferredText) -> Score:
    if not text.reference.strip():
        return Score(None, _NO_REFERENCE)
    return scorer(text.text, text.reference)


def _list_values(
    db: Database, project_id: int, metrics: Sequence[Metric]
) -> dict[Metric, dict[int, float | None]]:
    """metric -> slate id -> value, None if undefined."""
    if not metrics:
        return {}
    slates = dict(ranked_slates(db, project_id))
    data, lists = load_evaluation_data(db, project_id), list(slates.values())
    by_metric = {}
    for metric in metrics:
        values = list_values(lists, data, metric.k or 1, [metric.name])[metric.name].tolist()
        by_metric[metric] = {slate: none_if_nan(value) for slate, value in zip(slates, values, strict=True)}
    return by_metric


def _judge_texts(
    db: Database, project_id: int, scores: Mapping[Metric, Mapping[int, Score]]
) -> Iterator[_MetricVerdicts]:
    cases = ensure_text_cases(db, project_id) if scores else []
    for metric, by_text in scores.items():
        left_out: Counter[str] = Counter()
        yield _MetricVerdicts(metric, list(_of_texts(cases, by_text, left_out)), left_out)


def _of_texts(
    cases: Sequence[TextCase], scores: Mapping[int, Score], left_out: Counter[str]
) -> Iterator[DerivedVerdict]:
    for case_id, explanation_id in cases:
        # texts imported after the scores were computed wait for the next update
        value, reason = scores.get(explanation_id or 0, Score(None, _NOT_KNOWN))
        if value is None:
            left_out[f"explanation: {reason}"] += 1
        else:
            yield DerivedVerdict(case_id, OVERALL, _measured_as("explanation"), value, "", "")


def _judge_lists(
    db: Database, project_id: int, values: Mapping[Metric, Mapping[int, float | None]]
) -> Iterator[_MetricVerdicts]:
    if not values:
        return
    cases = ensure_list_cases(db, project_id)
    labels = {1.0: "A", 0.0: tie_label(db, project_id), -1.0: "B"}
    for metric, by_slate in values.items():
        left_out: Counter[str] = Counter()
        verdicts = list(_of_lists(cases, by_slate, labels, _UNDEFINED[metric.name], left_out))
        yield _MetricVerdicts(metric, verdicts, left_out)


def _of_lists(
    cases: Sequence[ListCase],
    values: Mapping[int, float | None],
    labels: Mapping[float, str],
    undefined: str,
    left_out: Counter[str],
) -> Iterator[DerivedVerdict]:
    for case in cases:
        what = "pair" if case.is_pair else "list"
        slates = (case.slate_a, case.slate_b) if case.is_pair else (case.slate_a,)
        known = [values[slate] for slate in slates if slate is not None and slate in values]
        if len(known) < len(slates):
            left_out[f"{what}: {_NOT_KNOWN}"] += 1
        elif any(value is None for value in known):
            left_out[f"{what}: {undefined}"] += 1
        else:
            yield _verdict(case, [value for value in known if value is not None], labels)


def _verdict(case: ListCase, values: Sequence[float], labels: Mapping[float, str]) -> DerivedVerdict:
    if not case.is_pair:
        return DerivedVerdict(case.case_id, OVERALL, _measured_as("list"), values[0], "", "")
    first, second = values
    # sums of the same terms in a different order may differ in the last digit
    same = math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    sign = 0.0 if same else math.copysign(1.0, first - second)
    return DerivedVerdict(case.case_id, OVERALL, _measured_as("pair"), sign, labels[sign], "")
