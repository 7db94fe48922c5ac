"""Does a judge rate uniform lists higher than people do? The semantic-similarity bias that SAER warns of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.agreement.agreement import side_of
from recjudge_tui.reports.common.comparison import Comparison, compare, generation_notes
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.pairing import (
    AgreementOptions,
    Pair,
    check_options,
    compared_questions,
    pairs_of,
    questions_in,
)
from recjudge_tui.reports.common.scales import is_metric, rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.diversity import ILD, TITLE_ILD, load_catalogue, measure_lists
from recjudge_tui.stats.agreement.homogeneity_bias import HomogeneityBias, homogeneity_bias
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES, TOP_K
from recjudge_tui.stats.hypotheses import holm_claims
from recjudge_tui.store.cases.metric_inputs import ranked_slates
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.generations import judged_content
from recjudge_tui.store.verdicts.ratings import (
    CaseColumns,
    load_questions,
    project_questions,
    project_raters,
)

ALL_LISTS, WITHIN = "all lists", "within systems"
FORMULA = (
    "difference: the slope of the rater's rating on uniformity minus that of the truth's, on the same lists,"
    " interval over users: sum (u - mean u)(rater - truth) / sum (u - mean u)²; above 0: the rater favours uniform"
    " lists more"
)
_BY_SYSTEM = (
    "within systems: u and rater - truth minus their means in the system, so that differences between systems do not"
    " count"
)
_RANK = "rank difference: Spearman's rho of uniformity and the rater's rating minus that of the truth's; has no unit"
_ONLY_ALL = "ranks are compared over all lists"
_COLUMNS = (
    Column("rater", "Rater"),
    Column("truth", "Against"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect", minor=True),
    Column("over", "Over"),
    Column("slope_rater", "Slope", "float"),
    Column("slope_truth", "Its slope", "float"),
    Column("difference", "Difference", "float"),
    *interval_columns(),
    Column("rank_difference", "Rank difference", "float"),
    *interval_columns(of="rank"),
    Column("n", "n", "int"),
    Column("finding", "Finding"),
    Column("note", "Note"),
)


def homogeneity_bias_table(
    db: Database,
    project_id: int,
    truth: str,
    rater: str = "",
    k: int = TOP_K,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Table:
    """One row per rater, protocol and aspect over all lists, and one within systems if there are several.

    Uniformity u = 1 - ILD of the first k items of the list that was judged: of categories, or of the words of titles if the
    catalogue has no categories. `finding` says in which direction the interval of `difference` points, after Holm's
    correction for all rows. `rater` empty: everyone who judged the truth's lists on its scale. Raises NotFoundError for
    an unknown rater, UsageError if the rater is the truth.
    """
    if truth == rater:
        raise UsageError(f"“{truth}” cannot be compared with itself")
    options = AgreementOptions(raters=(rater,) if rater else (), truth=truth)
    check_options(db, project_id, options)
    questions, raters = project_questions(db, project_id), project_raters(db, project_id)
    usual = compared_questions(db, project_id, questions, raters, options)
    pairs = [
        pair
        for pair in pairs_of(usual.kept, raters, options)
        if protocol_facts(pair.protocol).unit == "list"
        and not any(is_metric(raters[q.rater]) for q in (pair.a, pair.b))
    ]
    ratings = load_questions(db, project_id, questions_in(pairs))
    uniformity, measure = _uniformity(db, project_id, ratings.cases, k)
    measured: list[_Measured] = []
    left_out: list[str] = []
    for pair in pairs:
        met = compare(ratings.cases, side_of(ratings, pair.a, options), side_of(ratings, pair.b, options))
        measured += _measured(ratings.cases, pair, met, uniformity, resamples, seed)
        left_out += [
            f"{pair.a.rater}: {note}" for note in generation_notes(met.missing.earlier, met.missing.later)
        ]
    rows = _rows(measured)
    what = "categories" if measure == ILD else "words of the titles (no item has a category)"
    notes = [
        f"uniformity u: 1 - the mean difference of two items of a list, by {what}",
        FORMULA,
        _BY_SYSTEM,
        _RANK,
    ]
    if len(rows) > 1:
        notes.append(f"finding: the interval excludes 0 after Holm's correction for {len(rows)} rows")
    notes += dict.fromkeys(left_out)
    notes += rater_notes(ratings.raters[name] for pair in pairs for name in (pair.a.rater, pair.b.rater))
    if not rows:
        notes = [f"no other rater shares lists and scale with {truth}"]
    settings = {"truth": truth, "k": k, "measure": measure, "resamples": resamples, "seed": seed}
    return Table("Homogeneity bias", _COLUMNS, tuple(rows), tuple(notes), settings)


def _uniformity(db: Database, project_id: int, cases: CaseColumns, k: int) -> tuple[FloatArray, str]:
    """The uniformity of each case's list (cases,), NaN without a list or with too little data about its items."""
    catalogue = load_catalogue(db, project_id)
    measure = ILD if catalogue.categorised() else TITLE_ILD
    slates = np.where(cases.is_pair, 0, judged_content(db, project_id, cases.ids).slate_a)
    ranked = dict(ranked_slates(db, project_id, np.unique(slates[slates > 0]).tolist()))
    measured = measure_lists(list(ranked.values()), catalogue, k, (measure,)).values[measure]
    uniformity = dict(zip(ranked, (1 - measured).tolist(), strict=True))
    return np.array([uniformity.get(slate, np.nan) for slate in slates.tolist()], dtype=np.float64), measure


