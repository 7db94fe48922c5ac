"""Text metrics and how texts are cut into words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.errors import RunError
from recjudge_tui.stats.text import (
    NO_WORDS,
    TOKENS,
    TOO_LONG,
    Cut,
    Tokens,
    cut,
    resolve,
    text_metric,
)

METRICS = ("bleu-1", "bleu-4", "rouge-1", "rouge-l")
TEXTS = st.text(alphabet="ab cd.,!\n这部电影の หนัง", max_size=40)


def value(name: str, text: str, reference: str, tokens: Tokens = "auto") -> float:
    found = text_metric(name, tokens)(text, reference).value
    assert found is not None
    return found


# by characters 4 of 7 are found and all 4 of the reference; jieba: 这部 电影 很 好看 against 电影 好看
@pytest.mark.parametrize(
    ("tokens", "expected"), [("characters", 8 / 11), ("jieba", 4 / 6), ("auto", 4 / 6), ("words", 0.0)]
)
def test_chinese_by_each_way_of_cutting(tokens: Tokens, expected: float) -> None:
    assert value("rouge-1", "这部电影很好看", "电影好看", tokens) == pytest.approx(expected)
    assert value("rouge-l", "这部电影很好看", "电影好看", tokens) == pytest.approx(expected)


def test_marks_alone_are_no_words_for_rouge() -> None:
    assert text_metric("rouge-1")("...", "a film") == (None, NO_WORDS)
    assert text_metric("bleu-1")("...", "a film").value == 0


def test_a_book_is_not_compared_by_the_subsequence() -> None:
    book = "word " * 5_001
    assert text_metric("rouge-l")(book, "word") == (None, TOO_LONG)
    assert text_metric("rouge-1")(book, "word").value is not None


SENTENCES = [
    ("It's a great film, isn't it?", "It is a great film; don't miss it."),
    ("I rate this 8.5/10 & would re-watch.", "rated 8.5 of 10, would not re-watch"),
    ("one two three four five", "five four three two one"),
    ("Очень хороший фильм.", "Хороший, но очень длинный фильм."),
    ("UPPER lower", "upper LOWER"),
]


@pytest.mark.parametrize(("text", "reference"), SENTENCES)
def test_spaced_text_is_scored_as_sacrebleu_does(text: str, reference: str) -> None:
    assert value("bleu-4", text, reference) * 100 == pytest.approx(
        sacrebleu.sentence_bleu(text, [reference]).score
    )
    single = sacrebleu.BLEU(max_ngram_order=1, effective_order=True).sentence_score(text, [reference])
    assert value("bleu-1", text, reference) * 100 == pytest.approx(single.score)


@pytest.mark.parametrize(("text", "reference"), [pair for pair in SENTENCES if pair[0].isascii()])
def test_ascii_text_is_scored_as_rouge_score_does(text: str, reference: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer  # with NLTK, which takes a second: not for every worker

    scores = RougeScorer(["rouge1", "rougeL"]).score(reference, text)
    assert value("rouge-1", text, reference) == pytest.approx(scores["rouge1"].fmeasure)
    assert value("rouge-l", text, reference) == pytest.approx(scores["rougeL"].fmeasure)


@given(TEXTS, TEXTS, st.sampled_from(METRICS), st.sampled_from(TOKENS))
def test_a_score_is_from_0_to_1_or_has_a_reason(text: str, reference: str, name: str, how: Tokens) -> None:
    score = text_metric(name, how)(text, reference)
    assert (score.value is None) == (score.reason != "")
    assert score.value is None or 0 <= score.value <= 1


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [("bleu-4", "sacrebleu.metrics.bleu", "sacrebleu"), ("rouge-1", "rouge_score.rouge_scorer", "rouge_score")],
)  # fmt: skip
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RunError) as error:
        text_metric(name)
    assert package in error.value.title
    assert "pip install 'recjudge[text]'" in error.value.next_step


CUTS: tuple[Cut, ...] = ("words", "jieba", "characters")
MIXED = st.text(alphabet="ab1 .,'-\n这部电影很好看，。のかหนังก็éé́हिन्दी\u3000\U00020000ｱ")


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("A film I liked", "words"),
        ("", "words"),
        ("Очень хороший фильм", "words"),
        ("재미있는 영화", "words"),
        ("这部电影很好看", "jieba"),
        ("I know it as 活着 (1994)", "jieba"),
        ("この映画は面白い", "characters"),
        ("หนังดีมาก", "characters"),
        ("ຮູບເງົາ", "characters"),
        ("很好看的电影，故事感人，演员很棒，推荐大家都去看の", "jieba"),
    ],
)
def test_the_script_chooses(text: str, how: Cut) -> None:
    assert resolve("auto", text) == how


def test_chinese_is_cut_into_words() -> None:
    assert cut("我来到北京清华大学，真好。", "jieba") == [
        "我",
        "来到",
        "北京",
        "清华大学",
        "，",
        "真",
        "好",
        "。",
    ]


def test_words_of_other_scripts_are_left_whole_among_chinese() -> None:
    assert cut("评分8.5分 T恤 café «Список Шиндлера» Schindler's List", "jieba") == [
        "评分", "8.5", "分", "T恤", "café", "«Список", "Шиндлера»", "Schindler's", "List",
    ]  # fmt: skip
    assert cut("看Up很好", "characters") == ["看", "Up", "很", "好"]


@given(MIXED, st.sampled_from(CUTS))
def test_no_word_is_empty_and_no_character_is_lost(text: str, how: Cut) -> None:
    import unicodedata

    words = cut(text, how)
    assert all(word and not any(c.isspace() for c in word) for word in words)
    assert "".join(words) == "".join(unicodedata.normalize("NFC", text).split())


def cut_elsewhere(temporary: Path) -> subprocess.CompletedProcess[str]:
    """Cut Chinese in a process of its own with this folder for its files."""
    code = "from recjudge_tui.stats.text import cut; assert cut('清华大学', 'jieba') == ['清华大学']"
    words = [sys.executable, "-W", "default", "-c", code]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def test_jieba_says_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    done = cut_elsewhere(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_somebody_left_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "jieba.cache").write_bytes(b"not for us")
    assert cut_elsewhere(tmp_path).returncode == 0
    assert (tmp_path / "jieba.cache").read_bytes() == b"not for us"


def test_without_jieba_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from recjudge_tui.stats import text as words

    words._jieba.cache_clear()
    words.jieba_cutter.cache_clear()
    monkeypatch.setitem(sys.modules, "jieba", None)
    try:
        assert cut("plain words", "jieba") == ["plain", "words"]
        with pytest.raises(RunError) as error:
            cut("电影", "jieba")
    finally:
        words._jieba.cache_clear()
    assert "jieba" in error.value.title
    assert "pip install 'recjudge[chinese]'" in error.value.next_step
