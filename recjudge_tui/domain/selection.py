"""Which cases and lists a report is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter


@dataclass(frozen=True)
class Segment:
    """One group of users or of contexts: the `members`, or with `others` everyone else; or a period. `groups` counts the
    groups that are looked at side by side. `imported`: only lists and texts that this import was the first to bring.
    """

    name: str
    of: Literal["user", "context", "period"]
    members: frozenset[str] = frozenset()
    others: bool = False
    groups: int = 1
    imported: int = 0

    def holds(self, user_id: str, context: str) -> bool:
        if self.of == "period":
            return True
        return ((user_id if self.of == "user" else context) in self.members) != self.others


@dataclass(frozen=True)
class CaseSelection:
    """The cases and lists of these occasions, with `systems` of these alone (pairs: of two of them) and, with a segment,
    of one group."""

    occasions: OccasionFilter = EVERY_OCCASION
    segment: Segment | None = None
    systems: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        """How many groups are looked at, by which claims are adjusted; 1 where there are none."""
        return 1 if self.segment is None else self.segment.groups

    @property
    def imported(self) -> int:
        """The import of whose lists these are; 0 for all."""
        return 0 if self.segment is None else self.segment.imported


EVERY_CASE = CaseSelection()


@dataclass(frozen=True)
class Selection:
    """What a figure is counted from: the verdicts of these raters (none: the usual ones; with `readers` everyone) under a
    protocol, about an aspect, on these cases. `crowd`: these raters' verdicts are one question, CROWD_OF_ALL for all people.
    `fine`: labels that roll up to another stay apart.
    """

    protocol: str | None = None
    aspect: str | None = None
    raters: tuple[str, ...] = ()
    readers: bool = False
    crowd: tuple[str, ...] = ()
    cases: CaseSelection = EVERY_CASE
    fine: bool = False

    @property
    def groups(self) -> int:
        return self.cases.groups
