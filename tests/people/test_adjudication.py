"""Where annotators differ: by a rule, or by a third person who does not learn who said what before deciding."""

from __future__ import annotations

import pytest

from recjudge_tui.domain.annotation import AnswerOption, AspectAnswer, CaseAnswers
from recjudge_tui.people.annotation import (
    adjudicate_by_rule,
    ballot_authors,
    dispute_of,
    queue_of,
    settle,
    start_adjudication,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import submit_verdict, task_of
from tests.support.annotators import assigned, films, judges, tasks, verdicts


def overall(value: float, label: str, why: str) -> CaseAnswers:
    return CaseAnswers((AspectAnswer("overall", value, label),), (), why)


def voted(db: Database, who: str, labels: dict[int, str]) -> None:
    """`who` gives each of their cases the label named for it; cases without one stay open."""
    value = {"A": 1.0, "Tie": 0.0, "B": -1.0}
    for task_id in tasks(db, who):
        label = labels.get(task_of(db, task_id).case_id)
        if label:
            submit_verdict(db, task_id, overall(value[label], label, f"{who} says so"), 1)


@pytest.fixture
def cases(db: Database) -> list[int]:
    """Four cases: agreed on A, A against B, Tie against B, one that ana alone has judged."""
    films(db, 4)
    assigned(db)
    found = sorted(task_of(db, task).case_id for task in tasks(db, "ana"))
    voted(db, "ana", dict(zip(found, ("A", "A", "Tie", "A"), strict=True)))
    voted(db, "ben", dict(zip(found[:3], ("A", "B", "B"), strict=True)))
    return found


def test_by_a_rule(db: Database, cases: list[int]) -> None:
    made = adjudicate_by_rule(db, 1, "pairwise", "conservative", "people")
    assert (made.made, made.disagreed, made.left_out) == (3, 2, {"not judged by all raters": 1})
    said = zip(cases, ("A", "Tie", "Tie"), strict=False)
    assert [(row[0], row[3]) for row in verdicts(db, "people")] == list(said)
    voted(db, "ben", {cases[3]: "A"})
    assert adjudicate_by_rule(db, 1, "pairwise", "conservative", "people").made == 4


def test_a_third_person_settles_the_disagreements(db: Database, cases: list[int]) -> None:
    rater = start_adjudication(db, 1, "pairwise", "cy")
    assert [(row[0], row[3], row[4]) for row in verdicts(db, "cy")] == [(cases[0], "A", "agreed")]
    queue = queue_of(db, 1, rater, "pairwise")
    assert (queue.disputed, queue.left) == (2, (cases[1], cases[2]))
    dispute = dispute_of(db, 1, rater, "pairwise", cases[1])
    option = next(o for q in dispute.questions for o in q.options if o.label == "B")
    settle(db, dispute, overall(option.value, option.label, "B it is"), 7.0)
    assert verdicts(db, "cy")[1][2:6] == (-1.0, "B", "third person", "B it is")
    assert queue_of(db, 1, rater, "pairwise").left == (cases[2],)
    settle(db, dispute_of(db, 1, rater, "pairwise", cases[2]), None, 1.0, "cannot tell")
    assert queue_of(db, 1, rater, "pairwise").left == ()
    columns = "first IN ('a', 'b'), state, seconds, reason"
    rows = db.tuples(f"SELECT {columns} FROM v_annotations WHERE annotator = 'cy' ORDER BY position")
    assert list(rows) == [(1, "done", 7.0, ""), (1, "skipped", 1.0, "cannot tell")]
    assert start_adjudication(db, 1, "pairwise", "cy") == rater
    assert len(verdicts(db, "cy")) == 2


def test_ballots_have_no_names_and_speak_of_the_lists_as_shown(db: Database, cases: list[int]) -> None:
    rater = start_adjudication(db, 1, "pairwise", "cy")
    dispute = dispute_of(db, 1, rater, "pairwise", cases[1])
    assert sorted(ballot.words for ballot in dispute.ballots) == [("List 1",), ("List 2",)]
    assert dispute == dispute_of(db, 1, rater, "pairwise", cases[1]), "the same when one comes back"
    said = dict(ballot_authors(db, dispute))
    ana = "List 1" if dispute.task.first == "a" else "List 2"
    assert said["ana"].words == (ana,)
    assert said["ben"].words != (ana,)


def test_only_the_aspects_in_dispute_are_asked(db: Database) -> None:
    films(db, 2)
    assigned(db, "explanation")
    count = iter(range(100))

    def wavering(options: tuple[AnswerOption, ...]) -> AnswerOption:
        return options[4 if next(count) % 4 == 1 else 0]

    judges(db, "ana", "explanation")
    judges(db, "ben", "explanation", choose=wavering)
    rater = start_adjudication(db, 1, "explanation", "cy")
    queue = queue_of(db, 1, rater, "explanation")
    dispute = dispute_of(db, 1, rater, "explanation", queue.left[0])
    assert [question.aspect for question in dispute.questions] == ["transparency"]
    assert len(verdicts(db, "cy")) == 6
    settle(db, dispute, CaseAnswers((AspectAnswer("transparency", 3.0, "3"),)), 1)
    assert len(verdicts(db, "cy")) == 7
