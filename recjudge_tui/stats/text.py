"""Similarity of a text (an explanation) to a reference (the user's own text), 0 to 1: BLEU by sacrebleu, ROUGE by
rouge-score, both in the extra `text`; and texts cut into words, also in scripts without spaces.

- `bleu-1`, `bleu-4`: sentence BLEU (Papineni et al., 2002) up to n = 1 or 4 as `sacrebleu.sentence_bleu` computes it:
  exponential smoothing, no orders longer than the text, case-sensitive, punctuation counted, words by mteval 13a.
- `rouge-1`, `rouge-l`: balanced F of single words, and of the longest common subsequence of words (Lin, 2004), as
  `rouge_score` computes them without stemming: lower case, only letters and digits count.

Words are cut in one of three ways, both texts of a comparison alike:

- `words`: at white space.
- `jieba`: Chinese by jieba; other unspaced scripts (kana, Thai, Lao, Khmer, Burmese, Tibetan) into characters.
- `characters`: every character of an unspaced script, with its combining marks, is a word; the rest as `words`.
- `auto`: `words` without unspaced script; `jieba` with Chinese characters and hardly any kana; else `characters`.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from recjudge_tui.errors import RunError
from recjudge_tui.stats.arrays import FloatArray, IntArray

Tokens = Literal["auto", "words", "jieba", "characters"]
TOKENS: tuple[Tokens, ...] = get_args(Tokens)
Cut = Literal["words", "jieba", "characters"]

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_OTHER = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u3100-\u312f\u31a0-\u31bf"
    "\ua9e0-\ua9ff\uaa60-\uaa7f"
)
_MARKS = (
    "\u3000-\u3004\u3008-\u3020\u302a-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
    "\ufe10-\ufe1f\ufe30-\ufe4f"
)
# the characters of words in jieba's dictionary, such as T恤 and 8.5分
_WITH_HAN = r"0-9A-Za-z+#&._%\-"
_IS_HAN, _IS_KANA = re.compile(f"[{_HAN}]"), re.compile(f"[{_KANA}]")
_IS_UNSPACED = re.compile(f"[{_HAN}{_KANA}{_OTHER}]")
_CHARACTER_RUNS = re.compile(f"([{_HAN}{_KANA}{_OTHER}{_MARKS}]+)")
_JIEBA_RUNS = re.compile(f"([{_HAN}{_WITH_HAN}]+|[{_KANA}{_OTHER}{_MARKS}]+)")
_ASCII_WORD = re.compile("[a-z0-9]+")
_KANA_SHARE = 0.1


def _loaded(module: str) -> Any:
    """A module of the extra `text`, or of `chinese`, which is jieba alone. Raises RunError where it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        extra = "chinese" if error.name == "jieba" else "text"
        raise RunError(
            f"text metrics need the package {error.name}",
            "It is not installed here.",
            f"Install it with: pip install 'recjudge[{extra}]'",
        ) from None


def resolve(how: Tokens, *texts: str) -> Cut:
    """How to cut these texts, which will be compared; any value other than `auto` is returned unchanged."""
    if how != "auto":
        return how
    both = "\n".join(texts)
    if both.isascii() or not _IS_UNSPACED.search(both):
        return "words"
    han, kana = len(_IS_HAN.findall(both)), len(_IS_KANA.findall(both))
    return "jieba" if han and kana < _KANA_SHARE * (han + kana) else "characters"


def cut(text: str, how: Cut, spaced: Callable[[str], list[str]] = str.split) -> list[str]:
    """The words of a text (in NFC) in order, with punctuation; none is empty or contains white space. `spaced` cuts text
    with spaces between words. Raises RunError if jieba is needed and missing."""
    text = unicodedata.normalize("NFC", text)
    if how == "words" or text.isascii():
        return spaced(text)
    tokens: list[str] = []
    for run, has_blanks in _runs(text, how):
        tokens += spaced(run) if has_blanks else _unspaced(run, how)
    return tokens


def plain_words(text: str, how: Cut) -> list[str]:
    """Lower-case words of letters, digits and their marks: of ASCII text the tokens of rouge-score without stemming."""
    return [part for word in cut(text, how) for part in _letters(word.lower())]


