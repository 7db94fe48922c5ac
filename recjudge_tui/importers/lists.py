"""Turns rows of lists in any form and order (ranked, scored, in the order of the rows, wide, or whole lists in cells)
into one slate per user, system and occasion."""

from __future__ import annotations

import ast
import json
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from recjudge_tui.domain.records import RankedItem, Slate
from recjudge_tui.importers.columns import ITEM, RANK, SCORE, numbered
from recjudge_tui.importers.reader import decoded, squashed
from recjudge_tui.importers.values import (
    COMMA,
    MISSING,
    Ids,
    Row,
    RowFault,
    Times,
    number,
    refuse,
    shown,
    whole,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Numbers = npt.NDArray[np.int64]
_NO_SCORE = float("nan")
# elements that are made Python's at once
_AT_ONCE = 10_000
_OWNER = ("user_id", "system", "context", "served_at")
# a spreadsheet cuts what is longer
_LONGEST_CELL = 32_767
_Owner = tuple[str, ...]
# the items of a cell in their order, each with its score as text
_Places = Sequence[tuple[str, str]]


def list_owner(user_id: str, system: str, context: str = "", served_at: str = "") -> str:
    """The owner of a list or text for a message: the user, the system, and the occasion if it has one."""
    where = f" in context {shown(context)}" if context else ""
    time = f" served at {served_at}" if served_at else ""
    return f"user {shown(user_id)} by {shown(system)}{where}{time}"


class LocatedSlate(NamedTuple):
    """A list, the line it begins on, and the lines of all its items, in order."""

    line: int
    slate: Slate
    lines: tuple[int, ...]


def slates_of(
    rows: Iterator[Row], ids: Ids, times: Times, *, file_order: bool = False
) -> Iterator[LocatedSlate]:
    """Slates in the order in which their lists first appear; needs about 30 bytes of memory per row, and more per list.

    The columns of the first row decide: `items` (a list in the cell), else numbered columns (a wide table), else
    `item_id` with `rank`, with `score` or `distance`, or with neither; a remark says how the lists were ranked if
    there is no rank. `file_order`: equal scores keep the order of the file.
    """
    first = next(rows, None)
    if first is None:
        return
    cells, rows = first[1], chain([first], rows)
    bare = cells.get("item_id", "").strip()
    # several ids in a cell that should contain one
    several = bare[:1] + bare[-1:] in ("[]", "()") or "|" in bare
    if several and "items" not in cells and "rank" not in cells:
        rows = ((line, {**row, "items": row.get("item_id", "")}) for line, row in rows)
        cells = {**cells, "items": ""}
    wide = [] if "items" in cells or "item_id" in cells else numbered(cells)
    lists, remark = _Lists(ids, times), ids.notes.remark
    score = next((name for name in ("score", "distance") if name in cells), "")
    if "items" in cells:
        remark("by-score" if cells["items"].lstrip()[:1] == "{" else "in-cells")
        lists.add_whole(rows, _in_cell)
    elif wide:
        lists.add_whole(rows, lambda row: [(row.get(column, ""), "") for column in wide])
    elif "rank" in cells:
        lists.add_rows(rows, "rank", score)
    elif score:
        remark("by-distance" if score == "distance" else "by-score-in-file" if file_order else "by-score")
        lists.add_rows(rows, "score", score)
        lists.rank_by_score(file_order=file_order)
    else:
        remark("in-order")
        lists.add_rows(rows, "order", "")
    yield from lists.slates()


class _Lists:
    """The elements of all lists, as numbers."""

    def __init__(self, ids: Ids, times: Times) -> None:
        self.ids, self.notes, self.times = ids, ids.notes, times
        # the owner of each list, and its first line; owners' cells as they stand are known too
        self.known: dict[_Owner, int] = {}
        self.owners: list[_Owner] = []
        self.started = array("i")
        self.items: dict[str, int] = {}
        # the list, the item, the line, the rank and the score of each element
        self.columns: tuple[array[Any], ...] = tuple(array(code) for code in "iiiqd")
        self.scored = False

    def list_of(self, line: int, key: _Owner) -> int:
        """The number of the list with these cells for its owner; -1 for a row without a user, a system or a time that can be
        read, which is noted."""
        if (found := self.known.get(key)) is not None:
            return found
        try:
            owner = tuple(self.ids.filled(line, *pair) for pair in zip(_OWNER[:2], key, strict=False))
            owner = (*owner, self.ids.read(line, "context", key[2]), self.times.read(key[3], "served_at"))
        except RowFault as fault:
            self.notes.skip_row(line, fault)
            return -1
        # a list whose ids have spaces is looked up each time, so that its rows are counted
        spaced = any(old != new and new for old, new in zip(key[:3], owner, strict=False))
        if (found := self.known.get(owner)) is None:
            found = self.known[owner] = len(self.owners)
            self.owners.append(owner)
            self.started.append(line)
        if not spaced and key != owner:
            self.known[key] = found
        return found

    def item_of(self, line: int, text: str) -> int:
        """The number of an item; -1 for a missing one, which is counted."""
        try:
            item = self.ids.filled(line, "item_id", text)
        except RowFault as fault:
            self.notes.skip_row(line, fault)
            return -1
        return self.items.setdefault(item, len(self.items))

    def optional_score(self, text: str, line: int) -> float:
        if text.strip() in MISSING:
            return _NO_SCORE
        try:
            score = number(text, "score")
        except RowFault as fault:
            kind = fault.kind if fault.kind == COMMA else "bad score"
            self.notes.warn(line, kind, f"{fault}; the item is kept without a score")
            return _NO_SCORE
        self.scored = True
        return score

    def add_rows(self, rows: Iterator[Row], by: Literal["rank", "score", "order"], column: str) -> None:
        """Add a row for each element. `column`: that of the scores or distances."""
        items, known, lengths, group = self.items, self.known, dict[int, int](), -1
        to_list, to_item, to_line, to_rank, to_score = (part.append for part in self.columns)
        last: _Owner | None = None
        for line, row in rows:
            get = row.get
            key = (get("user_id", ""), get("system", ""), get("context", ""), get("served_at", ""))
            if key != last:
                if (group := self.list_of(line, key)) < 0:
                    continue
                last = key if key in known else None
            text = get("item_id", "")
            if (item := items.get(text, -1)) < 0 and (item := self.item_of(line, text)) < 0:
                continue
            rank, score = 0, _NO_SCORE
            try:
                if by == "rank":
                    if (rank := whole(row["rank"], "rank")) < 0:
                        raise RowFault("negative rank", rank=rank)
                    score = self.optional_score(get(column, ""), line) if column else score
                elif by == "score":
                    score = number(row.get(column, ""), column)
                    self.scored = True
                else:
                    lengths[group] = rank = lengths.get(group, 0) + 1
            except RowFault as fault:
                self.notes.skip_row(line, fault)
                continue
            to_list(group)
            to_item(item)
            to_line(line)
            to_rank(rank)
            to_score(0.0 - score if column == "distance" else score)

    def add_whole(self, rows: Iterator[Row], elements: Callable[[dict[str, str]], _Places]) -> None:
        """Add rows of whole lists."""
        for line, row in rows:
            try:
                places = elements(row)
            except RowFault as fault:
                self.notes.skip_row(line, fault)
                continue
            if (group := self.list_of(line, tuple(row.get(name, "") for name in _OWNER))) < 0:
                continue
            rank = 0
            for text, score in places:
                if text.strip():
                    rank += 1
                    if (item := self.item_of(line, text)) >= 0:
                        element = (group, item, line, rank, self.optional_score(score, line))
                        for part, value in zip(self.columns, element, strict=True):
                            part.append(value)

    def rank_by_score(self, *, file_order: bool) -> None:
        """Give each element its rank by falling score; equal scores by falling item id in bytes, or in the file's order."""
        import numpy as np

        where, items, line, rank, score = map(np.asarray, self.columns)
        second = np.arange(len(line))
        if not file_order:
            names = list(self.items)
            place = np.empty(len(names), dtype=np.int64)
            falling = sorted(range(len(names)), key=lambda i: names[i].encode(), reverse=True)
            place[falling] = np.arange(len(names))
            second = place[items]
            if _rising(score, where, np.lexsort((np.arange(len(line)), where))):
                self.notes.remark("lowest-first")
        order = np.lexsort((np.arange(len(line)), second, -score, where))
        starts = np.searchsorted(where[order], where[order], side="left")
        # a view: the ranks are set in place
        rank[order] = np.arange(len(order)) - starts + 1

    def slates(self) -> Iterator[LocatedSlate]:
        """Duplicated ranks and items keep the first row, gaps in the ranks are closed, empty lists are left out; each is
        noted."""
        import numpy as np

        notes, names = self.notes, list(self.items)
        where, items, lines, ranks, scores = map(np.asarray, self.columns)
        ranks = self._stepless(ranks)
        order = np.lexsort((lines, ranks, where))
        if self.scored and (rising := _rising(scores, where, order)):
            scores = 0.0 - scores
            notes.remark("rising", rising=rising)

        def in_order(column: npt.NDArray[Any]) -> Iterator[Any]:
            blocks = (order[start : start + _AT_ONCE] for start in range(0, len(order), _AT_ONCE))
            return chain.from_iterable(column[block].tolist() for block in blocks)

        cells = list(map(in_order, (ranks, items, lines, scores)))
        lists = contradicting = 0
        lengths = np.bincount(where, minlength=len(self.owners)).tolist()
        for owner, first, length in zip(self.owners, self.started, lengths, strict=True):
            places, own_items, own_lines, own_scores = (list(islice(part, length)) for part in cells)
            own_scores = [None if not self.scored or score != score else score for score in own_scores]
            if places != list(range(1, length + 1)) or len(set(own_items)) < length:
                kept = self._kept(places, own_items, own_lines, names, list_owner(*owner))
                every = (own_items, own_lines, own_scores)
                own_items, own_lines, own_scores = ([column[i] for i in kept] for column in every)
            if not own_items:
                notes.warn(first, "empty list", owner=list_owner(*owner), why="is empty")
                continue
            lists += 1
            if self.scored:
                known = [score for score in own_scores if score is not None]
                contradicting += any(lower > upper for upper, lower in pairwise(known))
            ranked = tuple(map(RankedItem._make, zip(map(names.__getitem__, own_items), own_scores)))  # noqa: B905
            yield LocatedSlate(own_lines[0], Slate(owner[0], owner[1], ranked, *owner[2:]), tuple(own_lines))
        if contradicting:
            notes.remark("contradicting", count=contradicting, lists=lists)

    def _kept(
        self, ranks: list[int], items: list[int], lines: list[int], names: list[str], owner: str
    ) -> list[int]:
        """The elements of one list that stay, without duplicated ranks and items."""
        kept: list[int] = []
        seen: dict[int, int] = {}
        last = 0
        for i, (rank, item, line) in enumerate(zip(ranks, items, lines, strict=True)):
            if i and rank == ranks[last]:
                self.notes.skip(line, "duplicated rank", rank=rank, owner=owner, line=lines[last])
                continue
            if rank > (ranks[last] if i else 0) + 1:
                self.notes.warn(line, "gap in the ranks", rank=rank, owner=owner)
            last = i
            if item in seen:
                self.notes.skip(line, "duplicated item", item=names[item], owner=owner, rank=seen[item])
                continue
            seen[item] = rank
            kept.append(i)
        return kept

    def _stepless(self, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The ranks without the step that all have in common (the greatest common divisor of their differences), if it is
        more than 1: 10, 20, 30 become 1, 2, 3. Fewer than three different ranks have none."""
        import numpy as np

        different = np.unique(ranks)
        step = int(np.gcd.reduce(np.diff(different))) if len(different) > 2 else 1
        if step == 1:
            return ranks
        beginning = ", ".join(map(str, different[:3].tolist()))
        self.notes.remark("steps", step=step, beginning=beginning)
        start = int(different[0]) % step
        return (ranks - start) // step + (start > 0)


def _rising(scores: npt.NDArray[np.float64], lists: _Numbers, order: _Numbers) -> int:
    """The number of lists whose scores (NaN: none) rise from one place to the next, if two do and scores fall in no list;
    else 0. `lists`: the list of each score; `order` sorts both by list and place; all (n,)."""
    import numpy as np

    placed = order[~np.isnan(scores[order])]
    steps, owners = np.diff(scores[placed]), lists[placed]
    steps[owners[1:] != owners[:-1]] = 0
    rising = 0 if (steps < 0).any() else len(np.unique(owners[1:][steps > 0]))
    return rising if rising > 1 else 0


# ---- a whole list in one cell ------------------------------------------------------------------------------------

# NumPy 2 writes its numbers in a list as np.int64(7)
_NUMPY_SCALAR = re.compile(r"np\.(?:u?int|float|str|bool)\w*\(([^()]*)\)")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# a text in quotation marks, or a word; NumPy puts only spaces between them
_ELEMENT = re.compile(rf"{_QUOTED}|[^\s,;\[\]()'\"]+")
# between commas a text may have spaces
_BETWEEN_COMMAS = re.compile(rf"{_QUOTED}|[^,;\[\]()'\"]+")
# once the texts are out: a bracket, a quotation mark that is not closed, words beside a text
_MIXED = re.compile(r"[{\[('\"]|[^\s\[(,;\0]\s*\0|\0\s*[^\s\]),;\0]")
# 7. as NumPy writes 7.0
_NUMPY_FLOAT = re.compile(r"-?\d+\.", re.ASCII)
# what Python would join or rewrite, once the texts are out: two texts without a comma between, 1_000, 0x1F
_REWRITTEN = re.compile(r"\0\s*\0|\d_|0[xXoObB]")
# what a program writes in place of the elements alone: array([5, 9]), tensor([5, 9], dtype=int), <generator object at 0x7f>
_CALL = re.compile(
    r"\s*[A-Za-z_][\w.]*\(|.*(?: at 0x|\bdtype\b)|\[[^'\"]*\b(?!Row\()[A-Za-z_][\w.]*\(", re.DOTALL
)
# Spark writes an item with its score as {7, 0.5} or Row(item=7, score=0.5)
_SCORED = r"(?:\{|Row\()\s*(?:\w+=)?([^,={}()]+),\s*(?:\w+=)?([^,={}()]+)[})]"
_SCORED_LIST = re.compile(rf"\[{_SCORED}(?:,\s*{_SCORED})*\]")


def _in_cell(row: Mapping[str, str]) -> _Places:
    """The items of a row's list with their scores. Raises RowFault."""
    bare = row.get("items", "").strip()
    refuse(bare and bare in MISSING, "not a list", text=bare)
    places, scores = places_of(bare), row.get("scores", "") or row.get("score", "")
    if scores.strip() in MISSING:
        return places
    given = [item for item, _ in _elements(scores)]
    refuse(len(given) != len(places), "items without a score", places=len(places), scores=len(given))
    return [(item, score) for (item, _), score in zip(places, given, strict=True)]


def places_of(text: str) -> list[tuple[str, str]]:
    """The elements of the list in order: an item and its score, both as text; the score is empty if there is none.

    `[1, 2]`, `['a' 'b']`, `1|2`, `1;2`, `1,2`, `1 2`; with scores `[["a", 0.5], ["b", 0.4]]`, `[{a, 0.5}, {b, 0.4}]`,
    objects with an item and a score, and perhaps a rank that orders them, or one object `{"a": 0.5, "b": 0.4}`, ranked by
    its scores. Empty elements are dropped. Raises RowFault for objects of something else, and for a list that was cut.
    """
    places = [place for place in _elements(text) if place[0]]
    refuse(any(item in ("...", "…", "Ellipsis") for item, _ in places), "shortened list", text=text)
    return places


def _elements(text: str) -> list[tuple[str, str]]:
    bare, full = text.strip(), len(text) >= _LONGEST_CELL
    opened = bare[:1] in ("[", "(", "{")
    cut = "cut list:cell" if full else "cut list"
    refuse(opened and bare[-1:] not in ("]", ")", "}"), cut, text=text)
    refuse(not opened and len(text) == _LONGEST_CELL, "cut list:limit", text=text)
    bare = _NUMPY_SCALAR.sub(r"\1", bare) if "np." in bare else bare
    refuse(_CALL.match(bare), "not a list:call", text=text)
    if not opened:
        refuse(re.match(r"1[.)]\s", bare), "not a list:numbered", text=text)
        mark = next((mark for mark in ("|", ";", ",", "\n") if mark in bare), None)
        parts = [part.strip() for part in bare.split(mark) if part.strip()]
        refuse(mark is None and not all(re.search(r"\w", part) for part in parts), "not a list", text=text)
        return [(part, "") for part in parts]
    outline = re.sub(_QUOTED, "\0", bare)
    elements = decoded(bare)
    if elements is None and not _REWRITTEN.search(outline):
        elements = _of_python(bare)
    if bare[:1] == "{":
        fits = isinstance(elements, dict) and all(isinstance(score, str) for score in elements.values())
        refuse(not fits, "not a list:scores", text=text)
        # by falling score, ties by falling item id
        by_id = sorted(elements.items(), key=lambda item: item[0].encode("utf-8", "replace"), reverse=True)
        ranked = sorted(by_id, key=lambda item: -number(item[1], "score"))
        return [(item.strip(), score) for item, score in ranked]
    if isinstance(elements, list):
        # an object may name its rank
        with suppress(AttributeError, RowFault):
            elements.sort(key=lambda element: whole(_first(element, RANK), "rank"))
        return [_place(element) for element in elements]
    if _SCORED_LIST.fullmatch(bare):
        return [(item.strip(" '\""), score.strip(" '\"")) for item, score in re.findall(_SCORED, bare)]
    refuse(_MIXED.search(outline, 1), "not a list:items", text=text)
    words = (_BETWEEN_COMMAS if re.search("[,;]", outline) else _ELEMENT).findall(bare)
    words = [word.strip() for word in words if word.strip()]
    if all(map(_NUMPY_FLOAT.fullmatch, words)):
        words = [word[:-1] for word in words]
    return [(str(_of_python(word) or "") if word[0] in "'\"" else word, "") for word in words]


def _of_python(text: str) -> Any:
    """The value of Python's notation for lists, dicts, texts and numbers, as `decoded` gives it; None for anything else."""
    try:
        return decoded(json.dumps(ast.literal_eval(text)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _place(element: Any) -> tuple[str, str]:
    """The item and the score of an element of a JSON array: an id, `[id, score]`, or an object with both."""
    if isinstance(element, Mapping):
        element = [_first(element, (*ITEM, "id")), _first(element, SCORE)]
        refuse(not element[0], "not a list:items", text=element)
    parts = element if isinstance(element, list) else [element]
    texts = ["" if part is None else str(part).strip() for part in parts]
    refuse(len(texts) not in (1, 2), "not a list:items", text=element)
    return texts[0], texts[1] if len(texts) == 2 else ""


def _first(element: Mapping[str, Any], aliases: tuple[str, ...]) -> str:
    by_name = {squashed(key): value for key, value in element.items()}
    values = (by_name[name] for name in aliases if name in by_name)
    return str(next(values, "") or "").strip()
