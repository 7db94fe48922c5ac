"""How far a judge's stated confidence can be believed, before and after calibration by labels, and how strict each rater is:
sections of a passport and a figure, computed from the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, SAER, compares_lists
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection, Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports import words
from recjudge_tui.reports.common.table import Column, Row, Table, columns, definition
from recjudge_tui.reports.rater_pairs import judge_and_truth, label_sets
from recjudge_tui.shapes import ABSENT, Meeting, Orientation, Side, base, generation_notes, pairs
from recjudge_tui.stats import calibration
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, ratio
from recjudge_tui.stats.defaults import BINS, FOLDS
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import Bounds, mean_estimate, share_estimate
from recjudge_tui.stats.registry import NO_ORDER
from recjudge_tui.store.ratings import Ratings, newest_lists, verdict_cells

GIVEN, CALIBRATED = "as given", "calibrated"
STAGES = (GIVEN, CALIBRATED)
_ERROR = columns("protocol aspect", "stage|Confidence", "stat|Figure", "value ci_* n note")
_RELIABILITY = columns(
    "protocol aspect", "stage|Confidence", "low|From|float|2", "high|To|float|2", "n", "confidence|Mean|share",
    "accuracy|Right|share", "ci_*|CI|share", "gap|Gap|float", "note",
)  # fmt: skip
_ABOUT = (
    "ece: mean gap between confidence and accuracy, over bins; biased upwards with few cases, as its interval shows",
    "overconfidence: mean confidence minus accuracy; brier: mean squared error of the confidence",
    "calibrated: by labels of other users",
)


@dataclass(frozen=True)
class Stated:
    """One question's verdicts that did not fail, one per row, with the judge's confidence. `confidence` is NaN if the judge
    gave none or its two orders disagreed (`flipped`); `truth` is NaN without a label on the scale; `calibrated`, by labels
    of other users, is NaN if it cannot be computed, with the reason in `uncalibrated`. `off_scale`: labels off the scale;
    `notes`: what is left out, and on the reference."""

    pair: Meeting
    case: IntArray
    user: IntArray
    value: FloatArray
    truth: FloatArray
    confidence: FloatArray
    flipped: BoolArray
    calibrated: FloatArray
    uncalibrated: str
    off_scale: int
    notes: tuple[str, ...] = ()

    @property
    def usable(self) -> BoolArray:
        """Labelled verdicts with a confidence, the basis of calibration."""
        both: BoolArray = ~np.isnan(self.confidence) & ~np.isnan(self.truth)
        return both

    def at(self, stage: str) -> tuple[FloatArray, FloatArray, IntArray]:
        """Confidence, right (1) or wrong (0), and user of the labelled verdicts that have a confidence."""
        sure = self.confidence if stage == GIVEN else self.calibrated
        here = self.usable & ~np.isnan(sure)
        return sure[here], (self.value == self.truth)[here].astype(np.float64), self.user[here]


def stated_confidences(
    project: Project, rater: str, truth: str, *, protocol: str | None = None, aspect: str | None = None,
    cases: CaseSelection = EVERY_CASE,
) -> list[Stated]:  # fmt: skip
    """One for each question with labels that both raters answered, in the order of protocols and aspects. Raises
    NotFoundError for an unknown rater; UsageError for an unknown protocol or aspect, the same rater twice, a
    metric, or raters that share no question with labels."""
    met = judge_and_truth(project, Selection(protocol, aspect, (rater,), cases=cases), truth)
    if met.ratings.raters[rater].of_metrics:
        raise UsageError(f"{rater} is a metric and gives no labels", next_step="Name a judge.")
    labelled = [(pair, labels) for pair, labels in label_sets(met).items() if labels is not None]
    if not labelled:
        asked = met.meetings[0].protocol
        raise UsageError(f"{asked} scores have no labels, so their confidence cannot be right or wrong")
    return [_stated(project, met.ratings, pair, np.array(labels)) for pair, labels in labelled]


def _stated(project: Project, ratings: Ratings, pair: Meeting, labels: FloatArray) -> Stated:
    cases, (judge, reference) = ratings.cases, (ratings.raters[q.rater] for q in (pair.a, pair.b))
    met = pairs(cases, [Side(ratings.verdicts[question]) for question in pair[:2]])
    both = met.among((met.state != ABSENT).all(axis=0))
    given = np.full(cases.ids.size, np.nan)
    given[both.row] = both.stored[1]
    # a verdict counts if it has a label on the newest lists in common, or is about the newest lists that the judge judged
    wanted = ~np.isnan(given)
    wanted[newest_lists(ratings).verdicts[pair.a].row] = True
    every = ratings.verdicts[pair.a]
    valid = every.among(~np.isnan(every.value))
    valid = valid if cases.selected is None else valid.among(cases.selected[valid.row])
    verdicts = valid.among(wanted[valid.row])
    truth = given[verdicts.row]
    on_scale = np.isin(truth, labels)
    off_scale = int((~np.isnan(truth) & ~on_scale).sum())
    truth = np.where(on_scale, truth, np.nan)
    (sure,) = verdict_cells(project.db, judge.id, pair.a, cases, "confidence")[:, verdicts.row]
    sure = np.where(verdicts.flipped, np.nan, sure)
    right = np.where(np.isnan(truth), np.nan, verdicts.value == truth)
    user, known = cases.user[verdicts.row], ~np.isnan(sure)
    calibrated = np.full(sure.size, np.nan)
    calibrated[known], uncalibrated = calibration.calibrated(sure[known], right[known], user[known])
    notes = (*words.combined_notes([reference]), *generation_notes(valid.row.size - verdicts.row.size, 0))
    return Stated(
        pair, cases.ids[verdicts.row], user, verdicts.value, truth, sure, verdicts.flipped, calibrated, uncalibrated,
        off_scale, notes,
    )  # fmt: skip


def error_table(questions: Sequence[Stated]) -> Table:
    """One row per question, stage (as given, calibrated) and figure: `ece`, `overconfidence`, `brier`, `accuracy`."""
    rows: list[Row] = []
    for question in questions:
        reasons = ("", question.uncalibrated if question.usable.any() else "")
        for stage, reason in zip(STAGES, reasons, strict=True):
            sure, right, users = question.at(stage)
            found = {"ece": calibration.calibration_error(sure, right, users, BINS)}
            if sure.size:
                found["overconfidence"] = calibration.overconfidence(sure, right, users)
                found["brier"] = calibration.brier_score(sure, right, users)
                found["accuracy"] = share_estimate(right, users)
            for stat, estimate in found.items():
                note = {"note": reason or estimate.note}
                rows.append(question.pair.cells | {"stage": stage, "stat": stat} | estimate.cells | note)
    return _table("Calibration", _ERROR, rows, questions)


def reliability_table(questions: Sequence[Stated]) -> Table:
    """One row per question, stage and non-empty bin; `gap` is the share right minus the mean confidence."""
    rows: list[Row] = []
    for question in questions:
        for stage in STAGES:
            for part in calibration.reliability(*question.at(stage), BINS):
                share = part.accuracy
                if share.value is not None and part.confidence is not None:
                    rows.append(question.pair.cells | share.ends() | {
                        "stage": stage, "low": part.low, "high": part.high, "n": part.n, "confidence": part.confidence,
                        "accuracy": share.value, "gap": share.value - part.confidence, "note": share.note,
                    })  # fmt: skip
    return _table("Reliability", _RELIABILITY, rows, questions)


def _table(what: str, columns: tuple[Column, ...], rows: Sequence[Row], questions: Sequence[Stated]) -> Table:
    notes = dict.fromkeys(note for question in questions for note in _notes(question))
    rater, truth = questions[0].pair.a.rater, questions[0].pair.b.rater
    settings = {"rater": rater, "truth": truth, "bins": BINS, "folds": FOLDS}
    title = f"{what}: {rater} against {truth}"
    return Table(title, columns, tuple(rows), (*notes, *map(definition, _ABOUT)), settings)


def _notes(question: Stated) -> Iterator[str]:
    """The basis of the calibration, and what was left out."""
    labelled = ~np.isnan(question.truth)
    if not question.usable.any():
        yield "no labelled verdict with a confidence: it comes from a server's probabilities, or from repeats"
    flipped = int((question.flipped & labelled).sum())
    untold = int((np.isnan(question.confidence) & labelled).sum()) - flipped
    left_out = [*question.notes]
    if flipped:
        why = "left out because their two orders disagreed and neither answer was a tie"
        left_out.append(f"{quantity(flipped, 'labelled verdict')} {why}")
    if untold and question.usable.any():
        left_out.append(f"{quantity(untold, 'labelled verdict')} without a confidence left out")
    if question.off_scale:
        left_out.append(f"{quantity(question.off_scale, 'label')} off the scale left out")
    yield from (f"{question.pair.where}: {line}" for line in left_out)


# ---- strictness ------------------------------------------------------------------------------------------------------

OTHERS, ALL_OF_THEM = "the other annotators", "the annotators"
NO_SIDE = "pairs of several systems have no common side, so a bias has no direction"
_ABOUT_BIAS = (
    "bias: the mean over cases of a rater's value minus the mean of the other annotators on the same case, interval over"
    " users; below 0: the rater is stricter than the others"
)
_STRICTNESS = columns("rater", "against|Against", "protocol aspect figure label count value ci_* n note")


def strictness_table(
    project: Project, judges: Sequence[str], annotators: Sequence[str], protocols: Sequence[str] = SAER,
    cases: CaseSelection = EVERY_CASE,
) -> Table:  # fmt: skip
    """For each protocol, aspect and rater, one row `bias` and one row `share` per label, the best label first. A judge is
    compared with all annotators; cases that none of those judged are left out."""
    ratings = base(project, Selection(raters=(*judges, *annotators), cases=cases), newest=False).ratings
    order = {name: place for place, name in enumerate((*annotators, *judges))}
    rows: list[Row] = []
    left_out: list[str] = []
    seen: dict[str, Orientation] = {}
    asked = {(q.protocol, q.aspect) for q in ratings.verdicts if q.protocol in protocols}
    for protocol, aspect in sorted(asked, key=lambda q: (protocols.index(q[0]), q[1] != OVERALL, q[1])):
        alike = [q for q in ratings.verdicts if (q.protocol, q.aspect) == (protocol, aspect)]
        alike.sort(key=lambda q: order[q.rater])
        met = pairs(ratings.cases, [Side(ratings.verdicts[q]) for q in alike])
        known = met.judged_by(1)
        seen[f"{protocol}, {aspect}"] = how = known.seen
        bounds = words.value_bounds(project, alike[0], met.stored)
        names = words.label_names(project, protocol, aspect, met.stored.reshape(-1))
        unordered = (protocol, aspect) in words.categories(project)
        labels = names or {}
        if how.mirrored:
            # without a common side a label and its mirror are one
            kept = [(v, name) for v, name in labels.items() if v >= 0]
            labels = {v: f"{name} or {labels[-v]}" if v and -v in labels else name for v, name in kept}
        no_bias = NO_ORDER if unordered else NO_SIDE if how.mirrored else ""
        where = {"protocol": protocol, "aspect": aspect}
        values, users = known.matrix, known.user
        for place, question in enumerate(alike):
            others = [at for at, q in enumerate(alike) if q.rater in annotators and at != place]
            against = OTHERS if question.rater in annotators else ALL_OF_THEM
            bias = _bias(values[place], values[others], users, bounds, no_bias)
            head = where | {"rater": question.rater}
            rows.append(head | {"figure": "bias", "against": against, "label": ""} | bias.cells)
            given = ~np.isnan(values[place])
            answers = np.abs(values[place][given]) if how.mirrored else values[place][given]
            for value, name in labels.items():
                share = share_estimate(answers == value, users[given])
                count: Row = {"figure": "share", "label": name, "count": int((answers == value).sum())}
                rows.append(head | {"against": ""} | count | share.cells)
        left_out += [f"{protocol}, {aspect}: {note}" for note in met.left_out]
    notes = [*words.orientation_notes(seen), *left_out, definition(_ABOUT_BIAS)]
    if any(compares_lists(str(row["protocol"])) for row in rows):
        notes.append(definition("bias on pairs: above 0, the rater favours A more than the others do"))
    nobody = ("none of these raters has judged anything",)
    return Table("Strictness", _STRICTNESS, tuple(rows), tuple(notes) if rows else nobody)


def _bias(
    own: FloatArray, others: FloatArray, users: IntArray, bounds: Bounds | None, no_bias: str
) -> Estimate:
    counted = (~np.isnan(others)).sum(axis=0)
    gap = own - ratio(np.nansum(others, axis=0), counted.astype(np.float64))
    known = ~np.isnan(gap)
    if no_bias:
        return undefined(no_bias, int(known.sum()))
    if not known.any():
        return undefined("no case that another annotator also judged")
    reach = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    return mean_estimate(gap[known], users[known], reach)
