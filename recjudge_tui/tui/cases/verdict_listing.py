"""The list of verdicts on a screen: its filter and order, its first page, the rest, and additions by a run."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from textual import on
from textual.content import Content

from recjudge_tui.domain.filters import Term, VerdictFilter, parse_filter
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.progress import ActiveRun
from recjudge_tui.store.verdicts.attention import ATTENTION, Queue
from recjudge_tui.store.verdicts.listing import SORTS, count_verdicts, filtered_ids, first_ids, verdicts_on
from recjudge_tui.tui.cases.verdict_list import VerdictList
from recjudge_tui.tui.kit.base_screen import BaseScreen
from recjudge_tui.tui.kit.filter_bar import FilterBar
from recjudge_tui.tui.kit.glyphs import glyphs, number

FIRST_PAGE = 128
# the slower a list is to build, the less often it is rebuilt during a run
_REST = 10


class Listing(NamedTuple):
    """Verdict ids in order. `total` counts all verdicts without the filter; `starts` as in Queue."""

    ids: array[int]
    total: int
    starts: tuple[tuple[str, int], ...]


class VerdictListing(BaseScreen):
    """A screen with a `FilterBar`, and a `VerdictList` in a box `#verdicts`. With `only`, it lists nothing but the
    verdicts on these cases.

    `total` counts all verdicts of the project; it is None until the first list is read.
    """

    project_id: int
    only: tuple[int, ...] | None

    def __init__(self) -> None:
        super().__init__()
        self.sort = "id"
        self.chosen = VerdictFilter()
        self.total: int | None = None
        # the rows at which each reason of the queue begins
        self._starts: tuple[tuple[str, int], ...] = ()
        self._listing = False
        self._asked_at = 0.0
        self._rest_until = 0.0
        # the cursor's verdict before a first page was shown, and the verdict it was moved to
        self._anchor: int | None = None
        self._first_shown: int | None = None
        self._to_last = False
        self._live = False

    def listed(self) -> None:
        """The whole list is shown."""

    def run_ended(self) -> None:
        """The last active run of the project ended."""

    def relist(self, *, follow: bool, stay: bool = True, first: bool = False) -> None:
        """Read the list again. `first`: the list is a different one, so show a page of it until all of it is read."""
        self._listing, self._asked_at = True, time.monotonic()
        whole = partial(self._list_all, follow=follow, stay=stay)
        if first and self.only is None and not self.in_queue:
            page = partial(
                first_ids, project_id=self.project_id, chosen=self.chosen, sort=self.sort, limit=FIRST_PAGE
            )
            self.background.start("list", page, partial(self._show_first_page, whole))
        else:
            whole()
        self._title()

    @property
    def in_queue(self) -> bool:
        """Whether the list is the queue, or a part of it."""
        return bool(self.chosen.queue())

    def _list_all(self, *, follow: bool, stay: bool) -> None:
        job = partial(
            list_verdicts,
            project_id=self.project_id,
            chosen=self.chosen,
            sort=self.sort,
            only=self.only,
        )
        self.background.start("list", job, partial(self._show_listing, follow=follow, stay=stay))

    def _show_first_page(self, read_all: Callable[[], None], ids: array[int]) -> None:
        read_all()
        if ids:
            rows = self.query_one(VerdictList)
            self._anchor = self._anchor or rows.cursor_id
            rows.show(ids, follow=False)
            self._first_shown = rows.cursor_id

    def _show_listing(self, listing: Listing, *, follow: bool, stay: bool) -> None:
        self._listing = False
        took = time.monotonic() - self._asked_at
        self._rest_until = time.monotonic() + _REST * took
        self.total, self._starts = listing.total, listing.starts
        rows = self.query_one(VerdictList)
        # if the user has moved the cursor in the first page, it stays there
        moved = self._first_shown not in (None, rows.cursor_id)
        anchor = None if moved else self._anchor
        rows.show(listing.ids, follow=follow or moved, stay=stay, anchor=anchor)
        self._anchor = self._first_shown = None
        if self._to_last:
            self._to_last = False
            rows.action_last()
        self._title()
        self.listed()

    # ---- filter and order

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    def action_drop_chip(self) -> None:
        if self.chosen:
            self.query_one(FilterBar).apply(self.chosen.without_last().text())

    @on(FilterBar.Applied)
    def _filter(self, message: FilterBar.Applied) -> None:
        chosen = parse_filter(message.text)
        if chosen != self.chosen or self.total is None:
            self.chosen = chosen
            self.relist(follow=self.total is not None, stay=False, first=True)

    @on(FilterBar.Closed)
    def _back_to_list(self) -> None:
        self.query_one(VerdictList).focus()
        if self.total is None and not self._listing:
            # opened on a filter that could not be read
            self.relist(follow=False)

    def action_sort(self) -> None:
        names = list(SORTS)
        self.sort, self._starts = names[(names.index(self.sort) + 1) % len(names)], ()
        self.relist(follow=False, first=True)

    def action_queue(self) -> None:
        """Show the queue of what the filter lets through, or all of that."""
        chosen = self.chosen.without("queue")
        if not self.in_queue:
            chosen = VerdictFilter((*chosen.terms, Term("queue", ":", "any")))
        self.query_one(FilterBar).apply(chosen.text())

    def queue_reason(self) -> str:
        """Why the verdict under the cursor is in the queue; empty in other orders."""
        rows = self.query_one(VerdictList)
        return Queue(rows.ids, self._starts).reason(rows.cursor) if self._starts and rows.ids else ""

    # ---- an active run

    def _follow_run(self) -> None:
        """Show what a run wrote since the list was read: at the end if sorted by id, anywhere in other orders."""
        ids = self.query_one(VerdictList).ids
        if self.sort != "id" or self.in_queue or self.only is not None or not ids:
            self.relist(follow=True)
            return
        job = partial(list_more, project_id=self.project_id, chosen=self.chosen, after=ids[-1])
        self.background.start("list", job, self._show_more)

    def _show_more(self, more: tuple[array[int], int]) -> None:
        ids, self.total = more
        self.query_one(VerdictList).extend(ids)
        self._title()

    @on(VerdictList.WantsLast)
    def _wants_last(self) -> None:
        """The user asked for the end while only the beginning is read."""
        self._to_last = self._listing

    def _title(self) -> None:
        symbols, rows = glyphs(), self.query_one(VerdictList)
        count = "counting" if self._listing else f"{number(len(rows.ids))} of {number(self.total or 0)}"
        order = ATTENTION if self.in_queue and self.sort == "id" else self.sort
        self.query_one("#verdicts").border_title = Content(f"{count} {symbols.rule} sort: {order}")

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        ended, self._live = self._live and not live, live
        if ended:
            self.relist(follow=True)
            self.run_ended()
        elif live and not self._listing and time.monotonic() > self._rest_until:
            self._follow_run()


def list_verdicts(
    db: Database,
    project_id: int,
    chosen: VerdictFilter,
    sort: str,
    only: tuple[int, ...] | None,
) -> Listing:
    """With `only`, nothing but the verdicts on these cases is listed and counted."""
    starts: tuple[tuple[str, int], ...] = ()
    if chosen.queue():
        from recjudge_tui.reports.verdicts.listing import listed_verdicts

        ids, starts = listed_verdicts(db, project_id, chosen, sort)
    else:
        ids = filtered_ids(db, project_id, chosen, sort)
    if only is not None:
        kept = verdicts_on(db, only)
        return Listing(array("q", (identity for identity in ids if identity in kept)), len(kept), ())
    return Listing(ids, count_verdicts(db, project_id) if chosen else len(ids), starts)


def list_more(db: Database, project_id: int, chosen: VerdictFilter, after: int) -> tuple[array[int], int]:
    """(ids beyond `after`, verdicts of the project)."""
    return filtered_ids(db, project_id, chosen, after=after), count_verdicts(db, project_id)