def _letters(word: str) -> list[str]:
    if word.isascii():
        return _ASCII_WORD.findall(word)
    kept = (c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in word)
    return "".join(kept).split()


def _runs(text: str, how: Cut) -> Iterator[tuple[str, bool]]:
    """Parts of the text, each with whether its words are separated by spaces."""
    pattern = _JIEBA_RUNS if how == "jieba" else _CHARACTER_RUNS
    waiting: list[str] = []
    for place, run in enumerate(pattern.split(text)):
        if place % 2 == 0 or run.isascii():
            waiting.append(run)
            continue
        yield "".join(waiting), True
        waiting = []
        yield run, False
    yield "".join(waiting), True


def _unspaced(run: str, how: Cut) -> list[str]:
    if how == "jieba" and _IS_HAN.search(run):
        return list(_jieba()(run))
    characters: list[str] = []
    for character in run:
        if characters and unicodedata.category(character).startswith("M"):
            characters[-1] += character
        elif not character.isspace():
            characters.append(character)
    return characters


@lru_cache(maxsize=1)
def _jieba() -> Callable[[str], tuple[str, ...]]:
    """The words of a run; the last runs are remembered, because several metrics cut the same text one after another."""
    cut_text = jieba_cutter()

    @lru_cache(maxsize=256)
    def words_of(run: str) -> tuple[str, ...]:
        return tuple(word for word in cut_text(run) if not word.isspace())

    return words_of


