"""Settles what annotators disagree on: all cases by a rule, or case by case by a third person who sees no names."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from recjudge_tui.annotation.case import ShownCase, shown_case
from recjudge_tui.domain.annotation import (
    FEWEST_ANNOTATORS,
    THIRD_PERSON,
    AspectAnswer,
    AspectQuestion,
    CaseAnswers,
)
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.raters.combine import RaterSummary, combine
from recjudge_tui.stats.combining import Rule
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import (
    NewTask,
    Task,
    Vote,
    add_tasks,
    finished_task,
    last_position,
    own_tasks,
    project_assignments,
    save_agreed,
    settled_cases,
    skip_task,
    submit_verdict,
    votes,
)
from recjudge_tui.store.raters import ensure_rater, rater_row


class Ballot(NamedTuple):
    """One annotator's answers about a case, to be shown without the name. `words` has one text per question of the dispute,
    empty for a question without an answer."""

    words: tuple[str, ...]
    note: str
    rater_id: int


class Dispute(NamedTuple):
    """A case on which annotators disagree, as shown to the third person. `questions` are those with different answers."""

    case_id: int
    task: Task
    shown: ShownCase
    questions: tuple[AspectQuestion, ...]
    ballots: tuple[Ballot, ...]


class Queue(NamedTuple):
    """The number of disputed cases, and the ids of those not settled yet, in the order in which they are shown."""

    disputed: int
    left: tuple[int, ...]


def annotators_of(db: Database, project_id: int, protocol: str) -> list[str]:
    """The names of the annotators with tasks of the protocol."""
    return [
        assignment.rater
        for assignment in project_assignments(db, project_id)
        if assignment.protocol == protocol
    ]


def adjudicate_by_rule(db: Database, project_id: int, protocol: str, rule: Rule, name: str) -> RaterSummary:
    """Make a consensus rater by a rule. It covers each case that at least two annotators of the protocol judged.

    Raises what `combine` raises, and UsageError when fewer than two people annotate.
    """
    annotators = annotators_of(db, project_id, protocol)
    return combine(db, project_id, name, rule, annotators, FEWEST_ANNOTATORS, protocol=protocol)


def start_adjudication(db: Database, project_id: int, protocol: str, name: str) -> int:
    """Create the consensus rater `name` if it is new, and store the verdicts on which all annotators agree.

    Returns the rater's id. Raises UsageError when the name is empty, or belongs to another kind of rater, to a
    consensus made by a rule, or to one for another protocol.
    """
    if not name.strip():
        raise UsageError("the third person needs a name", next_step="Add --name NAME.")
    recipe: dict[str, object] = {"rule": THIRD_PERSON, "protocol": protocol}
    with db.transaction():
        rater_id = ensure_rater(db, project_id, name, "consensus", recipe)
        _check_recipe(db, project_id, name, recipe)
        agreed = [
            (case_id, AspectAnswer(aspect, aspect_votes[0].value, aspect_votes[0].label))
            for case_id, aspect, aspect_votes in _shared_votes(votes(db, project_id, protocol))
            if len({vote.value for vote in aspect_votes}) == 1
        ]
        save_agreed(db, project_id, rater_id, protocol, agreed)
    return rater_id


def queue_of(db: Database, project_id: int, rater_id: int, protocol: str) -> Queue:
    """The disputed cases of the protocol, and which of them the third person has not settled."""
    disputed = sorted(_disputes(votes(db, project_id, protocol)))
    settled = settled_cases(db, rater_id, protocol)
    return Queue(len(disputed), tuple(case for case in disputed if case not in settled))


def dispute_of(db: Database, project_id: int, rater_id: int, protocol: str, case_id: int) -> Dispute:
    """A disputed case with its ballots.

    The list shown first and the order of the ballots are random but depend on the case only, so they stay the same when
    the case is opened again. Raises NotFoundError when the annotators no longer disagree.
    """
    case_votes = [vote for vote in votes(db, project_id, protocol) if vote.case_id == case_id]
    aspects = _disputes(case_votes).get(case_id)
    if not aspects:
        raise NotFoundError(
            "the annotators no longer disagree on this case", next_step="Continue with the next case."
        )
    model = finished_task(db, project_id, protocol, case_id)
    rng = random.Random(f"{protocol} {case_id}")
    first = rng.choice("ab") if model.first else ""
    task = model._replace(
        id=0, rater_id=rater_id, first=first, state="open", reason="", seconds=0.0, revealed=False
    )
    shown = shown_case(db, task)
    questions = tuple(question for question in shown.questions if question.aspect in aspects)
    people = sorted({vote.rater_id for vote in case_votes})
    rng.shuffle(people)
    ballots = tuple(
        _ballot([vote for vote in case_votes if vote.rater_id == rater], questions) for rater in people
    )
    return Dispute(case_id, task, shown, questions, ballots)


def settle(
    db: Database, dispute: Dispute, answers: CaseAnswers | None, seconds: float, reason: str = ""
) -> None:
    """Store the third person's answers on the disputed aspects; None stores that the case was skipped, for `reason`."""
    task = dispute.task
    with db.transaction():
        position = last_position(db, task.rater_id, task.protocol) + 1
        new = NewTask(task.rater_id, task.case_id, position, task.first)
        add_tasks(db, task.project_id, task.protocol, task.prompt_id, task.run_id, [new])
        task_id = own_tasks(db, task.rater_id, task.protocol)[-1]
        if answers is None:
            skip_task(db, task_id, reason, seconds)
        else:
            submit_verdict(db, task_id, answers, seconds, THIRD_PERSON)


