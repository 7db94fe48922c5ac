from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.errors import RunError
from recjudge_tui.stats.text.words import TOKENS, Cut, Tokens, cut, plain_words, resolve

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


@pytest.mark.parametrize("how", CUTS)
def test_a_users_setting_takes_precedence(how: Tokens) -> None:
    assert resolve(how, "这部电影") == how


def test_both_texts_choose_together() -> None:
    assert resolve("auto", "liked it", "好看") == "jieba"
    assert resolve("auto", "映画", "面白かった") == "characters"


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


def test_marks_stay_with_their_character() -> None:
    assert cut("ก็ดี", "characters") == ["ก็", "ดี"]
    assert plain_words("हिन्दी में!", "words") == ["हिन्दी", "में"]


def test_one_letter_written_in_two_ways_is_one() -> None:
    assert cut("café", "words") == cut("cafe\u0301", "words")


def test_words_leaves_unspaced_text_whole() -> None:
    assert cut("这部电影 很好看", "words") == ["这部电影", "很好看"]


def test_plain_words_are_those_of_rouge_score() -> None:
    from rouge_score.tokenize import tokenize

    for text in ("Don't stop-now: it's 8.5/10!", "under_score A1b2", "", " -- ", "a\tb\nc"):
        assert plain_words(text, "words") == tokenize(text, None)


@given(MIXED, st.sampled_from(CUTS))
def test_no_word_is_empty_and_no_character_is_lost(text: str, how: Cut) -> None:
    import unicodedata

    words = cut(text, how)
    assert all(word and not any(c.isspace() for c in word) for word in words)
    assert "".join(words) == "".join(unicodedata.normalize("NFC", text).split())


@given(MIXED, st.sampled_from(CUTS))
def test_plain_words_are_letters_and_digits(text: str, how: Cut) -> None:
    for word in plain_words(text, how):
        assert any(c.isalnum() or c == "\u0301" for c in word) or not word.isascii()
        assert word == word.lower()


def test_long_text_without_blanks_is_one_word() -> None:
    assert cut("a" * 300_000 + "é", "jieba") == ["a" * 300_000 + "é"]


def test_jieba_says_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    code = "from recjudge_tui.stats.text.words import cut; assert cut('清华大学', 'jieba') == ['清华大学']"
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_somebody_left_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "jieba.cache").write_bytes(b"not for us")
    code = "from recjudge_tui.stats.text.words import cut; assert cut('清华大学', 'jieba') == ['清华大学']"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, check=False
    )  # fmt: skip
    assert done.returncode == 0
    assert (tmp_path / "jieba.cache").read_bytes() == b"not for us"


def test_without_jieba_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from recjudge_tui.stats.text import words

    words._jieba.cache_clear()
    monkeypatch.setitem(sys.modules, "jieba", None)
    try:
        assert cut("plain words", "jieba") == ["plain", "words"]
        with pytest.raises(RunError) as error:
            cut("电影", "jieba")
    finally:
        words._jieba.cache_clear()
    assert "jieba" in error.value.title
    assert "pip install 'recjudge[chinese]'" in error.value.next_step


def test_the_ways_are_named() -> None:
    assert TOKENS == ("auto", "words", "jieba", "characters")
