"""Raters made from others: combined by a rule, or from a metric."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.protocols import OVERALL, protocol_facts, question_of, with_unit
from recjudge_tui.domain.roles import PERSONS, RaterKind
from recjudge_tui.domain.scales import Scale
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.stats.combining import MOST_LABELS, RULES, Rule, joint
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.stats.retrieval import LIST_METRICS, NO_CUTOFF, list_values
from recjudge_tui.stats.text import TEXT_METRICS, TOKENS, Score, Tokens, text_metric
from recjudge_tui.steps import Step
from recjudge_tui.store.database import Database, StoredRow
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
        return [
            (
                f"{self.kind} “{self.name}” {done}: {self.made:,} verdicts by rule {self.rule} from"
                f" {', '.join(self.raters)}; they differed in {self.disagreed:,}"
            ),
            *([f"made without all raters: {self.incomplete:,}"] if self.incomplete else ()),
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
    """Create the rater `name`, or update one of the same recipe, in one transaction. For the rules see
    `stats.combining.joint`; a median of two neighbouring named labels is the harsher. dawid-skene's probability is the
    verdict's confidence; two equally likely labels, and a split vote, give none.

    A question with fewer values than `quorum` (default: all raters, of dawid-skene 1) gets no verdict; a failed verdict is
    no value. Raters are combined on one scale and aspect; what has no verdict is counted. A consensus if all are people or
    made from people, else an ensemble. Raises UsageError for an unknown rule, fewer than two raters, an impossible quorum
    or a taken name, NotFoundError for an unknown rater, RunError when they share no question that the rule can answer."""
    recipe = _recipe(name, rule, raters, quorum, protocol)
    names = recipe.raters
    rows = [rater_row(db, project_id, rater) for rater in names]
    kind: RaterKind = (
        "consensus" if all(row["kind"] in (*PERSONS, "consensus") for row in rows) else "ensemble"
    )
    with db.transaction():
        known = is_known(db, project_id, name, kind, recipe.stored())
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
                step=Step("list raters"),
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
        updated=known,
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
            next_step=f"Give 1 to {len(names)}, or none.",
        )
    return _Recipe(rule, names, needed, protocol)


def is_known(db: Database, project_id: int, name: str, kind: RaterKind, recipe: Mapping[str, object]) -> bool:
    """Whether the rater made by this recipe exists. Raises UsageError where its name is taken by another one."""
    if find_rater(db, project_id, name) is None:
        return False
    row = rater_row(db, project_id, name)
    if row["kind"] != kind:
        raise UsageError(
            f"the name “{name}” is taken by a rater of kind {row['kind']}",
            next_step="Choose another name, or rename or delete that rater first.",
        )
    if (known := json.loads(row["recipe"])) != recipe:
        made = ", ".join(f"{key} {value}" for key, value in known.items())
        raise UsageError(
            f"a different {kind} is already called “{name}”",
            f"It is made of: {made}.",
            "Choose another name, or delete that rater first.",
            step=Step("delete rater", {"rater": name}),
        )
    return True


def _made(
    inputs: list[StoredRow],
    ids: list[int],
    recipe: _Recipe,
    scales: Mapping[tuple[str, str], Scale],
    tie: str,
    left_out: Counter[str],
    notes: list[str],
) -> Iterator[tuple[DerivedVerdict, list[StoredRow]]]:
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
        facts = protocol_facts(scale)
        labels = (
            known.names if known is not None else {**facts.labels, **({0.0: tie} if facts.of_pairs else {})}
        )
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
    inputs: list[StoredRow], recipe: _Recipe, left_out: Counter[str]
) -> dict[tuple[str, str], list[list[StoredRow]]]:
    """(scale, aspect) -> the verdicts with a value, for each question that the rule can answer. A score of 0..1 and a label
    cannot vote together, so each scale is a question of its own."""
    questions: dict[tuple[int, str, str], list[StoredRow]] = {}
    for verdict in inputs:
        key = (verdict.case_id, question_of(verdict.protocol), verdict.aspect)
        questions.setdefault(key, []).append(verdict)
    usable: dict[tuple[str, str], list[list[StoredRow]]] = {}
    for (_, *question), given in questions.items():
        if reason := _refusal(given, recipe):
            left_out[reason] += 1
        else:
            scale, aspect = question
            usable.setdefault((scale, aspect), []).append([v for v in given if v.value is not None])
    return usable


def _refusal(given: list[StoredRow], recipe: _Recipe) -> str:
    """The reason why the rule cannot answer a question, or too few raters have a verdict (a failed one is no vote); empty if
    it can."""
    first, quorum = given[0], recipe.quorum
    is_pair, facts = first.case_kind == "pair", protocol_facts(first.protocol)
    if recipe.protocol and first.protocol != recipe.protocol:
        return OTHER_PROTOCOL
    if is_pair and recipe.rule == "strict":
        return "strict needs an order of labels, which pairs of lists do not have"
    if not is_pair and recipe.rule == "conservative":
        return "conservative needs ties, which only pairs of lists have"
    if recipe.rule == "dawid-skene" and not facts.labels:
        return f"scores of {facts.low:g} to {facts.high:g} are not labels"
    if sum(verdict.value is not None for verdict in given) >= quorum:
        return ""
    if len(given) >= quorum:
        return FAILED
    return f"fewer votes than the quorum of {quorum}" if quorum < len(recipe.raters) else MISSING


def _verdict(
    given: list[StoredRow],
    value: float,
    confidence: float | None,
    recipe: _Recipe,
    labels: Mapping[float, str],
) -> DerivedVerdict:
    protocols = {verdict.protocol for verdict in given}
    usual = labels.get(value) or f"{value:.3g}"
    label = next((verdict.label for verdict in given if verdict.value == value), usual)
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


# ---- metrics -----------------------------------------------------------------------------------------------------


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
        done = f"{'updated' if self.updated else 'created'}: {made or 'no'} verdicts"
        what = done if made or self.updated else "not created: it has nothing to judge"
        return [
            f"metric “{self.rater}” {what}",
            *(f"left out: {count:,} × {reason}" for reason, count in self.left_out.items()),
        ]


def read_metric(text: str, k: int = TOP_K, tokens: Tokens = "auto") -> Metric:
    """A metric from its name, as in `ndcg`, or from its rater's: `ndcg@5`, `rouge-l@characters`. Raises UsageError naming
    the known metrics."""
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

    Text metrics judge explanations with a reference (0 to 1); offline metrics lists (protocol `absolute`, in their own
    range) and existing pairs (`pairwise`: the higher value wins). Undefined ones are counted by reason. The values are
    computed before the write lock is taken. Raises UsageError without names, for an unknown metric, or a taken name;
    RunError when nothing can be judged or a package is missing."""
    if not names:
        raise UsageError("which metric?", _KNOWN)
    metrics = list(dict.fromkeys(read_metric(name, k, tokens) for name in names))
    for metric in metrics:
        is_known(db, project_id, metric.rater, "metric", metric.recipe)
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


