"""One leaderboard for many raters: their verdicts count together, with intervals over users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from recjudge_tui.domain.protocols import question_of
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.scales import is_metric
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.ratings import (
    Crowd,
    EarlierLists,
    Question,
    Rater,
    Ratings,
    Verdicts,
    project_raters,
)

ALL_PEOPLE = "all"
_NAMED = 8


def crowd_raters(db: Database, project_id: int, named: Sequence[str]) -> list[str]:
    """The raters of a crowd: those named, or all annotators for ALL_PEOPLE; none if nobody is named.

    Raises NotFoundError for an unknown rater, UsageError for fewer than two or for a metric.
    """
    if not named:
        return []
    raters = project_raters(db, project_id)
    if tuple(named) == (ALL_PEOPLE,):
        chosen = [name for name, rater in raters.items() if rater.kind == "annotator"]
    else:
        chosen = list(dict.fromkeys(str(rater_row(db, project_id, name)["name"]) for name in named))
    if len(chosen) < 2:
        raise UsageError(
            "a crowd needs at least two raters",
            f"There {'is' if len(chosen) == 1 else 'are'} {quantity(len(chosen), 'annotator')}."
            if tuple(named) == (ALL_PEOPLE,)
            else "",
            "Name them: --crowd A,B,...",
        )
    for name in chosen:
        if is_metric(raters[name]):
            raise UsageError(f"{name} is a metric, and a crowd is made of raters on one scale")
    return chosen


def as_crowd(ratings: Ratings) -> Ratings:
    """The verdicts of all raters on a question, as one question of a rater named after their number."""
    alike: dict[tuple[str, str], list[Question]] = {}
    for question in ratings.verdicts:
        alike.setdefault((question_of(question.protocol), question.aspect), []).append(question)
    verdicts, crowds, raters, earlier = {}, {}, dict(ratings.raters), {}
    for (_, aspect), questions in alike.items():
        name = f"crowd of {len({question.rater for question in questions})}"
        parts = [ratings.verdicts[question] for question in questions]
        of = {rater: at for at, rater in enumerate(dict.fromkeys(question.rater for question in questions))}
        codes = [np.full(part.row.size, of[q.rater]) for q, part in zip(questions, parts, strict=True)]
        row = np.concatenate([part.row for part in parts])
        order = np.argsort(row, kind="stable")
        merged = Question(name, questions[0].protocol, aspect)
        verdicts[merged] = Verdicts(
            row[order],
            np.concatenate([part.value for part in parts])[order],
            np.concatenate([part.flipped for part in parts])[order],
        )
        crowds[merged] = Crowd(np.concatenate(codes)[order].astype(np.int64), tuple(questions))
        raters[name] = Rater(0, name, "annotator")
        known = [ratings.earlier[question] for question in questions if question in ratings.earlier]
        if known:
            earlier[merged] = EarlierLists(*(sum(counts) for counts in zip(*known, strict=True)))
    return replace(ratings, verdicts=verdicts, crowds=crowds, raters=raters, earlier=earlier)


def crowd_notes(ratings: Ratings) -> list[str]:
    """Notes on the members of crowds and on what their intervals are over and tests."""
    notes = []
    for question, crowd in ratings.crowds.items():
        names = sorted({single.rater for single in crowd.questions})
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        notes.append(
            f"{question.rater}, {question.aspect}: {crowd.rater.size:,} verdicts of {', '.join(names[:_NAMED])}{more}"
        )
    if notes:
        notes.append(
            "a crowd: every verdict counts once; intervals and tests are over users, not over raters"
        )
    return notes
