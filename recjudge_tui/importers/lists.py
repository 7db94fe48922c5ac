"""Turns rows of lists in any form and order (ranked, scored, in the order of the rows, wide, or whole lists in cells)
into one slate per user, system and occasion."""

from __future__ import annotations

import ast
import json
import marshal
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import Any, Literal, NamedTuple

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
    stop_if,
    whole,
)
from recjudge_tui.store.database import WaitingRuns

# runs that are stored at once, and the most ranks that are remembered
_AT_ONCE = 2_000
_OWNER = ("user_id", "system", "context", "served_at")
# a spreadsheet cuts what is longer
_LONGEST_CELL = 32_767
_Owner = tuple[str, ...]
# its place, item, line and score
_Element = tuple[int, str, int, float | None]
# the items of a cell in their order, each with its score as text
_Places = Sequence[tuple[str, str]]
# how the elements of a list are ranked
_By = Literal["rank", "order", "score", "score in the file"]


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
    rows: Iterator[Row], ids: Ids, times: Times, *, file_order: bool = False, plain: bool = False
) -> Iterator[LocatedSlate]:
    """Slates in the order in which their lists first appear. The rows wait in a file of their own, not in memory.

    The columns of the first row decide: `items` (a list in the cell), else numbered columns (a wide table), else
    `item_id` with `rank`, with `score` or `distance`, or with neither; a remark says how the lists were ranked if
    there is no rank. `file_order`: equal scores keep the order of the file. `plain`: no layout says what the columns are.
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
    remark = ids.notes.remark
    score = next((name for name in ("score", "distance") if name in cells), "")
    by: _By = "rank"
    with closing(WaitingRuns(_OWNER)) as waiting:
        lists = _Lists(waiting, ids, times)
        if "items" in cells:
            remark("by-score" if cells["items"].lstrip()[:1] == "{" else "in-cells")
            lists.add_cells(rows, _in_cell)
        elif wide:
            lists.add_cells(rows, lambda row: [(row.get(column, ""), "") for column in wide])
        elif "rank" in cells:
            lists.add_rows(rows, score, ranked=True)
        else:
            by = "order" if not score else "score in the file" if file_order else "score"
            of_score = "by-score-in-file" if file_order else "by-score"
            remark({"": "in-order", "distance": "by-distance"}.get(score, of_score))
            lists.add_rows(rows, score, ranked=False)
        yield from lists.slates(by, plain=plain)


class _Lists:
    """The elements of all lists, in a file of their own, so that those of a list may stand anywhere and memory does not
    grow."""

    def __init__(self, waiting: WaitingRuns, ids: Ids, times: Times) -> None:
        self.waiting, self.ids, self.notes, self.times = waiting, ids, ids.notes, times
        # runs to be stored, the last one open: its line, owner and elements
        self.runs: list[tuple[int, _Owner, list[_Element]]] = []
        # the cells of its owner as they stand; None if they are to be looked at in each row
        self.cells: _Owner | None = None
        # ranks: some of them, the first, the three lowest, and the greatest common divisor of the differences of all
        self.ranks, self.first, self.lowest, self.step = set[int](), -1, list[int](), 0
        # whether scores were given; whether those of every list count up from 1
        self.scored = self.counted = False

    def run_of(self, line: int, cells: _Owner) -> list[_Element] | None:
        """The elements of the run to which a row with these cells for its owner belongs; None for a row without a user, a
        system or a time that can be read, which is noted."""
        self.cells = None
        try:
            owner = tuple(self.ids.filled(line, *pair) for pair in zip(_OWNER[:2], cells, strict=False))
            owner = (*owner, self.ids.read(line, "context", cells[2]), self.times.read(cells[3], "served_at"))
        except RowFault as fault:
            self.notes.skip_row(line, fault)
            return None
        # ids with spaces are looked at in each row, so that they are counted
        if not any(old != new and new for old, new in zip(cells[:3], owner, strict=False)):
            self.cells = cells
        if not self.runs or owner != self.runs[-1][1]:
            if len(self.runs) >= _AT_ONCE:
                self._store_runs()
            self.runs.append((line, owner, []))
        return self.runs[-1][2]

    def _store_runs(self) -> None:
        self.waiting.add((line, *owner, marshal.dumps(elements)) for line, owner, elements in self.runs)
        self.runs = []

    def note_rank(self, rank: int) -> int:
        if rank not in self.ranks:
            if len(self.ranks) < _AT_ONCE:
                self.ranks.add(rank)
            self.lowest = sorted({*self.lowest, rank})[:3]
            self.first = rank if self.first < 0 else self.first
            self.step = math.gcd(self.step, rank - self.first)
        return rank

    def optional_score(self, text: str, line: int) -> float | None:
        if text.strip() in MISSING:
            return None
        try:
            score = number(text, "score")
        except RowFault as fault:
            kind = fault.kind if fault.kind == COMMA else "bad score"
            self.notes.warn(line, kind, f"{fault}; the item is kept without a score")
            return None
        self.scored = True
        return score

    def add_rows(self, rows: Iterator[Row], column: str, *, ranked: bool) -> None:
        """Add a row for each element. `column`: that of the scores or distances, which a row needs unless it is ranked."""
        known, places = self.ids.read_before["item_id"], dict[str, int]()
        run: list[_Element] | None = None
        place, score = 0, None
        for line, row in rows:
            get = row.get
            cells = (get("user_id", ""), get("system", ""), get("context", ""), get("served_at", ""))
            if cells != self.cells:
                run = self.run_of(line, cells)
            if run is None:
                continue
            try:
                item = known.get(text := get("item_id", "")) or self.ids.filled(line, "item_id", text)
                if ranked:
                    if (place := places.get(text := get("rank", ""), -1)) < 0:
                        place = whole(text, "rank")
                        refuse(place < 0, "negative rank", rank=place)
                        self.note_rank(place)
                        if len(places) < _AT_ONCE:
                            places[text] = place
                    score = self.optional_score(get(column, ""), line) if column else None
                elif column:
                    score = number(get(column, ""), column)
                    self.scored = True
            except RowFault as fault:
                self.notes.skip_row(line, fault)
                continue
            if score is not None and column == "distance":
                score = 0.0 - score
            run.append((place, item, line, score))

    def add_cells(self, rows: Iterator[Row], places_in: Callable[[dict[str, str]], _Places]) -> None:
        """Add a row for each list."""
        for line, row in rows:
            try:
                places = places_in(row)
            except RowFault as fault:
                self.notes.skip_row(line, fault)
                continue
            run = self.run_of(line, tuple(row.get(name, "") for name in _OWNER))
            if run is None:
                continue
            filled = ((text, score) for text, score in places if text.strip())
            for rank, (text, score) in enumerate(filled, start=1):
                try:
                    item = self.ids.filled(line, "item_id", text)
                except RowFault as fault:
                    self.notes.skip_row(line, fault)
                    continue
                run.append((self.note_rank(rank), item, line, self.optional_score(score, line)))

    def slates(self, by: _By, *, plain: bool) -> Iterator[LocatedSlate]:
        """The lists, ranked so. Duplicated ranks and items keep the first row, gaps in the ranks are closed, empty lists are
        left out; each is noted."""
        self._store_runs()
        notes, sign = self.notes, 1.0
        # ranks 10, 20, 30 are 1, 2, 3
        step = self.step if by == "rank" and len(self.lowest) > 2 else 1
        start = self.lowest[0] % step if step > 1 else 0
        if step > 1:
            notes.remark("steps", step=step, beginning=", ".join(map(str, self.lowest)))
        if by == "score" and (rising := self._rising("order")):
            stop_if(plain and self.counted, "ranks-or-scores", file=notes.file)
            if rising > 1:
                notes.remark("lowest-first")
        if by == "rank" and self.scored and (rising := self._rising("rank")) > 1:
            sign = -1.0
            notes.remark("rising", rising=rising)
        lists = contradicting = 0
        for first, owner, elements in self._lists(by):
            places = list(range(1, len(elements) + 1))
            if by == "rank":
                places = [(element[0] - start) // step + (start > 0) for element in elements]
            if not (kept := self._kept(places, elements, owner)):
                notes.warn(first, "empty list", owner=list_owner(*owner), why="is empty")
                continue
            _, items, lines, scores = zip(*kept, strict=True)
            lists += 1
            if sign < 0:
                scores = tuple(score if score is None else 0.0 - score for score in scores)
            if self.scored:
                known = [score for score in scores if score is not None]
                contradicting += any(lower > upper for upper, lower in pairwise(known))
            ranked = tuple(map(RankedItem._make, zip(items, scores, strict=True)))
            yield LocatedSlate(lines[0], Slate(owner[0], owner[1], ranked, *owner[2:]), lines)
        if contradicting:
            notes.remark("contradicting", count=contradicting, lists=lists)

    def _lists(self, by: _By) -> Iterator[tuple[int, Sequence[str], list[_Element]]]:
        """The first line, the owner and the elements of each list, ranked so."""
        for _, runs in groupby(self.waiting.by_owner(), itemgetter(0)):
            (_, line, *owner, packed), *others = runs
            elements: list[_Element] = marshal.loads(packed)
            for *_, packed in others:
                elements += marshal.loads(packed)
            if by == "rank":
                elements.sort(key=itemgetter(0))
            elif by != "order":
                if by == "score":
                    # equal scores by falling item id, in the order of bytes
                    elements.sort(key=itemgetter(1), reverse=True)
                elements.sort(key=itemgetter(3), reverse=True)
            yield line, owner, elements

    def _kept(self, places: list[int], elements: list[_Element], owner: Sequence[str]) -> list[_Element]:
        """The elements of one list that stay, without duplicated ranks and items."""
        seen: dict[str, int] = {}
        kept: list[_Element] = []
        before = (0, 0)
        if places == list(range(1, len(places) + 1)) and len({item for _, item, _, _ in elements}) == len(
            places
        ):
            return elements
        for place, element in zip(places, elements, strict=True):
            _, item, line, _ = element
            if kept_line := before[1] if place == before[0] else 0:
                self.notes.skip(line, "duplicated rank", rank=place, owner=list_owner(*owner), line=kept_line)
                continue
            if place > before[0] + 1:
                self.notes.warn(line, "gap in the ranks", rank=place, owner=list_owner(*owner))
            before = place, line
            if item in seen:
                self.notes.skip(line, "duplicated item", item=item, owner=list_owner(*owner), rank=seen[item])
                continue
            seen[item] = place
            kept.append(element)
        return kept

    def _rising(self, by: _By) -> int:
        """The number of lists whose scores rise from one place to the next, if scores fall in no list; else 0."""
        rising, self.counted = 0, True
        for _, _, elements in self._lists(by):
            scores = [score for *_, score in elements if score is not None]
            if any(later < score for score, later in pairwise(scores)):
                return 0
            rising += any(later > score for score, later in pairwise(scores))
            self.counted &= scores == list(range(1, len(scores) + 1))
        return rising


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
    distances = "" if scores.strip() else row.get("distance", "")
    if (scores or distances).strip() in MISSING:
        return places
    given = [item for item, _ in _elements(scores or distances)]
    if distances:
        given = [str(0.0 - number(item, "distance")) for item in given]
    refuse(len(given) != len(places), "items without a score", places=len(places), scores=len(given))
    return [(item, score) for (item, _), score in zip(places, given, strict=True)]


def places_of(text: str) -> list[tuple[str, str]]:
    """The elements of the list in order: an item and its score, both as text; the score is empty if there is none.

    `[1, 2]`, `['a' 'b']`, `1|2`, `1;2`, `1,2`, `1 2`; with scores `[["a", 0.5], ["b", 0.4]]`, `[{a, 0.5}, {b, 0.4}]`,
    objects with an item and a score, and perhaps a rank that orders them, or one object `{"a": 0.5, "b": 0.4}`, ranked by
    its scores. Empty elements are dropped. Raises RowFault for objects of something else, and for a list that was cut.
    """
    places = [place for place in _elements(text) if place[0]]
    cut = places and places[-1][0].endswith(("...", "…"))
    refuse(cut or any(item in ("...", "…", "Ellipsis") for item, _ in places), "shortened list", text=text)
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
        refuse(re.match(r"(1[.)]|[-*•])\s", bare), "not a list:numbered", text=text)
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
