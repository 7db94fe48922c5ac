"""Diversity beside relevance: how varied each system's lists are, and how its lists were rated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts, with_unit
from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.estimate_cells import estimate_cells, interval_columns
from recjudge_tui.reports.common.missing_notes import earlier_notes
from recjudge_tui.reports.common.scales import is_metric, rater_notes, value_bounds
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.label_shares import share_table
from recjudge_tui.reports.leaderboard.leaderboard import ranked_questions
from recjudge_tui.reports.leaderboard.measured_lists import ListsOfSystems
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import RESAMPLES, TOP_K
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.intervals import SHARE, mean_estimate, mean_estimates
from recjudge_tui.stats.retrieval import offline
from recjudge_tui.stats.retrieval.list_metrics import RankedList, categories_of
from recjudge_tui.stats.retrieval.redundancy import NEAR, category_coverage, near_duplicates, title_ild
from recjudge_tui.stats.text.words import plain_words
from recjudge_tui.store.cases.metric_inputs import ranked_slates
from recjudge_tui.store.data.catalogue import systems
from recjudge_tui.store.data.heldout import item_categories, item_titles, lists_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.generations import lists_of_generation, newest_judged
from recjudge_tui.store.verdicts.ratings import Question, Ratings, load_ratings, newest_lists

ILD, TITLE_ILD, NEAR_DUPLICATES, COVERAGE = "ild", "title_ild", "near_duplicates", "category_coverage"
MEASURES = (ILD, TITLE_ILD, NEAR_DUPLICATES, COVERAGE)
REASONS = {
    ILD: "fewer than two items with categories",
    TITLE_ILD: "fewer than two items with titles",
    NEAR_DUPLICATES: "an empty list",
    COVERAGE: "no item with a category",
}
ABOUT = (
    "ild: mean over pairs of a list's items of 1 - the share of categories they have in common",
    "title_ild: the same for the words of their titles",
    f"near_duplicates: share of items that have {NEAR:.0%} of their words and a category in common with an item above",
    "category_coverage: share of the catalogue's categories that a list shows",
    "every measure is a mean over lists; interval over users, each with all their lists",
)
_COLUMNS = (
    Column("system", "System"),
    Column("measure", "Measure"),
    Column("rater", "Rater"),
    Column("aspect", "Aspect", minor=True),
    Column("label", "Label"),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("note", "Note"),
)


@dataclass(frozen=True)
class Catalogue:
    """What the measures need besides the lists: item -> categories, item -> words of the title."""

    categories: Mapping[str, frozenset[str]]
    words: Mapping[str, frozenset[str]]

    def categorised(self) -> bool:
        """Whether any item has a category."""
        return any(self.categories.values())


class SystemDiversity(NamedTuple):
    """The lists of one system: the user of each, and the value of each measure for it, NaN if undefined."""

    users: tuple[str, ...]
    values: Mapping[str, FloatArray]


def load_catalogue(db: Database, project_id: int) -> Catalogue:
    """The project's items. Words of unspaced scripts are single characters."""
    return Catalogue(
        {item: categories_of(text) for item, text in item_categories(db, project_id).items()},
        {
            item: frozenset(plain_words(title, "characters"))
            for item, title in item_titles(db, project_id).items()
        },
    )


def measure_lists(
    lists: Sequence[RankedList], catalogue: Catalogue, k: int, wanted: Sequence[str] = MEASURES
) -> SystemDiversity:
    """The requested measures of the first k items of each list."""
    total = len(frozenset().union(*catalogue.categories.values()))
    measures = {
        ILD: lambda items: offline.ild(items, catalogue.categories, k),
        TITLE_ILD: lambda items: title_ild(items, catalogue.words, k),
        NEAR_DUPLICATES: lambda items: near_duplicates(items, catalogue.words, catalogue.categories, k),
        COVERAGE: lambda items: category_coverage(items, catalogue.categories, k, total),
    }
    values = {
        name: np.array([measures[name](ranked.items) for ranked in lists], dtype=np.float64)
        for name in wanted
    }
    return SystemDiversity(tuple(ranked.user_id for ranked in lists), values)


