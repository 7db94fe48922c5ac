"""Compares two raters case by case: how the second one's verdicts differ from the first one's, and whether by more
than chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, offered, protocol_facts, question_of
from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.comparison import Side, align, parts
from recjudge_tui.reports.common.orientation import orientation_notes
from recjudge_tui.reports.common.pairing import (
    OF_METRICS,
    AgreementOptions,
    Pair,
    by_labels,
    check_aspect,
    check_options,
    pairs_of,
    questions_in,
)
from recjudge_tui.reports.common.scales import (
    categories,
    label_names,
    protocol_questions,
    rater_notes,
    rater_rank,
    scale_notes,
    value_bounds,
)
from recjudge_tui.reports.common.sources import RUN, Source, source_of
from recjudge_tui.reports.compare.run_differences import PromptChange, prompt_change, run_differences
from recjudge_tui.reports.compare.tests import Tally, tallied
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.judges import newest_judges
from recjudge_tui.store.runs.runs import list_runs
from recjudge_tui.store.verdicts.changes import ComparedQuestions, run_configurations
from recjudge_tui.store.verdicts.ratings import (
    Ratings,
    load_questions,
    project_questions,
    project_raters,
)

_BANDS = 5


@dataclass(frozen=True)
class ChangeOptions:
    """From `first` to `second`: names of raters, or `run:ID` for the verdicts of one run alone."""

    first: str
    second: str
    protocol: str | None = None
    aspect: str | None = None
    by_system: bool = False
    selection: CaseSelection = EVERY_CASE


Sides = tuple[Source, Source]


class Level(NamedTuple):
    """A line of the grid: a label (both ends are its value), or a band of values including its ends."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class Part:
    """The changes on one question, on one system or on all of them (empty).

    `levels` are the lines of the grid, highest first; `counts` (from, to) are the cases in its cells. If values cannot
    be compared, `levels` is empty and `note` says why. `left_out` are the cases about other lists than the newest
    that both judged; `other_lists` is a sentence that counts them.
    """

    pair: Pair
    system: str
    levels: tuple[Level, ...]
    tally: Tally
    note: str = ""
    left_out: tuple[int, ...] = ()
    other_lists: tuple[str, ...] = ()


@dataclass(frozen=True)
class Changes:
    """All differences between two raters. `differences` are those between the runs behind them."""

    first: Source
    second: Source
    parts: tuple[Part, ...]
    prompt: PromptChange
    differences: tuple[str, ...]
    notes: tuple[str, ...]
    options: ChangeOptions

    def compared(self, pair: Pair) -> ComparedQuestions:
        """The query to the store for the cases of one question."""
        a, b = self.first, self.second
        left_out = {case for part in self.parts if part.pair == pair for case in part.left_out}
        return ComparedQuestions(
            a.rater_id, pair.a.protocol, pair.a.aspect, a.run_id, b.rater_id, pair.b.protocol, pair.b.aspect, b.run_id,
            tuple(sorted(left_out)), *self._side(pair), self.options.selection.occasions,
        )  # fmt: skip

    def _side(self, pair: Pair) -> tuple[str, bool]:
        """The baseline of the question's pairs, if there is one, and whether pairs are seen from both sides."""
        seen = next(part.tally.seen for part in self.parts if part.pair == pair)
        return seen.b if seen.view == "baseline" else "", seen.mirrored


def compare_raters(db: Database, project_id: int, options: ChangeOptions) -> Changes:
    """Compare the two on every question that both answered, or on the chosen one.

    n counts the cases on which both have a value; cases that only one side was asked about, and those where either
    failed, are counted separately. Raises UsageError for invalid sides or one side twice, NotFoundError
    for an unknown rater or run.
    """
    sides = sides_named(db, project_id, options.first, options.second)
    agreement = AgreementOptions(options.protocol, options.aspect)
    check_options(db, project_id, agreement)
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    check_aspect([q for q in questions if any(side.answers(q) for side in sides)], raters, agreement)
    return compare_on(
        db,
        project_id,
        sides,
        shared_questions(db, project_id, sides, options.protocol, options.aspect),
        options,
    )


def shared_questions(
    db: Database, project_id: int, sides: Sides, protocol: str | None = None, aspect: str | None = None
) -> list[Pair]:
    """The questions that both sides answered on one scale, `overall` first; reads no verdict."""
    first, second = sides
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    if first.rater == second.rater:
        return [
            Pair(question, question, question.protocol, question.aspect)
            for question in protocol_questions(questions, raters, protocol)
            if first.answers(question) and second.answers(question) and aspect in (None, question.aspect)
        ]
    both = [question for question in questions if first.answers(question) or second.answers(question)]
    return pairs_of(both, raters, AgreementOptions(protocol, aspect, (first.rater,), second.rater))


def compare_on(
    db: Database, project_id: int, sides: Sides, pairs: Sequence[Pair], options: ChangeOptions
) -> Changes:
    """The two sides on some of their shared questions; the prompts are those of the first question."""
    first, second = sides
    ratings = load_questions(db, project_id, questions_in(pairs), options.selection)
    parts = [part for pair in pairs for part in _parts(db, project_id, ratings, pair, sides, options)]
    a, b = (
        run_configurations(db, side.rater_id, protocol, side.run_id) if protocol else []
        for side, protocol in zip(sides, _protocols(sides, pairs), strict=True)
    )
    notes = orientation_notes(
        {f"{p.pair.protocol}, {p.pair.aspect}": p.tally.seen for p in parts if not p.system}
    )
    notes += rater_notes(ratings.raters[side.rater] for side in sides)
    notes += scale_notes(db, project_id, ((pair.protocol, pair.aspect) for pair in pairs))
    about_lists = (f"{p.pair.protocol}, {p.pair.aspect}: {note}" for p in parts for note in p.other_lists)
    notes[:0] = dict.fromkeys(about_lists)
    if not pairs:
        notes.insert(0, f"no question that both {first.name} and {second.name} answered")
    several = sorted({pair.protocol for pair in pairs})
    prompt = prompt_change(db, (first.name, second.name), a, b)
    if len(several) > 1 and prompt.first and prompt.second:
        where = f"of {pairs[0].protocol}; they met under {', '.join(several)}"
        prompt = prompt._replace(note="; ".join(part for part in (where, prompt.note) if part))
    return Changes(first, second, tuple(parts), prompt, tuple(run_differences(a, b)), tuple(notes), options)


