"""The lists of a case: two side by side with shared items on one line, flags under their items, history beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.material import ItemView, ShownEvent, UserView
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.store.case_detail import CaseDetail, CaseFlag
from recjudge_tui.tui.kit.glyphs import Glyphs, fit, wrapped

_GAP = 2
_SHARED = "="
_FEWEST_CELLS = 8
# the width of each list if the history is beside them
_COMFORTABLE = 34
_HISTORY = 36
_WIDE_ITEM = 44
_FEWEST_EVENTS = 15
_LONGEST_ALIGNED = 500


class _Cell(NamedTuple):
    """One item in one list: `rank` from 1; `other` is the rank of the item in the other list."""

    item: ItemView
    rank: int
    other: int | None


def lists_title(case: CaseDetail) -> str:
    if len(case.slates) < 2:
        return "List"
    first, second = ({item.item_id for item in slate.items} for _, slate in case.slates[:2])
    shared = len(first & second)
    return f"Lists, {_SHARED} in both: {shared}" if shared else "Lists, no item in both"


def lists_in_short(case: CaseDetail, width: int, symbols: Glyphs) -> Content | None:
    """`A only: Heat, Fargo… │ B only: Alien… │ 3 shared`; None if no two lists were compared."""
    if len(case.slates) != 2:
        return None
    a, b = (slate.items for _, slate in case.slates)
    ids = [{item.item_id for item in items} for items in (a, b)]
    shared = f"{len(ids[0] & ids[1])} shared"
    bar = " │ "
    room = (width - cell_len(shared) - 2 * cell_len(bar)) // 2
    sides = [
        f"{letter} only: "
        + (", ".join(one_line(i.title, 60) for i in items if i.item_id not in other) or symbols.none)
        for letter, items, other in (("A", a, ids[1]), ("B", b, ids[0]))
    ]
    return Content.assemble(
        *(part for side in sides for part in (fit(side, room, symbols), (bar, "dim"))), shared
    )


def history_beside(case: CaseDetail, width: int) -> bool:
    """Whether there is a history and enough width to show it beside the lists."""
    room = width - _HISTORY - _GAP
    return bool(case.user.history) and room >= _COMFORTABLE * len(case.slates) + _GAP and bool(case.slates)


def lists(case: CaseDetail, width: int, symbols: Glyphs) -> Iterator[Content]:
    """The lists with their flags; the reason for a flag is below its item."""
    if history_beside(case, width):
        shown = list(_lists(case, width - _HISTORY - _GAP, symbols))
        room = width - _HISTORY - _GAP
        for left, right in zip_longest(shown, _history(case.user, len(shown), symbols)):
            left_cell = left if left is not None else Content("")
            filled = Content.assemble(left_cell, " " * max(room - left_cell.cell_length, 0))
            yield (Content.assemble(filled, " " * _GAP, right) if right is not None else left_cell).rstrip()
    else:
        yield from _lists(case, width, symbols)
    in_lists = {item.item_id for _, slate in case.slates for item in slate.items}
    for item_id, raised in _flags(case).items():
        if item_id not in in_lists:
            name = (f"{symbols.marked} {one_line(item_id, 60)}", "$warning")
            yield Content.assemble(name, (" is in no list", "dim"))
            for flag in raised:
                yield from _flag(flag, width)
    if case.flags_beyond:
        beyond = quantity(case.flags_beyond, "flag")
        yield Content.styled(
            f"not shown: {beyond} by other raters, on ranks that this judge was not shown", "dim"
        )


def event_line(event: ShownEvent, symbols: Glyphs) -> Content:
    """Day, kind, title and value of one of the user's events."""
    what = one_line(event.item.title if event.item else event.text, 120) or symbols.none
    value = f" {event.value:g}" if event.value is not None else ""
    kind = "" if event.type in ("purchase", "rating", "click", "search") else f"{one_line(event.type, 20)} "
    day = f"{one_line(event.timestamp[:10], 10):10} " if event.timestamp else ""
    return Content.assemble((f"  {day}{kind}", "dim"), what, (value, "dim"))


def item_words(item: ItemView, symbols: Glyphs) -> str:
    more = [one_line(part, 40) for part in (item.brand, item.category) if part]
    return one_line(item.title, 200) + (f" {symbols.dot} " + ", ".join(more) if more else "")


def _history(user: UserView, lines: int, symbols: Glyphs) -> Iterator[Content]:
    yield Content.styled(f"history ({len(user.history)}), newest first", "bold")
    most = max(lines - 2, _FEWEST_EVENTS)
    for event in user.history[:most]:
        yield event_line(event, symbols).truncate(_HISTORY, ellipsis=True)
    if len(user.history) > most:
        yield Content.styled(f"  {symbols.cut} {len(user.history) - most} more", "dim")


