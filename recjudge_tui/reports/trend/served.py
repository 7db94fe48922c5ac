"""Changes of a judge over time: the served model, or the prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.text import one_line
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.store.runs.judges import RunIdentity
from recjudge_tui.store.verdicts.dated import DatedVerdicts
from recjudge_tui.store.verdicts.ratings import Question

_LONGEST = 60


class Change(NamedTuple):
    """`change` describes the change, empty if there is none; `now` names only the new model or prompt."""

    change: str
    now: str


class JudgeChange(NamedTuple):
    """A change between periods: in this period another model or prompt answers a question than in the period before."""

    period: str
    question: Question
    change: Change


def changes_by_period(
    question: Question, verdicts: DatedVerdicts, identities: Mapping[int, RunIdentity]
) -> Iterator[JudgeChange]:
    """The periods whose verdicts come from another model or prompt than those of the period before, in order. Needs the
    runs of the verdicts."""
    by_period: dict[int, list[RunIdentity]] = {}
    for period, run in np.unique(np.stack([verdicts.period, verdicts.run]), axis=1).T.tolist():
        if period >= 0 and run in identities:
            by_period.setdefault(period, []).append(identities[run])
    for before, period in pairwise(sorted(by_period)):
        change = change_between(by_period[before], by_period[period])
        if change.change:
            yield JudgeChange(verdicts.periods[period], question, change)


def change_cells(change: JudgeChange) -> dict[str, str]:
    """The change as cells for scripts and figures."""
    return {"period": change.period, **change.question._asdict(), **change.change._asdict()}


def change_between(old: Collection[RunIdentity], new: Collection[RunIdentity]) -> Change:
    """How the later runs differ from the earlier ones."""
    notes, names = [], []
    if _served(old, new) != _served(new, old):
        notes.append(f"served model changed: {_models(new)}, before {_models(old)}")
        names.append(_models(new))
    if {run.prompt for run in old} != {run.prompt for run in new}:
        notes.append(f"prompt changed: {_prompts(new)}, before {_prompts(old)}")
        names.append(_prompts(new))
    return Change(join_notes(*notes), ", ".join(names))


def _served(runs: Collection[RunIdentity], others: Collection[RunIdentity]) -> set[tuple[object, ...]]:
    """The models that answered the runs; only the judge's name if a server of one side did not report it."""
    if all(run.name or run.models for run in (*runs, *others)):
        return {(run.name, run.digest, run.models) for run in runs}
    return {(run.judge,) for run in runs}


def _models(runs: Collection[RunIdentity]) -> str:
    return " and ".join(sorted({_model(run) for run in runs}))


def _prompts(runs: Collection[RunIdentity]) -> str:
    return " and ".join(sorted({run.prompt for run in runs}))


def _model(run: RunIdentity) -> str:
    digest = f"@{run.digest[:12]}" if run.digest else ""
    named = f"{run.name}{digest}" if run.name else run.judge
    others = [model for model in run.models if model != run.name]
    return one_line(f"{named} ({', '.join(others)})" if others else named, _LONGEST)
