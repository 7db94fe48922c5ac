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
from recjudge_tui.reports.common.table import Column, Row, Table, columns, definition
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.words import about_base, categories, interval_text, wide
from recjudge_tui.shapes import Side, base, pairs, under_protocol
from recjudge_tui.stats.arrays import FloatArray, IntArray, encode, none_if_nan, ratio
from recjudge_tui.stats.defaults import LEVEL
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.hypotheses import holm_claims
from recjudge_tui.stats.intervals import ratio_of_sums
from recjudge_tui.stats.registry import NO_ORDER
from recjudge_tui.stats.retrieval import list_values
from recjudge_tui.store import ratings as rated
from recjudge_tui.store.data import text_lengths
from recjudge_tui.store.histories import load_evaluation_data, ranked_slates
from recjudge_tui.store.raters import rater_row

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
    "rater", "truth|Against", "protocol aspect?", "covariate|Covariate", "figure|Slope of", "value|Slope|float",
    "ci_*", "n users?", "sd|(SD)|float", "finding|Finding", "note",
)  # fmt: skip
_LINE = ("rater", "truth", "protocol", "aspect")
# of each case its covariate, of its second list too if it has two: (cases,), NaN where unknown
_Covariate = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Slope:
    """The slope of one question on one covariate, perhaps beyond a truth. `x` and `y` are within users; those without a
    difference are left out."""

    question: rated.Question
    covariate: str
    beyond: bool
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
    """One row per rater, question and covariate: the slope of the rating and, of the cases that somebody of the truth
    judged, the slope beyond it; read as one row a rater and question. Without a rater everyone but metrics, readers and
    people with few labels. `finding` says in which direction the interval of a slope points, after Holm's correction for
    all rows. Raises NotFoundError for an unknown rater, UsageError if the rater is the truth."""
    for name in choose.truth:
        rater_row(project.db, project.id, name)
    if choose.rater in choose.truth:
        raise UsageError(f"“{choose.rater}” cannot be compared with itself")
    chosen = base(project, choose.selection(), newest=False)
    asked = tuple(q for q in chosen.questions if choose.aspect or q.aspect == OVERALL or _of_texts(q))
    if not choose.rater:
        asked = tuple(q for q in asked if q.rater not in choose.truth and not chosen.rater(q).of_metrics)
    slopes = _slopes(project, asked, choose)
    found = [slope.estimate() for slope in slopes]

    def excluded(level: float) -> list[bool | None]:
        again = found if level == LEVEL else [slope.estimate(level) for slope in slopes]
        ends = [(estimate.ci_low, estimate.ci_high) for estimate in again]
        return [None if low is None or high is None else not low <= 0 <= high for low, high in ends]

    against = ", ".join(choose.truth)
    rows: list[Row] = [
        {
            **slope.question._asdict(), "truth": against if slope.beyond else "", "covariate": slope.covariate,
            "figure": BEYOND if slope.beyond else RATING, **estimate.cells, "users": np.unique(slope.user).size,
            "sd": none_if_nan(slope.sd), "finding": _finding(slope, estimate, against, claimed=claimed),
        }
        for slope, estimate, claimed in zip(slopes, found, holm_claims(excluded, LEVEL), strict=True)
    ]  # fmt: skip
    notes: list[str] = [definition(FORMULA), definition(COVARIATE_NOTE)] if rows else []
    notes += [] if rows else ["no rating of lists or texts yet"]
    several = f"finding: the interval excludes 0 after Holm's correction for {len(rows)} rows"
    notes += [definition(several)] if len(rows) > 1 else []
    notes += about_base(replace(chosen, questions=asked))
    shown = [row for row in rows if str(row["finding"]).startswith("favours")]
    favours = dict.fromkeys(f"{row['rater']} {row['finding']}" for row in shown)
    why = join_notes(*(str(row["note"]) for row in rows if row["value"] is None))
    measured = any(row["value"] is not None for row in rows)
    none = "No preference is shown." if measured else f"Nothing could be measured: {why}."
    said = f"{'; '.join([*favours][:3])}." if favours else none if rows else ""

    def slope_text(row: Row) -> str:
        value = row["value"]
        return f"{value:+.2f} [{interval_text(row, 'float')}]" if isinstance(value, float) else "–"

    lines = wide(rows, " ".join(_LINE), lambda row: row["covariate"], slope_text)
    for line in lines:
        own = (r for r in rows if r["ci_low"] is None and all(r[key] == line[key] for key in _LINE))
        line["note"] = join_notes(*(str(row["note"]) for row in own))
    met = [name for name in COVARIATES if any(name in line for line in lines)]
    heads = columns(*(f"{name}|{name}" for name in ("rater", "protocol", "aspect", *met)), "note")
    brief = Table("Biases", (heads[0], Column("truth", "beyond"), *heads[1:]), tuple(lines))
    settings = {"truth": against, "k": choose.k}
    return Table("Biases", _COLUMNS, tuple(rows), tuple(notes), settings, answer=said, brief=brief)


def _of_texts(question: rated.Question) -> bool:
    return protocol_facts(question.protocol).unit == "explanation"


