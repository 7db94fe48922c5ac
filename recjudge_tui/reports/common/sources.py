"""What a word such as `qwen` or `run:14` names: all verdicts of a rater, or those of one of its runs."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import find_rater, rater_row
from recjudge_tui.store.runs.runs import run_row
from recjudge_tui.store.verdicts.ratings import Question, Ratings, Verdicts, run_verdicts

RUN = "run:"


class Source(NamedTuple):
    """One side: all verdicts of a rater, or those of one run. `name` is what people read."""

    name: str
    rater: str
    rater_id: int
    run_id: int | None
    protocol: str | None

    def answers(self, question: Question) -> bool:
        """Whether this side has verdicts on the question; a run has one protocol."""
        return question.rater == self.rater and self.protocol in (None, question.protocol)

    def verdicts(self, db: Database, ratings: Ratings, question: Question) -> Verdicts:
        """Its verdicts on a question that it answers; those of a run even where a later run has replaced them."""
        if self.run_id is None:
            return ratings.verdicts[question]
        return run_verdicts(db, self.run_id, question.aspect, ratings.cases)


def source_of(db: Database, project_id: int, word: str) -> Source:
    """The rater of this name, or else the run that `run:ID` names; raises NotFoundError, and UsageError if the ID is
    not a number."""
    if not word.startswith(RUN) or find_rater(db, project_id, word) is not None:
        return Source(word, word, rater_row(db, project_id, word)["id"], None, None)
    number = word.removeprefix(RUN)
    if not (number.isascii() and number.isdigit()) or len(number) > 18:
        raise UsageError(
            f"“{word}” is not a run", next_step="Write a run as run:14; “recjudge runs list” shows them."
        )
    run = run_row(db, int(number))
    if run["project_id"] != project_id:
        raise NotFoundError(
            f"run {number} belongs to project {run['project']}", next_step="Name that project."
        )
    return Source(
        f"{run['rater']} (run {run['id']})", run["rater"], run["rater_id"], run["id"], run["protocol"]
    )
