"""Loads the tables of the Agreement screen, in the background."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from recjudge_tui.domain.filters import Term, VerdictFilter, occasion_terms
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.figures.options import Topic, project_topics, topic_terms
from recjudge_tui.stats.agreement.registry import STATISTICS, usual_statistic
from recjudge_tui.store.database import Database

DEFAULT_LEVEL = "dataset"


class AgreementChoice(NamedTuple):
    """What the user chose to see; empty or None where the default holds. `readers`: with those who override verdicts."""

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
    """The tables about the topic chosen on these occasions, or about the project's first if there is none of that name.

    An empty statistic means quadratic weighted kappa, or Pearson's correlation for scores. If the method does not fit the
    topic, the default is used, and so it is for a level over groups that the statistic does not have.
    Loads NumPy and SciPy and resamples, so call it in a worker. Raises NotFoundError for an unknown context.
    """
    from recjudge_tui.reports.agreement.agreement import agreement_table
    from recjudge_tui.reports.common.pairing import AgreementOptions
    from recjudge_tui.reports.common.scales import categories, is_people
    from recjudge_tui.reports.common.segments import segmented
    from recjudge_tui.reports.leaderboard.leaderboard import METHODS, LeaderboardOptions, leaderboard_table
    from recjudge_tui.store.verdicts.ratings import project_raters

    raters = project_raters(db, project_id)
    topics = project_topics(db, project_id)
    people = frozenset(rater.name for rater in raters.values() if is_people(rater))
    chosen = choice.topic if choice.topic in topics else next(iter(topics), None)
    stat, level = choice.stat, choice.level
    if chosen is None:
        return Agreement((), None, choice.stat, choice.level, people, (), "", None, None)
    ordered = chosen not in categories(db, project_id)
    stat = stat or usual_statistic(not protocol_facts(chosen.protocol).scores, ordered=ordered)
    level = level if STATISTICS[stat].correlation else DEFAULT_LEVEL
    fitting = tuple(
        name for name, ranking in METHODS.items() if ranking.of_pairs == compares_lists(chosen.protocol)
    )
    ranking = LeaderboardOptions(
        chosen.protocol,
        aspect=chosen.aspect,
        method=choice.method if choice.method in fitting else "" if ordered else "share",
        readers=choice.readers,
    )
    compared = AgreementOptions(
        chosen.protocol, chosen.aspect, stats=(stat,), levels=(level,), readers=choice.readers
    )

    def ranked(cases: CaseSelection) -> Table:
        return leaderboard_table(db, project_id, replace(ranking, selection=cases))

    def paired(cases: CaseSelection) -> Table:
        return agreement_table(db, project_id, replace(compared, selection=cases))

    board = segmented(db, project_id, ranked, occasions=occasions)
    return Agreement(
        topics,
        chosen,
        stat,
        level,
        people,
        fitting,
        str(board.settings.get("method", "")),
        segmented(db, project_id, paired, occasions=occasions),
        board,
        occasions,
    )


def pair_filter(agreement: Agreement, rater_a: str, rater_b: str) -> str:
    """The filter for the cases on which raters disagree, showing the verdicts of two raters."""
    judges = (Term("judge", ":", rater_a), Term("judge", ":", rater_b))
    return VerdictFilter((*_terms(agreement), *judges, Term("why", ":", "disagree"))).text()


def board_filter(agreement: Agreement, row: Row) -> str:
    """The verdicts behind one row of the ranking; without a system, all of its rater."""
    terms = [
        Term(term, ":", str(row[key]))
        for term, key in (("judge", "rater"), ("system", "system"))
        if key in row
    ]
    return VerdictFilter((*_terms(agreement), *terms)).text()


def _terms(agreement: Agreement) -> tuple[Term, ...]:
    assert agreement.topic is not None
    return topic_terms(agreement.topics, agreement.topic) + occasion_terms(agreement.occasions)
