"""The evaluators of Zhang et al. (2024) that can be computed, and their correlation with the users' own scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.published import ZHANG_ASPECTS
from recjudge_tui.reports.common.scales import is_judging
from recjudge_tui.reports.papers.text_metrics import bare_text, bleu, jieba_words, rouge_1, rouge_l_as_printed
from recjudge_tui.shapes import Side, pairs
from recjudge_tui.stats.agreement import group_mean
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.store.cases.metric_inputs import explanation_texts
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import Question, Rater, Ratings, Verdicts

AVERAGE = "average"
LEVELS = ("dataset", "user", "pair")
# by its definition: not printed in the paper, whose ROUGE-1-F has the figures of ROUGE-L-F
ROUGE_1 = "ROUGE-1 F1 of single words"
# the names of the paper's rows
ANNOTATORS = {"Annotator-1": "annotator_1", "Annotator-2": "annotator_2"}
BOTH = "Average"
TEXT_METRICS = ("BLEU-1", "BLEU-4", "ROUGE-1-F", "ROUGE-L-F")


class FillValues(NamedTuple):
    """The values that replace a missing score of the user and of the evaluator; None: left out."""

    truth: float | None = 3.0
    judge: float | None = 0.0


class Figure(NamedTuple):
    """Pearson's r in percent; None if it is undefined. `groups` are users or pairs, None for the dataset."""

    value: float | None
    n: int | None
    groups: int | None
    undefined: int | None


class Evaluator(NamedTuple):
    """One evaluator's scores by aspect; a metric has the same scores for each. If there are none, `needs` says what is
    missing and `why` what to do."""

    name: str
    scores: Mapping[str, Verdicts]
    rater: Rater
    needs: str = ""
    why: str = ""


NO_TEXTS = Evaluator(
    "", {}, Rater(0, "", "metric"), "needs texts",
    "the users' own texts are not in this data: the release keeps them in a pickle, which is never opened",
)  # fmt: skip
NO_JIEBA = Evaluator(
    "", {}, Rater(0, "", "metric"), "needs recjudge[text]", "install the extra: pip install 'recjudge[text]'"
)


def annotators(ratings: Ratings) -> Iterator[Evaluator]:
    """The third-party annotators that are in the data, and the mean of the two."""
    scores = {label: scores_of(ratings, name) for label, name in ANNOTATORS.items()}
    for label, name in ANNOTATORS.items():
        if scores[label]:
            yield Evaluator(label, scores[label], ratings.raters[name])
    first, second = scores.values()
    both = {aspect: _mean(first[aspect], second[aspect]) for aspect in first if aspect in second}
    if both:
        yield Evaluator(BOTH, both, Rater(0, BOTH, "annotator"))


def scores_of(ratings: Ratings, rater: str) -> dict[str, Verdicts]:
    """A rater's verdicts by aspect."""
    return {q.aspect: verdicts for q, verdicts in ratings.verdicts.items() if q.rater == rater}


def _mean(a: Verdicts, b: Verdicts) -> Verdicts:
    """The mean of two raters on the cases that both judged."""
    rows, at_a, at_b = np.intersect1d(a.row, b.row, return_indices=True)
    return Verdicts(rows, (a.value[at_a] + b.value[at_b]) / 2, np.zeros(rows.size, dtype=np.bool_))


def text_metrics(db: Database, project_id: int, ratings: Ratings) -> Iterator[Evaluator]:
    """TEXT_METRICS and ROUGE-1 by its definition, the user's text against the explanation."""
    texts = [text for text in explanation_texts(db, project_id) if text.reference.strip()]
    cut = jieba_words() if texts else None
    if cut is None:
        lacking = NO_JIEBA if texts else NO_TEXTS
        yield from (lacking._replace(name=name) for name in TEXT_METRICS)
        return
    pairs = [(cut(text.reference), cut(bare_text(text.text))) for text in texts]
    as_printed = [rouge_l_as_printed(own, shown) for own, shown in pairs]
    scores = {
        "BLEU-1": [bleu(own, shown, 1) for own, shown in pairs],
        "BLEU-4": [bleu(own, shown, 4) for own, shown in pairs],
        "ROUGE-1-F": as_printed,  # printed with the figures of ROUGE-L-F
        "ROUGE-L-F": as_printed,
        ROUGE_1: [rouge_1(own, shown) for own, shown in pairs],
    }
    row = np.searchsorted(ratings.cases.ids, [text.case_id for text in texts])
    never = np.zeros(row.size, dtype=np.bool_)
    for name, values in scores.items():
        verdicts = Verdicts(row, np.array(values), never)
        yield Evaluator(name, dict.fromkeys(ZHANG_ASPECTS, verdicts), Rater(0, name, "metric"))


def figures_of(ratings: Ratings, evaluator: Evaluator, missing: FillValues) -> dict[str, dict[str, Figure]]:
    """aspect -> level -> figure, for the aspects that have scores; the average if all four have."""
    by_aspect = {aspect: _levels(ratings, evaluator, aspect, missing) for aspect in ZHANG_ASPECTS}
    if all(by_aspect.values()):
        by_aspect[AVERAGE] = {
            level: _average([by_aspect[a][level] for a in ZHANG_ASPECTS]) for level in LEVELS
        }
    return by_aspect


def _levels(ratings: Ratings, evaluator: Evaluator, aspect: str, missing: FillValues) -> dict[str, Figure]:
    """The figure of each level; nothing if one side has no scores of this aspect."""
    truth = truth_of(ratings)
    scores = evaluator.scores.get(aspect)
    known = truth and ratings.verdicts.get(Question(truth.name, "explanation", aspect))
    if truth is None or scores is None or known is None:
        return {}
    # a metric without a text has no score, so none is missing
    fill = None if evaluator.rater.kind == "metric" else missing.judge
    left = Side(scores, fill, not is_judging(evaluator.rater))
    both = pairs(ratings.cases, (left, Side(known, missing.truth, absent_too=True))).complete
    cases = ratings.cases
    groups = {"dataset": np.zeros(cases.ids.size, dtype=np.int64), "user": cases.user, "pair": cases.pair}
    return {level: _figure(both.x, both.y, groups[level][both.row], level) for level in LEVELS}


def _figure(a: FloatArray, b: FloatArray, groups: IntArray, level: str) -> Figure:
    mean = group_mean("pearson", a, b, groups)
    value = None if mean.value is None else 100 * mean.value
    if level == "dataset":
        return Figure(value, mean.n, None, None)
    return Figure(value, mean.n, mean.groups, mean.groups_undefined)


def _average(known: list[Figure]) -> Figure:
    """The mean of the aspects' figures; undefined if one of them is."""
    values = [figure.value for figure in known if figure.value is not None]
    mean = float(np.mean(values)) if len(values) == len(known) else None
    sizes = {figure.n for figure in known}
    return Figure(mean, sizes.pop() if len(sizes) == 1 else None, None, None)


def truth_of(ratings: Ratings) -> Rater | None:
    """The users themselves."""
    return next((rater for rater in ratings.raters.values() if rater.kind == "ground_truth"), None)
