"""What to read first: the cases that could change the conclusion of a project."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.filters import Term, VerdictFilter, whole_term
from recjudge_tui.project import Project
from recjudge_tui.reports.home import Home, Subject
from recjudge_tui.reports.verdict_list import listed_verdicts
from recjudge_tui.store.verdicts import EXPORTED, VerdictRow, exported_rows, verdict_rows

MOST = 20
# so many are looked at, and the rest is as the queue has it
_CANDIDATES = 400
_REASONING = EXPORTED.index("reasoning")


class First(NamedTuple):
    """A verdict to read, why it waits for a reader, and its reasoning."""

    row: VerdictRow
    reason: str
    reasoning: str


def read_first(project: Project, home: Home) -> tuple[First, ...]:
    """The first MOST cases, each once: what waits for a reader of the judge whose figures are shown, in the order of the
    queue, those about the two leading systems before the others; then what waits of other raters, and flagged lists."""
    about = home.subject or Subject()
    judge = whole_term("judge", about.rater) if about.rater else None
    own = VerdictFilter((*about.terms, *([judge] if judge else []), Term("queue", ":", "any")))
    every = VerdictFilter((Term("queue", ":", "any"),))
    flagged = VerdictFilter((Term("flag", ":", "any"), Term("triaged", ":", "no")))
    leading = {str(line["system"]) for line in (home.board.lines if home.board is not None else ())[:2]}

    def is_other(row: VerdictRow) -> bool:
        return not (leading <= {*row.systems} or (len(row.systems) == 1 and row.systems[0] in leading))

    found: dict[int, First] = {}
    for chosen in (own, every, flagged):
        if len(found) >= MOST:
            break
        queued = listed_verdicts(project.db, project.id, chosen)
        ids = queued.ids[:_CANDIDATES]
        why = {key: queued.reason(at) for at, key in enumerate(ids)}
        rows = verdict_rows(project.db, ids)
        # the order of the queue stays within both parts
        rows.sort(key=is_other)
        for row in rows:
            found.setdefault(row.case_id, First(row, why[row.verdict_id] or "flagged", ""))
    shown = list(found.values())[:MOST]
    said = exported_rows(project.db, [one.row.verdict_id for one in shown])
    return tuple(
        one._replace(reasoning=text[_REASONING] or "") for one, text in zip(shown, said, strict=True)
    )