def _protocols(sides: Sides, pairs: Sequence[Pair]) -> tuple[str | None, str | None]:
    """The protocol under which each side answered the first question; a side without runs has its own."""
    if pairs:
        return pairs[0].a.protocol, pairs[0].b.protocol
    return sides[0].protocol, sides[1].protocol


def sides_named(db: Database, project_id: int, first: str, second: str) -> Sides:
    """Both sides by name; raises as `source_of`, and UsageError if they are the same."""
    sides = source_of(db, project_id, first), source_of(db, project_id, second)
    _check_sides(*sides)
    return sides


def usual_sides(db: Database, project_id: int) -> tuple[str, str] | None:
    """The default sides: the raters of the two newest runs that share a question, the later one second; otherwise the
    first two raters that share one; None if there are none."""
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    answered: dict[str, set[tuple[str, str]]] = {}
    for question in questions:
        answered.setdefault(question.rater, set()).add((question_of(question.protocol), question.aspect))
    by_run = [name for name in reversed(newest_judges(db, project_id)) if name in answered]
    others = sorted(answered.keys() - set(by_run), key=lambda name: rater_rank(raters[name]))
    for later, earlier in combinations(by_run, 2):
        if answered[later] & answered[earlier]:
            return earlier, later
    for first, second in combinations([*by_run, *others], 2):
        if answered[first] & answered[second]:
            return first, second
    return None


def offered_sides(db: Database, project_id: int) -> tuple[tuple[str, str], ...]:
    """(name to type, text shown) of every possible side: raters, judges first, then runs, newest first."""
    raters = project_raters(db, project_id)
    names = {question.rater for question in project_questions(db, project_id)}
    runs = [(f"{RUN}{run['id']}", f"run {run['id']}: {run['rater']} {run['prompt']}")
            for run in list_runs(db, project_id) if run["rater"] in names and run["protocol"] in offered()]  # fmt: skip
    return (*((name, name) for name in sorted(names, key=lambda name: rater_rank(raters[name]))), *runs)


def _check_sides(first: Source, second: Source) -> None:
    if (first.rater, first.run_id) == (second.rater, second.run_id):
        raise UsageError(f"{first.name} cannot be compared with itself", next_step="Name two raters or runs.")


def _parts(
    db: Database, project_id: int, ratings: Ratings, pair: Pair, sides: Sides, options: ChangeOptions
) -> list[Part]:  # fmt: skip
    cases = ratings.cases
    a, b = (
        source.verdicts(db, ratings, question)
        for question, source in zip((pair.a, pair.b), sides, strict=True)
    )
    met_by = Side(ratings.raters[pair.a.rater], a), Side(ratings.raters[pair.b.rater], b)
    values = np.concatenate([side.value[~np.isnan(side.value)] for side in (a, b)])
    comparable = by_labels(pair, ratings)
    levels, labelled = _levels(db, project_id, pair, values) if comparable else ((), False)
    unordered = (pair.protocol, pair.aspect) in categories(db, project_id)
    bounds = value_bounds(db, project_id, pair.a, values) if comparable else None
    changed = []
    for system, within in parts(cases, a, b, options.by_system):
        met = align(cases, met_by, within)
        tally = tallied(
            met,
            cases,
            levels,
            labelled,
            ordered=not unordered,
            bounds=bounds,
        )
        note = "" if comparable else OF_METRICS
        left_out = tuple(cases.ids[met.other].tolist())
        changed.append(Part(pair, system, levels, tally, note, left_out, tuple(met.left_out)))
    return changed


def _levels(db: Database, project_id: int, pair: Pair, values: FloatArray) -> tuple[tuple[Level, ...], bool]:
    """The lines of the grid, highest first, and whether all values are labels.

    The lines are the label set and any other values given, or bands of equal width if there are too many values.
    """
    if compares_lists(pair.protocol):
        values = np.concatenate([values, -values])
    names = label_names(db, project_id, pair.protocol, pair.aspect, values)
    given = np.unique(values)
    labelled = names is not None and not np.setdiff1d(given, list(names)).size
    every = np.unique(np.concatenate([given, np.array(list(names or ()), dtype=np.float64)]))
    if every.size <= MOST_LABELS:
        named = names or {}
        levels = [Level(named.get(float(v), f"{v:.3g}"), float(v), float(v)) for v in every]
        return tuple(reversed(levels)), labelled
    facts = protocol_facts(pair.protocol)
    inside = not facts.labels and every[0] >= facts.low and every[-1] <= facts.high
    low, high = facts.ends if inside else (float(every[0]), float(every[-1]))
    edges = np.linspace(low, high, _BANDS + 1)
    ends = [*np.nextafter(edges[1:-1], -np.inf).tolist(), high]
    bands = [
        Level(f"{start:.3g}-{stop:.3g}", float(start), float(end))
        for start, stop, end in zip(edges[:-1], edges[1:], ends, strict=True)
    ]
    return tuple(reversed(bands)), False