@cache
def jieba_cutter() -> Callable[[str], list[str]]:
    """jieba's cutter with its dictionary, which takes a second to read; it returns spaces as words. Raises RunError if jieba
    is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jieba = _loaded("jieba")
    # read here because jieba itself would report on stderr, and would write and trust a cache file in the folder for
    # temporary files, where anybody may put one
    cutter = jieba.Tokenizer()
    cutter.FREQ, cutter.total = cutter.gen_pfdict(cutter.get_dict_file())
    cutter.initialized = True
    cut_text: Callable[[str], list[str]] = cutter.lcut
    return cut_text


NO_WORDS = "the text has no words"
NO_REFERENCE = "the reference has no words"
TOO_LONG = "text or reference is longer than 5,000 words"
_LONGEST = 5_000


class Score(NamedTuple):
    """A value from 0 to 1, or None with the reason."""

    value: float | None
    reason: str = ""


TextMetric = Callable[[str, str], Score]
_Cutter = Callable[[str, Cut], list[str]]
_Measure = Callable[[list[str], list[str]], float]


def text_metric(name: str, tokens: Tokens = "auto") -> TextMetric:
    """The metric called `name` (a key of TEXT_METRICS) as a function of text and reference. ROUGE-L of more than 5,000
    words is not computed. Raises RunError if a package is missing, here or at the first text in Chinese."""
    words, measure = TEXT_METRICS[name]()
    longest = _LONGEST if name == "rouge-l" else None

    def score(text: str, reference: str) -> Score:
        how = resolve(tokens, text, reference)
        written, wanted = words(text, how), words(reference, how)
        if not wanted:
            return Score(None, NO_REFERENCE)
        if not written:
            return Score(None, NO_WORDS)
        if longest is not None and max(len(written), len(wanted)) > longest:
            return Score(None, TOO_LONG)
        return Score(measure(written, wanted))

    return score


def _bleu(order: int) -> tuple[_Cutter, _Measure]:
    BLEU = _loaded("sacrebleu.metrics.bleu").BLEU  # noqa: N806
    bleu = BLEU(tokenize="none", max_ngram_order=order, effective_order=True)
    mteval = BLEU(tokenize="13a").tokenizer

    def spaced(text: str) -> list[str]:
        tokens: str = mteval(text.rstrip())
        return tokens.split()

    def measure(written: list[str], wanted: list[str]) -> float:
        percent = bleu.sentence_score(" ".join(written), [" ".join(wanted)]).score
        # rounding may put a geometric mean of ones slightly above one
        return min(float(percent) / 100, 1.0)

    return lambda text, how: cut(text, how, spaced), measure


def _rouge(kind: str) -> tuple[_Cutter, _Measure]:
    scorer = _loaded("rouge_score.rouge_scorer").RougeScorer([kind], tokenizer=_WordListTokenizer())

    def measure(written: list[str], wanted: list[str]) -> float:
        return float(scorer.score(wanted, written)[kind].fmeasure)

    return plain_words, measure


class _WordListTokenizer:
    """A tokeniser for rouge-score whose input is already a list of words."""

    def tokenize(self, words: list[str]) -> list[str]:
        return words


TEXT_METRICS: Mapping[str, Callable[[], tuple[_Cutter, _Measure]]] = {
    "bleu-1": lambda: _bleu(1),
    "bleu-4": lambda: _bleu(4),
    "rouge-1": lambda: _rouge("rouge1"),
    "rouge-l": lambda: _rouge("rougeL"),
}
"""Metric -> a function that loads its library and returns how to cut words and how to measure."""


# ---- words and phrases that tell two sets of texts apart -------------------------------------------------------------


LONGEST = 3
# a phrase is left out if a longer one stands in this share of its texts
_SAID_LONGER = 0.9
_SHORTEST_WORD = 3


def phrases(text: str, stop: Collection[str]) -> set[str]:
    """The phrases of 1 to LONGEST neighbouring words of a text, in lower case. None begins or ends with a word of `stop`
    or a number; a single word has at least three letters (two in scripts without spaces)."""
    words = plain_words(text, resolve("auto", text))
    edge = [word in stop or not any(map(str.isalpha, word)) for word in words]
    found = set()
    for start, word in enumerate(words):
        if edge[start]:
            continue
        if len(word) >= (_SHORTEST_WORD if word.isascii() else 2):
            found.add(word)
        for end in range(start + 1, min(start + LONGEST, len(words))):
            if not edge[end]:
                found.add(" ".join(words[start : end + 1]))
    return found


def telling(texts: Sequence[Collection[str]], fewest: int) -> list[str]:
    """The phrases of at least `fewest` texts, by name, without those that nearly always stand in one longer phrase."""
    counts = Counter(phrase for text in texts for phrase in text)
    common = {phrase for phrase, count in counts.items() if count >= fewest}
    within: Counter[str] = Counter()
    for phrase in common:
        words = phrase.split()
        for size in range(1, len(words)):
            for start in range(len(words) - size + 1):
                part = " ".join(words[start : start + size])
                within[part] = max(within[part], counts[phrase])
    return sorted(phrase for phrase in common if within[phrase] < _SAID_LONGER * counts[phrase])


def log_odds(first: IntArray, second: IntArray, background: IntArray) -> tuple[FloatArray, FloatArray]:
    """Of each phrase (n,) the log-odds ratio with an informative Dirichlet prior, and its z: above 0 in the first set.

    With y the counts in a set, N their sum, and the prior a = A p, where p is the phrase's share of `background` (one more
    count is for phrases not seen) and A a hundredth of all counts, at least 1: delta = log((y1 + a) / (N1 + A - y1 - a)) -
    log((y2 + a) / (N2 + A - y2 - a)), z = delta / sqrt(1 / (y1 + a) + 1 / (y2 + a)) (Monroe, Colaresi and Quinn 2008,
    equations 16, 18 and 19). Every phrase has a count in `background`."""
    y = np.stack([first, second]).astype(np.float64)
    weight = max(1.0, float(y.sum()) / 100)
    prior = weight * background / (int(background.sum()) + 1)
    n = y.sum(axis=1, keepdims=True)
    odds = np.log(y + prior) - np.log(n + weight - y - prior)
    delta = odds[0] - odds[1]
    return delta, delta / np.sqrt((1.0 / (y + prior)).sum(axis=0))


def fisher_exact(first: IntArray, first_n: int, second: IntArray, second_n: int) -> FloatArray:
    """Of each row (n,) the two-sided p of `first` of `first_n` against `second` of `second_n`, twice the smaller tail of
    the hypergeometric distribution and at most 1 (Fisher 1935)."""
    from scipy.stats import hypergeom

    drawn = (first_n + second_n, first + second, first_n)
    low, high = hypergeom.cdf(first, *drawn), hypergeom.sf(first - 1, *drawn)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(low, high)), dtype=np.float64)
