"""The numbers of a figure with its caption and title, before it is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.figures.options import Choice, Topic

_EMPTY = Table("", (), ())


@dataclass(frozen=True)
class FigureContent:
    """`table` has every number of the figure; undefined ones are None with the reason in `note`.

    `caption` explains the intervals and gives the number of cases.
    """

    title: str
    caption: str
    table: Table


@dataclass(frozen=True)
class FigureData:
    """One figure of a project. Without rows, `notes` say why there is nothing to draw."""

    name: str
    topic: Topic
    title: str
    caption: str = ""
    table: Table = _EMPTY
    choices: Mapping[str, Choice] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    selection: CaseSelection = EVERY_CASE

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.table.rows

    def chosen(self, name: str) -> str:
        """The value of an option; empty if the figure does not have it."""
        return self.choices[name].value if name in self.choices else ""


def whole(value: object) -> int:
    """A count in a report's row; 0 if there is none."""
    return value if isinstance(value, int) else 0


def real(value: object) -> float | None:
    """A number in a report's row; None if it is undefined."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def rows_by_system(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each system, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row["system"]), []).append(row)
    return groups
