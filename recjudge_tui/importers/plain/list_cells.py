"""A whole list in one cell: JSON, Python's or NumPy's notation, or ids between separators."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from recjudge_tui.importers.files.column_names import squashed
from recjudge_tui.importers.files.json_records import json_decoder
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.values import number, shown, whole
from recjudge_tui.importers.plain.columns import ITEM, RANK, SCORE

_SEPARATORS = ("|", ";", ",")
# NumPy 2 writes its numbers in a list as np.int64(7)
_NUMPY_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")
_ELEMENT = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,\[\]()'"]+)""")

# Spark writes an item with its score as {7, 0.5} or Row(item=7, score=0.5)
_SCORED = r"(?:\{|Row\()\s*(?:\w+=)?([^,={}()]+),\s*(?:\w+=)?([^,={}()]+)[})]"
_SCORED_ELEMENT = re.compile(_SCORED)
_SCORED_LIST = re.compile(rf"\[{_SCORED}(?:,\s*{_SCORED})*\]")


class Place(NamedTuple):
    """One element of a list: an item and its score, both as text. The score is empty if there is none."""

    item_id: str
    score: str = ""


def is_list(text: str) -> bool:
    """Whether a cell that should contain one id contains several: it has brackets around it, or bars inside."""
    bare = text.strip()
    return bare[:1] + bare[-1:] in ("[]", "()") or "|" in bare


def places_of(text: str) -> list[Place]:
    """The elements of the list in order.

    `[1, 2]`, `['a' 'b']`, `1|2`, `1;2`, `1,2`, `1 2`; with scores `[["a", 0.5], ["b", 0.4]]`, `[{a, 0.5}, {b, 0.4}]`,
    objects with an item and a score, and perhaps a rank that orders them, or one object `{"a": 0.5, "b": 0.4}`, ranked by
    its scores. Empty elements are dropped. Raises RowFault for objects of something else.
    """
    return [place for place in _elements(text) if place.item_id]


def scores_of(text: str) -> list[str]:
    """The scores in a cell, in order; empty where there is none."""
    return [place.item_id for place in _elements(text)]


def is_scored_object(text: str) -> bool:
    return text.lstrip()[:1] == "{"


def _elements(text: str) -> list[Place]:
    bare = text.strip()
    if is_scored_object(bare):
        return _scored_items(bare)
    if bare[:1] not in ("[", "("):
        mark = next((mark for mark in _SEPARATORS if mark in bare), None)
        return [Place(part.strip()) for part in bare.split(mark) if part.strip()]
    bare = _NUMPY_SCALAR.sub(r"\1", bare)
    elements = _decoded(bare)
    if isinstance(elements, list):
        return [place_of(element) for element in _by_rank(elements)]
    if _SCORED_LIST.fullmatch(bare):
        return [Place(_bare(item), _bare(score)) for item, score in _SCORED_ELEMENT.findall(bare)]
    if "{" in bare:
        raise RowFault(
            "not a list", f"{shown(text)} is neither a list of ids nor one of items with their scores"
        )
    return [Place(a or b or c) for a, b, c in _ELEMENT.findall(bare) if a or b or c]


def _bare(text: str) -> str:
    return text.strip().strip("'\"")


def _decoded(text: str) -> Any:
    """The value in JSON's or Python's notation; None if it is neither."""
    for form in (text, text.replace("(", "[").replace(")", "]").replace("'", '"')):
        try:
            return json_decoder().decode(form)
        except (json.JSONDecodeError, RecursionError):
            continue
    return None


def _by_rank(elements: list[Any]) -> list[Any]:
    """The objects of a list by their ranks if all have one; any other list as it is."""
    try:
        ranks = [whole(_first(element, RANK), "rank") for element in elements]
    except (AttributeError, RowFault):
        return elements
    return [element for _, element in sorted(zip(ranks, elements, strict=True), key=lambda pair: pair[0])]


def _scored_items(text: str) -> list[Place]:
    """The items of `{item: score}` by falling score, ties by descending item id. Raises RowFault."""
    items = _decoded(_NUMPY_SCALAR.sub(r"\1", text))
    if not isinstance(items, dict) or not all(isinstance(score, str) for score in items.values()):
        raise RowFault("not a list", f"{shown(text)} is neither a list nor items with their scores")
    by_id = sorted(items.items(), key=lambda item: item[0].encode(), reverse=True)
    ranked = sorted(by_id, key=lambda item: -number(item[1], "score"))
    return [Place(item.strip(), score) for item, score in ranked]


def place_of(element: Any) -> Place:
    """The Place for an element of a JSON array: an id, `[id, score]`, or an object with an item and a score."""
    if isinstance(element, list):
        texts = ["" if part is None else str(part).strip() for part in element]
        return Place(*texts) if len(texts) in (1, 2) else Place("")
    if isinstance(element, Mapping):
        return Place(_first(element, (*ITEM, "id")), _first(element, SCORE))
    return Place("" if element is None else str(element).strip())


def _first(element: Mapping[str, Any], aliases: tuple[str, ...]) -> str:
    by_name = {squashed(key): value for key, value in element.items()}
    values: Iterator[Any] = (by_name[name] for name in aliases if name in by_name)
    return str(next(values, "") or "").strip()
