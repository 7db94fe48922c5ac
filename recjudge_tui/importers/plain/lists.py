"""Turns rows of lists, ranked or scored, in any order, into one slate per user, system and occasion."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.domain.records import RankedItem, Slate
from recjudge_tui.importers.files.layout import LocatedRecord, Request
from recjudge_tui.importers.files.notes import Notes
from recjudge_tui.importers.files.reading import stem
from recjudge_tui.importers.files.values import shown

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_NO_SCORE = float("nan")
LOWEST_FIRST = (
    "in the file every list begins with its lowest score, which is now its last item. If a lower score is better, undo"
    ' this import and name the column “distance” (in a mapping: distance = "score")'
)


class ListRow(NamedTuple):
    """One item of one list. `rank` counts from 0 or 1; it is None in a row for an empty list."""

    line: int
    user_id: str
    system: str
    item_id: str
    rank: int | None
    score: float | None = None
    occasion: Occasion = NO_OCCASION


class ScoredRow(NamedTuple):
    """One candidate of one list."""

    line: int
    user_id: str
    system: str
    item_id: str
    score: float
    occasion: Occasion = NO_OCCASION


class _Place(NamedTuple):
    rank: int
    item_id: str
    score: float | None
    line: int


def system_of(request: Request) -> str:
    """The system of a file whose layout does not name it: `--system`, else the file's name, which is noted in a
    remark.
    """
    if request.system:
        return request.system
    system = stem(request.path)
    request.notes.remark(f"the file does not name the system: it gets the file's name, {shown(system)}")
    return system


def list_owner(user_id: str, system: str, occasion: Occasion) -> str:
    """The owner of a list or text for a message: the user, the system, and the occasion if it has one."""
    context = f" in context {shown(occasion.context)}" if occasion.context else ""
    time = f" served at {occasion.served_at}" if occasion.served_at else ""
    return f"user {shown(user_id)} by {shown(system)}{context}{time}"


def slates_of(rows: Iterable[ListRow], notes: Notes) -> Iterator[LocatedRecord]:
    """Slates in the order in which their lists first appear; needs about 40 bytes of memory per row.

    If a rank or item is duplicated, the first row is kept; gaps in the ranks are closed; empty lists are left out. Each
    case is noted with its line.
    """
    import numpy as np

    groups: dict[tuple[str, str, Occasion], int] = {}
    items: dict[str, int] = {}
    started, where, rank, item, line = (array("q") for _ in range(5))
    score = array("d")
    for row in rows:
        group = groups.setdefault((row.user_id, row.system, row.occasion), len(groups))
        if group == len(started):
            started.append(row.line)
        if row.rank is None:
            continue
        where.append(group)
        rank.append(row.rank)
        item.append(items.setdefault(row.item_id, len(items)))
        line.append(row.line)
        score.append(_NO_SCORE if row.score is None else row.score)
    rank = _stepless(rank, notes)
    order = np.lexsort((line, rank, where))
    if rising := _rising_lists(score, where, order):
        score = array("d", (0.0 - np.asarray(score)).tolist())
        notes.remark(
            f"the score rises with the rank in all {rising:,} lists with different scores: a lower one is better, so each is"
            " stored with the opposite sign"
        )
    ends = np.searchsorted(np.asarray(where)[order], np.arange(len(groups)), side="right").tolist()
    names = list(items)
    start = lists = contradicting = 0
    for (user_id, system, occasion), first, end in zip(groups, started, ends, strict=True):
        places = [
            _Place(rank[i], names[item[i]], None if score[i] != score[i] else score[i], line[i])
            for i in order[start:end].tolist()
        ]
        start = end
        owner = list_owner(user_id, system, occasion)
        kept = _kept(places, owner, notes)
        if not kept:
            notes.warn(
                first,
                "empty list",
                f"the list of {owner} is empty; left out",
            )
            continue
        lists += 1
        contradicting += _contradicts_scores(kept)
        ranked = tuple(RankedItem(item_id=p.item_id, score=p.score) for p in kept)
        slate = Slate(user_id=user_id, system=system, items=ranked, **occasion._asdict())
        yield LocatedRecord(kept[0].line, slate, tuple(p.line for p in kept))
    if contradicting:
        notes.remark(
            f"ranks and scores contradict each other in {contradicting:,} of {lists:,} lists (a higher "
            f"score is below a lower one): the ranks are kept"
        )


def _stepless(ranks: array[int], notes: Notes) -> array[int]:
    """The ranks without the step that all of them have in common, if it is more than 1: 10, 20, 30 become 1, 2, 3. The
    step is the greatest common divisor of their differences; fewer than three different ranks have none.
    """
    import numpy as np

    different = np.unique(np.asarray(ranks))
    step = int(np.gcd.reduce(np.diff(different))) if len(different) > 2 else 1
    if step == 1:
        return ranks
    beginning = ", ".join(map(str, different[:3].tolist()))
    notes.remark(f"the ranks go in steps of {step:,} ({beginning}, …): the items keep this order")
    start = int(different[0]) % step
    return array("q", ((np.asarray(ranks) - start) // step + (start > 0)).tolist())


def _rising_lists(scores: array[float], lists: array[int], order: npt.NDArray[np.int64]) -> int:
    """The number of lists whose scores rise from one place to the next, if there are two of them and scores fall in no
    list; else 0. `scores` (n,), NaN where there is none, and `lists` (n,), the list of each; `order` (n,) sorts both by
    list and place."""
    import numpy as np

    known = np.asarray(scores)
    placed = order[~np.isnan(known[order])]
    steps = np.diff(known[placed])
    owners = np.asarray(lists)[placed]
    steps[owners[1:] != owners[:-1]] = 0
    if (steps < 0).any():
        return 0
    rising = len(np.unique(owners[1:][steps > 0]))
    return rising if rising > 1 else 0


def _contradicts_scores(places: list[_Place]) -> bool:
    """Whether any item has a higher score than the one before it; items without a score are ignored."""
    scores = [place.score for place in places if place.score is not None]
    return any(lower > upper for upper, lower in pairwise(scores))


def _kept(places: list[_Place], owner: str, notes: Notes) -> list[_Place]:
    """The elements of one list, sorted by rank, without duplicated ranks and items."""
    kept: list[_Place] = []
    seen: dict[str, int] = {}
    last: _Place | None = None
    where = f"in the list of {owner}"
    for place in places:
        if last is not None and place.rank == last.rank:
            text = f"rank {place.rank} occurs twice {where}; line {last.line} is kept"
            notes.skip(place.line, "duplicated rank", text)
            continue
        if place.rank > (last.rank if last else 0) + 1:
            text = f"a gap in the ranks before {place.rank} {where}; later items move up"
            notes.warn(place.line, "gap in the ranks", text)
        last = place
        if place.item_id in seen:
            text = f"item {shown(place.item_id)} occurs twice {where}; rank {seen[place.item_id]} is kept"
            notes.skip(place.line, "duplicated item", text)
            continue
        seen[place.item_id] = place.rank
        kept.append(place)
    return kept


def ranked_rows(
    rows: Iterable[ScoredRow], ties: Literal["file", "item descending"], notes: Notes | None = None
) -> Iterator[ListRow]:
    """The rows list by list, best score first; needs about 40 bytes of memory per row.

    Equal scores keep the file's order, or are sorted by item id in descending byte order (as in trec_eval). With `notes`,
    a remark says if the file has every list in the opposite order.
    """
    import numpy as np

    groups: dict[tuple[str, str, Occasion], int] = {}
    items: dict[str, int] = {}
    where, item, line = (array("q") for _ in range(3))
    score = array("d")
    for row in rows:
        where.append(groups.setdefault((row.user_id, row.system, row.occasion), len(groups)))
        item.append(items.setdefault(row.item_id, len(items)))
        line.append(row.line)
        score.append(row.score)
    names, lists = list(items), list(groups)
    second = np.asarray(line)
    if ties == "item descending":
        place = np.empty(len(names), dtype=np.int64)
        by_name = sorted(range(len(names)), key=lambda i: names[i].encode(), reverse=True)
        place[by_name] = np.arange(len(names))
        second = place[np.asarray(item)] if names else second
    order = np.lexsort((np.asarray(line), second, -np.asarray(score), np.asarray(where)))
    if notes is not None and _rising_lists(score, where, np.lexsort((np.asarray(line), np.asarray(where)))):
        notes.remark(LOWEST_FIRST)
    last, rank = -1, 0
    for i in order.tolist():
        rank = rank + 1 if where[i] == last else 1
        last = where[i]
        user_id, system, occasion = lists[last]
        yield ListRow(line[i], user_id, system, names[item[i]], rank, score[i], occasion)
