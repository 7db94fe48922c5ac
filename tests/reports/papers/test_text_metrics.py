"""BLEU and ROUGE by the paper's conventions, against hand calculation and the usual library."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.reports.papers.text_metrics import bleu, rouge_1, rouge_l_as_printed

texts = st.lists(st.sampled_from("abcd"), max_size=8)


def test_bleu_by_hand() -> None:
    candidate, reference = "a b a".split(), "a c b d e".split()
    penalty = math.exp(1 - 5 / 3)
    assert bleu(candidate, reference, 1) == pytest.approx(penalty * 3 / 4)
    # no bigram, trigram or 4-gram is shared; there are 2, 1 and 0 of them
    assert bleu(candidate, reference, 4) == pytest.approx(penalty * (3 / 4 * 1 / 3 * 1 / 2 * 1) ** 0.25)
    assert bleu(reference, reference, 4) == pytest.approx(1)
    assert bleu([], reference, 1) == 0
    # a candidate that is longer is not punished
    assert bleu("a b c d".split(), "a b".split(), 1) == pytest.approx(3 / 5)


def test_rouge_l_weighs_by_precision_over_recall() -> None:
    candidate, reference = "a b c d".split(), "a x c".split()
    precision, recall = 2 / 4, 2 / 3
    b = precision / recall
    expected = (1 + b**2) * precision * recall / (recall + b**2 * precision)
    assert rouge_l_as_printed(candidate, reference) == pytest.approx(expected)
    assert rouge_l_as_printed(["a"], ["b"]) == 0
    assert rouge_l_as_printed([], ["b"]) == 0


@given(texts, texts)
def test_rouge_1_is_the_librarys(a: list[str], b: list[str]) -> None:
    from rouge_score.rouge_scorer import RougeScorer  # with NLTK, which takes a second: not for every worker

    scored = RougeScorer(["rouge1"]).score(" ".join(b), " ".join(a))["rouge1"]
    assert rouge_1(a, b) == pytest.approx(scored.fmeasure)
