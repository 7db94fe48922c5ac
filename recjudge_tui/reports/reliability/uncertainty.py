"""The uncertainty of each verdict of a rater: its calibrated confidence, and the labels that may be right.

Everything is computed from the verdicts on request; nothing is stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.comparison import Side, align, generation_notes
from recjudge_tui.reports.common.orientation import Orientation, orientation
from recjudge_tui.reports.common.pairing import (
    AgreementOptions,
    Pair,
    check_aspect,
    check_options,
    label_sets,
    pairs_of,
)
from recjudge_tui.reports.common.scales import categories, combined_notes, is_metric, label_names
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.confidence import calibration, conformal
from recjudge_tui.stats.defaults import BINS, COVERAGE, FOLDS, RESAMPLES
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.confidences import Confidences, answer_confidences, verdict_confidences
from recjudge_tui.store.verdicts.ratings import (
    Ratings,
    load_questions,
    newest_lists,
    project_questions,
    project_raters,
)


@dataclass(frozen=True)
class UncertaintyOptions:
    """The judge's verdicts and the reference labels. `protocol`, `aspect` None: every question that both answered.

    `coverage`: how often a label set should contain the reference label. `folds`: the number of parts into which
    labelled users are split, so that no user is calibrated by their own labels.
    """

    rater: str
    truth: str
    protocol: str | None = None
    aspect: str | None = None
    coverage: float = COVERAGE
    method: str = "isotonic"
    bins: int = BINS
    folds: int = FOLDS
    resamples: int = RESAMPLES
    seed: int = 0
    selection: CaseSelection = EVERY_CASE


@dataclass(frozen=True)
class Uncertainty:
    """One question's verdicts that did not fail, one per row. `labels` are the scale, lowest first, and `names` their
    names.

    `confidence` is NaN if the judge gave none or its two orders disagreed (`flipped`); `truth` is NaN without a label
    on the scale; `calibrated` is NaN if it cannot be computed. Labelled verdicts are calibrated, and get their `sets`,
    by labels of other users. `fitted` is the map learned on all labels; `limit` is the score up to which labels belong
    to a set, for a new user; neither means anything where labels are not `ordered`, since a set is a span of labels.
    `seen`: from which side pairs are seen where they are pooled; `value` and `truth` are as stored.
    `notes` say which verdicts are left out because of their lists, `about_truth` what to know of the reference.
    """

    protocol: str
    aspect: str
    labels: tuple[float, ...]
    names: tuple[str, ...]
    case: IntArray
    user: IntArray
    value: FloatArray
    truth: FloatArray
    confidence: FloatArray
    flipped: BoolArray
    calibrated: FloatArray
    sets: conformal.LabelSets
    fitted: calibration.Calibration
    limit: float
    off_scale: int
    seen: Orientation
    notes: tuple[str, ...] = ()
    about_truth: tuple[str, ...] = ()
    ordered: bool = True

    @property
    def usable(self) -> BoolArray:
        """Labelled verdicts with a confidence, the basis of calibration."""
        both: BoolArray = ~np.isnan(self.confidence) & ~np.isnan(self.truth)
        return both

    @property
    def places(self) -> IntArray:
        """The reference label's place on the scale for each row; meaningless if there is none."""
        return np.searchsorted(np.array(self.labels), np.nan_to_num(self.truth, nan=self.labels[0]))


@dataclass(frozen=True)
class UncertainCase:
    """A verdict whose label set has more than one label; `labels` from the lowest, `truth` empty if unlabelled.

    `calibrated` is the probability that the verdict's label is the reference label, None if it cannot be computed.
    """

    case_id: int
    protocol: str
    aspect: str
    label: str
    confidence: float | None
    calibrated: float | None
    labels: tuple[str, ...]
    truth: str