def ballot_authors(db: Database, dispute: Dispute) -> list[tuple[str, Ballot]]:
    """(name, ballot) of each annotator, to be shown once the case is settled."""
    names = {
        assignment.rater_id: assignment.rater
        for assignment in project_assignments(db, dispute.task.project_id)
    }
    return [(names.get(ballot.rater_id, "somebody"), ballot) for ballot in dispute.ballots]


def _check_recipe(db: Database, project_id: int, name: str, recipe: dict[str, object]) -> None:
    stored = json.loads(rater_row(db, project_id, name)["recipe"])
    if stored != recipe:
        rule = stored.get("rule", "another rule")
        about = f" for {stored['protocol']}" if "protocol" in stored else ""
        raise UsageError(
            f"a different consensus is already called “{name}”",
            f"It was made by {rule}{about}.",
            "Choose another name.",
        )


def _shared_votes(ordered_votes: Sequence[Vote]) -> Iterable[tuple[int, str, list[Vote]]]:
    """(case, aspect, votes) for each aspect that two or more annotators judged. The votes are ordered by case and aspect."""
    for (case_id, aspect), group in groupby(ordered_votes, key=lambda vote: (vote.case_id, vote.aspect)):
        aspect_votes = list(group)
        if len(aspect_votes) >= FEWEST_ANNOTATORS:
            yield case_id, aspect, aspect_votes


def _disputes(ordered_votes: Sequence[Vote]) -> dict[int, set[str]]:
    """case id -> the aspects on which its annotators disagree. Cases without a disagreement have no entry."""
    disputes: dict[int, set[str]] = {}
    for case_id, aspect, aspect_votes in _shared_votes(ordered_votes):
        if len({vote.value for vote in aspect_votes}) > 1:
            disputes.setdefault(case_id, set()).add(aspect)
    return disputes


def _ballot(own_votes: Sequence[Vote], questions: Sequence[AspectQuestion]) -> Ballot:
    by_aspect = {vote.aspect: vote for vote in own_votes}
    return Ballot(
        tuple(_words(by_aspect.get(question.aspect), question) for question in questions),
        next((vote.note for vote in own_votes if vote.note), ""),
        own_votes[0].rater_id,
    )


def _words(vote: Vote | None, question: AspectQuestion) -> str:
    if vote is None:
        return ""
    words = {option.value: option.words for option in question.options}
    return words.get(vote.value) or f"{vote.value:g}"
