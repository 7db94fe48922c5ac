"""The raters of a report for which none were named: readers, and people with few labels, count only when asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from recjudge_tui.domain.protocols import question_of
from recjudge_tui.reports.common.few_cases import FEWEST_CASES
from recjudge_tui.reports.common.scales import is_people, is_reader
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import Question, Rater, count_up_to

# the end of each note; a screen writes its own key instead
INCLUDE_THEM = "--readers includes them"


class UsualQuestions(NamedTuple):
    """The questions that count, and those left out: of `readers`, and of people with a `few` labels on them."""

    kept: tuple[Question, ...]
    readers: tuple[Question, ...] = ()
    few: tuple[Question, ...] = ()

    def notes(self, about: Collection[Question] | None = None) -> list[str]:
        """Who was left out, and how to include them; with `about` only of a report on these questions."""
        readers, few = _names(self.readers, about), _names(self.few, about)
        notes = [f"without the overrides of {readers}; {INCLUDE_THEM}"] if readers else []
        notes += [f"without {few}: fewer than {FEWEST_CASES} labels; {INCLUDE_THEM}"] if few else []
        return notes


def usual_questions(
    db: Database,
    project_id: int,
    questions: Iterable[Question],
    raters: Mapping[str, Rater],
    named: Collection[str] = (),
) -> UsualQuestions:
    """`named` raters count in any case."""
    asked = tuple(questions)
    free = [question for question in asked if question.rater not in named]
    readers = tuple(question for question in free if is_reader(raters[question.rater]))
    few = set(_few_labels(db, project_id, asked, raters)).difference(readers).intersection(free)
    kept = tuple(question for question in asked if question not in few and question not in readers)
    return UsualQuestions(kept, readers, tuple(question for question in asked if question in few))


def _few_labels(
    db: Database, project_id: int, questions: Collection[Question], raters: Mapping[str, Rater]
) -> list[Question]:
    """The questions on which a person has labelled fewer than `FEWEST_CASES` cases, and somebody else at least as many."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for question in questions:
        by_rater = counts.setdefault(_same(question), {})
        count = count_up_to(db, project_id, question, FEWEST_CASES)
        by_rater[question.rater] = min(by_rater.get(question.rater, 0) + count, FEWEST_CASES)
    return [
        question
        for question in questions
        if is_people(raters[question.rater])
        and counts[_same(question)][question.rater] < FEWEST_CASES
        and max(counts[_same(question)].values()) >= FEWEST_CASES
    ]


def _same(question: Question) -> tuple[str, str]:
    """Equal for protocols that ask the same question."""
    return question_of(question.protocol), question.aspect


def _names(left_out: Iterable[Question], about: Collection[Question] | None) -> str:
    return ", ".join(sorted({q.rater for q in left_out if about is None or q in about}))
