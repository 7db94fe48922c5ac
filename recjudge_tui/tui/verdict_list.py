"""The list of verdicts: its columns, its filter and orders, and a case in one line."""

from __future__ import annotations

import re
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import OVERALL, protocol_facts, smallest_disagreement
from recjudge_tui.domain.roles import REVIEWED
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.store import verdicts as stored
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.triage import count_triaged
from recjudge_tui.system import give_back_memory
from recjudge_tui.tui.row_list import Column, RowList, shared_prefix
from recjudge_tui.tui.screens import Working, host_of
from recjudge_tui.tui.widgets import GLYPHS, bar, fraction, middle, number, score, short_label

# ---- the cells of a verdict --------------------------------------------------------------------------------------


_WIDEST_SYSTEMS = 44
# what the user and the item of a text take at the least, with the spaces and the edge
_BESIDE_SCORES = 19


def why(row: stored.VerdictRow) -> str:
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


def _against_people(row: stored.VerdictRow) -> str:
    if row.rater_kind not in REVIEWED or row.value is None or row.failed:
        return ""
    least, people = smallest_disagreement(row.protocol), sum(label_count.n for label_count in row.people)
    apart = sum(label_count.n for label_count in row.people if abs(label_count.value - row.value) >= least)
    return "" if not apart else "against people" if apart == people else f"against {apart} of {people} people"


def systems_text(row: stored.VerdictRow, width: int, prefix: str = "") -> str:
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


def label_text(row: stored.VerdictRow) -> str:
    """`A .41`; of an overridden verdict both values: `Poor→Good`."""
    text = short_label(row.label) if protocol_facts(row.protocol).labels else ""
    label = GLYPHS.failed if row.failed else one_line(text, 30) or score(row.value)
    if row.triage.decision == "override":
        return f"{label}{GLYPHS.to}{one_line(short_label(row.triage.label), 20)}"
    return (
        f"{label} {fraction(row.confidence, '').lstrip('0') or '0'}" if row.confidence is not None else label
    )


def people_text(row: stored.VerdictRow) -> str:
    """`A A` or `Good×2 Poor`: what each person said, the most frequent answer first."""
    given = []
    for label_count in row.people:
        label = one_line(short_label(label_count.label), 12) or score(label_count.value)
        short = len(label) == 1 and label_count.n < 4
        times = f"{GLYPHS.times}{label_count.n}" if label_count.n > 1 else ""
        given.append(" ".join([label] * label_count.n) if short else label + times)
    return " ".join(given)


def mark(row: stored.VerdictRow) -> tuple[str, str]:
    """The decision, or whether one is open, and its kind."""
    decided = {
        "accept": (GLYPHS.reviewed, "reviewed"),
        "dismiss": (GLYPHS.failed, "dim"),
        "override": (GLYPHS.overridden, "reviewed"),
    }
    if row.triage.decision:
        return decided[row.triage.decision]
    return (GLYPHS.marked, "failed" if row.failed else "marked") if why(row) else (" ", "")


def score_text(row: stored.VerdictRow) -> str:
    """`4▲`: a score with its mark; of an overridden one both: `2→4`."""
    value = GLYPHS.failed if row.failed else score(row.value)
    decided = row.triage.decision == "override"
    return value + (f"{GLYPHS.to}{one_line(row.triage.label, 4)}" if decided else mark(row)[0].strip())


@lru_cache(maxsize=16)
def _short_names(names: frozenset[str]) -> dict[str, str]:
    """Each name; of a long one five letters a word, or as many as it takes to tell them apart: `attr_perso`."""
    for letters in range(5, _WIDEST_SYSTEMS):
        word = re.compile(rf"([^\W_]{{{letters}}})[^\W_]+")
        short = {name: word.sub(r"\1", name) if len(name) > 10 else name for name in names}
        if len(set(short.values())) == len(names):
            return short
    return {name: name for name in names}


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


if TYPE_CHECKING:
    from recjudge_tui.reports.verdict_list import Listing

# the verdicts of one row: all that are listed of an explanation, else one
Line = Sequence[stored.VerdictRow]
# aspect and rater
Slot = tuple[str, str]


