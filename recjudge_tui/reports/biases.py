"""Does a rater favour longer texts or lists, more popular items, or more uniform lists; and more so than people do?

One figure for every covariate: the slope of the rating on the standardised covariate within users. With the covariate x,
in standard deviations over everything judged, and the rating y, both less the user's means,

    slope = sum x y / sum x²,

in points of the rating for one standard deviation more. Two lists judged side by side are a comparison within a user by
themselves: there x is the difference of the two lists and y the verdict on them. Beyond a truth, y is the rating less the
mean of the truth's on the same case, which is the difference of the two slopes; what makes a case good cancels out
(Dubois et al. 2024 for the length of texts; Liu et al., SIGIR 2026, for uniform lists). Intervals leave out one user at a
time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, protocol_facts
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_columns
from recjudge_tui.reports.common.scales import categories, is_metric, rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table, columns, definition
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.words import interval_text, left_out_notes, wide
from recjudge_tui.shapes import Side, pairs, under_protocol, usual_questions
from recjudge_tui.stats.arrays import FloatArray, IntArray, encode, none_if_nan, ratio
from recjudge_tui.stats.defaults import LEVEL, TOP_K
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.hypotheses import holm_claims
from recjudge_tui.stats.intervals import ratio_of_sums
from recjudge_tui.stats.registry import NO_ORDER
from recjudge_tui.stats.retrieval import list_values
from recjudge_tui.store.data import text_lengths
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import load_evaluation_data, ranked_slates
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import (
    Question,
    Ratings,
    judged_content,
    load_questions,
    project_questions,
    project_raters,
)

RATING, BEYOND = "rating", "beyond truth"
# covariate -> what a rater favours who rates higher with more of it, and with less
COVARIATES = {
    "length": ("longer", "shorter"),
    "popularity": ("more popular", "less popular"),
    "homogeneity": ("more uniform", "more varied"),
}
FORMULA = (
    "slope: points of the rating for one standard deviation more of the covariate, within users (of two lists: of their"
    " difference); beyond truth: the slope of the rating minus the truth's, on the same cases; interval over users"
)
COVARIATE_NOTE = (
    "length: characters of a text, or of the titles of a list; popularity: mean number of events of a list's items;"
    " homogeneity: 1 - ild of their categories (of their titles' words if no item has a category)"
)
_COLUMNS = columns(
    "rater", Column("truth", "Against"), "protocol aspect?", Column("covariate", "Covariate"),
    Column("figure", "Slope of"), Column("value", "Slope", "float"), *interval_columns(), "n users?",
    Column("sd", "SD", "float", minor=True), Column("finding", "Finding"), "note",
)  # fmt: skip
# of each case its covariate, of its second list too if it has two: (cases,), NaN where unknown
_Covariate = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Slope:
    """The slope of one question on one covariate. `x` and `y` are within users; those without a difference are left out."""

    question: Question
    covariate: str
    figure: str
    x: FloatArray
    y: FloatArray
    user: IntArray
    sd: float
    reason: str = ""

    def estimate(self, level: float = LEVEL) -> Estimate:
        if self.reason:
            return undefined(self.reason, self.y.size)
        return ratio_of_sums(self.x * self.y, self.x**2, self.user, level=level)


def biases(project: Project, choose: Options) -> Table:
    """The slopes, read as one row a rater and question with a column for each covariate."""
    raters = (choose.rater,) if choose.rater else ()
    about = {"protocol": choose.protocol, "aspect": choose.aspect, "k": choose.k}
    table = biases_table(project.db, project.id, raters, choose.truth, **about)
    shown = [row for row in table.rows if str(row["finding"]).startswith("favours")]
    first = "; ".join([*dict.fromkeys(f"{row['rater']} {row['finding']}" for row in shown)][:3])
    said = f"{first}." if first else "No preference is shown." if table.rows else ""

    def slope(row: Row) -> str:
        value = row["value"]
        return f"{value:+.2f} [{interval_text(row, 'float')}]" if isinstance(value, float) else "–"

    lines = wide(table.rows, "rater truth protocol aspect", lambda row: row["covariate"], slope)
    named = [name for name in COVARIATES if any(name in line for line in lines)]
    heads = (
        Column("rater", "rater"), Column("truth", "beyond"), Column("protocol", "protocol"), Column("aspect", "aspect"),
        *(Column(name, name) for name in named),
    )  # fmt: skip
    return replace(table, answer=said, brief=Table(table.title, heads, tuple(lines)))


def biases_table(
    db: Database,
    project_id: int,
    raters: Sequence[str] = (),
    truth: Sequence[str] = (),
    *,
    protocol: str | None = None,
    aspect: str | None = None,
    k: int = TOP_K,
) -> Table:
    """One row per rater, question and covariate: the slope of the rating and, of the cases that somebody of `truth`
    judged, the slope beyond it. `raters` empty: everyone but metrics, readers and people with few labels. `finding`
    says in which direction the interval of a slope points, after Holm's correction for all rows. Raises NotFoundError
    for an unknown rater, UsageError if a rater is the truth."""
    for name in (*raters, *truth):
        rater_row(db, project_id, name)
    if both := set(raters).intersection(truth):
        raise UsageError(f"“{min(both)}” cannot be compared with itself")
    every, known = project_questions(db, project_id), project_raters(db, project_id)
    project = Project.numbered(db, project_id)
    usual, left_out = usual_questions(project, every, known, (*raters, *truth))
    asked = [
        q
        for q in usual
        if (q.rater in raters if raters else q.rater not in truth and not is_metric(known[q.rater]))
        and protocol in (None, q.protocol)
        and (aspect == q.aspect if aspect else _counts(q))
    ]
    slopes = measured_slopes(db, project_id, asked, truth, k)
    found = [slope.estimate() for slope in slopes]

    def excluded(level: float) -> list[bool | None]:
        again = found if level == LEVEL else [slope.estimate(level) for slope in slopes]
        ends = [(estimate.ci_low, estimate.ci_high) for estimate in again]
        return [None if low is None or high is None else not low <= 0 <= high for low, high in ends]

    claims = holm_claims(excluded, LEVEL)
    against = ", ".join(truth)
    rows: list[Row] = [
        {
            **slope.question._asdict(), "truth": against if slope.figure == BEYOND else "", "covariate": slope.covariate,
            "figure": slope.figure, **estimate_cells(estimate), "users": np.unique(slope.user).size,
            "sd": none_if_nan(slope.sd), "finding": _finding(slope, estimate, against, claimed=claimed),
        }
        for slope, estimate, claimed in zip(slopes, found, claims, strict=True)
    ]  # fmt: skip
    notes = [definition(FORMULA), definition(COVARIATE_NOTE)] if rows else ["no rating of lists or texts yet"]
    several = f"finding: the interval excludes 0 after Holm's correction for {len(rows)} rows"
    notes += [definition(several)] if len(rows) > 1 else []
    notes += [] if raters else left_out_notes(left_out)
    notes += rater_notes(known[name] for name in dict.fromkeys([*(q.rater for q in asked), *truth]))
    settings = {"truth": against, "k": k}
    return Table("Biases", _COLUMNS, tuple(rows), tuple(notes), settings)


def _counts(question: Question) -> bool:
    return question.aspect == OVERALL or protocol_facts(question.protocol).unit == "explanation"


def _finding(slope: Slope, estimate: Estimate, truth: str, *, claimed: bool) -> str:
    if estimate.ci_low is None:
        return "unknown"
    if not claimed:
        return "no preference shown" if slope.figure == RATING else "no difference shown"
    more, less = COVARIATES[slope.covariate]
    what = "texts" if protocol_facts(slope.question.protocol).unit == "explanation" else "lists"
    than = f" more than {truth}" if slope.figure == BEYOND else ""
    return f"favours {more if (estimate.value or 0) > 0 else less} {what}{than}"


def measured_slopes(
    db: Database, project_id: int, questions: Sequence[Question], truth: Sequence[str], k: int = TOP_K
) -> list[Slope]:
    """The slopes of these questions on every covariate that their cases can have, those beyond the truth after their own."""
    raters = project_raters(db, project_id)
    others = [q for q in project_questions(db, project_id) if q.rater in truth]
    ratings = load_questions(db, project_id, [*questions, *others])
    known = covariates(db, project_id, ratings, k)
    unordered = categories(db, project_id)
    slopes: list[Slope] = []
    for question in questions:
        alike = [q for q in under_protocol(others, raters, question.protocol) if q.aspect == question.aspect]
        of_texts = protocol_facts(question.protocol).unit == "explanation"
        reason = NO_ORDER if (question.protocol, question.aspect) in unordered else ""
        for name in ("length",) if of_texts else COVARIATES:
            for beside in ([], alike) if alike else ([],):
                slopes.append(_slope(ratings, question, beside, name, known[name], reason))
    return slopes


def _slope(
    ratings: Ratings,
    question: Question,
    truth: Sequence[Question],
    name: str,
    covariate: _Covariate,
    reason: str,
) -> Slope:
    cases = ratings.cases
    met = pairs(cases, [Side(ratings.verdicts[q]) for q in (question, *truth)])
    y = met.wide[0]
    if truth:
        given = ~np.isnan(met.wide[1:])
        total = np.where(given, met.wide[1:], 0.0).sum(axis=0)
        y = y - ratio(total, given.sum(axis=0).astype(np.float64))
    first, second = covariate
    x = np.where(cases.is_pair, first - second, first)
    rows = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
    x, y, user = x[rows], y[rows], cases.user[rows]
    shown = np.concatenate([first[rows], second[rows][cases.is_pair[rows]]])
    sd = float(shown.std()) if shown.size else nan
    single = ~cases.is_pair[rows]
    owner, _ = encode(user)
    count = np.bincount(owner)
    of_user = (np.bincount(owner, weights=part)[owner] / count[owner] for part in (x, y))
    x, y = (np.where(single, part - mean, part) for part, mean in zip((x, y), of_user, strict=True))
    differ = np.abs(x) > 1e-9 * max(1.0, float(np.abs(shown).max(initial=0.0)))
    kept = np.isin(user, user[differ])
    if not reason and not rows.size:
        reason = f"no judged case has a known {name}"
    if not reason and not kept.any():
        reason = f"within a user, all have the same {name}"
    scale = sd if sd > 0 else 1.0
    figure = BEYOND if truth else RATING
    return Slope(question, name, figure, x[kept] / scale, y[kept], user[kept], sd, reason)


def covariates(db: Database, project_id: int, ratings: Ratings, k: int) -> Mapping[str, _Covariate]:
    """Covariate -> its values for the cases of these ratings."""
    content = judged_content(db, project_id, ratings.cases.ids)
    judged = np.unique(np.concatenate([np.zeros(0, np.int64), *(v.row for v in ratings.verdicts.values())]))
    slates = np.unique(np.concatenate([content.slate_a[judged], content.slate_b[judged]]))
    ranked = dict(ranked_slates(db, project_id, slates[slates > 0].tolist()))
    data = load_evaluation_data(db, project_id)
    ild = "ild" if any(data.categories.values()) else "title_ild"
    measured = list_values(list(ranked.values()), data, k, (ild, "popularity"))

    def of_lists(values: Sequence[float]) -> _Covariate:
        known: dict[int, float | None] = dict(zip(ranked, values, strict=True))
        return _looked_up(known, content.slate_a), _looked_up(known, content.slate_b)

    titles = ([data.titles.get(item) or item for item in shown.items[:k]] for shown in ranked.values())
    lengths = [float(sum(map(len, shown))) for shown in titles]
    of_titles, of_texts = of_lists(lengths), _looked_up(text_lengths(db, project_id), content.explanation)
    items = [float(len(shown.items[:k])) for shown in ranked.values()]
    return {
        "items": of_lists(items),
        "titles": of_lists(
            [total / count if count else nan for total, count in zip(lengths, items, strict=True)]
        ),
        "length": (np.where(content.explanation > 0, of_texts, of_titles[0]), of_titles[1]),
        "popularity": of_lists(measured["popularity"].tolist()),
        "homogeneity": of_lists((1 - measured[ild]).tolist()),
    }


def _looked_up(known: Mapping[int, float | None], ids: IntArray) -> FloatArray:
    # None becomes NaN
    return np.array([known.get(at, nan) for at in ids.tolist()], dtype=np.float64)
