"""BLEU and ROUGE as Zhang et al. (2024) must have computed them. For `reproduce` only.

The paper does not describe its conventions; these were found by trial against its table. They differ from the standard
definitions: the candidate is the user's own text, ROUGE-L weighs precision by itself, blanks are words, and one is
added to both counts for every order of n-grams.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from html import unescape

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.errors import RunError
from recjudge_tui.project import Project
from recjudge_tui.reports.papers.runner import Missing
from recjudge_tui.stats.text import jieba_cutter
from recjudge_tui.store.histories import explanation_texts
from recjudge_tui.store.raters import DerivedVerdict, ensure_rater, replace_verdicts

Words = Sequence[str]
Cut = Callable[[str], Words]


def with_text_metrics(project: Project) -> Project | Missing:
    """The project with a rater for each metric of the paper, the user's text against the explanation; else what is
    missing. ROUGE-1-F is printed with the figures of ROUGE-L-F; by its definition it is another rater."""
    texts = [row for row in explanation_texts(project.db, project.id) if row[2].strip()]
    if not texts:
        where = "the users' own texts are in a pickle of the release, which is never opened"
        return Missing("needs texts", where)
    cut = jieba_words()
    if cut is None:
        return Missing("needs recjudge[text]", "install the extra: pip install 'recjudge[text]'")
    pairs = [(cut(reference), cut(bare_text(text))) for _, text, reference in texts]
    long = [rouge_l_as_printed(*both) for both in pairs]
    scores = {
        "BLEU-1": [bleu(*both, 1) for both in pairs], "BLEU-4": [bleu(*both, 4) for both in pairs],
        "ROUGE-1-F": long, "ROUGE-L-F": long, "ROUGE-1 F1 of single words": [rouge_1(*both) for both in pairs],
    }  # fmt: skip
    with project.db.transaction():
        for name, values in scores.items():
            given = zip((case_id for case_id, *_ in texts), values, strict=True)
            made = [DerivedVerdict(case, OVERALL, "explanation", value, "", "") for case, value in given]
            replace_verdicts(project.db, ensure_rater(project.db, project.id, name, "metric"), made, "metric")
    return project


# an attribute may hold signs of tags
_TAG = re.compile(r"""<[A-Za-z/!](?:"[^"]*"|'[^']*'|[^'">])*>""")


def bare_text(markup: str) -> str:
    """The text between the tags, with all blanks, including one at the end."""
    return unescape(_TAG.sub("", markup))


def jieba_words() -> Cut | None:
    """jieba's default segmentation, blanks kept as words; None where jieba is not installed."""
    try:
        words = jieba_cutter()
    except RunError:
        return None
    return cache(lambda text: tuple(words(text)))


def bleu(candidate: Words, reference: Words, order: int) -> float:
    """exp(mean over n = 1..order of ln((matches + 1) / (n-grams of the candidate + 1))) · brevity penalty, 0..1. Matches
    are clipped by the reference's counts; the penalty is exp(1 - len(reference) / len(candidate)) for a candidate that
    is not longer. An empty candidate scores 0."""
    if not candidate:
        return 0.0
    logs = 0.0
    for n in range(1, order + 1):
        grams = _grams(candidate, n)
        matches = (grams & _grams(reference, n)).total()
        logs += math.log((matches + 1) / (grams.total() + 1))
    penalty = min(1.0, math.exp(1 - len(reference) / len(candidate)))
    return penalty * math.exp(logs / order)


def rouge_l_as_printed(candidate: Words, reference: Words) -> float:
    """F = (1 + b²)PR / (R + b²P) with b = P / R, of the longest common subsequence; 0 if nothing is shared."""
    common = _common_subsequence(candidate, reference)
    if not common:
        return 0.0
    precision, recall = common / len(candidate), common / len(reference)
    weight = (precision / recall) ** 2
    return (1 + weight) * precision * recall / (recall + weight * precision)


def rouge_1(candidate: Words, reference: Words) -> float:
    """ROUGE-1, the balanced F of single words: 2 · shared words / (words of both); 0 if nothing is shared."""
    shared = (_grams(candidate, 1) & _grams(reference, 1)).total()
    return 2 * shared / (len(candidate) + len(reference)) if shared else 0.0


def _grams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(n)), strict=False))


def _common_subsequence(a: Words, b: Words) -> int:
    """Length of the longest common subsequence, O(len(a) · len(b))."""
    row = [0] * (len(b) + 1)
    for word in a:
        diagonal = 0
        for at, other in enumerate(b, start=1):
            above = row[at]
            row[at] = diagonal + 1 if word == other else max(above, row[at - 1])
            diagonal = above
    return row[-1]