def uncertainties(db: Database, project_id: int, options: UncertaintyOptions) -> list[Uncertainty]:
    """One Uncertainty for each question with labels that both raters answered, in the order of protocols and aspects.

    Raises NotFoundError for an unknown rater; UsageError for an unknown protocol, aspect or method, a coverage outside
    0..1, the same rater twice, a metric, or raters that share no question with labels.
    """
    pairs = _pairs(db, project_id, options)
    ratings = load_questions(
        db, project_id, [q for pair in pairs for q in (pair.a, pair.b)], options.selection
    )
    scales = label_sets(db, project_id, ratings, pairs)
    unordered = categories(db, project_id)
    questions = []
    for pair in pairs:
        labels = scales[pair]
        if labels is None:
            continue
        values = np.concatenate([ratings.verdicts[q].value for q in (pair.a, pair.b)])
        names = label_names(db, project_id, pair.protocol, pair.aspect, values) or {}
        question = _uncertainty(db, ratings, pair, {value: names[value] for value in labels}, options)
        questions.append(replace(question, ordered=(pair.protocol, pair.aspect) not in unordered))
    if not questions:
        raise UsageError(
            f"{pairs[0].protocol} scores have no labels, so there are no label sets",
            next_step="“recjudge agreement” compares scores; “recjudge estimate” estimates their mean.",
        )
    return questions


def uncertain_cases(questions: Iterable[Uncertainty], limit: int | None = None) -> list[UncertainCase]:
    """The verdicts that a person should check first: those whose label set has more than one label.

    Cases without a label come first; then the largest set, then the lowest calibrated confidence (unknown last), then
    by case. Categories without an order have no sets.
    """
    keyed = [entry for question in questions if question.ordered for entry in _entries(question)]
    keyed.sort(key=lambda entry: entry[0])
    return [case for _, case in keyed[:limit]]


def _entries(rows: Uncertainty) -> Iterator[tuple[tuple[bool, int, bool, float, int], UncertainCase]]:
    names = dict(zip(rows.labels, rows.names, strict=True))
    chosen = np.flatnonzero(rows.sets.size > 1)
    columns = (
        rows.case, rows.value, rows.truth, rows.confidence, rows.calibrated, rows.sets.first, rows.sets.last
    )  # fmt: skip
    for case_id, value, truth, confidence, calibrated, first, last in zip(
        *(column[chosen].tolist() for column in columns), strict=True
    ):
        labels, sure = rows.names[first : last + 1], _known(calibrated)
        case = UncertainCase(
            case_id,
            rows.protocol,
            rows.aspect,
            names.get(value, f"{value:.4g}"),
            _known(confidence),
            sure,
            labels,
            names.get(truth, ""),
        )
        yield (truth in names, -len(labels), sure is None, sure or 0.0, case_id), case


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _pairs(db: Database, project_id: int, options: UncertaintyOptions) -> list[Pair]:
    if not 0 < options.coverage < 1:
        raise UsageError(f"the coverage must be between 0 and 1, not {options.coverage:g}")
    if options.method not in calibration.METHODS:
        raise UsageError(f"no method “{options.method}”", f"Available: {', '.join(calibration.METHODS)}.")
    return judge_and_truth(db, project_id, options.rater, options.truth, options.protocol, options.aspect)


def judge_and_truth(
    db: Database, project_id: int, rater: str, truth: str, protocol: str | None, aspect: str | None
) -> list[Pair]:
    """The questions that a rater and its reference both answered; raises UsageError if there are none, if both are the
    same rater, and for a metric as reference; NotFoundError for an unknown rater."""
    wanted = AgreementOptions(protocol=protocol, aspect=aspect, raters=(rater,), truth=truth)
    check_options(db, project_id, wanted)
    if rater == truth:
        raise UsageError(
            f"{rater} cannot be compared with itself", next_step="Name another rater as --truth."
        )
    raters = project_raters(db, project_id)
    if is_metric(raters[truth]):
        raise UsageError(f"{truth} is a metric and gives no labels", next_step="Name people as --truth.")
    questions = project_questions(db, project_id)
    check_aspect(questions, raters, wanted)
    pairs = pairs_of(questions, raters, wanted)
    if not pairs:
        under = f" under {protocol}" if protocol else ""
        raise UsageError(
            f"{rater} and {truth} answered no question in common{under}",
            next_step="“recjudge rater list” shows who judged what.",
        )
    return pairs