def _finding(slope: Slope, estimate: Estimate, truth: str, *, claimed: bool) -> str:
    if estimate.ci_low is None:
        return "unknown"
    if not claimed:
        return "no difference shown" if slope.beyond else "no preference shown"
    more, less = COVARIATES[slope.covariate]
    than = f" more than {truth}" if slope.beyond else ""
    what = "texts" if _of_texts(slope.question) else "lists"
    return f"favours {more if (estimate.value or 0) > 0 else less} {what}{than}"


def _slopes(project: Project, questions: Sequence[rated.Question], choose: Options) -> list[Slope]:
    """The slopes of these questions on every covariate that their cases can have, those beyond the truth after their own."""
    raters = rated.project_raters(project.db, project.id)
    others = [q for q in rated.project_questions(project.db, project.id) if q.rater in choose.truth]
    ratings = rated.load_questions(project.db, project.id, [*questions, *others], choose.cases)
    known = covariates(project, ratings, choose.k)
    unordered = categories(project)
    slopes: list[Slope] = []
    for question in questions:
        alike = [q for q in under_protocol(others, raters, question.protocol) if q.aspect == question.aspect]
        reason = NO_ORDER if question[1:] in unordered else ""
        for name in ("length",) if _of_texts(question) else COVARIATES:
            for beside in ([], alike) if alike else ([],):
                slopes.append(_slope(ratings, question, beside, name, known[name], reason))
    return slopes


def _slope(
    ratings: rated.Ratings, question: rated.Question, truth: Sequence[rated.Question], name: str,
    covariate: _Covariate, reason: str,
) -> Slope:  # fmt: skip
    cases = ratings.cases
    values = pairs(cases, [Side(ratings.verdicts[q]) for q in (question, *truth)]).wide
    y, given = values[0], ~np.isnan(values[1:])
    if truth:
        y = y - ratio(np.where(given, values[1:], 0.0).sum(axis=0), given.sum(axis=0).astype(np.float64))
    first, second = covariate
    x = np.where(cases.is_pair, first - second, first)
    known = ~np.isnan(x) & ~np.isnan(y)
    rows = np.flatnonzero(known if cases.selected is None else known & cases.selected)
    x, y, user = x[rows], y[rows], cases.user[rows]
    shown = np.concatenate([first[rows], second[rows][cases.is_pair[rows]]])
    sd = float(shown.std()) if shown.size else nan
    owner, _ = encode(user)
    count = np.bincount(owner)
    of_user = (np.bincount(owner, weights=part)[owner] / count[owner] for part in (x, y))
    centred = zip((x, y), of_user, strict=True)
    x, y = (np.where(cases.is_pair[rows], part, part - mean) for part, mean in centred)
    differ = np.abs(x) > 1e-9 * max(1.0, float(np.abs(shown).max(initial=0.0)))
    kept = np.isin(user, user[differ])
    if not reason and not rows.size:
        reason = f"no judged case has a known {name}"
    if not reason and not kept.any():
        reason = f"within a user, all have the same {name}"
    scale = sd if sd > 0 else 1.0
    return Slope(question, name, bool(truth), x[kept] / scale, y[kept], user[kept], sd, reason)


def covariates(project: Project, ratings: rated.Ratings, k: int) -> Mapping[str, _Covariate]:
    """Covariate -> its values for the cases of these ratings."""
    content = rated.judged_content(project.db, project.id, ratings.cases.ids)
    judged = np.unique(np.concatenate([np.zeros(0, np.int64), *(v.row for v in ratings.verdicts.values())]))
    slates = np.unique(np.concatenate([content.slate_a[judged], content.slate_b[judged]]))
    ranked = dict(ranked_slates(project.db, project.id, slates[slates > 0].tolist()))
    data = load_evaluation_data(project.db, project.id)
    ild = "ild" if any(data.categories.values()) else "title_ild"
    measured = list_values(list(ranked.values()), data, k, (ild, "popularity"))

    def of_lists(values: Sequence[float]) -> _Covariate:
        known: dict[int, float | None] = dict(zip(ranked, values, strict=True))
        return _looked_up(known, content.slate_a), _looked_up(known, content.slate_b)

    titles = ([data.titles.get(item) or item for item in shown.items[:k]] for shown in ranked.values())
    lengths = [float(sum(map(len, shown))) for shown in titles]
    sizes = text_lengths(project.db, project.id)
    texts = [sizes.get(at, (nan, nan)) for at in content.explanation.tolist()]
    of_titles, of_texts = of_lists(lengths), np.array(texts, dtype=np.float64).reshape(-1, 2).T
    items = [float(len(shown.items[:k])) for shown in ranked.values()]
    a_title = [total / n if n else nan for total, n in zip(lengths, items, strict=True)]
    return {
        "items": of_lists(items),
        "titles": of_lists(a_title),
        "length": (np.where(content.explanation > 0, of_texts[0], of_titles[0]), of_titles[1]),
        "words": (of_texts[1], of_texts[1]),
        "popularity": of_lists(measured["popularity"].tolist()),
        "homogeneity": of_lists((1 - measured[ild]).tolist()),
    }


def _looked_up(known: Mapping[int, float | None], ids: IntArray) -> FloatArray:
    # None becomes NaN
    return np.array([known.get(at, nan) for at in ids.tolist()], dtype=np.float64)