class VerdictList(Working, RowList[Line]):
    """The verdicts of a project that match `chosen`, in the order `sort`, in a box that says how many these are and
    how many have a decision. With `only`, nothing but the verdicts on these cases; `given`: nothing but these, in
    this order. `total` counts all verdicts of the project; it is None until the first list is read.

    If all are about explanations, a row is a text: its scores stand side by side by aspect and rater, and the cursor is
    on one of them.
    """

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
        def shown(
            name: str,
            cell: Callable[[stored.VerdictRow], tuple[str, str]],
            widest: int,
            narrowest: int = 0,
            rank: int = 0,
            middle: bool = False,
        ) -> Column[Line]:
            return Column(name, lambda row, _: cell(row[0]), widest, narrowest, rank, middle)

        self._columns = (
            shown("mark", mark, 1),
            shown("user", self._user, 14, 4, rank=3, middle=True),
            shown("occasion", self._occasion, 24, 11, rank=6),
            shown("item", lambda row: (row.item, ""), 26, 6, rank=4),
            Column("systems", self._systems, _WIDEST_SYSTEMS, 8),
            shown("rater", self._rater, 18, 6, rank=1, middle=True),
            shown("aspect", self._aspect, 16, 4, rank=5),
            shown("judge", lambda row: (label_text(row), "failed" if row.failed else ""), 18, 5),
            shown("people", lambda row: (people_text(row), ""), 14, 6, rank=2),
            shown("why", lambda row: (why(row), mark(row)[1] if why(row) else ""), 60, 14),
        )
        # of a list of texts, before their scores
        self._about_text = (
            shown("user", self._user, 14, 4, middle=True),
            shown("item", lambda row: (row.item, ""), 30, 8),
            shown("kind", lambda row: (self._short.get("".join(row.systems), ""), ""), 16),
        )
        super().__init__(
            self._columns, lambda row: row[0].case_id if self._texts else row[0].verdict_id, self._rows_of, id="verdicts"
        )  # fmt: skip
        self._texts: Mapping[int, list[int]] = {}
        self._short: Mapping[str, str] = {}
        # the scores of a text from left to right, and where the cursor is
        self._slots: tuple[Slot, ...] = ()
        # in the order in which they were first listed, which no filter changes
        self._aspects: dict[str, None] = {}
        self._raters = ""
        self._slot: Slot = ("", "")
        self.project_id, self.only, self._given = project_id, only, given
        self.sort = "id"
        self.chosen = VerdictFilter()
        self.total: int | None = None
        # what the names of systems, and those of users, begin with
        self._prefix = self._of_users = ""
        self._several_raters = False
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

    def _rows_of(self, ids: Sequence[int]) -> list[Line]:
        lines = [self._texts[key] for key in ids] if self._texts else [[key] for key in ids]
        rows = stored.verdict_rows(host_of(self).db, [key for line in lines for key in line])
        found = {row.verdict_id: row for row in rows}
        kept = ([found[key] for key in line if key in found] for line in lines)
        return [line for line in kept if line]

    def sampled(self, rows: Sequence[Line]) -> Mapping[str, int]:
        every = sorted((row for line in rows for row in line), key=lambda row: row.verdict_id)
        self._prefix = shared_prefix([name for row in every for name in row.systems])
        self._of_users = shared_prefix([row.user_id for row in every])
        users = frozenset(one_line(row.user_id.removeprefix(self._of_users), 60) for row in every)
        least = {"user<": min(_width_apart(users), 6)}
        self._several_raters = len({row.rater for row in every}) > 1
        self.columns, self._slots, self._raters = self._columns, (), ""
        if self._texts:
            return dict(self._sampled_texts(rows, every)) | least
        needs = dict(super().sampled(rows)) | {"mark": 1}
        names = frozenset(
            one_line(name.removeprefix(self._prefix), 60) for row in every for name in row.systems
        )
        apart, paired = _width_apart(names), any(len(row.systems) > 1 for row in every)
        return needs | least | {"systems<": 2 * apart + 3 if paired else apart}

    def _sampled_texts(self, rows: Sequence[Line], every: Sequence[stored.VerdictRow]) -> Mapping[str, int]:
        """The scores of as many raters as there is room for."""
        # those of judges first, who leave nothing out
        ordered = sorted(every, key=lambda row: row.rater_kind not in REVIEWED)
        there = dict.fromkeys(row.aspect for row in ordered)
        self._aspects |= there
        aspects = [aspect for aspect in self._aspects if aspect in there]
        raters = list(dict.fromkeys(row.rater for row in ordered))
        self._short = _short_names(frozenset("".join(row.systems) for row in every))
        room = self.size.width - _BESIDE_SCORES - max(map(cell_len, self._short.values()), default=0)
        of_one = 4 * max(len(aspects), 1)
        most = max(room // of_one, 1)
        shown = raters[:most]
        given = {(row.aspect, row.rater) for row in every}
        self._slots = tuple(slot for slot in product(aspects, shown) if slot in given)
        cells = 3 if len(shown) > 1 else 4
        scores = [Column(_name(slot), partial(self._score, slot), cells, cells) for slot in self._slots]
        self.columns = (*self._about_text, *scores)
        if len(shown) == 1 or room - of_one * len(shown) >= 2 * len(aspects):
            self.columns += (Column("people", self._people, 20, 7),)
        # the scores of several raters stand side by side in this order
        more = [f"{len(raters) - most} more"] if len(raters) > most else []
        self._raters = f" {GLYPHS.dot} ".join(one_line(rater, 16) for rater in [*shown, *more])
        return dict(super().sampled(rows)) | {_name(slot): cells for slot in self._slots}

    def heading(self, column: Column[Line]) -> str:
        if prefix := {"systems": self._prefix, "user": self._of_users}.get(column.name):
            begin = f"{one_line(prefix, 30)}{GLYPHS.cut}"
            return begin if cell_len(begin) < self._widths.get(column.name, 40) else column.name
        if slot := next((slot for slot in self._slots if _name(slot) == column.name), None):
            # the aspect over the first of its raters, and in capitals over the cursor
            word = one_line(slot[0], 20)[: (self._needs or {}).get(column.name, 3)]
            if self.verdict is not None and slot == (self.verdict.aspect, self.verdict.rater):
                return word.upper()
            return word if slot == next(s for s in self._slots if s[0] == slot[0]) else ""
        return super().heading(column)

    def _score(self, slot: Slot, row: Line, _: int) -> tuple[str, str]:
        verdict = next((row for row in row if (row.aspect, row.rater) == slot), None)
        if verdict is None:
            return "", ""
        chosen = row is self.cursor_row and verdict is self.verdict
        return score_text(verdict), "cell" if chosen else mark(verdict)[1]

    def _people(self, row: Line, _: int) -> tuple[str, str]:
        """What people say of each aspect: its mean as a whole number."""
        means = {verdict.aspect: verdict.people_mean for verdict in row}
        said = {aspect: GLYPHS.none if m is None else f"{m:.0f}" for aspect, m in means.items()}
        aspects = dict.fromkeys(aspect for aspect, _ in self._slots)
        return " ".join(said.get(aspect, GLYPHS.empty) for aspect in aspects), ""

    def _user(self, row: stored.VerdictRow) -> tuple[str, str]:
        return row.user_id.removeprefix(self._of_users), ""

    def _occasion(self, row: stored.VerdictRow) -> tuple[str, str]:
        return (occasion_text(row.occasion) if row.several_occasions else ""), ""

    def _systems(self, row: Line, width: int) -> tuple[str, str]:
        return systems_text(row[0], width, self._prefix), ""

    def _rater(self, row: stored.VerdictRow) -> tuple[str, str]:
        return (row.rater if self._several_raters else ""), "dim"

    def _aspect(self, row: stored.VerdictRow) -> tuple[str, str]:
        return ("" if row.aspect == OVERALL else row.aspect.replace("_", " ")), ""

    def on_resize(self) -> None:
        # there may be room for other raters
        if self._texts:
            self.measure()
            self._title()

    # ---- the verdict under the cursor

    def _scores(self) -> list[stored.VerdictRow]:
        """The verdicts of the row under the cursor, from left to right."""
        places = {slot: at for at, slot in enumerate(self._slots)}
        return sorted(self.cursor_row or (), key=lambda row: places.get((row.aspect, row.rater), len(places)))

    @property
    def verdict(self) -> stored.VerdictRow | None:
        row, (aspect, rater) = self._scores(), self._slot
        row.sort(key=lambda row: (row.aspect != aspect, row.rater != rater))
        return row[0] if row else None

    @property
    def verdict_id(self) -> int | None:
        if not self._texts:
            return self.cursor_id
        return None if self.verdict is None else self.verdict.verdict_id

    def step(self, by: int) -> None:
        """To the next verdict (1) or the one before (-1): of a text its next score, then the first of the next text."""
        row, here = self._scores(), self.verdict
        place = row.index(here) + by if here is not None and self._texts else -1
        if not 0 <= place < len(row):
            before = self.cursor
            self.action_move(by)
            if self.cursor == before or not self._texts:
                return
            row, place = self._scores(), 0 if by > 0 else -1
        self._choose_score(row[place])

    def _choose_score(self, verdict: stored.VerdictRow) -> None:
        self._slot = verdict.aspect, verdict.rater
        self.refresh()
        self.post_message(self.Moved())

    def go_to(self, row_id: int) -> bool:
        """Put the cursor on a verdict; False when it is not in the list."""
        if not self._texts:
            return super().go_to(row_id)
        text = next((text for text, listed in self._texts.items() if row_id in listed), None)
        if text is None or not super().go_to(text):
            return False
        for verdict in self.cursor_row or ():
            if verdict.verdict_id == row_id:
                self._choose_score(verdict)
        return True

    @property
    def listed(self) -> Sequence[int]:
        """All verdicts, in the order of the rows; there may be a million."""
        return [key for text in self._texts.values() for key in text] if self._texts else self.ids

    def after_cursor(self) -> Sequence[int]:
        if not self._texts:
            return self.ids[self.cursor + 1 :]
        row, here = self._scores(), self.verdict
        rest = row[row.index(here) + 1 :] if here is not None else []
        later = (key for text in self.ids[self.cursor + 1 :] for key in self._texts[text])
        return [*(verdict.verdict_id for verdict in rest), *later]

    # ---- reading it

    def list_all(self) -> None:
        """Show the first rows at once, and read the whole list in a worker."""
        if self.only is None:
            self._show_page(_first_page(host_of(self).db, self.project_id, VerdictFilter(), "id"))
        self.relist(follow=True)

    def relist(self, *, follow: bool, stay: bool = True, first: bool = False) -> None:
        """Read the list again. `first`: the list is a different one, so show a page of it until all of it is read."""
        self._listing, self._asked_at = True, time.monotonic()
        whole = partial(self._list_all, follow=follow, stay=stay)
        if first and self.only is None and not self.in_queue:
            about = (self.project_id, self.chosen, self.sort)
            page = partial(self._show_first_page, whole)
            self.background.start("list", lambda db: _first_page(db, *about), page)
        else:
            whole()
        self._title()

    def _list_all(self, *, follow: bool, stay: bool) -> None:
        about = (self.project_id, self.chosen, self.sort, self.only, self._given)
        show = partial(self._show_listing, follow=follow, stay=stay)

        def job(db: Database) -> Listing:
            from recjudge_tui.reports.verdict_list import list_verdicts

            try:
                listing = list_verdicts(db, *about)
                return listing._replace(texts=stored.verdicts_by_text(db, listing.ids))
            finally:
                give_back_memory()

        self.background.start("list", job, show)

    def _show_first_page(self, read_all: Callable[[], None], ids: array[int]) -> None:
        read_all()
        if ids:
            self._anchor = self._anchor or self.verdict_id
            self._show_page(ids, follow=False)
            self._first_shown = self.cursor_id

    def _show_page(self, ids: array[int], *, follow: bool = True) -> None:
        self._texts = {}
        self.show(ids, follow=follow)

    def _show_listing(self, listing: Listing, *, follow: bool, stay: bool) -> None:
        self._listing = False
        took = time.monotonic() - self._asked_at
        self._rest_until = time.monotonic() + _REST * took
        self.total, self._unknown = listing.total, listing.unknown
        # if the user has moved the cursor on the first page, it stays there
        moved = self._first_shown not in (None, self.cursor_id)
        before, anchor = self.verdict_id, None if moved else self._anchor
        same = bool(listing.texts) == bool(self._texts)
        self._texts = listing.texts
        ids = array("q", listing.texts) if listing.texts else listing.ids
        self.show(ids, follow=same and (follow or moved), stay=stay, anchor=anchor if same else None)
        if not same and follow and (anchor or before):
            self.go_to(anchor or before or 0)
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
        names = list(stored.SORTS)
        self.sort = names[(names.index(self.sort) + 1) % len(names)]
        self.relist(follow=False, first=True)

    @property
    def whole_list(self) -> array[int] | None:
        """The listed verdicts, with those decided on since; None while the list is being read."""
        return None if self._listing else array("q", self.listed)

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
        if self.sort != "id" or self.in_queue or self.only is not None or not self.ids or self._texts:
            self.relist(follow=True)
            return
        project, chosen, after = self.project_id, self.chosen, self.ids[-1]

        def job(db: Database) -> tuple[array[int], int]:
            return stored.filtered_ids(db, project, chosen, after=after), stored.count_verdicts(db, project)

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
        total = len(self.listed) + (self._decided_before if self.in_queue else 0)
        progress = ""
        if triaged and total:
            progress = f"{number(triaged)}/{number(total)} triaged {bar(triaged / total, 8)}"
        self.border_subtitle = Content(progress)

    def _title(self) -> None:
        count = "counting" if self._listing else f"{number(len(self.listed))} of {number(self.total or 0)}"
        order = stored.ATTENTION if (self.in_queue or self._given) and self.sort == "id" else self.sort
        shown = [count, f"sort: {order}"]
        if self._texts and self.widths:
            shown = [quantity(len(self._texts), "text"), *shown, self._raters]
        self.border_title = Content(f" {GLYPHS.rule} ".join(shown))


def _name(slot: Slot) -> str:
    return "\0".join(slot)


def _first_page(db: Database, project_id: int, chosen: VerdictFilter, sort: str) -> array[int]:
    """The verdicts to show until all are read; none if they are about explanations, whose rows have many verdicts."""
    ids = stored.first_ids(db, project_id, chosen, sort, FIRST_PAGE)
    return array("q") if stored.verdicts_by_text(db, ids[:1]) else ids


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
    newest = stored.newest_judged_run(db, project_id)
    if newest is None:
        return
    run, _ = newest
    yield OpeningFilter(f"run:{run} queue:any")
    yield OpeningFilter("queue:any")
    sort, order = "id", ""
    if stored.run_has_confidences(db, run):
        sort, order = "confidence", ", least confident first"
    yield OpeningFilter(f"run:{run} flag:any", sort, f"queue empty: flagged verdicts of run {run}{order}")
    yield OpeningFilter(f"run:{run}", sort, f"queue empty: verdicts of run {run}{order}")


# ---- strip -------------------------------------------------------------------------------------------------------


class CaseStrip(Widget):
    """`◂ 37/224 ▸  viewer-01 · cooccurrence vs embedding · llama3.1:8b    ✓ 36 accepted`. A click on an arrow steps, one
    elsewhere unfolds."""

    @dataclass
    class Step(Message):
        """The reader goes to the verdict that is `rows` further down the list; 0 wants the list itself."""

        rows: int

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self._row: stored.VerdictRow | None = None
        self._decision = ""

    def show(self, rows: VerdictList) -> None:
        total = len(rows.ids)
        self._place = f"{number(rows.cursor + 1 if total else 0)}/{number(total)}"
        self._row = rows.verdict
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
        item, about = one_line(self._row.item, 60), one_line(self._row.aspect.replace("_", " "), 26)
        parts = [one_line(self._row.user_id, 60), item, systems, one_line(self._row.rater, 60)]
        parts += [about] if item else []
        text = f" {GLYPHS.dot} ".join(part for part in parts if part)
        about = set_cell_size(middle(text, room), room)
        return Content.assemble(arrows, "  ", about, (last, "$success"))

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        if place is not None:
            rows = -1 if place.x < 2 else 1 if place.x < len(self._place) + 4 else 0
            self.post_message(self.Step(rows))
