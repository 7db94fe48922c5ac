"""A rater's verdicts on systems in each period: win rates, means or shares of the best label, and flagged items."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.reports.common.scales import categories, label_names, value_bounds
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.trend.series import Series, series_rows
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.intervals import SHARE as SHARE_BOUNDS
from recjudge_tui.stats.intervals import Bounds, group_means
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.dated import DatedVerdicts
from recjudge_tui.store.verdicts.ratings import Question

WIN_RATE, MEAN, SHARE, FLAGS = "win_rate", "mean", "share", "flags"


class _Lines(NamedTuple):
    """Values to average: `line` is the index of each row's (system, opponent) in `names`."""

    names: tuple[tuple[str, str | None], ...]
    line: IntArray
    period: IntArray
    user: IntArray
    value: FloatArray


def judged_rows(db: Database, project_id: int, question: Question, verdicts: DatedVerdicts) -> Iterator[Row]:
    """The rows of one question: each system; for pairs of more than two systems also each system against each later
    one by name; and the flagged items per verdict if any item was flagged.
    """
    if compares_lists(question.protocol):
        value = np.sign(verdicts.value) / 2 + 0.5
        lines = _of_systems(verdicts, value)
        if len(verdicts.systems) > 2:
            lines = _both(lines, _of_pairs(verdicts, value))
        yield from _rows(WIN_RATE, question, lines, verdicts.periods, SHARE_BOUNDS)
    else:
        scale = value_bounds(db, project_id, question, verdicts.value)
        for figure, value in _levels(db, project_id, question, verdicts.value):
            bounds = scale if figure == MEAN else SHARE_BOUNDS
            yield from _rows(figure, question, _of_lists(verdicts, value), verdicts.periods, bounds)
    if verdicts.flags.any():
        flags = np.where(np.isnan(verdicts.value), np.nan, verdicts.flags)
        of_cases = _of_pairs if compares_lists(question.protocol) else _of_lists
        yield from _rows(FLAGS, question, of_cases(verdicts, flags), verdicts.periods, None)


def _levels(
    db: Database, project_id: int, question: Question, value: FloatArray
) -> list[tuple[str, FloatArray]]:
    """The values to average: for labels the share of the best one, for categories without an order the share of each,
    for scores the mean.
    """
    different = np.unique(value[~np.isnan(value)])
    unordered = (question.protocol, question.aspect) in categories(db, project_id)
    names = None
    if unordered or not protocol_facts(question.protocol).scores:
        names = label_names(db, project_id, question.protocol, question.aspect, different)
    if not names or not {*different.tolist()} <= names.keys():
        return [(MEAN, value)]
    shown = sorted(names.items()) if unordered else [next(iter(names.items()))]
    return [
        (f"{SHARE} of {name}", np.where(np.isnan(value), np.nan, value == label)) for label, name in shown
    ]


def _of_lists(verdicts: DatedVerdicts, value: FloatArray) -> _Lines:
    names = tuple((system, None) for system in verdicts.systems)
    return _Lines(names, verdicts.system_a, verdicts.period, verdicts.user, value)


def _of_systems(verdicts: DatedVerdicts, value: FloatArray) -> _Lines:
    """The rows by system; each pair counts for both of its systems."""
    return _Lines(
        tuple((system, None) for system in verdicts.systems),
        np.concatenate([verdicts.system_a, verdicts.system_b]),
        np.concatenate([verdicts.period, verdicts.period]),
        np.concatenate([verdicts.user, verdicts.user]),
        np.concatenate([value, 1 - value]),
    )


def _of_pairs(verdicts: DatedVerdicts, value: FloatArray) -> _Lines:
    """The rows by pair, from the view of the first system by name, as in cases."""
    names = tuple(combinations(verdicts.systems, 2))
    count = len(verdicts.systems)
    place = np.full(count * count, -1, dtype=np.int64)
    for at, (a, b) in enumerate(combinations(range(count), 2)):
        place[a * count + b] = at
    line = place[verdicts.system_a * count + verdicts.system_b]
    return _Lines(names, line, verdicts.period, verdicts.user, value)


def _both(first: _Lines, second: _Lines) -> _Lines:
    joined = (np.concatenate(pair) for pair in zip(first[2:], second[2:], strict=True))
    line = np.concatenate([first.line, second.line + len(first.names)])
    return _Lines(first.names + second.names, line, *joined)


def _rows(
    figure: str,
    question: Question,
    lines: _Lines,
    periods: tuple[str, ...],
    bounds: Bounds | None,
) -> Iterator[Row]:
    dated: BoolArray = lines.period >= 0
    group = lines.line[dated] * len(periods) + lines.period[dated]
    value, count = lines.value[dated], len(lines.names) * len(periods)
    failed = np.bincount(group[np.isnan(value)], minlength=count)
    means = group_means(value, lines.user[dated], group, count, bounds)
    for at, (system, opponent) in enumerate(lines.names):
        here = slice(at * len(periods), (at + 1) * len(periods))
        series = Series(figure, system, opponent, question)
        yield from series_rows(series, periods, means[here], failed[here].tolist())
