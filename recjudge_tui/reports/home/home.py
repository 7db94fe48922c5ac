"""The home of a project: its data, its judges' results, their agreement with people, and what needs a reader. It is
read in parts, fast ones first, so that a screen can show each part at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.reports.home.gaps import Gap, Step, gaps, steps
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_name, project_overview
from recjudge_tui.store.runs import NewestRun, newest_runs

# each part imports what it reads, so that the app paints its first screen without all of that
if TYPE_CHECKING:
    from recjudge_tui.reports.home.judged import Subject
    from recjudge_tui.reports.home.results import Board, FlagShares, PeopleAgreement, Trend
    from recjudge_tui.store.answers import FlipCount
    from recjudge_tui.store.projects import DataCounts

RUNS_NAMED = 6


class Totals(NamedTuple):
    """`judge`: the rater of the newest run with verdicts about systems.

    Without such a run it is empty and `run` is None.
    """

    cases: int
    verdicts: int
    flagged: int
    runs: int
    run: int | None
    judge: str


class QueueSize(NamedTuple):
    """How many verdicts wait for a reader for one reason, and the filter that lists them."""

    reason: str
    size: int
    cases: str


class QueueSizes(NamedTuple):
    """The queue of `run` if it has one, else of all runs (None)."""

    run: int | None
    sizes: tuple[QueueSize, ...]

    @property
    def total(self) -> int:
        return sum(size.size for size in self.sizes)


@dataclass(frozen=True)
class Home:
    """The parts in the order in which they are read; None: not read yet."""

    totals: Totals | None = None
    runs: tuple[NewestRun, ...] | None = None
    data: DataCounts | None = None
    queue: QueueSizes | None = None
    flips: tuple[FlipCount, ...] | None = None
    board: Board | None = None
    agreement: PeopleAgreement | None = None
    flags: FlagShares | None = None
    trend: Trend | None = None
    untitled: int | None = None

    @property
    def missing_part(self) -> str | None:
        """The next part to read; None if all have been read."""
        return next((name for name in _PARTS if getattr(self, name) is None), None)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The missing data, as far as the parts have been read."""
        if self.data is None:
            return ()
        untitled = self.untitled if self.data.items_described else 0
        more = (Gap(f"{untitled:,} items of lists without a title", "import"),) if untitled else ()
        return (*gaps(self.data), *more)

    def steps(self, project: str) -> tuple[Step, ...]:
        """The steps left before there is a conclusion.

        Empty once a judge has given verdicts, or if the project consists of imported labels only.
        """
        if self.data is None or self.totals is None or self.totals.run is not None:
            return ()
        alone = self.data.labels and not (self.data.lists or self.data.explanations)
        return () if alone else steps(project, self.data)


def with_next_part(db: Database, project_id: int, home: Home) -> Home:
    """The home with one more part. The later ones read all verdicts and resample users, so call it in a worker."""
    part = home.missing_part
    if part is None:
        return home
    if part == "totals":
        project_name(db, project_id)
    read: dict[str, object] = {part: _PARTS[part](db, project_id, home)}
    return replace(home, **read)  # type: ignore[arg-type]


def _totals(db: Database, project_id: int, _: Home) -> Totals:
    from recjudge_tui.store.verdicts import newest_judged_run

    (row,) = project_overview(db, project_id)
    run = newest_judged_run(db, project_id)
    newest = (None, "") if run is None else run
    return Totals(row["cases"], row["verdicts"], row["flagged"], row["runs"], *newest)


def _runs(db: Database, project_id: int, _: Home) -> tuple[NewestRun, ...]:
    return newest_runs(db, project_id, RUNS_NAMED)


def _data(db: Database, project_id: int, _: Home) -> DataCounts:
    from recjudge_tui.store.projects import data_counts

    return data_counts(db, project_id)


def _queue(db: Database, project_id: int, home: Home) -> QueueSizes:
    """The queue with which the list of verdicts opens: that of the newest run, or of all runs if it is empty."""
    from recjudge_tui.domain.filters import QUEUED, Term, VerdictFilter
    from recjudge_tui.reports.verdict_list import listed_verdicts

    assert home.totals is not None
    for run in dict.fromkeys((home.totals.run, None)):
        about = () if run is None else (Term("run", ":", str(run)),)
        every = VerdictFilter((*about, Term("queue", ":", "any")))
        by_reason = listed_verdicts(db, project_id, every).sizes()
        sizes = tuple(
            QueueSize(reason, size, VerdictFilter((*about, Term("queue", ":", name))).text())
            for name, (reason, size) in zip(QUEUED, by_reason.items(), strict=True)
            if size
        )
        if sizes:
            return QueueSizes(run, sizes)
    return QueueSizes(None, ())


def _flips(db: Database, project_id: int, _: Home) -> tuple[FlipCount, ...]:
    from recjudge_tui.store.answers import flip_counts

    return flip_counts(db, project_id)


def _subject(db: Database, project_id: int, home: Home) -> Subject | None:
    from recjudge_tui.reports.home.judged import subject

    assert home.totals is not None
    return subject(db, project_id, home.totals.judge) if home.totals.verdicts else None


def _board(db: Database, project_id: int, home: Home) -> Board:
    from recjudge_tui.reports.home.judged import board
    from recjudge_tui.reports.home.results import Board

    about = _subject(db, project_id, home)
    return Board() if about is None else board(db, project_id, about)


def _agreement(db: Database, project_id: int, home: Home) -> PeopleAgreement:
    from recjudge_tui.reports.home.judged import people_agreement
    from recjudge_tui.reports.home.results import PeopleAgreement

    about = _subject(db, project_id, home)
    return PeopleAgreement() if about is None else people_agreement(db, project_id, about)


def _flags(db: Database, project_id: int, home: Home) -> FlagShares:
    from recjudge_tui.reports.home.judged import flag_shares
    from recjudge_tui.reports.home.results import FlagShares

    assert home.totals is not None
    about = _subject(db, project_id, home) if home.totals.flagged else None
    return FlagShares() if about is None else flag_shares(db, project_id, about)


def _trend(db: Database, project_id: int, home: Home) -> Trend:
    from recjudge_tui.reports.home.judged import trend
    from recjudge_tui.reports.home.results import Trend

    assert home.data is not None
    # one import of lists without times is one period
    over_time = home.data.last_served or home.data.imports > 1
    about = _subject(db, project_id, home) if over_time else None
    return Trend() if about is None else trend(db, project_id, about, home.data)


def _untitled(db: Database, project_id: int, home: Home) -> int:
    from recjudge_tui.store.projects import unknown_items

    assert home.data is not None
    return unknown_items(db, project_id) if home.data.items_described and home.data.lists else 0


_PARTS: dict[str, Callable[[Database, int, Home], object]] = {
    "totals": _totals,
    "runs": _runs,
    "data": _data,
    "queue": _queue,
    "flips": _flips,
    "board": _board,
    "agreement": _agreement,
    "flags": _flags,
    "trend": _trend,
    "untitled": _untitled,
}