def _flags(case: CaseDetail) -> dict[str, list[CaseFlag]]:
    flags: dict[str, list[CaseFlag]] = {}
    for flag in case.flags:
        flags.setdefault(flag.item_id, []).append(flag)
    return flags


def _lists(case: CaseDetail, width: int, symbols: Glyphs) -> Iterator[Content]:
    column = max((width - _GAP * (len(case.slates) - 1)) // len(case.slates), _FEWEST_CELLS)
    names = [f"{letter} {one_line(name, 60)}" for letter, (name, _) in zip("AB", case.slates, strict=False)]
    if len(case.slates) == 1:
        names = [one_line(case.slates[0][0], 60)]
    yield Content.styled((" " * _GAP).join(fit(name, column, symbols) for name in names).rstrip(), "bold")
    flags = _flags(case)
    for cells in _places(case):
        yield from _row(cells, flags, column, symbols)


def _places(case: CaseDetail) -> Iterator[list[_Cell | None]]:
    """The lines of the lists. An item in both lists is on one line as far as the two orders allow it."""
    items = [slate.items for _, slate in case.slates]
    if len(items) != 2:
        for rank, row in enumerate(zip_longest(*items), 1):
            yield [None if item is None else _Cell(item, rank, None) for item in row]
        return
    ids = [[item.item_id for item in slate] for slate in items]
    ranks = [{key: rank for rank, key in reversed(list(enumerate(keys, 1)))} for keys in ids]
    a, b = ([_Cell(item, rank, ranks[1 - side].get(item.item_id)) for rank, item in enumerate(items[side], 1)]
            for side in (0, 1))  # fmt: skip
    if max(len(a), len(b)) > _LONGEST_ALIGNED:
        yield from ([x, y] for x, y in zip_longest(a, b))
        return
    for _, first, last, start, end in SequenceMatcher(None, ids[0], ids[1], autojunk=False).get_opcodes():
        yield from ([x, y] for x, y in zip_longest(a[first:last], b[start:end]))


def _row(
    cells: Sequence[_Cell | None], flags: dict[str, list[CaseFlag]], column: int, symbols: Glyphs
) -> Iterator[Content]:
    parts: list[str | tuple[str, str]] = []
    raised: list[CaseFlag] = []
    on_one_line = None not in cells and len({cell.item.item_id for cell in cells if cell}) == 1
    for place, cell in enumerate(cells):
        flagged = flags.get(cell.item.item_id, []) if cell else []
        raised += [flag for flag in flagged if flag not in raised]
        letter = "" if on_one_line else "BA"[place]
        text = "" if cell is None else _item(cell, bool(flagged), letter, len(cells) > 1, column, symbols)
        shared = cell is not None and cell.other is not None
        parts.append((fit(text, column, symbols), "$warning" if flagged else "dim" if shared else ""))
        if place + 1 < len(cells):
            parts.append(" " * _GAP)
    yield Content.assemble(*parts).rstrip()
    width = (column + _GAP) * len(cells) - _GAP
    for flag in raised:
        yield from _flag(flag, width)


def _item(cell: _Cell, flagged: bool, letter: str, paired: bool, column: int, symbols: Glyphs) -> str:
    """`= 2 ▲ Heat 2 (B4)`: in both lists, second here, flagged, fourth in B."""
    wide = not paired or column >= _WIDE_ITEM
    title = item_words(cell.item, symbols) if wide else one_line(cell.item.title, 200)
    elsewhere = f" ({letter}{cell.other})" if letter and cell.other is not None else ""
    shared = "" if not paired else f"{_SHARED if cell.other is not None else ' '}"
    head = f"{shared}{cell.rank:2} {symbols.marked + ' ' if flagged else ''}"
    room = column - cell_len(head) - cell_len(elsewhere)
    return head + (fit(title, room, symbols).rstrip() if cell_len(title) > room else title) + elsewhere


def _flag(flag: CaseFlag, width: int) -> Iterator[Content]:
    """Issue and reason, indented under the item, wrapped by hand to keep the indent."""
    order = f", Set 1 = {one_line(flag.set_one, 30)}" if flag.set_one else ""
    text = f"{one_line(flag.issue, 60)}: {one_line(flag.reason, 1200)} ({one_line(flag.rater, 30)}{order})"
    for line in wrapped(text, max(width - 6, 12)) or [""]:
        yield Content.styled(f"     {line}", "$warning" if flag.mine else "dim")
