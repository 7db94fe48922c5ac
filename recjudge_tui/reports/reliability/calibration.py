"""How reliable a judge's confidence is, and which labels are possible for its verdicts: four tables based on
`uncertainties`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.reliability.uncertainty import (
    Uncertainty,
    UncertaintyOptions,
    uncertain_cases,
)
from recjudge_tui.stats.arrays import BoolArray, FloatArray
from recjudge_tui.stats.confidence import calibration, conformal
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.resampling.intervals import SHARE, mean_estimate, share_estimate

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
_SETS = (
    *_WHERE,
    Column("size", "Labels", "int"),
    Column("cases", "Cases", "int"),
    Column("share", "Share", "share"),
    Column("labelled", "Labelled", "int"),
    Column("coverage", "Covered", "share"),
    *interval_columns("share"),
    _NOTE,
)
_CASES = (
    Column("case_id", "Case"),
    *_WHERE,
    Column("label", "Verdict"),
    Column("confidence", "Confidence", "float", decimals=2),
    Column("calibrated", "Calibrated", "float", decimals=2),
    Column("labels", "Possible labels"),
    Column("size", "Labels", "int"),
    Column("truth", "Reference"),
)
GIVEN, CALIBRATED = "as given", "calibrated"
_UNTOLD = (
    "no labelled verdict with a confidence: use a judge whose server returns probabilities, or --repeats"
)


def error_table(questions: Sequence[Uncertainty], options: UncertaintyOptions) -> Table:
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


def reliability_table(questions: Sequence[Uncertainty], options: UncertaintyOptions) -> Table:
    """One row per question, stage and non-empty bin; `gap` is the share right minus the mean confidence."""
    rows: list[Row] = []
    notes = _about_truth(questions)
    for question in questions:
        for stage, sure, right, users, _ in _stages(question):
            bins = calibration.reliability(
                sure, right, users, options.bins, resamples=options.resamples, seed=options.seed
            )
            rows += [_where(question) | {"stage": stage} | _bin_row(part) for part in bins if part.n]
        notes += _notes(question)
    return Table(
        _title("Reliability", options),
        _RELIABILITY,
        tuple(rows),
        tuple(dict.fromkeys(notes)),
        _settings(options),
    )


def sets_table(questions: Sequence[Uncertainty], options: UncertaintyOptions) -> Table:
    """One row per question and size of set, and one for all (size None) with the coverage on labelled cases.

    The coverage is a mean over users, like the guarantee; the set of each labelled case is based on labels of other
    users.
    """
    rows: list[Row] = []
    notes = [*_about_truth(questions), *no_sets(questions)]
    for question in questions:
        if not question.ordered:
            continue
        rows += _set_rows(question, options)
        notes += _set_notes(question, options)
    return Table(
        _title("Label sets", options), _SETS, tuple(rows), tuple(dict.fromkeys(notes)), _settings(options)
    )


def cases_table(
    questions: Sequence[Uncertainty], options: UncertaintyOptions, limit: int | None = None
) -> Table:
    """The cases whose set has more than one label, in the order in which a person should check them."""
    uncertain = uncertain_cases(questions)
    rows: list[Row] = [
        {
            "case_id": case.case_id,
            "protocol": case.protocol,
            "aspect": case.aspect,
            "label": case.label,
            "confidence": case.confidence,
            "calibrated": case.calibrated,
            "labels": ", ".join(case.labels),
            "size": len(case.labels),
            "truth": case.truth or None,
        }
        for case in uncertain[:limit]
    ]
    notes = [
        *_about_truth(questions),
        *no_sets(questions),
        f"{len(uncertain):,} verdicts have more than one possible label",
        "unlabelled cases first",
    ]
    if len(rows) < len(uncertain):
        notes.append(f"the first {len(rows):,} are shown")
    return Table(
        _title("Cases to look at", options),
        _CASES,
        tuple(rows),
        tuple(dict.fromkeys(notes)),
        _settings(options),
    )


def no_sets(questions: Iterable[Uncertainty]) -> list[str]:
    """The questions that have no label sets, and why."""
    return [
        f"{question.protocol}, {question.aspect}: no label sets, because a set is a span of neighbouring labels, and"
        " categories have no order"
        for question in questions
        if not question.ordered
    ]


def _where(question: Uncertainty) -> Row:
    return {"protocol": question.protocol, "aspect": question.aspect}


def _stages(question: Uncertainty) -> Iterator[tuple[str, FloatArray, FloatArray, FloatArray, str]]:
    """(stage, confidence, right, user, why there is none) of the labelled verdicts that have one."""
    right = (question.value == question.truth).astype(np.float64)
    for stage, sure, reason in (
        (GIVEN, question.confidence, ""),
        (CALIBRATED, question.calibrated, question.fitted.note if question.usable.any() else ""),
    ):
        here: BoolArray = question.usable & ~np.isnan(sure)
        yield stage, sure[here], right[here], question.user[here].astype(np.float64), reason


def _figures(
    stage: str, sure: FloatArray, right: FloatArray, users: FloatArray, options: UncertaintyOptions
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


def _about_truth(questions: Iterable[Uncertainty]) -> list[str]:
    return list(dict.fromkeys(note for question in questions for note in question.about_truth))


def _notes(question: Uncertainty) -> list[str]:
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


def _set_rows(question: Uncertainty, options: UncertaintyOptions) -> Iterator[Row]:
    sizes = question.sets.size
    labelled = ~np.isnan(question.truth)
    held = question.sets.holds(question.places)
    for size in range(1, len(question.labels) + 1):
        here = sizes == size
        both = here & labelled
        if not here.any():
            continue
        yield _where(question) | {
            "size": size,
            "cases": int(here.sum()),
            "share": float(here.mean()),
            "labelled": int(both.sum()),
            "coverage": float(held[both].mean()) if both.any() else None,
        }
    covered = _coverage(held[labelled], question, options)
    yield _where(question) | {
        "size": None,
        "cases": sizes.size,
        "share": 1.0 if sizes.size else None,
        "labelled": int(labelled.sum()),
        "coverage": covered.value,
        **interval_cells(covered),
        "note": covered.note,
    }


def _coverage(held: BoolArray, question: Uncertainty, options: UncertaintyOptions) -> Estimate:
    """Mean over users of the share of their labelled cases whose set contains the label."""
    users, codes = np.unique(question.user[~np.isnan(question.truth)], return_inverse=True)
    if users.size == 0:
        return undefined("no labelled case")
    shares = np.bincount(codes, weights=held) / np.bincount(codes)
    if np.isin(shares, (0.0, 1.0)).all():
        return share_estimate(shares, users, resamples=options.resamples, seed=options.seed)
    return mean_estimate(shares, users, SHARE, resamples=options.resamples, seed=options.seed)


def _set_notes(question: Uncertainty, options: UncertaintyOptions) -> list[str]:
    where = f"{question.protocol}, {question.aspect}"
    users = np.unique(question.user[~np.isnan(question.truth)]).size
    more = int((question.sets.size > 1).sum())
    notes = [f"{where}: {more:,} of {question.case.size:,} verdicts have more than one possible label"]
    if np.isinf(question.limit):
        fewest = conformal.fewest_users(options.coverage)
        notes.append(
            f"{where}: {options.coverage:.0%} needs labels of {fewest:,} users, but there are {users:,}, so every"
            " set has all labels"
        )
    notes.append(
        f"{where}: sets are made to contain the reference label in {options.coverage:.0%} of a new user's cases, based on"
        f" labels of {quantity(users, 'user')}; each user's coverage is measured with sets based on other users"
    )
    return notes


def _title(what: str, options: UncertaintyOptions) -> str:
    return f"{what}: {options.rater} against {options.truth}"


def _settings(options: UncertaintyOptions) -> dict[str, object]:
    return {
        "rater": options.rater,
        "truth": options.truth,
        "coverage": options.coverage,
        "method": options.method,
        "bins": options.bins,
        "folds": options.folds,
        "resamples": options.resamples,
        "seed": options.seed,
    }