class _Measured(NamedTuple):
    """A row: the lists over which the bias of a pair of raters is measured, and the bias with its intervals at a `level`."""

    pair: Pair
    over: str
    bias: Callable[..., HomogeneityBias]


def _measured(
    cases: CaseColumns, pair: Pair, met: Comparison, uniformity: FloatArray, resamples: int, seed: int
) -> Iterator[_Measured]:
    of_system = cases.system_a[met.row]
    lists = uniformity[met.row], met.a, met.b, cases.user[met.row]
    for over, groups in ((ALL_LISTS, None), (WITHIN, of_system)):
        if over == ALL_LISTS or np.unique(of_system).size > 1:
            bias = partial(homogeneity_bias, *lists, groups, resamples=resamples, seed=seed)
            yield _Measured(pair, over, bias)


def _rows(measured: Sequence[_Measured]) -> list[Row]:
    """The rows; what is found is corrected for their number."""
    biases = [part.bias(level=LEVEL) for part in measured]

    def found(level: float) -> list[bool | None]:
        again = biases if level == LEVEL else [part.bias(level=level) for part in measured]
        ends = [(bias.difference.ci_low, bias.difference.ci_high) for bias in again]
        return [None if low is None or high is None else not low <= 0 <= high for low, high in ends]

    claims = holm_claims(found, LEVEL)
    return [
        {
            "rater": part.pair.a.rater,
            "truth": part.pair.b.rater,
            "protocol": part.pair.protocol,
            "aspect": part.pair.aspect,
            "over": part.over,
            **_figures(bias),
            **(_ranks(bias) if part.over == ALL_LISTS else {}),
            "finding": _finding(bias, part.pair, claimed=claimed),
            "note": _note(bias, part.over),
        }
        for part, bias, claimed in zip(measured, biases, claims, strict=True)
    ]


def _figures(bias: HomogeneityBias) -> Row:
    return {
        "slope_rater": bias.slope_judge,
        "slope_truth": bias.slope_people,
        "difference": bias.difference.value,
        **interval_cells(bias.difference),
        "n": bias.difference.n,
    }


def _ranks(bias: HomogeneityBias) -> Row:
    rank = bias.rank
    return {"rank_difference": rank.value, "rank_low": rank.ci_low, "rank_high": rank.ci_high}


def _finding(bias: HomogeneityBias, pair: Pair, *, claimed: bool) -> str:
    if bias.difference.value is None or bias.difference.ci_low is None:
        return "unknown"
    if not claimed:
        return "no difference shown"
    kind = "uniform" if bias.difference.value > 0 else "varied"
    return f"{pair.a.rater} favours {kind} lists more than {pair.b.rater}"


def _note(bias: HomogeneityBias, over: str) -> str:
    notes = [bias.difference.note, bias.rank.note if over == ALL_LISTS else _ONLY_ALL]
    return "; ".join(dict.fromkeys(note for note in notes if note))
