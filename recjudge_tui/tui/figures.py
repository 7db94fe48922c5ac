"""What the agreement screen asks of the reports, in the background; nothing is computed here."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.model.filters import Term, VerdictFilter
from recjudge_tui.reports.table import Row, Table
from recjudge_tui.store.database import Database

DEFAULT_STAT = "qwk"
_SCORES = "explanation"
_ENDINGS = {".csv": "csv", ".json": "json", ".md": "md", ".tex": "latex", ".html": "html", ".txt": "text"}


class Topic(NamedTuple):
    """One question: what was asked under `protocol` about `aspect`."""

    protocol: str
    aspect: str

    def words(self) -> str:
        return f"{self.protocol} {self.aspect}"


class Figures(NamedTuple):
    """The two tables about one topic. `people` are the raters whose agreement with each other is the ceiling.

    `topic` is None, and the tables are too, while nobody has judged anything.
    """

    topics: tuple[Topic, ...]
    topic: Topic | None
    stat: str
    people: frozenset[str]
    protocols: tuple[str, ...]
    agreement: Table | None
    board: Table | None


def figures(db: Database, project_id: int, topic: Topic | None, stat: str) -> Figures:
    """The figures about `topic`; None, or one that is gone: the one most raters answered, `overall` first.

    An empty `stat` is quadratic weighted kappa, and Pearson's correlation for scores of explanations.
    Loads NumPy and SciPy and resamples, so call it in a worker.
    """
    from recjudge_tui.reports.agreement import AgreementOptions, agreement_table
    from recjudge_tui.reports.leaderboard import LeaderboardOptions, leaderboard_table
    from recjudge_tui.reports.scales import is_people, protocols_meeting
    from recjudge_tui.store.ratings import load_ratings

    ratings = load_ratings(db, project_id)
    raters: dict[Topic, int] = {}
    for question in ratings.verdicts:
        asked = Topic(question.protocol, question.aspect)
        raters[asked] = raters.get(asked, 0) + 1
    topics = tuple(sorted(raters, key=lambda t: (t.aspect != "overall", -raters[t], t)))
    people = frozenset(rater.name for rater in ratings.raters.values() if is_people(rater))
    chosen = topic if topic in raters else next(iter(topics), None)
    if chosen is None:
        return Figures((), None, stat or DEFAULT_STAT, people, (), None, None)
    stat = stat or ("pearson" if chosen.protocol == _SCORES else DEFAULT_STAT)
    options = AgreementOptions(protocol=chosen.protocol, aspect=chosen.aspect, stats=(stat,))
    return Figures(
        topics,
        chosen,
        stat,
        people,
        tuple(
            name
            for name in protocols_meeting(chosen.protocol) or ()
            if any(t.protocol == name for t in topics)
        ),
        agreement_table(db, project_id, options),
        leaderboard_table(db, project_id, LeaderboardOptions(chosen.protocol, aspect=chosen.aspect)),
    )


def pair_filter(found: Figures, rater_a: str, rater_b: str) -> str:
    """The verdicts of two raters on the cases where raters disagree."""
    terms = [
        *_about(found),
        Term("judge", ":", rater_a),
        Term("judge", ":", rater_b),
        Term("why", ":", "disagree"),
    ]
    return VerdictFilter(tuple(terms)).text()


def board_filter(found: Figures, row: Row) -> str:
    """The verdicts behind one row of the ranking."""
    terms = [*_about(found), Term("judge", ":", str(row["rater"])), Term("system", ":", str(row["system"]))]
    return VerdictFilter(tuple(terms)).text()


def _about(found: Figures) -> list[Term]:
    assert found.topic is not None
    terms = [Term("protocol", ":", name) for name in found.protocols]
    if len({topic.aspect for topic in found.topics if topic.protocol in found.protocols}) > 1:
        terms.append(Term("aspect", ":", found.topic.aspect))
    return terms


def export(table: Table, path: Path) -> tuple[str, ...]:
    """Write the table in the format that the file's ending names; gives what must be told about it.

    Raises UsageError for another ending, RecjudgeError when the file exists, StoreError when it cannot be written.
    """
    from recjudge_tui.reports.table import Screen, render, save_text

    fmt = _ENDINGS.get(path.suffix.lower())
    if fmt is None:
        raise UsageError(
            f"no format for “{path.name}”", "The ending of the file says it.", f"Use {' '.join(_ENDINGS)}."
        )
    if path.exists():
        raise RecjudgeError(f"{path} exists already", next_step="Press e again and give another name.")
    written = render(table, fmt, Screen(width=100))
    save_text(written.text, path)
    return written.notes
