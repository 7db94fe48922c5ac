"""The two sides of a gate: what `--rater` and `--against` name, and which verdicts of each are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.sources import Source, source_of
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.reliability.gate_changes import ComparedRuns, compared_runs, replaced_lists
from recjudge_tui.reports.reliability.gate_options import GateOptions
from recjudge_tui.reports.reliability.served_models import ServedSide
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.judges import served_models
from recjudge_tui.store.verdicts.changes import run_configurations
from recjudge_tui.store.verdicts.generations import CaseOccasions
from recjudge_tui.store.verdicts.ratings import Question, Ratings, Verdicts, run_verdicts


class GateSides(NamedTuple):
    """The rater or run that must meet the bounds, and the one it must not be worse than."""

    later: Source
    earlier: Source | None

    @property
    def is_one_rater(self) -> bool:
        """Whether a rater is compared with itself: its latest verdicts with those before."""
        return self.earlier is not None and self.later.run_id is None and self.later == self.earlier

    @property
    def unanswered(self) -> str:
        """Why nothing is compared on a question."""
        assert self.earlier is not None
        if self.is_one_rater:
            return f"{self.later.name} answered this in only one run, and its lists replaced no earlier ones"
        return f"{self.earlier.name} did not answer this"


@dataclass(frozen=True)
class RunMatch:
    """The matched verdicts on one question; `run_ids` are the later and the earlier run, None for all of a rater."""

    runs: ComparedRuns
    run_ids: tuple[int | None, int | None] = (None, None)


def gate_sides(db: Database, project_id: int, options: GateOptions) -> GateSides:
    """What the options name; raises as `source_of`, and UsageError for sides that are not two."""
    later = source_of(db, project_id, options.rater)
    if options.against is None:
        return GateSides(later, None)
    sides = GateSides(later, source_of(db, project_id, options.against))
    assert sides.earlier is not None
    if later.rater == sides.earlier.rater and not sides.is_one_rater:
        if later.run_id == sides.earlier.run_id:
            raise UsageError(f"{later.name} cannot be compared with itself", next_step="Name another run.")
        if later.run_id is None or sides.earlier.run_id is None:
            raise UsageError(
                f"{later.name} cannot be compared with {sides.earlier.name}: the run is one of its own",
                next_step="Name two runs, as in --rater run:15 --against run:14.",
            )
    return sides


def compare_sides(
    db: Database, sides: GateSides, ratings: Ratings, occasions: CaseOccasions, asked: list[Question]
) -> dict[Question, RunMatch]:
    """The matched verdicts on each question that both sides answered. Raises UsageError for a rater that is to be
    compared with itself and has judged only once.
    """
    assert sides.earlier is not None
    compared: dict[Question, RunMatch] = {}
    for question in asked:
        verdicts = ratings.verdicts[question]
        if sides.is_one_rater:
            match = _own_change(db, sides.later, ratings, occasions, question)
            if match is not None:
                compared[question] = match
            continue
        same = question._replace(rater=sides.earlier.rater)
        if same in ratings.verdicts and sides.earlier.answers(same):
            before = sides.earlier.verdicts(db, ratings, same)
            if before.row.size:
                runs = compared_runs(ratings.cases, occasions, verdicts, before)
                compared[question] = RunMatch(runs, (sides.later.run_id, sides.earlier.run_id))
    if sides.is_one_rater and not compared:
        raise UsageError(
            f"{sides.later.name} cannot be compared with itself: it judged no earlier lists and has no earlier run",
            "Earlier lists are those that an import replaced, of the same user, system, context and time.",
            "Judge new lists with the same rater, or name another rater or run.",
        )
    return compared


def _own_change(
    db: Database, source: Source, ratings: Ratings, occasions: CaseOccasions, question: Question
) -> RunMatch | None:
    """A rater's newest verdicts against those before: on the lists that its newest run's lists replaced, or of the run
    before that one, whichever has more users in common. None if there is neither.
    """
    replaced = replaced_lists(ratings.cases, occasions, ratings.verdicts[question])
    last = _last_runs(db, source, ratings, question)
    if len(last) < 2:
        return None if replaced is None else RunMatch(replaced)
    (later_id, later), (earlier_id, earlier) = last
    by_run = RunMatch(compared_runs(ratings.cases, occasions, later, earlier), (later_id, earlier_id))
    if replaced is not None:
        new = replaced.later.among(np.isin(replaced.later.row, later.row))
        if replace(replaced, later=new).users >= by_run.runs.users:
            return RunMatch(replaced)
    return by_run


def _last_runs(
    db: Database, source: Source, ratings: Ratings, question: Question
) -> list[tuple[int, Verdicts]]:
    """The rater's newest run with verdicts on the question and the one before, as far as there are any."""
    last: list[tuple[int, Verdicts]] = []
    for run in reversed(run_configurations(db, source.rater_id, question.protocol)):
        verdicts = run_verdicts(db, run.run_id, question.aspect, ratings.cases)
        if verdicts.row.size:
            last.append((run.run_id, verdicts))
        if len(last) == 2:
            break
    return last


def served_sides(
    db: Database, project_id: int, sides: GateSides, compared: dict[Question, RunMatch], protocols: set[str]
) -> tuple[ServedSide, ServedSide]:
    """The models behind the compared runs of both sides."""
    assert sides.earlier is not None

    def served(source: Source, at: int) -> ServedSide:
        ids = {match.run_ids[at] for match in compared.values()}
        models = served_models(db, project_id, source.rater, protocols)
        if None in ids or not ids:
            return ServedSide(source.name, models)
        name = f"{source.rater} (run {', '.join(str(one) for one in sorted(filter(None, ids)))})"
        return ServedSide(name, [model for model in models if model.run_id in ids])

    return served(sides.later, 0), served(sides.earlier, 1)


def paired_notes(compared: dict[Question, RunMatch]) -> Iterator[str]:
    """How the verdicts of the two runs were paired, and what was left out; questions alike share a note."""
    alike: dict[str, list[str]] = {}
    for question, match in compared.items():
        text = f"paired {match.runs.rule_text}: {match.runs.counts.words()}"
        alike.setdefault(text, []).append(f"{question.protocol}, {question.aspect}")
    for text, places in alike.items():
        yield text if len(alike) == 1 else f"{'; '.join(places)}: {text}"


def paired_cells(match: RunMatch | None) -> Row:
    if match is None:
        return {"paired": ""}
    counts = match.runs.counts
    return {
        "paired": match.runs.rule_text,
        "paired_users": counts.users,
        "left_out": counts.later_out + counts.earlier_out,
    }
