"""BLEU and ROUGE by the paper's conventions, against hand calculation and the usual library."""

from __future__ import annotations

import math
import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.reports.papers.text_metrics import bare_text, bleu, jieba_words, rouge_1, rouge_l_as_printed

texts = st.lists(st.sampled_from("abcd"), max_size=8)


def test_text_of_html_keeps_the_blank_and_reads_attributes_as_a_browser_does() -> None:
    markup = """导演是<span title='<img src="x" style="a>b"/>'>斯皮尔伯格 </span>"""
    assert bare_text(markup) == "导演是斯皮尔伯格 "
    assert bare_text("A &amp; B") == "A & B"


def test_words_keep_blanks() -> None:
    cut = jieba_words()
    assert cut is not None
    assert list(cut("史蒂文 是 导演 ")) == ["史蒂文", " ", "是", " ", "导演", " "]


def test_without_jieba_there_are_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    assert jieba_words() is None


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
def test_rouge_l_uses_the_longest_common_subsequence(a: list[str], b: list[str]) -> None:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        if a[i] == b[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    common = longest(0, 0)
    value = rouge_l_as_printed(a, b)
    assert (value == 0) == (common == 0)
    if common:
        p, r = common / len(a), common / len(b)
        assert value == pytest.approx((p * r**3 + p**3 * r) / (r**3 + p**3))


@given(texts, texts)
def test_rouge_1_is_the_librarys(a: list[str], b: list[str]) -> None:
    from rouge_score.rouge_scorer import RougeScorer  # with NLTK, which takes a second: not for every worker

    scored = RougeScorer(["rouge1"]).score(" ".join(b), " ".join(a))["rouge1"]
    assert rouge_1(a, b) == pytest.approx(scored.fmeasure)
