"""The pane with the list of verdicts: its filter and order, its first page, the full list, and additions by a run."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database
from recjudge_tui.store.filters import check_filter_names
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.store.triage import count_triaged
from recjudge_tui.store.verdicts import (
    ATTENTION,
    SORTS,
    Queue,
    VerdictRow,
    count_verdicts,
    filtered_ids,
    first_ids,
    verdict_rows,
    verdicts_on,
)
from recjudge_tui.tui.cases.verdict_line import header_line
from recjudge_tui.tui.cases.verdict_list import VerdictList
from recjudge_tui.tui.kit.background import Background
from recjudge_tui.tui.kit.glyphs import bar, glyphs, number
from recjudge_tui.tui.kit.host import host_of

FIRST_PAGE = 128
# the slower a list is to build, the less often it is rebuilt during a run
_REST = 10


class Listing(NamedTuple):
    """Verdict ids in order. `total` counts all verdicts without the filter; `starts` as in Queue. `unknown`: what the filter
    names and the project does not have."""

    ids: array[int]
    total: int
    starts: tuple[tuple[str, int], ...]
    unknown: str = ""


class VerdictPane(Vertical):
    """A `VerdictList` below its header, in a box that says how many verdicts are listed, in what order, and how many have
    a decision.

    With `only`, it lists nothing but the verdicts on these cases. `total` counts all verdicts of the project; it is None
    until the first list is read.
    """

    class ListShown(Message):
        """The whole list is shown."""

    class Moved(Message):
        """The cursor is on another verdict."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, VerdictPane.Moved)

    class RunEnded(Message):
        """The last active run of the project ended."""

    def __init__(self, project_id: int, only: tuple[int, ...] | None) -> None:
        super().__init__(id="verdicts")
        self.project_id = project_id
        self.only = only
        self.rows = VerdictList(self._read, id="verdict-list")
        self.sort = "id"
        self.chosen = VerdictFilter()
        self.total: int | None = None
        # the rows at which each reason of the queue begins
        self._starts: tuple[tuple[str, int], ...] = ()
        self._unknown = ""
        self._listing = False
        self._asked_at = 0.0
        self._rest_until = 0.0
        # the cursor's verdict before a first page was shown, and the verdict it was moved to
        self._anchor: int | None = None
        self._first_shown: int | None = None
        self._to_last = False
        self._live = False
        # the number of decisions that the queue left out when it was built
        self._decided_before: int | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="verdict-header")
        yield self.rows

    @cached_property
    def background(self) -> Background:
        host = host_of(self)
        return Background(self, host.db_path, host.show_error)

    def on_unmount(self) -> None:
        self.background.stop()

    def _read(self, ids: Sequence[int]) -> list[VerdictRow]:
        return verdict_rows(host_of(self).db, ids)

    # ---- reading the list

    def list_all(self) -> None:
        """Show the first rows at once, and read the whole list in a worker."""
        if self.only is None:
            self.rows.show(filtered_ids(host_of(self).db, self.project_id, limit=FIRST_PAGE))
        self.relist(follow=True)

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
            self._anchor = self._anchor or self.rows.cursor_id
            self.rows.show(ids, follow=False)
            self._first_shown = self.rows.cursor_id

    def _show_listing(self, listing: Listing, *, follow: bool, stay: bool) -> None:
        self._listing = False
        took = time.monotonic() - self._asked_at
        self._rest_until = time.monotonic() + _REST * took
        self.total, self._starts, self._unknown = listing.total, listing.starts, listing.unknown
        rows = self.rows
        # if the user has moved the cursor on the first page, it stays there
        moved = self._first_shown not in (None, rows.cursor_id)
        anchor = None if moved else self._anchor
        rows.show(listing.ids, follow=follow or moved, stay=stay, anchor=anchor)
        self._anchor = self._first_shown = None
        if self._to_last:
            self._to_last = False
            rows.action_last()
        self._title()
        self._decided_before = None
        self.count_decisions()
        self.post_message(self.ListShown())

    # ---- filter and order

    def choose(self, chosen: VerdictFilter) -> None:
        """List the verdicts that match this filter; nothing is read again if it is the filter of the list shown."""
        if chosen != self.chosen or self.total is None:
            self.chosen = chosen
            self.relist(follow=self.total is not None, stay=False, first=True)

    def list_if_never_listed(self) -> None:
        """Read the list if none was read because the filter on opening was invalid."""
        if self.total is None and not self._listing:
            self.relist(follow=False)

    def next_order(self) -> None:
        names = list(SORTS)
        self.sort, self._starts = names[(names.index(self.sort) + 1) % len(names)], ()
        self.relist(follow=False, first=True)

    @property
    def whole_list(self) -> array[int] | None:
        """The listed verdicts, with those decided on since; None while the list is being read."""
        return None if self._listing else array("q", self.rows.ids)

    @property
    def in_queue(self) -> bool:
        """Whether the list is the queue, or a part of it."""
        return bool(self.chosen.queue())

    def queue_reason(self) -> str:
        """Why the verdict under the cursor is in the queue; empty in other orders."""
        rows = self.rows
        return Queue(rows.ids, self._starts).reason(rows.cursor) if self._starts and rows.ids else ""

    def reason_for_none(self) -> str:
        """The reason why nothing is listed, and the key that helps."""
        if self.in_queue:
            return (
                "The queue is empty: every disagreement, flip, uncertain verdict and failure has a decision.\n"
                "Q shows all verdicts; / flag:any shows those with flagged items."
            )
        if self.chosen:
            why = f": {self._unknown}" if self._unknown else "."
            return f"No verdict matches{why} Press / to change the filter, backspace to remove its last part."
        return "No verdicts yet. Press r, then n, to start a run, and i to import labels."

    # ---- an active run

    def follow_runs(self, active: Sequence[ActiveRun]) -> None:
        """Show what the active runs of the project wrote since the list was read, if that does not take too long."""
        live = any(run.project_id == self.project_id for run in active)
        ended, self._live = self._live and not live, live
        if ended:
            self.relist(follow=True)
            self.post_message(self.RunEnded())
        elif live and not self._listing and time.monotonic() > self._rest_until:
            self._list_more()

    def _list_more(self) -> None:
        """Add new verdicts: at the end if sorted by id, anywhere in other orders."""
        ids = self.rows.ids
        if self.sort != "id" or self.in_queue or self.only is not None or not ids:
            self.relist(follow=True)
            return
        job = partial(list_more, project_id=self.project_id, chosen=self.chosen, after=ids[-1])
        self.background.start("list", job, self._show_more)

    def _show_more(self, more: tuple[array[int], int]) -> None:
        ids, self.total = more
        self.rows.extend(ids)
        self._title()

    # ---- the progress of triage

    def count_decisions(self) -> None:
        """Count the verdicts of the list with a decision, and show how far triage has come once it has begun."""
        job = partial(
            count_triaged, project_id=self.project_id, chosen=self.chosen.without("queue"), only=self.only
        )
        self.background.start("count", job, self._show_progress)

    def _show_progress(self, triaged: int) -> None:
        if self._decided_before is None:
            self._decided_before = triaged
        total = len(self.rows.ids) + (self._decided_before if self.in_queue else 0)
        progress = ""
        if triaged and total:
            progress = f"{number(triaged)}/{number(total)} triaged {bar(triaged / total, 8, glyphs())}"
        self.border_subtitle = Content(progress)

    # ---- the box

    @on(VerdictList.Moved)
    def _moved(self, message: VerdictList.Moved) -> None:
        # Textual does not pass on messages of a list to the screen while its parent shows rows in it
        message.stop()
        self.post_message(self.Moved())

    @on(VerdictList.WantsLast)
    def _wants_last(self) -> None:
        """The user asked for the end, but only the beginning has been read."""
        self._to_last = self._listing

    @on(VerdictList.Resized)
    def _header(self) -> None:
        self.query_one("#verdict-header", Static).update(Content(" " + header_line(self.rows.columns)))

    def _title(self) -> None:
        count = "counting" if self._listing else f"{number(len(self.rows.ids))} of {number(self.total or 0)}"
        order = ATTENTION if self.in_queue and self.sort == "id" else self.sort
        self.border_title = Content(f"{count} {glyphs().rule} sort: {order}")


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
        from recjudge_tui.reports.verdict_list import listed_verdicts

        ids, starts = listed_verdicts(db, project_id, chosen, sort)
    else:
        ids = filtered_ids(db, project_id, chosen, sort)
    if only is not None:
        kept = verdicts_on(db, only)
        return Listing(array("q", (identity for identity in ids if identity in kept)), len(kept), ())
    total = count_verdicts(db, project_id) if chosen else len(ids)
    return Listing(ids, total, starts, "" if ids else _unknown(db, project_id, chosen))


def _unknown(db: Database, project_id: int, chosen: VerdictFilter) -> str:
    """What a filter names and the project does not have, and what it has instead."""
    try:
        check_filter_names(db, project_id, chosen)
    except NotFoundError as error:
        return f"{error.title}. {error.cause}"
    return ""


def list_more(db: Database, project_id: int, chosen: VerdictFilter, after: int) -> tuple[array[int], int]:
    """(ids beyond `after`, verdicts of the project)."""
    return filtered_ids(db, project_id, chosen, after=after), count_verdicts(db, project_id)
