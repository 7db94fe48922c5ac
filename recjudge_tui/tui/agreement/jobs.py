"""Loads the tables of the Agreement screen, in the background."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.filters import Term, VerdictFilter, occasion_terms, whole_term
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.topics import Topic, topic_terms, topics
from recjudge_tui.stats.registry import STATISTICS
from recjudge_tui.store.database import Database

DEFAULT_LEVEL = "dataset"


class AgreementChoice(NamedTuple):
    """What the user chose to see; empty or None means the default. `readers`: with those who override verdicts, and
    with people who have labelled only a few cases."""

    topic: Topic | None = None
    stat: str = ""
    method: str = ""
    level: str = DEFAULT_LEVEL
    readers: bool = False


class Agreement(NamedTuple):
    """The two tables about one topic. `people` are the raters whose agreement with each other is the human ceiling.

    `methods` are the rankings that fit the topic; `level` says whether the agreement is over all cases or a mean over
    groups. The topic and both tables are None as long as there are no verdicts.
    """

    topics: tuple[Topic, ...]
    topic: Topic | None
    stat: str
    level: str
    people: frozenset[str]
    methods: tuple[str, ...]
    method: str
    pairs: Table | None
    board: Table | None
    occasions: OccasionFilter = EVERY_OCCASION


def load_agreement(
    db: Database,
    project_id: int,
    choice: AgreementChoice,
    occasions: OccasionFilter = EVERY_OCCASION,
) -> Agreement:
    """The tables about the chosen topic on these occasions, or about the project's first topic if the chosen one does
    not exist.

    An empty statistic means quadratic weighted kappa, or Pearson's correlation for scores. The default is used if the
    method does not fit the topic, or the statistic does not have the chosen level. Loads NumPy and SciPy and
    resamples, so call it in a worker. Raises NotFoundError for an unknown context.
    """
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.scales import categories, is_people, statistic_of
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.reports.leaderboard import methods_of
    from recjudge_tui.store.ratings import project_raters

    raters = project_raters(db, project_id)
    project = Project.numbered(db, project_id)
    known = topics(project)
    people = frozenset(rater.name for rater in raters.values() if is_people(rater))
    topic = choice.topic if choice.topic in known else next(iter(known), None)
    if topic is None:
        return Agreement((), None, choice.stat, choice.level, people, (), "", None, None)
    stat = choice.stat or statistic_of(db, project_id, *topic)
    level = choice.level if STATISTICS[stat].correlation else DEFAULT_LEVEL
    methods = methods_of(topic.protocol)
    usual = "" if topic not in categories(db, project_id) else "share"
    method = choice.method if choice.method in methods else usual
    about = {
        "protocol": topic.protocol, "aspect": topic.aspect, "readers": choice.readers, "context": occasions.contexts,
        "from_": occasions.start, "to": occasions.end,
    }  # fmt: skip
    board = table_of(project, "leaderboard", method=method, **about)
    pairs = table_of(project, "agreement", stat=(stat,), level=(level,), **about)
    used = str(board.settings.get("method", ""))
    return Agreement(known, topic, stat, level, people, methods, used, pairs, board, occasions)


def pair_filter(agreement: Agreement, rater_a: str, rater_b: str) -> str:
    """The filter for the cases on which raters disagree, showing the verdicts of two raters."""
    judges = (whole_term("judge", rater_a), whole_term("judge", rater_b))
    return VerdictFilter((*_terms(agreement), *judges, Term("why", ":", "disagree"))).text()


def board_filter(agreement: Agreement, row: Row, outcome: str = "system") -> str:
    """The filter for the verdicts behind one row of the ranking; without a system, for all verdicts of its rater.

    `outcome`: only `won`, `tied` or `lost` ones.
    """
    terms = [
        whole_term(term, str(row[key]))
        for term, key in (("judge", "rater"), (outcome, "system"))
        if key in row
    ]
    return VerdictFilter((*_terms(agreement), *terms)).text()


def _terms(agreement: Agreement) -> tuple[Term, ...]:
    assert agreement.topic is not None
    return topic_terms(agreement.topics, agreement.topic) + occasion_terms(agreement.occasions)