def _uncertainty(
    db: Database, ratings: Ratings, pair: Pair, names: dict[float, str], options: UncertaintyOptions
) -> Uncertainty:
    cases = ratings.cases
    if is_metric(ratings.raters[pair.a.rater]):
        raise UsageError(f"{options.rater} is a metric and gives no labels", next_step="Name a judge.")
    rater_id = ratings.raters[pair.a.rater].id
    stated, flipped = verdict_confidences(db, rater_id, pair.a, cases)
    if cases.selected is not None:
        here = cases.selected[stated.row]
        stated = Confidences(stated.row[here], stated.value[here], stated.confidence[here])
        flipped = flipped[here]
    labels = np.array(sorted(names))
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
    scores = _scores(db, ratings, pair, stated.row, stated.value, labels)
    place = np.searchsorted(labels, np.nan_to_num(truth, nan=labels[0]))
    of_truth = np.where(np.isnan(truth), np.nan, scores[np.arange(place.size), place])
    known = ~np.isnan(of_truth)
    limits = conformal.thresholds(of_truth, user, options.coverage, folds=options.folds, seed=options.seed)
    return Uncertainty(
        protocol=pair.protocol,
        aspect=pair.aspect,
        labels=tuple(labels.tolist()),
        names=tuple(names[value] for value in labels.tolist()),
        case=cases.ids[stated.row],
        user=user,
        value=stated.value,
        truth=truth,
        confidence=confidence,
        flipped=flipped,
        calibrated=calibrated,
        sets=conformal.label_sets(scores, limits),
        fitted=fitted,
        limit=conformal.threshold(of_truth[known], user[known], options.coverage),
        off_scale=off_scale,
        seen=orientation(cases, stated.row),
        notes=tuple(left_out),
        about_truth=tuple(combined_notes([ratings.raters[pair.b.rater]])),
    )


def _labels(ratings: Ratings, pair: Pair) -> tuple[FloatArray, BoolArray]:
    """By case: the label on the newest lists that both judged, and whether the rater's verdict counts: it has such a
    label, or is about the newest lists that the rater judged.
    """
    cases = ratings.cases
    met = align(cases, [Side(ratings.raters[q.rater], ratings.verdicts[q]) for q in (pair.a, pair.b)])
    given = np.where((met.status > 0).all(axis=0), met.values[1], np.nan)
    wanted = ~np.isnan(given)
    wanted[newest_lists(ratings).verdicts[pair.a].row] = True
    return given, wanted


def _calibrated(
    confidence: FloatArray, right: FloatArray, user: IntArray, labels: int, options: UncertaintyOptions
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


def _scores(
    db: Database, ratings: Ratings, pair: Pair, row: IntArray, value: FloatArray, labels: FloatArray
) -> FloatArray:
    """How unlikely each label is as the reference, from the answers behind each verdict."""
    cases = ratings.cases
    answers = answer_confidences(db, ratings.raters[pair.a.rater].id, pair.a, cases)
    owner = np.full(cases.ids.size, -1, dtype=np.int64)
    owner[row] = np.arange(row.size)
    fits = np.isin(answers.value, labels) & (owner[answers.row] >= 0)
    mass = conformal.label_mass(
        np.searchsorted(labels, answers.value[fits]),
        answers.confidence[fits],
        owner[answers.row[fits]],
        row.size,
        labels.size,
    )
    position = np.interp(value, labels, np.arange(labels.size, dtype=np.float64))
    return conformal.ordinal_scores(position, mass)
