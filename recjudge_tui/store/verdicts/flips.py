"""How often a judge's answer about two lists changes when their order is swapped."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.filters import Term, VerdictFilter, whole_term
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.roles import REVIEWED
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import about_systems, sql_list


class FlipCount(NamedTuple):
    """`flips` of `n` verdicts of a judge on pairs asked in both orders depended on the order."""

    rater: str
    protocol: str
    aspect: str
    flips: int
    n: int

    @property
    def share(self) -> float:
        return self.flips / self.n

    @property
    def cases(self) -> str:
        """The filter of the verdicts that flip."""
        protocol, aspect = Term("protocol", ":", self.protocol), Term("aspect", ":", self.aspect)
        flips = (protocol, aspect, whole_term("judge", self.rater), Term("why", ":", "swap"))
        return VerdictFilter(flips).text()


def flip_counts(db: Database, project_id: int) -> tuple[FlipCount, ...]:
    """One count for each judge and protocol, on the aspect `overall`, or else the first aspect by name.

    The newest judge comes first. Reads an index of all verdicts.
    """
    rows = db.rows(
        f"""SELECT r.name, v.protocol, v.aspect, sum(v.order_consistent = 0), count(*) AS n
            FROM raters r JOIN verdicts v INDEXED BY verdicts_by_question ON v.rater_id = r.id AND v.rater_id > 0
            WHERE r.project_id = ? AND r.kind IN {sql_list(REVIEWED)} AND v.order_consistent IS NOT NULL
              AND {about_systems("v.protocol")}
            GROUP BY r.id, v.protocol, v.aspect ORDER BY r.id DESC, v.protocol, v.aspect <> '{OVERALL}', v.aspect""",
        (project_id,),
    )
    first: dict[tuple[str, str], FlipCount] = {}
    for row in rows:
        first.setdefault((row[0], row[1]), FlipCount(*row))
    return tuple(first.values())