def diversity_table(
    db: Database,
    project_id: int,
    k: int = TOP_K,
    rater: str = "",
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Table:
    """For each system, one row per measure of its lists' first k items, then one per rater and label (`share`) or per
    rater (`score`).

    Values are means over lists or cases with an interval over users. `rater` empty: everyone who judged lists.
    Lists for which a measure is undefined are left out and counted. Raises NotFoundError for an unknown rater.
    """
    if rater:
        rater_row(db, project_id, rater)
    raters, protocols = [rater] if rater else None, with_unit("list")
    ratings = load_ratings(db, project_id, raters=raters, protocols=protocols, newest=False)
    lists = None
    judges = [q for q in ratings.verdicts if not is_metric(ratings.raters[q.rater])]
    if (lifetimes := ratings.cases.lifetimes) is not None and judges:
        # one generation for all figures in the table: the newest that anybody judged; metrics do not count as judges
        judged = np.concatenate([ratings.verdicts[question].row for question in judges])
        generation = newest_judged(lifetimes, judged)
        ratings = newest_lists(ratings, generation)
        lists = _lists_of_generation(db, project_id, generation)
    if lists is None:
        lists = {name: list(lists_of(db, project_id, name)) for name in systems(db, project_id)}
    rows = list(_list_rows(db, project_id, lists, k, resamples))
    for name in with_unit("list"):
        questions = ranked_questions(ratings, name)
        if protocol_facts(name).scores:
            rows += _scores(db, project_id, ratings, questions, resamples, seed)
        else:
            shares = share_table(db, project_id, ratings, questions, name, resamples=resamples, seed=seed)
            rows += [_share(row) for row in shares.rows]
    rows.sort(key=lambda row: str(row["system"]))
    notes = [*ABOUT] if lists else ["no lists yet: import them with “recjudge import FILE --as lists”"]
    if not any(row["rater"] for row in rows):
        notes.append("no lists have been rated yet")
    notes += earlier_notes(ratings, judges)
    notes += rater_notes(ratings.raters[question.rater] for question in ratings.verdicts)
    settings = {"k": k, "resamples": resamples, "seed": seed}
    return Table(f"Diversity beside relevance, first {k}", _COLUMNS, tuple(rows), tuple(notes), settings)


def _lists_of_generation(db: Database, project_id: int, generation: int) -> dict[str, list[RankedList]]:
    by_system = lists_of_generation(db, project_id, generation)
    ranked = dict(ranked_slates(db, project_id, [slate for slates in by_system.values() for slate in slates]))
    return {name: [ranked[slate] for slate in slates] for name, slates in by_system.items()}


def _list_rows(
    db: Database, project_id: int, of_system: ListsOfSystems, k: int, resamples: int
) -> Iterator[Row]:
    catalogue = load_catalogue(db, project_id)
    diversities = {name: measure_lists(lists, catalogue, k) for name, lists in of_system.items()}
    codes = {
        user: at
        for at, user in enumerate({user: 0 for lists in diversities.values() for user in lists.users})
    }
    columns = [
        (lists.values[measure], _coded(lists.users, codes))
        for lists in diversities.values()
        for measure in MEASURES
    ]
    means = iter(mean_estimates(*map(list, zip(*columns, strict=True)), [SHARE] * len(columns)) if columns else ())
    for name, lists in diversities.items():
        for measure in MEASURES:
            yield _row(name, measure, _explained(measure, next(means), len(lists.users)))


def _coded(users: Sequence[str], codes: Mapping[str, int]) -> IntArray:
    return np.array([codes[user] for user in users], dtype=np.int64)


def _explained(measure: str, estimate: Estimate, lists: int) -> Estimate:
    if estimate.n == 0:
        return undefined(f"for {quantity(lists, 'list')} of {lists:,}: {REASONS[measure]}")
    left_out = (
        f"{lists - estimate.n} of {lists} lists left out: {REASONS[measure]}" if estimate.n < lists else ""
    )
    return Estimate(
        estimate.value,
        estimate.ci_low,
        estimate.ci_high,
        estimate.n,
        note=join_notes(estimate.note, left_out),
    )


def _row(system: str, measure: str, estimate: Estimate, rater: str = "", aspect: str = "") -> Row:
    return {
        "system": system,
        "measure": measure,
        "rater": rater,
        "aspect": aspect,
        "label": "",
        **estimate_cells(estimate),
    }


def _share(row: Row) -> Row:
    shared = ("system", "rater", "aspect", "label", "ci_low", "ci_high", "n", "note")
    return {"measure": "share", "value": row["share"]} | {name: row[name] for name in shared}


def _scores(
    db: Database,
    project_id: int,
    ratings: Ratings,
    questions: Iterable[Question],
    resamples: int,
    seed: int,
) -> Iterator[Row]:
    """The mean score of each system by each rater, without metrics."""
    for question in questions:
        if is_metric(ratings.raters[question.rater]):
            continue
        verdicts, cases = ratings.verdicts[question], ratings.cases
        bounds = value_bounds(db, project_id, question, verdicts.value)
        of_system = cases.system_a[verdicts.row]
        for system in np.unique(of_system):
            here = of_system == system
            estimate = mean_estimate(
                verdicts.value[here], cases.user[verdicts.row[here]], bounds
            )
            yield _row(cases.systems[system], "score", estimate, question.rater, question.aspect)
