"""Reads rows of lists in any form: ranked, scored, in order, wide, or a list in a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from sys import intern

from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.importers.files.notes import Notes, Row, RowFault
from recjudge_tui.importers.files.values import number, occasion_of, whole
from recjudge_tui.importers.plain.columns import numbered
from recjudge_tui.importers.plain.list_cells import Place, is_list, is_scored_object, places_of, scores_of
from recjudge_tui.importers.plain.lists import ListRow, ScoredRow, ranked_rows

# a row's line, its cells and its occasion
_Located = tuple[int, dict[str, str], Occasion]

BY_SCORE = "ranked by score, highest first; ties by item id in descending order, as in trec_eval"
BY_DISTANCE = (
    "ranked by distance, lowest first; ties by item id in descending order; the score of an item is its distance with the"
    " opposite sign"
)
IN_CELLS = "each row holds a list, ranked in its order"
IN_ORDER = "no rank and no score: ranked in the order of the rows"


def list_rows(rows: Iterator[Row], notes: Notes) -> Iterator[ListRow]:
    """The elements of the lists, from rows with plain column names.

    The columns of the first row decide: `items` (a list in the cell), else numbered columns (a wide table), else
    `item_id` with `rank`, with `score` or `distance`, or with neither. A remark says how the lists were ranked if
    there is no rank.
    """
    first = next(rows, None)
    if first is None:
        return
    cells, located = first[1], _located(chain([first], rows), notes)
    if "items" not in cells and "rank" not in cells and is_list(cells.get("item_id", "")):
        located = ((line, {**row, "items": row.get("item_id", "")}, when) for line, row, when in located)
        cells = {**cells, "items": ""}
    wide = [] if "items" in cells or "item_id" in cells else numbered(cells)
    if "items" in cells:
        notes.remark(BY_SCORE if is_scored_object(cells["items"]) else IN_CELLS)
        yield from _from_cells(located, notes)
    elif wide:
        yield from _from_wide(located, wide)
    elif "rank" in cells:
        yield from _ranked(located, notes)
    elif "distance" in cells and "score" not in cells:
        notes.remark(BY_DISTANCE)
        yield from ranked_rows(_scored(located, notes), "item descending")
    elif "score" in cells:
        notes.remark(BY_SCORE)
        yield from ranked_rows(_scored(located, notes), "item descending", notes)
    else:
        notes.remark(IN_ORDER)
        yield from _in_order(located, notes)


def _located(rows: Iterator[Row], notes: Notes) -> Iterator[_Located]:
    """The rows with their occasions.

    Equal systems and occasions share one object, which saves memory with a million rows.
    """
    for line, row in rows:
        try:
            occasion = _occasion(row.get("context", ""), row.get("served_at", ""))
        except RowFault as fault:
            notes.skip(line, fault.kind, f"{fault.text}; row left out")
            continue
        row["system"] = intern(row["system"])
        yield line, row, occasion


@lru_cache(maxsize=1024)
def _occasion(context: str, served_at: str) -> Occasion:
    return occasion_of({"context": context, "served_at": served_at})


def _ranked(rows: Iterator[_Located], notes: Notes) -> Iterator[ListRow]:
    for line, row, occasion in rows:
        item_id = row.get("item_id", "")
        try:
            rank = whole(row.get("rank", ""), "rank") if item_id else None
            if rank is not None and rank < 0:
                raise RowFault("negative rank", f"rank {rank} is below 0")
        except RowFault as fault:
            notes.skip(line, fault.kind, f"{fault.text}; row left out")
            rank = None
        else:
            if rank is None:
                _no_item(line, notes)
        score = _score_of(row, line, notes)
        yield ListRow(line, row["user_id"], row["system"], item_id, rank, score, occasion)


def _scored(rows: Iterator[_Located], notes: Notes) -> Iterator[ScoredRow]:
    for line, row, occasion in rows:
        item_id = row.get("item_id", "")
        if not item_id:
            _no_item(line, notes)
            continue
        try:
            score = _number_of(row)
        except RowFault as fault:
            notes.skip(line, fault.kind, f"{fault.text}; row left out")
            continue
        yield ScoredRow(line, row["user_id"], row["system"], item_id, score, occasion)


def _in_order(rows: Iterator[_Located], notes: Notes) -> Iterator[ListRow]:
    lengths: dict[tuple[str, str, Occasion], int] = {}
    for line, row, occasion in rows:
        user_id, system, item_id = row["user_id"], row["system"], row.get("item_id", "")
        if item_id:
            owner = (user_id, system, occasion)
            rank = lengths[owner] = lengths.get(owner, 0) + 1
            yield ListRow(line, user_id, system, item_id, rank, None, occasion)
        else:
            _no_item(line, notes)


def _from_wide(rows: Iterator[_Located], columns: Sequence[str]) -> Iterator[ListRow]:
    for line, row, occasion in rows:
        items = [row.get(column, "").strip() for column in columns]
        yield from _numbered(line, row, occasion, [(item, None) for item in items if item])


def _from_cells(rows: Iterator[_Located], notes: Notes) -> Iterator[ListRow]:
    for line, row, occasion in rows:
        try:
            places = places_of(row.get("items", ""))
        except RowFault as fault:
            notes.skip(line, fault.kind, f"{fault.text}; row left out")
            continue
        scores = row.get("scores", "") or row.get("score", "")
        if scores.strip():
            given = scores_of(scores)
            if len(given) != len(places):
                text = f"{len(places)} items and {len(given)} scores; row left out"
                notes.skip(line, "items without a score", text)
                continue
            places = [Place(place.item_id, score) for place, score in zip(places, given, strict=True)]
        scored = [(place.item_id, _score(place.score, line, notes)) for place in places]
        yield from _numbered(line, row, occasion, scored)


def _numbered(
    line: int, row: dict[str, str], occasion: Occasion, items: Sequence[tuple[str, float | None]]
) -> Iterator[ListRow]:
    """The items of one row with their ranks; a row without items is an empty list."""
    user_id, system = row["user_id"], row["system"]
    if not items:
        yield ListRow(line, user_id, system, "", None, None, occasion)
    for rank, (item_id, score) in enumerate(items, start=1):
        yield ListRow(line, user_id, system, item_id, rank, score, occasion)


def _no_item(line: int, notes: Notes) -> None:
    notes.skip(line, "no item_id", "item_id is empty; row left out")


def _number_of(row: dict[str, str]) -> float:
    """The score of a row, or its distance with the opposite sign. Raises RowFault."""
    if "score" in row or "distance" not in row:
        return number(row.get("score", ""), "score")
    return 0.0 - number(row["distance"], "distance")


def _score_of(row: dict[str, str], line: int, notes: Notes) -> float | None:
    if "score" in row or not row.get("distance", "").strip():
        return _score(row.get("score", ""), line, notes)
    try:
        return _number_of(row)
    except RowFault as fault:
        notes.warn(line, "bad score", f"{fault.text}; the item is kept without a score")
        return None


def _score(text: str, line: int, notes: Notes) -> float | None:
    try:
        return number(text, "score") if text.strip() else None
    except RowFault as fault:
        notes.warn(line, "bad score", f"{fault.text}; the item is kept without a score")
        return None
