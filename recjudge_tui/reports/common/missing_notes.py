"""Notes on missing verdicts and on earlier lists, one for all comparisons that share the same text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recjudge_tui.reports.common.comparison import MissingCounts, generation_notes
from recjudge_tui.reports.common.pairing import Pair
from recjudge_tui.store.occasions import untimed_note
from recjudge_tui.store.verdicts.ratings import EarlierLists, Question, Ratings


class MissingVerdicts(NamedTuple):
    """The missing verdicts in the comparison of one pair, on one system or on all of them (empty)."""

    pair: Pair
    missing: MissingCounts
    system: str = ""


def missing_notes(lacks: Iterable[MissingVerdicts]) -> list[str]:
    """Notes in the order in which they first occur.

    The same sentence about several pairs, protocols or aspects is one note that names them all. Sentences are joined
    only for exactly the same pairs, so that no note claims more than was counted.
    """
    pairs: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for pair, missing, system in lacks:
        raters = pair.a.rater, pair.b.rater
        where = f"{pair.aspect}, {system}" if system else pair.aspect
        for sentence in missing.notes(*raters):
            pairs.setdefault((sentence, pair.protocol, where), []).append(raters)
    places: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[str]] = {}
    for (sentence, protocol, where), met in pairs.items():
        places.setdefault((sentence, protocol, tuple(met)), []).append(where)
    return [
        f"{_raters(met)} ({protocol}, {'; '.join(questions_missing)}): {sentence}"
        for (sentence, protocol, met), questions_missing in places.items()
    ]


def _raters(pairs: tuple[tuple[str, str], ...]) -> str:
    shared = set(pairs[0]).intersection(*pairs)
    if len(pairs) == 1 or len(shared) != 1:
        return ", ".join(f"{a} and {b}" for a, b in pairs)
    (common_rater,) = shared
    return f"{common_rater} with {', '.join(b if a == common_rater else a for a, b in pairs)}"


def no_pairs(ratings: Ratings) -> str:
    """Why a report on pairs has no rows; of a selection it says nothing about other cases."""
    if ratings.cases.selected is None:
        return "no pair of lists has been judged yet"
    return "none of these pairs of lists has been judged"


def no_verdicts(ratings: Ratings) -> str:
    """Why a report has no rows; of a selection it says nothing about other cases."""
    return "there are no verdicts yet" if ratings.cases.selected is None else "there are no verdicts on these"


def untimed_notes(ratings: Ratings) -> list[str]:
    """Notes on how many cases were left out because a time was chosen and theirs is unknown."""
    return [untimed_note(ratings.untimed, "cases")] if ratings.untimed else []


def earlier_notes(ratings: Ratings, questions: Iterable[Question]) -> list[str]:
    """Notes on raters who judged earlier lists: cases left out, and used cases whose lists a later import has
    replaced.
    """
    by_rater: dict[str, dict[EarlierLists, list[Question]]] = {}
    for question in dict.fromkeys(questions):
        if question in ratings.earlier:
            alike = by_rater.setdefault(question.rater, {})
            alike.setdefault(ratings.earlier[question], []).append(question)
    notes = untimed_notes(ratings)
    for rater, by_notes in by_rater.items():
        for earlier, alike_questions in by_notes.items():
            who = rater if len(by_notes) == 1 else f"{rater} ({_named(alike_questions)})"
            notes += [f"{who}: {sentence}" for sentence in _sentences(earlier)]
    return notes


def _sentences(earlier: EarlierLists) -> list[str]:
    sentences = generation_notes(earlier.left_out, 0)
    if earlier.replaced:
        sentences.append(
            f"{earlier.replaced:,} of {earlier.n:,} cases are about lists that were imported again since"
        )
    return sentences


def _named(questions: list[Question]) -> str:
    return "; ".join(f"{question.protocol}, {question.aspect}" for question in questions)
