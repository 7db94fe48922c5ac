"""How often a judge is right at each confidence that it states, before and after calibration by labels.

Everything is computed from the verdicts on request; nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection, Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import combined_notes, is_metric
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.rater_pairs import judge_and_truth, label_sets
from recjudge_tui.shapes import ABSENT, Meeting, Side, generation_notes, pairs
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.confidence import calibration
from recjudge_tui.stats.defaults import BINS, FOLDS, RESAMPLES
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.confidences import Confidences, verdict_confidences
from recjudge_tui.store.verdicts.ratings import Ratings, newest_lists

_WHERE = (Column("protocol", "Protocol"), Column("aspect", "Aspect"))
_STAGE = Column("stage", "Confidence")
_NOTE = Column("note", "Note")
_ERROR = (
    *_WHERE,
    _STAGE,
    Column("stat", "Figure"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    _NOTE,
)
_RELIABILITY = (
    *_WHERE,
    _STAGE,
    Column("low", "From", "float", decimals=2),
    Column("high", "To", "float", decimals=2),
    Column("n", "n", "int"),
    Column("confidence", "Mean", "share"),
    Column("accuracy", "Right", "share"),
    *interval_columns("share"),
    Column("gap", "Gap", "float"),
    _NOTE,
)
GIVEN, CALIBRATED = "as given", "calibrated"
_UNTOLD = (
    "no labelled verdict with a confidence: use a judge whose server returns probabilities, or --repeats"
)


@dataclass(frozen=True)
class CalibrationOptions:
    """The judge's verdicts and the reference labels. `protocol`, `aspect` None: every question that both answered.

    `folds`: the number of parts into which
    labelled users are split, so that no user is calibrated by their own labels.
    """

    rater: str
    truth: str
    protocol: str | None = None
    aspect: str | None = None
    method: str = "isotonic"
    bins: int = BINS
    folds: int = FOLDS
    resamples: int = RESAMPLES
    seed: int = 0
    selection: CaseSelection = EVERY_CASE


@dataclass(frozen=True)
class StatedConfidences:
    """One question's verdicts that did not fail, one per row. `labels` are the scale, lowest first.

    `confidence` is NaN if the judge gave none or its two orders disagreed (`flipped`); `truth` is NaN without a label
    on the scale; `calibrated` is NaN if it cannot be computed. Labelled verdicts are calibrated by labels of
    other users. `fitted` is the map learned on all labels.
    `notes` say which verdicts are left out because of their lists, `about_truth` what to know of the reference.
    """

    protocol: str
    aspect: str
    labels: tuple[float, ...]
    case: IntArray
    user: IntArray
    value: FloatArray
    truth: FloatArray
    confidence: FloatArray
    flipped: BoolArray
    calibrated: FloatArray
    fitted: calibration.Calibration
    off_scale: int
    notes: tuple[str, ...] = ()
    about_truth: tuple[str, ...] = ()

    @property
    def usable(self) -> BoolArray:
        """Labelled verdicts with a confidence, the basis of calibration."""
        both: BoolArray = ~np.isnan(self.confidence) & ~np.isnan(self.truth)
        return both


def stated_confidences(db: Database, project_id: int, options: CalibrationOptions) -> list[StatedConfidences]:
    """One for each question with labels that both raters answered, in the order of protocols and aspects.

    Raises NotFoundError for an unknown rater; UsageError for an unknown protocol, aspect or method, the same
    rater twice, a metric, or raters that share no question with labels.
    """
    if options.method not in calibration.METHODS:
        raise UsageError(f"no method “{options.method}”", f"Available: {', '.join(calibration.METHODS)}.")
    asked = Selection(options.protocol, options.aspect, (options.rater,), cases=options.selection)
    met = judge_and_truth(Project.numbered(db, project_id), asked, options.truth)
    ratings, scales = met.ratings, label_sets(met)
    questions = [
        _stated(db, ratings, pair, np.array(sorted(labels)), options)
        for pair in met.meetings
        if (labels := scales[pair]) is not None
    ]
    if not questions:
        raise UsageError(
            f"{met.meetings[0].protocol} scores have no labels, so their confidence cannot be right or wrong",
            next_step="“recjudge agreement” compares scores; “recjudge estimate” estimates their mean.",
        )
    return questions


def _stated(
    db: Database, ratings: Ratings, pair: Meeting, labels: FloatArray, options: CalibrationOptions
) -> StatedConfidences:
    cases = ratings.cases
    if is_metric(ratings.raters[pair.a.rater]):
        raise UsageError(f"{options.rater} is a metric and gives no labels", next_step="Name a judge.")
    rater_id = ratings.raters[pair.a.rater].id
    stated, flipped = verdict_confidences(db, rater_id, pair.a, cases)
    if cases.selected is not None:
        here = cases.selected[stated.row]
        stated = Confidences(stated.row[here], stated.value[here], stated.confidence[here])
        flipped = flipped[here]
    given, wanted = _labels(ratings, pair)
    kept = wanted[stated.row]
    left_out = generation_notes(int((~kept).sum()), 0)
    stated = Confidences(stated.row[kept], stated.value[kept], stated.confidence[kept])
    flipped = flipped[kept]
    truth = given[stated.row]
    on_scale = np.isin(truth, labels)
    off_scale = int((~np.isnan(truth) & ~on_scale).sum())
    truth = np.where(on_scale, truth, np.nan)
    user = cases.user[stated.row]
    confidence = np.where(flipped, np.nan, stated.confidence)
    right = np.where(np.isnan(truth), np.nan, stated.value == truth)
    fitted, calibrated = _calibrated(confidence, right, user, labels.size, options)
    return StatedConfidences(
        protocol=pair.protocol,
        aspect=pair.aspect,
        labels=tuple(labels.tolist()),
        case=cases.ids[stated.row],
        user=user,
        value=stated.value,
        truth=truth,
        confidence=confidence,
        flipped=flipped,
        calibrated=calibrated,
        fitted=fitted,
        off_scale=off_scale,
        notes=tuple(left_out),
        about_truth=tuple(combined_notes([ratings.raters[pair.b.rater]])),
    )


def _labels(ratings: Ratings, pair: Meeting) -> tuple[FloatArray, BoolArray]:
    """By case: the label on the newest lists that both judged, and whether the rater's verdict counts: it has such a
    label, or is about the newest lists that the rater judged.
    """
    cases = ratings.cases
    met = pairs(cases, [Side(ratings.verdicts[q]) for q in pair[:2]])
    both = met.among(np.asarray((met.state != ABSENT).all(axis=0)))
    given = np.full(cases.ids.size, np.nan)
    given[both.row] = both.stored[1]
    wanted = ~np.isnan(given)
    wanted[newest_lists(ratings).verdicts[pair.a].row] = True
    return given, wanted


def _calibrated(
    confidence: FloatArray, right: FloatArray, user: IntArray, labels: int, options: CalibrationOptions
) -> tuple[calibration.Calibration, FloatArray]:
    """The map learned on all labels, and the confidences it gives; those of labelled users are calibrated by labels of
    others."""
    known = ~np.isnan(confidence)
    taught = known & ~np.isnan(right)
    out = np.full(confidence.size, np.nan)
    out[known] = calibration.cross_fitted(
        options.method,
        confidence[known],
        right[known],
        user[known],
        labels,
        folds=options.folds,
        seed=options.seed,
    )
    return calibration.fit(options.method, confidence[taught], right[taught], user[taught], labels), out


def error_table(questions: Sequence[StatedConfidences], options: CalibrationOptions) -> Table:
    """One row per question, stage (as given, calibrated) and figure: `ece`, `overconfidence`, `brier`, `accuracy`.

    Calibrated confidences are cross-fitted: each is based on labels of other users.
    """
    rows: list[Row] = []
    notes = _about_truth(questions)
    for question in questions:
        for stage, sure, right, users, reason in _stages(question):
            for stat, estimate in _figures(stage, sure, right, users, options).items():
                rows.append(
                    _where(question)
                    | {"stage": stage, "stat": stat, "value": estimate.value, "n": estimate.n}
                    | interval_cells(estimate)
                    | {"note": reason or estimate.note}
                )
        notes += _notes(question)
    notes += [
        "ece: mean gap between confidence and accuracy, over bins; biased upwards with few cases, as its interval shows",
        "overconfidence: mean confidence minus accuracy; brier: mean squared error of the confidence",
    ]
    return Table(
        _title("Calibration", options), _ERROR, tuple(rows), tuple(dict.fromkeys(notes)), _settings(options)
    )


def reliability_table(questions: Sequence[StatedConfidences], options: CalibrationOptions) -> Table:
    """One row per question, stage and non-empty bin; `gap` is the share right minus the mean confidence."""
    rows: list[Row] = []
    notes = _about_truth(questions)
    for question in questions:
        for stage, sure, right, users, _ in _stages(question):
            bins = calibration.reliability(sure, right, users, options.bins)
            rows += [_where(question) | {"stage": stage} | _bin_row(part) for part in bins if part.n]
        notes += _notes(question)
    return Table(
        _title("Reliability", options),
        _RELIABILITY,
        tuple(rows),
        tuple(dict.fromkeys(notes)),
        _settings(options),
    )


def _where(question: StatedConfidences) -> Row:
    return {"protocol": question.protocol, "aspect": question.aspect}


def _stages(question: StatedConfidences) -> Iterator[tuple[str, FloatArray, FloatArray, FloatArray, str]]:
    """(stage, confidence, right, user, why there is none) of the labelled verdicts that have one."""
    right = (question.value == question.truth).astype(np.float64)
    for stage, sure, reason in (
        (GIVEN, question.confidence, ""),
        (CALIBRATED, question.calibrated, question.fitted.note if question.usable.any() else ""),
    ):
        here: BoolArray = question.usable & ~np.isnan(sure)
        yield stage, sure[here], right[here], question.user[here].astype(np.float64), reason


def _figures(
    stage: str, sure: FloatArray, right: FloatArray, users: FloatArray, options: CalibrationOptions
) -> dict[str, Estimate]:
    if sure.size == 0:
        return {"ece": undefined(calibration.NO_CONFIDENCE)}
    draw = {"resamples": options.resamples, "seed": options.seed}
    return {
        "ece": calibration.calibration_error(sure, right, users, options.bins, **draw),
        "overconfidence": calibration.overconfidence(sure, right, users, **draw),
        "brier": calibration.brier_score(
            sure, right, users, folds=options.folds if stage == CALIBRATED else 0, **draw
        ),
        "accuracy": share_estimate(right, users, **draw),
    }


def _bin_row(part: calibration.Bin) -> Row:
    share = part.accuracy
    gap = None if share.value is None or part.confidence is None else share.value - part.confidence
    return {
        "low": part.low,
        "high": part.high,
        "n": part.n,
        "confidence": part.confidence,
        "accuracy": share.value,
        **interval_cells(share),
        "gap": gap,
        "note": share.note,
    }


def _about_truth(questions: Iterable[StatedConfidences]) -> list[str]:
    return list(dict.fromkeys(note for question in questions for note in question.about_truth))


def _notes(question: StatedConfidences) -> list[str]:
    """The basis of the calibration, and what was left out."""
    where = f"{question.protocol}, {question.aspect}"
    labelled = ~np.isnan(question.truth)
    notes = [f"{where}: {note}" for note in question.notes]
    if not question.usable.any():
        notes.append(_UNTOLD)
    flipped = int((question.flipped & labelled).sum())
    untold = int((np.isnan(question.confidence) & labelled).sum()) - flipped
    if flipped:
        notes.append(
            f"{where}: {quantity(flipped, 'labelled verdict')} left out because their two orders disagreed and neither"
            " answer was a tie"
        )
    if untold and question.usable.any():
        notes.append(f"{where}: {quantity(untold, 'labelled verdict')} without a confidence left out")
    if question.off_scale:
        notes.append(f"{where}: {quantity(question.off_scale, 'label')} off the scale left out")
    if question.fitted.temperature is not None:
        notes.append(f"{where}: {_heat(question.fitted.temperature, len(question.labels))}")
    return notes


def _heat(temperature: float, labels: int) -> str:
    """What the temperature does to the confidences: it moves them towards chance, or away from it."""
    shown = f"{temperature:.3g}"
    if shown == "1":
        return "temperature 1: calibrated confidences are those given"
    way = "nearer to" if temperature > 1 else "further from"
    return f"temperature {shown}: calibrated confidences are {way} chance (1 in {labels}) than those given"


def _title(what: str, options: CalibrationOptions) -> str:
    return f"{what}: {options.rater} against {options.truth}"


def _settings(options: CalibrationOptions) -> dict[str, object]:
    return {
        "rater": options.rater,
        "truth": options.truth,
        "method": options.method,
        "bins": options.bins,
        "folds": options.folds,
        "resamples": options.resamples,
        "seed": options.seed,
    }
