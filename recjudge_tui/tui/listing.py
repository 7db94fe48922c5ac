"""How the list of verdicts comes about in the background, and the messages that bring it."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from textual.message import Message

from recjudge_tui.model.filters import VerdictFilter
from recjudge_tui.store.attention import queue
from recjudge_tui.store.case_sets import verdicts_on
from recjudge_tui.store.database import Database
from recjudge_tui.store.triage import count_verdicts, filtered_ids

ATTENTION = "attention"


class FirstPage(Message):
    """What to show of a list until all of it is known; `asked` tells lists apart, `then` reads the rest."""

    def __init__(self, ids: array[int], asked: int, then: Callable[[], None]) -> None:
        super().__init__()
        self.ids, self.asked, self.then = ids, asked, then


class Listed(Message):
    """The list for a filter and a sort; `total` is all verdicts of the project, `starts` as in Queue."""

    def __init__(
        self, ids: array[int], total: int, starts: tuple[tuple[str, int], ...], *, follow: bool, stay: bool
    ) -> None:
        super().__init__()
        self.ids, self.total, self.starts, self.follow, self.stay = ids, total, starts, follow, stay


class Counted(Message):
    """How many verdicts of the list are decided about."""

    def __init__(self, triaged: int) -> None:
        super().__init__()
        self.triaged = triaged


def list_verdicts(
    db: Database,
    project_id: int,
    chosen: VerdictFilter,
    sort: str,
    since: array[int] | None,
    only: tuple[int, ...] | None,
) -> tuple[array[int], int, tuple[tuple[str, int], ...]]:
    """(ids, verdicts of the project, starts of the reasons). With `since`, the list so far, only what came after it
    is read; with `only`, nothing but the verdicts on these cases is listed."""
    starts: tuple[tuple[str, int], ...] = ()
    if sort == ATTENTION:
        from recjudge_tui.reports.hostile_texts import suspect_cases

        ids, starts = queue(db, project_id, chosen, suspect_cases(db, project_id))
    elif since:
        ids = since + filtered_ids(db, project_id, chosen, sort, after=since[-1])
    else:
        ids = filtered_ids(db, project_id, chosen, sort)
    if only is not None:
        kept = verdicts_on(db, only)
        return array("q", (identity for identity in ids if identity in kept)), len(kept), ()
    return ids, count_verdicts(db, project_id) if chosen or starts else len(ids), starts
