"""The list of verdicts: its columns, its filter and orders, and a case in one line."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from recjudge_tui.domain.filters import HINT, VerdictFilter, parse_filter
from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import OVERALL, protocol_facts, smallest_disagreement
from recjudge_tui.domain.roles import REVIEWED
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.filters import check_filter_names
from recjudge_tui.store.triage import count_triaged
from recjudge_tui.store.verdicts import (
    ATTENTION,
    SORTS,
    VerdictRow,
    count_verdicts,
    filtered_ids,
    first_ids,
    newest_judged_run,
    run_has_confidences,
    verdict_rows,
    verdicts_on,
)
from recjudge_tui.tui.row_list import Column, RowList, shared_prefix
from recjudge_tui.tui.screens import FilterBar, Working, host_of
from recjudge_tui.tui.widgets import (
    GLYPHS,
    Values,
    bar,
    fraction,
    middle,
    number,
    score,
    short_label,
)

# ---- the cells of a verdict --------------------------------------------------------------------------------------


_WIDEST_SYSTEMS = 44


def why(row: VerdictRow) -> str:
    """Why the verdict is worth reading, the strongest reason first; empty if there is none.

    `disagree 2/1`: two raters give one answer and one gives another. Scores of explanations show their spread instead.
    """
    reasons = [f"#{one_line(tag, 20)}" for tag in row.triage.tags]
    if row.failed:
        reasons.append(row.error_kind.replace("_", " ") or "failed")
    against = _against_people(row)
    if row.disagrees and protocol_facts(row.protocol).unit == "explanation" and row.spread is not None:
        reasons.append(f"spread {row.spread:.3g}")
    elif against:
        reasons.append(against)
    elif row.disagrees:
        reasons.append("disagree " + "/".join(str(votes) for votes in row.votes))
    if row.flipped:
        reasons.append("flips on swap")
    if row.flag_count:
        reasons.append(row.issue.replace("_", " ") or "flag")
        if row.flag_count > 1:
            # of this kind or of another
            reasons[-1] += f" +{row.flag_count - 1}"
    if row.reviewed and not row.triage.decision:
        reasons.append("reviewed")
    return ", ".join(reasons)


def _against_people(row: VerdictRow) -> str:
    if row.rater_kind not in REVIEWED or row.value is None or row.failed:
        return ""
    least, people = smallest_disagreement(row.protocol), sum(label_count.n for label_count in row.people)
    apart = sum(label_count.n for label_count in row.people if abs(label_count.value - row.value) >= least)
    return "" if not apart else "against people" if apart == people else f"against {apart} of {people} people"


def systems_text(row: VerdictRow, width: int, prefix: str = "") -> str:
    """`als ◂ cooc`: the sign points to the system that was chosen; a single system by its name. Names lose the prefix."""
    names = [one_line(name.removeprefix(prefix), 60) for name in row.systems]
    if len(names) < 2:
        return middle(names[0] if names else "", width)
    sign = GLYPHS.empty
    if row.flipped:
        sign = GLYPHS.swapped
    elif row.value is not None and not row.failed:
        sign = GLYPHS.first if row.value > 0 else GLYPHS.crumb if row.value < 0 else "="
    room = width - cell_len(sign) - 2
    left = max(room - cell_len(names[1]), room // 2)
    first = middle(names[0], left)
    return f"{first} {sign} {middle(names[1], room - cell_len(first))}"


def label_text(row: VerdictRow) -> str:
    """`A .41`; of an overridden verdict both values: `Poor→Good`."""
    text = short_label(row.label) if protocol_facts(row.protocol).labels else ""
    label = GLYPHS.failed if row.failed else one_line(text, 30) or score(row.value)
    if row.triage.decision == "override":
        return f"{label}{GLYPHS.to}{one_line(short_label(row.triage.label), 20)}"
    return (
        f"{label} {fraction(row.confidence, '').lstrip('0') or '0'}" if row.confidence is not None else label
    )


def people_text(row: VerdictRow) -> str:
    """`A A` or `Good×2 Poor`: what each person said, the most frequent answer first."""
    given = []
    for label_count in row.people:
        label = one_line(short_label(label_count.label), 12) or score(label_count.value)
        short = len(label) == 1 and label_count.n < 4
        times = f"{GLYPHS.times}{label_count.n}" if label_count.n > 1 else ""
        given.append(" ".join([label] * label_count.n) if short else label + times)
    return " ".join(given)


def mark(row: VerdictRow) -> tuple[str, str]:
    """The decision, or whether one is open, and its kind."""
    decided = {
        "accept": (GLYPHS.reviewed, "reviewed"),
        "dismiss": (GLYPHS.failed, "dim"),
        "override": (GLYPHS.overridden, "reviewed"),
    }
    if row.triage.decision:
        return decided[row.triage.decision]
    return (GLYPHS.marked, "failed" if row.failed else "marked") if why(row) else (" ", "")


@lru_cache(maxsize=16)
def _width_apart(names: frozenset[str]) -> int:
    """The width from which names, shortened in the middle, are all different; that of the widest if there is none."""
    for width in range(3, _WIDEST_SYSTEMS):
        if len({middle(name, width) for name in names}) == len(names):
            return width
    return _WIDEST_SYSTEMS


# ---- the list ----------------------------------------------------------------------------------------------------


FIRST_PAGE = 128
# the slower a list is to build, the less often it is rebuilt during a run
_REST = 10


class Listing(NamedTuple):
    """Verdict ids in order. `total` counts all verdicts without the filter; `unknown`: what the filter
    names and the project does not have."""

    ids: array[int]
    total: int
    unknown: str = ""


class VerdictList(Working, RowList[VerdictRow]):
    """The verdicts of a project that match `chosen`, in the order `sort`, in a box that says how many these are and
    how many have a decision. With `only`, nothing but the verdicts on these cases; `given`: nothing but these, in
    this order. `total` counts all verdicts of the project; it is None until the first list is read."""

    # the footer has no room for it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "read", show=False, key_display="enter", id="list.open")
    ]

    class ListShown(Message):
        """The whole list is shown."""

    class RunEnded(Message):
        """The last active run of the project ended."""

    def __init__(
        self, project_id: int, only: tuple[int, ...] | None = None, given: tuple[int, ...] = ()
    ) -> None:
        columns: tuple[Column[VerdictRow], ...] = (
            Column("mark", lambda row, _: mark(row), 1),
            Column("user", lambda row, _: (row.user_id, ""), 14, 6, rank=3, middle=True),
            Column("occasion", self._occasion, 24, 11, rank=6),
            Column("item", lambda row, _: (row.item, ""), 26, 6, rank=4),
            Column("systems", self._systems, _WIDEST_SYSTEMS, 8),
            Column("rater", self._rater, 18, 6, rank=1, middle=True),
            Column("aspect", self._aspect, 16, 5, rank=5),
            Column("judge", lambda row, _: (label_text(row), "failed" if row.failed else ""), 18, 5),
            Column("people", lambda row, _: (people_text(row), ""), 14, 6, rank=2),
            Column("why", lambda row, _: (why(row), mark(row)[1] if why(row) else ""), 60, 14),
        )
        super().__init__(columns, lambda row: row.verdict_id, self._rows_of, id="verdicts")
        self.project_id, self.only, self._given = project_id, only, given
        self.sort = "id"
        self.chosen = VerdictFilter()
        self.total: int | None = None
        self._prefix, self._several_raters = "", False
        self._unknown = ""
        self._listing = False
        self._asked_at = self._rest_until = 0.0
        # the cursor's verdict before a first page was shown, and the verdict it was moved to
        self._anchor: int | None = None
        self._first_shown: int | None = None
        self._to_last = self._live = False
        # the number of decisions that the queue left out when it was built
        self._decided_before: int | None = None

    # ---- its cells

    def _rows_of(self, ids: Sequence[int]) -> list[VerdictRow]:
        return verdict_rows(host_of(self).db, ids)

    def sampled(self, rows: Sequence[VerdictRow]) -> Mapping[str, int]:
        self._prefix = shared_prefix([name for row in rows for name in row.systems])
        self._several_raters = len({row.rater for row in rows}) > 1
        needs = dict(super().sampled(rows)) | {"mark": 1}
        names = frozenset(
            one_line(name.removeprefix(self._prefix), 60) for row in rows for name in row.systems
        )
        apart, paired = _width_apart(names), any(len(row.systems) > 1 for row in rows)
        return needs | {"systems<": 2 * apart + 3 if paired else apart}

    def heading(self, column: Column[VerdictRow]) -> str:
        if column.name == "systems" and self._prefix:
            return f"{one_line(self._prefix, 30)}{GLYPHS.cut}"
        return super().heading(column)

    def _occasion(self, row: VerdictRow, _: int) -> tuple[str, str]:
        return (occasion_text(row.occasion) if row.several_occasions else ""), ""

    def _systems(self, row: VerdictRow, width: int) -> tuple[str, str]:
        return systems_text(row, width, self._prefix), ""

    def _rater(self, row: VerdictRow, _: int) -> tuple[str, str]:
        return (row.rater if self._several_raters else ""), "dim"

    def _aspect(self, row: VerdictRow, _: int) -> tuple[str, str]:
        return ("" if row.aspect == OVERALL else row.aspect.replace("_", " ")), ""

    # ---- reading it

    def list_all(self) -> None:
        """Show the first rows at once, and read the whole list in a worker."""
        if self.only is None:
            self.show(filtered_ids(host_of(self).db, self.project_id, limit=FIRST_PAGE))
        self.relist(follow=True)

    def relist(self, *, follow: bool, stay: bool = True, first: bool = False) -> None:
        """Read the list again. `first`: the list is a different one, so show a page of it until all of it is read."""
        self._listing, self._asked_at = True, time.monotonic()
        whole = partial(self._list_all, follow=follow, stay=stay)
        if first and self.only is None and not self.in_queue:
            about = (self.project_id, self.chosen, self.sort, FIRST_PAGE)
            page = partial(self._show_first_page, whole)
            self.background.start("list", lambda db: first_ids(db, *about), page)
        else:
            whole()
        self._title()

    def _list_all(self, *, follow: bool, stay: bool) -> None:
        about = (self.project_id, self.chosen, self.sort, self.only, self._given)
        show = partial(self._show_listing, follow=follow, stay=stay)
        self.background.start("list", lambda db: list_verdicts(db, *about), show)

    def _show_first_page(self, read_all: Callable[[], None], ids: array[int]) -> None:
        read_all()
        if ids:
            self._anchor = self._anchor or self.cursor_id
            self.show(ids, follow=False)
            self._first_shown = self.cursor_id

    def _show_listing(self, listing: Listing, *, follow: bool, stay: bool) -> None:
        self._listing = False
        took = time.monotonic() - self._asked_at
        self._rest_until = time.monotonic() + _REST * took
        self.total, self._unknown = listing.total, listing.unknown
        # if the user has moved the cursor on the first page, it stays there
        moved = self._first_shown not in (None, self.cursor_id)
        self.show(listing.ids, follow=follow or moved, stay=stay, anchor=None if moved else self._anchor)
        self._anchor = self._first_shown = None
        if self._to_last:
            self.action_last()
        self._title()
        self._decided_before = None
        self.count_decisions()
        self.post_message(self.ListShown())

    def action_last(self) -> None:
        super().action_last()
        # the end may not have been read yet
        self._to_last = self._listing

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
        self.sort = names[(names.index(self.sort) + 1) % len(names)]
        self.relist(follow=False, first=True)

    @property
    def whole_list(self) -> array[int] | None:
        """The listed verdicts, with those decided on since; None while the list is being read."""
        return None if self._listing else array("q", self.ids)

    @property
    def in_queue(self) -> bool:
        """Whether the list is the queue, or a part of it."""
        return bool(self.chosen.queue())

    def reason_for_none(self) -> str:
        """The reason why nothing is listed, and the key that helps."""
        if self.in_queue:
            return (
                "The queue is empty: every disagreement, flip, uncertain verdict and failure has a decision.\n"
                "Q shows all verdicts; / flag:any shows those with flagged items."
            )
        if self.chosen:
            because = f": {self._unknown}" if self._unknown else "."
            return f"No verdict matches{because} Press / to change the filter, backspace to remove its last part."
        return "No verdicts yet. Press r, then n, to start a run, and i to import labels."

    # ---- an active run

    def follow_runs(self, active: Sequence[StoredRow]) -> None:
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
        if self.sort != "id" or self.in_queue or self.only is not None or not self.ids:
            self.relist(follow=True)
            return
        project, chosen, after = self.project_id, self.chosen, self.ids[-1]

        def job(db: Database) -> tuple[array[int], int]:
            return filtered_ids(db, project, chosen, after=after), count_verdicts(db, project)

        self.background.start("list", job, self._show_more)

    def _show_more(self, more: tuple[array[int], int]) -> None:
        ids, self.total = more
        self.extend(ids)
        self._title()

    # ---- the box

    def count_decisions(self) -> None:
        """Count the verdicts of the list with a decision, and show how far triage has come once it has begun."""
        about = (self.project_id, self.chosen.without("queue"), self.only)
        self.background.start("count", lambda db: count_triaged(db, *about), self._show_progress)

    def _show_progress(self, triaged: int) -> None:
        if self._decided_before is None:
            self._decided_before = triaged
        total = len(self.ids) + (self._decided_before if self.in_queue else 0)
        progress = ""
        if triaged and total:
            progress = f"{number(triaged)}/{number(total)} triaged {bar(triaged / total, 8)}"
        self.border_subtitle = Content(progress)

    def _title(self) -> None:
        count = "counting" if self._listing else f"{number(len(self.ids))} of {number(self.total or 0)}"
        order = ATTENTION if (self.in_queue or self._given) and self.sort == "id" else self.sort
        self.border_title = Content(f"{count} {GLYPHS.rule} sort: {order}")


def list_verdicts(
    db: Database,
    project_id: int,
    chosen: VerdictFilter,
    sort: str,
    only: tuple[int, ...] | None,
    given: tuple[int, ...] = (),
) -> Listing:
    """With `only`, nothing but the verdicts on these cases is listed and counted; of `given` verdicts, nothing but these."""
    if chosen.queue():
        from recjudge_tui.reports.verdict_list import listed_verdicts

        ids = listed_verdicts(db, project_id, chosen, sort).ids
    else:
        ids = filtered_ids(db, project_id, chosen, sort)
    if only is not None:
        kept = verdicts_on(db, only)
        if given:
            matching, kept = {*ids}, kept & {*given}
            ids = array("q", (key for key in given if key in matching)) if sort == "id" else ids
        return Listing(array("q", (identity for identity in ids if identity in kept)), len(kept))
    total = count_verdicts(db, project_id) if chosen else len(ids)
    unknown = ""
    if not ids:
        try:
            check_filter_names(db, project_id, chosen)
        except NotFoundError as error:
            # what the filter names and the project does not have, and what it has instead
            unknown = f"{error.title}. {error.cause}"
    return Listing(ids, total, unknown)


# ---- list filter -------------------------------------------------------------------------------------------------


class OpeningFilter(NamedTuple):
    """A filter to try, its order, and what the top line says of it: why it is not the queue."""

    filter_text: str
    sort: str = "id"
    about: str = ""


def opening_filters(db: Database, project_id: int) -> Iterator[OpeningFilter]:
    """The filters to try until one lists a verdict: the queue of the newest run, the queue of all runs, the flagged
    verdicts of that run, all its verdicts. Yields nothing if no judge has run.
    """
    newest = newest_judged_run(db, project_id)
    if newest is None:
        return
    run, _ = newest
    yield OpeningFilter(f"run:{run} queue:any")
    yield OpeningFilter("queue:any")
    sort, order = "id", ""
    if run_has_confidences(db, run):
        sort, order = "confidence", ", least confident first"
    yield OpeningFilter(f"run:{run} flag:any", sort, f"queue empty: flagged verdicts of run {run}{order}")
    yield OpeningFilter(f"run:{run}", sort, f"queue empty: verdicts of run {run}{order}")


def verdict_filter_bar(project_id: int) -> FilterBar:
    def values(db: Database) -> Values:
        from recjudge_tui.store.filters import filter_values

        return filter_values(db, project_id)

    return FilterBar(lambda text: parse_filter(text).chips(), f'{HINT} "free text"', values=values)


# ---- strip -------------------------------------------------------------------------------------------------------


class CaseStrip(Widget):
    """`◂ 37/224 ▸  viewer-01 · cooccurrence vs embedding · llama3.1:8b    ✓ 36 accepted`. A click on an arrow steps, one
    elsewhere unfolds."""

    class Step(Message):
        """The reader goes to the verdict that is `rows` further down the list; 0 wants the list itself."""

        def __init__(self, rows: int) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self._row: VerdictRow | None = None
        self._decision = ""

    def show(self, rows: VerdictList) -> None:
        total = len(rows.ids)
        self._place = f"{number(rows.cursor + 1 if total else 0)}/{number(total)}"
        self._row = rows.cursor_row
        self.refresh()

    def show_decision(self, decision: str) -> None:
        """Name the last decision: its verdict is no longer on the screen."""
        self._decision = decision
        self.refresh()

    def render(self) -> Content:
        arrows = Content.assemble(
            (f"{GLYPHS.first} ", "$accent"), (self._place, "bold"), (f" {GLYPHS.crumb}", "$accent")
        )
        if self._row is None:
            return arrows
        last = f"  {GLYPHS.reviewed} {self._decision}" if self._decision else ""
        room = max(self.content_size.width - arrows.cell_length - 2 - cell_len(last), 1)
        systems = " vs ".join(one_line(name, 60) for name in self._row.systems)
        parts = [one_line(self._row.user_id, 60), systems, one_line(self._row.rater, 60)]
        text = f" {GLYPHS.dot} ".join(part for part in parts if part)
        about = set_cell_size(middle(text, room), room)
        return Content.assemble(arrows, "  ", about, (last, "$success"))

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        if place is not None:
            rows = -1 if place.x < 2 else 1 if place.x < len(self._place) + 4 else 0
            self.post_message(self.Step(rows))