def _store(
    db: Database, project_id: int, metric: Metric, verdicts: list[DerivedVerdict], left_out: Counter[str]
) -> MetricSummary:
    """Store one metric's verdicts; creates no rater without verdicts. Call inside a transaction."""
    updated = is_known(db, project_id, metric.rater, "metric", metric.recipe)
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
    for identity, text, reference in referred_texts(db, project_id) if scorers else ():
        for metric, scorer in scorers.items():
            known = bool(reference.strip())
            scores[metric][identity] = (
                scorer(text, reference) if known else Score(None, "no reference was imported")
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
    for case_id, kind, contents in cases:
        if (kind == "explanation") != (metric.tokens is not None):
            continue
        found = [scores.get(content or 0, unknown) for content in contents]
        values = [score.value for score in found if score.value is not None]
        if len(values) < len(found):
            reasons = [score.reason for score in found if score.value is None]
            left_out[f"{kind}: {unknown.reason if unknown.reason in reasons else reasons[0]}"] += 1
            continue
        value, label = values[0], ""
        if kind == "pair":
            # sums of the same terms in a different order may differ in the last digit
            same = math.isclose(*values, rel_tol=1e-9, abs_tol=1e-12)
            value = 0.0 if same else math.copysign(1.0, values[0] - values[1])
            label = labels[value]
        verdicts.append(DerivedVerdict(case_id, OVERALL, _measured_as(kind), value, label, ""))
    return verdicts, left_out
