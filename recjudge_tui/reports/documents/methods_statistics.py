"""How the figures of a project are computed, in sentences that cite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.documents.cited_text import Sentence, cite
from recjudge_tui.reports.documents.statistic_sentences import (
    AGREEMENT,
    OF_LISTS,
    OF_PAIRS,
    OFFLINE,
    SENTENCES,
)
from recjudge_tui.stats.defaults import level_text
from recjudge_tui.stats.registry import CORRELATIONS, STATISTICS, usual_statistic

# in place of a name: every statistic that the data allow
ALL = "all"
_WIN_SCORE = "Q = (wins + ties) / (losses + ties)"
_KAPPA = {"qwk": "cohen1968", "kappa": "cohen1960"}


class Evaluation(NamedTuple):
    """The kinds of data behind a project's figures: verdicts on pairs, scores, labels of single lists or texts,
    labels of people beside judges (`compared`: on a scale with labels, `correlated`: without), held-out events, Dawid
    and Skene's ensembles.
    """

    pairs: bool = False
    scores: bool = False
    labels: bool = False
    compared: bool = False
    correlated: bool = False
    held_out: bool = False
    ensemble: bool = False


_INTERVALS: Sentence = (
    (
        f"Users, not single verdicts, are the units of all intervals, which are at {level_text()}: the variance is that of"
        " the jackknife over users "
    ),
    cite("efron1993"),
    (
        ", on the logit scale for shares, Q and bounded means and on Fisher's scale for coefficients, with Student's t;"
        " shares at 0 or 1 and rare ones have the interval of Korn and Graubard "
    ),
    cite("clopper1934", "korn1998"),
    ".",
)


def named_statistics(of: Evaluation, names: Sequence[str]) -> tuple[str, ...]:
    """The names, with ALL in place of every statistic that these data allow. Raises UsageError for an unknown one."""
    for name in names:
        if name != ALL and name not in SENTENCES:
            raise UsageError(f"no statistic “{name}”", f"Available: {', '.join(SENTENCES)}.")
    return tuple(dict.fromkeys(n for name in names for n in (_allowed(of) if name == ALL else (name,))))


def _allowed(of: Evaluation) -> Iterator[str]:
    if of.pairs:
        yield from OF_PAIRS
    if of.scores or of.labels:
        yield from OF_LISTS
    if of.compared:
        yield from AGREEMENT
    elif of.correlated:
        yield from (*CORRELATIONS, "bias")
    if of.held_out:
        yield from OFFLINE
    if of.ensemble:
        yield "dawid-skene"


def statistics_sentences(of: Evaluation, names: Sequence[str] = ()) -> Iterator[Sentence]:
    """The sentences, with the settings that reports use by default; then those on further statistics by name."""
    written = tuple(_usual_sentences(of))
    yield from written
    yield from (SENTENCES[name] for name in named_statistics(of, names) if SENTENCES[name] not in written)


def _usual_sentences(of: Evaluation) -> Iterator[Sentence]:
    yield _INTERVALS
    if of.pairs:
        yield (f"Systems are ranked by {_WIN_SCORE} ", cite("wu2024arena"), ".")
        yield (
            (
                "Two systems are called different if an exact sign test over users, each counted once, has p < .05 after"
                " Holm's correction over all pairs of systems compared "
            ),
            cite("holm1979"),
            ".",
        )
    if of.labels:
        yield SENTENCES["share"]
    if of.scores or of.held_out:
        yield (
            "Two means are called different if the exact sign-flip test over users ",
            cite("fisher1935"),
            " has p < .05 after Holm's correction ",
            cite("holm1979"),
            ".",
        )
    if of.compared:
        name = usual_statistic(labels=True)
        label = STATISTICS[name].in_text.replace("κ", "kappa")
        yield (
            f"Agreement of a judge with people is {label} ",
            cite(_KAPPA[name]),
            " and percent agreement on the cases that both judged, beside the same figures between people.",
        )
    if of.correlated:
        yield (
            "Agreement on scores is Pearson's ",
            cite("pearson1895"),
            " and Spearman's correlation ",
            cite("spearman1904"),
            " on the cases that both judged.",
        )
    if of.held_out:
        yield (
            (
                "Offline metrics compare each list with the held-out events of its own user and occasion; nDCG has linear"
                " gains and a discount of log2(rank + 1) "
            ),
            cite("jarvelin2002"),
            ".",
        )
    if of.ensemble:
        yield SENTENCES["dawid-skene"]
