"""The drift of a judge: its answers on the anchor cases compared with those of the first night."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.occasions import Over, period_of
from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.orientation import Orientation, side_of_names
from recjudge_tui.reports.common.scales import value_bounds
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.trend.judged import Resampling
from recjudge_tui.reports.trend.series import Series, row
from recjudge_tui.reports.trend.served import JudgeChange, change_between
from recjudge_tui.stats.agreement.change import mean_change
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import join_notes, undefined
from recjudge_tui.stats.resampling.intervals import Bounds, share_estimate
from recjudge_tui.stats.resampling.multiplicity import holm
from recjudge_tui.stats.resampling.sign_flips import sign_flip_test, user_means
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.judges import run_identities
from recjudge_tui.store.verdicts.anchors import AnchorNight, AnchorQuestion, anchor_nights, anchor_questions
from recjudge_tui.store.verdicts.ratings import Question

SAME, SHIFT = "anchor_same", "anchor_shift"
ABOUT = (
    "anchor_same, anchor_shift: the judge's own drift, on the same cases again: the share of answers that are those of the"
    " first night, and the mean difference from them; independent of changes in the systems"
)
NO_SIDE = "pairs of several systems have no common side, so a shift has no direction"


class Drift(NamedTuple):
    """A row of a trend about one judge; for a shift the p value of the difference from the first night, None if there
    is none; and the change, if another model or prompt answers than in the period before.
    """

    row: Row
    p: float | None
    change: JudgeChange | None = None


def drifts(
    db: Database, project_id: int, over: Over, protocol: str | None, draws: Resampling
) -> Iterator[Drift]:
    """For each question and night after the first: the two figures, and a note where the served model or the prompt
    changed. Of several nights in a period, the last one counts."""
    for question in anchor_questions(db, project_id):
        if protocol not in (None, question.protocol):
            continue
        nights = anchor_nights(db, project_id, question)
        identities = run_identities(db, project_id, question.asks, question.protocol)
        by_period = {period_of(night.day, over): night for night in nights[1:]}
        asked = Question(question.rater, question.protocol, question.aspect)
        answers = np.concatenate([night.value for night in nights])
        bounds = value_bounds(db, project_id, asked, answers)
        for figure in (SAME, SHIFT):
            for before, (period, night) in zip(
                [nights[0], *by_period.values()], by_period.items(), strict=False
            ):
                drift = _drift(figure, question, night, nights[0], draws, period, bounds)
                change = change_between([identities[before.run_id]], [identities[night.run_id]])
                note = join_notes(change.change, str(drift.row["note"] or ""))
                changed = JudgeChange(period, asked, change) if change.change else None
                yield Drift({**drift.row, "note": note}, drift.p, changed)


def shift_notes(measured: Sequence[Drift]) -> list[str]:
    """A line for each question: the periods in which the judge's answers differ from those of the first night."""
    adjusted = holm([drift.p for drift in measured])
    tested = sum(p is not None for p in adjusted)
    lines: dict[str, list[str]] = {}
    for drift, p in zip(measured, adjusted, strict=True):
        if p is not None:
            row = drift.row
            words = lines.setdefault(f"{row['rater']}, {row['protocol']} {row['aspect']}", [])
            words += [f"{row['period']} (p = {p:.2g})"] if p < ALPHA else []
    about = (
        f"exact sign-flip test over users against the first night, p < {ALPHA:g} after Holm's correction for"
    )
    return [
        f"{name}: {'shifted in ' + ', '.join(words) if words else 'no shift is shown'}; {about} {quantity(tested, 'test')}"
        for name, words in lines.items()
    ]


def _drift(
    figure: str,
    question: AnchorQuestion,
    night: AnchorNight,
    first: AnchorNight,
    draws: Resampling,
    period: str,
    bounds: Bounds | None,
) -> Drift:
    _, here, there = np.intersect1d(night.case, first.case, return_indices=True)
    difference = night.value[here] - first.value[there]
    users = night.user[here]
    p = None
    if figure == SAME:
        same = np.where(np.isnan(difference), np.nan, difference == 0)
        estimate = share_estimate(same, users, resamples=draws.resamples, seed=draws.seed)
    elif (seen := _seen(night, here)).mirrored:
        estimate = undefined(NO_SIDE, int((~np.isnan(difference)).sum()))
    else:
        difference = difference * seen.turn
        shift = mean_change(
            night.value[here] * seen.turn, first.value[there] * seen.turn, users, bounds, **vars(draws)
        ).change
        estimate = replace(shift, note=join_notes(shift.note, seen.words()))
        p = _shifted(difference, users)
    series = Series(figure, "", None, Question(question.rater, question.protocol, question.aspect))
    cells = row(series, period, estimate, int(np.isnan(difference).sum()))
    return Drift({**cells, "system": None}, p)


def _shifted(difference: FloatArray, users: IntArray) -> float | None:
    """The p value of a mean difference of 0, each user counted once; 1 if no answer changed, None without answers."""
    known = ~np.isnan(difference)
    if not known.any():
        return None
    p = sign_flip_test(user_means(difference[known], users[known]))
    return 1.0 if p is None else p


def _seen(night: AnchorNight, here: IntArray) -> Orientation:
    return side_of_names([night.system_a[at] for at in here], [night.system_b[at] for at in here])
