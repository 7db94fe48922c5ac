"""The judges' results in short: the ranking and the pairs it does not separate, agreement with people, flags, and
trends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple, cast

from recjudge_tui.domain.filters import Term, VerdictFilter, whole_term
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.selection import EVERY_CASE
from recjudge_tui.project import Project
from recjudge_tui.reports.common.scales import combined_notes
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.declare import on_cases, table_of
from recjudge_tui.reports.home.results import (
    AlikePair,
    Board,
    BoardLine,
    FlagCount,
    FlagShares,
    PeopleAgreement,
    Trend,
    TrendLine,
)
from recjudge_tui.reports.topics import Asked, Topic, asked, topic_terms, topics
from recjudge_tui.reports.trend import FLAGS
from recjudge_tui.shapes import ANY_ISSUE
from recjudge_tui.stats.registry import label_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import DataCounts
from recjudge_tui.store.ratings import project_raters


class Subject(NamedTuple):
    """The project's first question, and the rater whose answers are shown: the judge of the newest run if it
    answered.
    """

    context: Asked
    rater: str

    @property
    def topic(self) -> Topic:
        return self.context.topic

    def cases(self, *terms: Term) -> str:
        """The filter of the rater's verdicts on the question."""
        about = topic_terms(self.context.topics, self.topic)
        return VerdictFilter((*about, whole_term("judge", self.rater), *terms)).text()


def subject(db: Database, project_id: int, judge: str) -> Subject | None:
    """The subject of the figures; None without verdicts. `judge`: the rater of the newest run."""
    project = Project.numbered(db, project_id)
    known = topics(project)
    if not known:
        return None
    context = asked(project, known[0], known)
    if not context.raters:
        return None
    return Subject(context, judge if judge in context.raters else context.raters[0])


def board(db: Database, project_id: int, about: Subject) -> Board:
    """The ranking of the report "leaderboard" by one rater on one question, and the neighbours it does not separate."""
    topic = about.topic
    kind = protocol_facts(topic.protocol).leaderboard
    project = Project.numbered(db, project_id)
    table = table_of(project, "leaderboard", protocol=topic.protocol, aspect=topic.aspect, rater=about.rater)
    rows = [row for row in table.rows if row.get("opponent") is None]
    if kind == "shares":
        # the first row of each system is about its best label
        rows = [next(alike) for _, alike in groupby(rows, key=lambda row: row["system"])]
        rows.sort(key=lambda row: (_maybe(row["share"]) is None, -(_maybe(row["share"]) or 0.0)))
        lines = [_line(about, {**row, "score": row["share"], "rank": None}) for row in rows]
        return Board(
            topic,
            about.rater,
            f"share of {rows[0]['label']}" if rows else "",
            tuple(lines),
            answer=table.answer,
        )
    facts = cast("list[dict[str, Any]]", table.facts.get("neighbours", []))
    alike = [AlikePair(f["upper"], f["lower"], f["more"], f["note"]) for f in facts if not f["separable"]]
    lines = [_line(about, row) for row in rows]
    figure = {"wins": "win rate", "means": "mean"}[kind]
    return Board(topic, about.rater, figure, tuple(lines), bool(facts), tuple(alike), table.answer)


def _line(about: Subject, row: Row) -> BoardLine:
    system = str(row["system"])
    return BoardLine(
        system,
        _count(row["rank"]),
        _maybe(row["score"]),
        _maybe(row["ci_low"]),
        _maybe(row["ci_high"]),
        _count(row.get("wins")),
        _count(row.get("ties")),
        _count(row.get("losses")),
        _count(row["n"]) or 0,
        about.cases(whole_term("system", system)),
    )


def people_agreement(db: Database, project_id: int, about: Subject) -> PeopleAgreement:
    """The rater's agreement with the best reference, as in the report on agreement; empty if people judged none of
    its cases.
    """
    people = [name for name in about.context.people if name != about.rater]
    if not people or about.rater in about.context.people:
        return PeopleAgreement()
    rows = table_of(
        Project.numbered(db, project_id), "agreement", protocol=about.topic.protocol, aspect=about.topic.aspect,
        raters=(about.rater, people[0]),
    ).rows  # fmt: skip
    if not rows or not rows[0]["n"]:
        return PeopleAgreement()
    row = rows[0]
    disagree = (whole_term("judge", people[0]), Term("why", ":", "disagree"))
    return PeopleAgreement(
        label_of(str(row["stat"])),
        about.rater,
        people[0],
        _maybe(row["value"]),
        _maybe(row["ci_low"]),
        _maybe(row["ci_high"]),
        _count(row["n"]) or 0,
        _maybe(row["ceiling"]),
        _count(row["ceiling_n"]) or 0,
        about.cases(*disagree),
        "; ".join(combined_notes([project_raters(db, project_id)[people[0]]])),
    )


def flag_shares(db: Database, project_id: int, about: Subject) -> FlagShares:
    """The flags of the rater of the other figures if it flags items, else of the first rater that does."""
    rows = table_of(Project.numbered(db, project_id), "flags").rows
    raters = list(dict.fromkeys(str(row["rater"]) for row in rows))
    if not raters:
        return FlagShares()
    rater = about.rater if about.rater in raters else raters[0]
    own = [row for row in rows if row["rater"] == rater]
    kinds: dict[str, dict[str, FlagCount]] = {}
    for row in own:
        terms = [Term("protocol", ":", str(row["protocol"])), whole_term("judge", rater)]
        terms += [Term("flag", ":", str(row["issue"])), whole_term("system", str(row["system"]))]
        count = FlagCount(
            _maybe(row["share"]),
            _count(row["count"]) or 0,
            _count(row["n"]) or 0,
            VerdictFilter(tuple(terms)).text(),
            str(row["note"]),
        )
        kinds.setdefault(str(row["issue"]), {})[str(row["system"])] = count
    ordered = sorted(
        kinds.items(),
        key=lambda kind: (kind[0] != ANY_ISSUE, -sum(count.flagged for count in kind[1].values())),
    )
    return FlagShares(rater, tuple(dict.fromkeys(str(row["system"]) for row in own)), tuple(ordered))


def trend(db: Database, project_id: int, about: Subject, data: DataCounts) -> Trend:
    """The rater's figure of each system over days, or over imports if no list has a time."""
    over = "day" if data.last_served else "import"
    table = on_cases(
        Project.numbered(db, project_id), "trend", EVERY_CASE, over=over, protocol=about.topic.protocol, rater=about.rater,
        aspect=about.topic.aspect, metrics=("none",),
    )  # fmt: skip
    rows = [
        row
        for row in table.rows
        if row["figure"] != FLAGS
        and row["opponent"] is None
        and row["rater"] == about.rater
        and row["value"] is not None
    ]
    # a system of one import or day alone has no trend
    times = Counter(str(row["system"]) for row in rows)
    rows = [row for row in rows if times[str(row["system"])] > 1]
    periods = tuple(dict.fromkeys(str(row["period"]) for row in rows))
    if not rows:
        return Trend()
    return Trend(over, str(rows[0]["figure"]), periods, tuple(_trend_lines(rows)))


def _trend_lines(rows: list[Row]) -> Iterator[TrendLine]:
    by_system: dict[str, list[float]] = {}
    for row in rows:
        if (value := _maybe(row["value"])) is not None:
            by_system.setdefault(str(row["system"]), []).append(value)
    for system, values in by_system.items():
        yield TrendLine(system, tuple(values))


def _maybe(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None
