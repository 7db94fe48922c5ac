"""The records of the judges' results on the home. The app receives them from the process that computes them, and needs
no NumPy for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from recjudge_tui.reports.topics import Topic


class BoardLine(NamedTuple):
    """One system. `value` is Q, a mean or a share with its interval; the counts are None where no lists were compared.
    `cases` is the filter of the verdicts behind it."""

    system: str
    rank: int | None
    value: float | None
    low: float | None
    high: float | None
    wins: int | None
    ties: int | None
    losses: int | None
    n: int
    cases: str


class AlikePair(NamedTuple):
    """Two neighbours of a ranking whose order the verdicts do not show, and about how many more users would (None if no
    number would help or it is unknown). `why` is the reason if it is another than that a test does not separate them.
    """

    upper: str
    lower: str
    more: int | None
    why: str = ""


@dataclass(frozen=True)
class Board:
    """The ranking by one rater on the project's first question; empty without verdicts.

    `answer`: what it says, in one sentence. `figure` names the figure in `value`. `tested`: whether neighbours were compared by a test.
    """

    topic: Topic | None = None
    rater: str = ""
    figure: str = ""
    lines: tuple[BoardLine, ...] = ()
    tested: bool = False
    alike: tuple[AlikePair, ...] = ()
    answer: str = ""


@dataclass(frozen=True)
class PeopleAgreement:
    """A judge with people on the project's first question, and people with each other on the same cases.

    `value` and `ceiling` are None where undefined. `cases`: the filter
    of the cases on which they disagree. `about`: what must stand beside the reference.
    """

    stat: str = ""
    judge: str = ""
    people: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    ceiling: float | None = None
    ceiling_n: int = 0
    cases: str = ""
    about: str = ""


class FlagCount(NamedTuple):
    """`share` is `flagged` divided by `n` lists; None if undefined, with the reason in `note`.

    `cases` is the filter of the lists.
    """

    share: float | None
    flagged: int
    n: int
    cases: str
    note: str = ""


@dataclass(frozen=True)
class FlagShares:
    """The share of each system's lists that a judge flags, by kind; the first kind is any. Empty without flags."""

    rater: str = ""
    systems: tuple[str, ...] = ()
    kinds: tuple[tuple[str, dict[str, FlagCount]], ...] = ()


class TrendLine(NamedTuple):
    """One judged figure of a system, period by period, oldest first."""

    system: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Trend:
    """The trends of a project; empty if everything was judged in one period."""

    over: str = ""
    figure: str = ""
    periods: tuple[str, ...] = ()
    lines: tuple[TrendLine, ...] = ()
